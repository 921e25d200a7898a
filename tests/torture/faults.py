"""Faults for a group of processors, real ones, and timed so that they strike when something is in flight."""

import random
import re
import signal
import time
from collections import Counter
from collections.abc import Callable

from tests.torture.group import PARTITIONS, Group, Worker, wait_until
from tests.torture.worker import STEPS

SIZE = 3
ORPHANED = "snapshots orphaned"


class Faults:
    """Each fault is a method that leaves `SIZE` processors running.

    `counts` says how often each struck; `endings` holds what processors said that ended without being told to.
    """

    def __init__(self, group: Group, seed: int) -> None:
        self.group, self.random = group, random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.endings: list[str] = []
        self.kinds: dict[str, Callable[[], None]] = {
            "kill": self.kill,
            "kill at snapshot": self.kill_at_snapshot,
            "zombie": self.zombie,
            "rebalance": self.rebalance,
            "broker": self.broker,
            "orphan": self.orphan,
            "outage": self.outage,
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
        while len(self.group.workers) < SIZE:
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

    def _retire(self, keep: Worker) -> None:
        """Ends one of the processors in order, but not this one."""

        def members() -> list[Worker]:
            self.refill()
            return [worker for worker in self.group.workers if worker is not keep and worker.generation()[0] >= 0]

        retired = self.random.choice(wait_until(members, "another processor is a member"))
        if code := self.group.end(retired):
            self.endings.append(f"exit {code} after SIGTERM: {retired.last_words()}")
        self.refill()

    def _writer(self, delay: float) -> Worker:
        """Waits for a snapshot and then so many seconds, and returns the processor that wrote it."""
        while True:
            owners = [self.group.owner(partition) for partition in range(PARTITIONS)]
            partition = self.group.wait_snapshot()
            time.sleep(delay)
            owner = owners[partition]
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
            while places and len(self.group.workers) < SIZE:
                self.group.spawn("--act", "crash", f"{places.pop()}:{self.random.randrange(1, 5)}")
            wait_until(lambda: any(not worker.is_alive for worker in self.group.workers), "a crash", seconds)
        crashers = list(self.group.workers)
        wait_until(lambda: not any(worker.is_alive for worker in crashers), "the last crashes", seconds)
        seen = Counter(note.read_text().splitlines())
        assert seen == expected, f"crashes that did not take place: {expected - seen}"
        for where, count in seen.items():
            self.counts[re.sub(r"^\w+ ", "crash at ", where)] += count
        self.refill()
