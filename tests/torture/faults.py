"""Faults for a group of processors, real ones, and timed so that they strike when something is in flight."""

import random
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from connectors.errors import FencedError
from tests.torture.group import DEADLINE, Group, Worker, wait_until
from tests.torture.worker import STEPS

SIZE, LEAST, MOST = 3, 2, 5
ORPHANED = "snapshots orphaned"
SNAPSHOT = "snapshot"  # begins what is counted and no fault of its own
HARMS: dict[str, Callable[[bytes], bytes | None]] = {
    "removed": lambda data: None,
    "cut off": lambda data: data[: len(data) // 2],
    "with one other bit": lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
}


class Faults:
    """Each fault is a method that leaves `size` processors running; some change that.

    `counts` says how often each struck; `endings` holds what processors said that ended without being told to, and what
    else was not as it should be. `returns` are the seconds from kill -9 of an instance until each of its partitions
    went on, the CPU seconds that its successor has taken by then, and the seconds from its first word until then.
    """

    def __init__(self, group: Group, seed: int) -> None:
        self.group, self.random = group, random.Random(seed)
        self.size = SIZE
        self.counts: Counter[str] = Counter()
        self.endings: list[str] = []
        self.returns: list[tuple[float, float, float]] = []
        self.kinds: dict[str, Callable[[], None]] = {
            "kill": self.kill,
            "kill at snapshot": self.kill_at_snapshot,
            "zombie": self.zombie,
            "rebalance": self.rebalance,
            "broker": self.broker,
            "orphan": self.orphan,
            "outage": self.outage,
            "join": self.join,
            "leave": self.leave,
            "grow": self.grow,
            "corrupt": self.corrupt,
            "instance kill": self.instance_kill,
            "instance restart": self.instance_restart,
            "instance zombie": self.instance_zombie,
        }

    def strike(self, kind: str) -> None:
        self.refill()
        self.kinds[kind]()
        self.counts[kind] += 1

    def refill(self, *options: str) -> None:
        """Starts processors in the place of those that have ended."""
        for worker in self.group.reap():
            if (code := worker.process.returncode) != -signal.SIGKILL:
                self.endings.append(f"exit {code}: {worker.last_words()}")
        while len(self.group.workers) < self.size:
            self.group.spawn(*options)

    def kill(self) -> None:
        """kill -9 at any moment."""
        time.sleep(self.random.uniform(0, 1))
        self.group.kill(self.random.choice(self.group.workers))
        self.refill()

    def kill_at_snapshot(self) -> None:
        """kill -9 of a processor within 20 ms after it has written a snapshot."""
        self.group.kill(self._writer(self.random.uniform(0, 0.02)))
        self.refill()

    def zombie(self) -> None:
        """A processor freezes in or after a commit, and wakes when others have gone on with all it had."""
        zombie = self._writer(self.random.uniform(0, 0.02))
        zombie.send(signal.SIGSTOP)
        self.group.spawn()
        self.group.wait_progress(meanwhile=self.refill)
        generation = zombie.generation()
        zombie.send(signal.SIGCONT)
        wait_until(lambda: zombie.generation() != generation or not zombie.is_alive, "the zombie finds its way back")
        self._retire(zombie)

    def rebalance(self) -> None:
        """One processor joins, another one leaves in order."""
        newcomer = self.group.spawn()
        wait_until(lambda: newcomer.generation()[0] >= 0, "the newcomer is assigned partitions")
        self._retire(newcomer)

    def join(self) -> None:
        """A processor joins, and stays."""
        newcomer = self.group.spawn()
        wait_until(lambda: newcomer.generation()[0] >= 0, "the newcomer is assigned partitions")
        self.size += 1
        if self.size > MOST:
            self.size -= 1
            self._retire(newcomer)

    def leave(self) -> None:
        """A processor leaves in order, and none comes in its place."""
        self.size = max(LEAST, self.size - 1)
        self._retire()

    def grow(self) -> None:
        """The input gets another partition; the output every second time as many."""
        self.group.grow(*[self.group.config.output.topic] * (self.counts["grow"] % 2))
        self.group.wait_progress(meanwhile=self.refill)

    def corrupt(self) -> None:
        """A file that is named for a partition is damaged, and its owner dies; later the file comes back.

        It is its snapshot, or a file of what waits for labels.

        Meanwhile the other partitions go on, and whoever is given the bad one lives on and commits nothing for it.
        """
        said, number, path, data = self._damage()
        before = self.group.committed()[number]
        self.group.wait_progress(meanwhile=self.refill, but=number)
        times = self.group.times_said(said)
        self.group.kill(self._owner(number))
        self.counts["kill"] += 1
        self._wait_said(said, times)
        self.group.wait_progress(meanwhile=self.refill, but=number)
        self.strike("rebalance")
        self.group.wait_progress(meanwhile=self.refill, but=number)
        if (after := self.group.committed()[number]) != before:
            self.endings.append(f"partition {number} was bad, and its offset went from {before} to {after}")
        _put_back(path, data)
        self.group.wait_progress(meanwhile=self.refill)

    def _wait_said(self, said: str, times: int) -> None:
        """Waits until the next owner says it too."""

        def is_said() -> bool:
            self.refill()
            return self.group.times_said(said) > times

        wait_until(is_said, f"the next owner says `{said}`", every=0.1)

    def _damage(self) -> tuple[str, int, Path, bytes]:
        """Returns what is said of a partition whose state is bad, its number, and its damaged file as it was."""
        while True:
            number = self.random.randrange(self.group.partitions)
            said = f"partition {number} of `{self.group.config.input.topic}` is paused"
            said_before = self.group.times_said(said)
            self.group.kill(self._owner(number))
            time.sleep(0.3)  # a commit that it had sent is made by then, and no session has ended
            named, files = self.group.named_snapshot(number), self.group.named_files(number)
            if not files:
                continue
            path = self.random.choice(files)
            data = path.read_bytes()
            kind = self.random.choice(sorted(HARMS))
            harmed = HARMS[kind](data)
            path.unlink()
            if harmed is not None:
                path.write_bytes(harmed)

            if self._is_found(number, named, said, said_before):
                self.counts[f"{SNAPSHOT} {kind}" if path == named else f"{SNAPSHOT}'s labels {kind}"] += 1
                return said, number, path, data
            _put_back(path, data)  # the next checkpoints may need it, too: each names some files of earlier ones

    def _is_found(self, number: int, path: Path | None, said: str, times: int) -> bool:
        """Whether a process finds the damage; not if the partition had another owner already, which has gone on."""

        def is_settled() -> bool:
            self.refill()
            return self.group.times_said(said) > times or self.group.named_snapshot(number) != path

        wait_until(is_settled, f"`{said}`", every=0.1)
        return self.group.named_snapshot(number) == path

    def _owner(self, partition: int) -> Worker:
        def owner() -> Worker | None:
            self.refill()
            return self.group.owner(partition)

        found: Worker = wait_until(owner, f"partition {partition} has an owner")
        return found

    # Processors with an instance

    def instance_kill(self) -> None:
        """kill -9 of an instance, which is started again at once."""
        time.sleep(self.random.uniform(0, 1))
        killed = self._working()
        partitions = killed.generation()[1]
        self.group.kill(killed)
        began, before = time.monotonic(), self.group.committed()
        successor = self.group.spawn(instance=killed.instance)
        wait_until(lambda: successor.has_begun, "the successor begins")
        spoke = time.monotonic()

        def goes_on() -> bool:
            self.refill()
            committed = self.group.committed()
            return all(committed[number] > before[number] for number in partitions)

        wait_until(goes_on, f"the partitions {partitions} of `{killed.instance}` go on")
        now = time.monotonic()
        self.returns.append((now - began, successor.cpu_seconds(), now - spoke))

    def instance_restart(self) -> None:
        """SIGTERM of an instance, which is then started again."""
        stopped = self._working()
        if code := self.group.end(stopped):
            self.endings.append(f"exit {code} after SIGTERM: {stopped.last_words()}")
        self.group.spawn(instance=stopped.instance)
        self.group.wait_progress(meanwhile=self.refill)

    def instance_zombie(self) -> None:
        """A processor freezes in or after a commit, and wakes when another one with its instance has gone on.

        It must end then, and must not disturb the other one.
        """
        zombie = self._writer(self.random.uniform(0, 0.02))
        zombie.send(signal.SIGSTOP)
        successor = self.group.spawn(instance=zombie.instance)
        wait_until(lambda: successor.generation()[0] >= 0 or not successor.is_alive, "the successor is a member")
        self.group.wait_progress(meanwhile=self.refill)
        said = len(successor.log.read_text())
        zombie.send(signal.SIGCONT)
        try:
            code = zombie.process.wait(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            code = None
            self.group.kill(zombie)
        else:
            self.group.workers.remove(zombie)
        if code != FencedError.exit_code:
            self.endings.append(f"the zombie of an instance ended with {code}: {zombie.last_words()}")
        self.group.wait_progress(meanwhile=self.refill)
        since = successor.log.read_text()[said:]
        if not successor.is_alive or "reset: " in since or "generation " in since:
            self.endings.append(f"the zombie of an instance disturbed its successor: {successor.last_words()}")

    def _working(self) -> Worker:
        """One of the processors that has partitions."""

        def working() -> list[Worker]:
            self.refill()
            return [worker for worker in self.group.workers if worker.generation()[1]]

        return self.random.choice(wait_until(working, "a processor has partitions"))

    def broker(self) -> None:
        """kill -9 of a broker, which is then started again."""
        node = self.random.choice(self.group.kafka.nodes)
        self.group.kafka.kill(node)
        if len(self.group.kafka.nodes) > 1:
            time.sleep(self.random.uniform(0, 3))
        self.group.kafka.start(node)
        self.group.wait_progress(meanwhile=self.refill)

    def outage(self) -> None:
        """All brokers are away for a minute."""
        for node in self.group.kafka.nodes:
            self.group.kafka.kill(node)
        time.sleep(60)
        for node in self.group.kafka.nodes:
            self.group.kafka.start(node)
        self.group.wait_progress(meanwhile=self.refill)

    def orphan(self) -> None:
        """All processors die between a snapshot and its transaction: the snapshot stays, and nothing names it."""
        self.group.wait_snapshot()
        for node in self.group.kafka.nodes:
            self.group.kafka.stop(node)
        time.sleep(0.1)
        self.group.kill_all()
        for node in self.group.kafka.nodes:
            self.group.kafka.resume(node)
        self.counts[ORPHANED] += self.group.orphans()
        self.refill()

    def _retire(self, keep: Worker | None = None) -> None:
        """Ends one of the processors in order and for good, but not this one."""

        def members() -> list[Worker]:
            self.refill()
            return [worker for worker in self.group.workers if worker is not keep and worker.generation()[0] >= 0]

        retired = self.random.choice(wait_until(members, "another processor is a member"))
        number = signal.SIGINT if self.group.has_instances else signal.SIGTERM
        if code := self.group.end(retired, number):
            self.endings.append(f"exit {code} after {number.name}: {retired.last_words()}")
        self.refill()

    def _writer(self, delay: float) -> Worker:
        """Waits for a snapshot and then so many seconds, and returns the processor that wrote it."""
        while True:
            owners = [self.group.owner(partition) for partition in range(self.group.partitions)]
            partition = self.group.wait_snapshot()
            time.sleep(delay)
            owner = owners[partition] if partition < len(owners) else None
            if owner is not None and owner.is_alive:
                return owner
            self.refill()

    # Crashes at the numbered steps of a commit

    def crash_at_steps(self, times: int, seconds: float) -> None:
        """Lets processors die at each step of a commit with an open transaction this often, before or after it."""
        places = [
            f"{('before', 'after')[(n + hit) % 2]}:{step}" for n, step in enumerate(STEPS) for hit in range(times)
        ]
        self.random.shuffle(places)
        note = self.group.folder / "crashes"
        expected = Counter(place.replace(":", " ") for place in places)
        while places:
            self.group.reap()
            while places and len(self.group.workers) < self.size:
                self.group.spawn("--act", "crash", f"{places.pop()}:{self.random.randrange(1, 5)}")
            wait_until(lambda: any(not worker.is_alive for worker in self.group.workers), "a crash", seconds)
        crashers = list(self.group.workers)
        wait_until(lambda: not any(worker.is_alive for worker in crashers), "the last crashes", seconds)
        seen = Counter(note.read_text().splitlines())
        assert seen == expected, f"crashes that did not take place: {expected - seen}"
        for where, count in seen.items():
            self.counts[re.sub(r"^\w+ ", "crash at ", where)] += count
        self.refill()


def _put_back(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    path.with_suffix(".part").write_bytes(data)
    path.with_suffix(".part").rename(path)
