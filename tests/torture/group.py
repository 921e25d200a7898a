"""A group of processors on a local Kafka: its topics, its file, its processes, and a feeder of records."""

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, MemberToRemove
from kafka.errors import KafkaError

from connectors import config
from connectors.kafka.local import LocalKafka
from connectors.labels.merging import Side
from connectors.labels.waiting_files import needed
from connectors.snapshots.names import SnapshotName
from connectors.snapshots.stores import FolderStore
from tests.helpers.deadline import DEADLINE
from tests.helpers.forks import Fork
from tests.helpers.paths import ROOT
from tests.helpers.streams import named

PARTITIONS = 4

# Expulsion within 2 s, new partitions are seen within 1 s; transactions of the dead time out before.
QUICK = {
    "consumer": {
        "session_timeout_ms": 2000,
        "heartbeat_interval_ms": 400,
        "max_poll_interval_ms": 20_000,
        "metadata_max_age_ms": 1000,
    },
    "producer": {"transaction_timeout_ms": 1600},
}
# An instance is waited for while it is started again, which takes a process some seconds on a busy machine.
STATIC = QUICK | {"consumer": QUICK["consumer"] | {"session_timeout_ms": 12_000}}


def wait_until(condition: Callable[[], Any], what: str, seconds: float = DEADLINE, every: float = 0.05) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"{what}: not within {seconds:g} s"
        time.sleep(every)
    return found


def records(count: int, seed: int) -> Iterator[bytes]:
    """JSON records with four features on different scales, labels with noise, every tenth without label, some broken.

    The noise keeps the learner from ever being passive for long, so that double learning shows.
    """
    numbers = random.Random(seed)
    for n in range(count):
        x = {name: numbers.gauss(shift, scale) for name, shift, scale in (("a", 0, 1), ("b", 5, 3), ("c", -2, 0.1))}
        if n % 3 == 0:
            x["rare"] = float(numbers.randrange(5))
        label = x["a"] + (x["b"] - 5) / 3 + numbers.gauss(0, 1) > 0
        fields = {"id": f"r{n}", **x, "label": label}
        if n % 10 == 9:
            fields["label"] = None
        if is_broken(n):
            fields = {"id": f"r{n}", "label": True}  # no features
        yield json.dumps(fields).encode()


def is_broken(n: int) -> bool:
    return n % 101 == 50


WITH_A_LOG = """
import os, sys
with open(sys.argv.pop(1), "ab") as log:
    os.dup2(log.fileno(), 1)
    os.dup2(log.fileno(), 2)
os.environ["INSTANCE"] = sys.argv.pop(1)
from tests.torture import worker
worker.main()
"""


class Worker:
    """A process that runs `worker.py`, with its log in a file.

    `instance` is "" for a dynamic member. With `is_forked`, it is a fork of a process that has imported everything.
    """

    def __init__(
        self, file: Path, folder: Path, number: int, options: tuple[str, ...], instance: str, is_forked: bool
    ) -> None:
        self.number, self.instance = number, instance
        self.log = folder / f"worker-{number}.log"
        self.process: subprocess.Popen[bytes] | Fork
        arguments = [str(file), "--folder", str(folder), *options]
        with self.log.open("wb") as log:
            if is_forked:
                self.process = Fork(WITH_A_LOG, [str(self.log), instance, *arguments])
                self.process.close_streams()
                return
            command = [sys.executable, "-m", "tests.torture.worker", *arguments]
            self.process = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=os.environ | {"INSTANCE": instance},
            )  # fmt: skip

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def generation(self) -> tuple[int, set[int]]:
        """The last generation it worked in, and its partitions there; (-1, nothing) before."""
        found = re.findall(r"generation (\d+): partitions (\S+)", self.log.read_text())
        if not found:
            return -1, set()
        generation, partitions = found[-1]
        return int(generation), set() if partitions == "none" else set(map(int, partitions.split(",")))

    def cpu_seconds(self) -> float:
        """The CPU time that it has taken."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    @property
    def has_begun(self) -> bool:
        """Whether it was there long enough to say something; before, a signal just ends it."""
        return bool(self.log.stat().st_size)

    def last_words(self) -> str:
        return "".join(self.log.read_text().splitlines()[-1:])

    def wait_frozen(self) -> None:
        """Waits until the process has stopped itself."""
        state = Path(f"/proc/{self.process.pid}/stat")
        wait_until(lambda: state.read_text().rpartition(")")[2].split()[0] == "T", "the worker freezes")


class Group:
    """The processors of one group on one Kafka; use as a context manager, which ends what is left of them.

    The processors take the clients in turn; `settings` are those of kafka-python. With `has_instances`, each is a
    static member: a process that is started takes the first name that no other one has. With `are_forked`, they are
    forks of a process that has imported everything. `labels` is the section of that name, without its topic;
    `sections` are more sections of the file, or others; the topics of `queries` and `mixing` are added.
    """

    def __init__(
        self,
        kafka: LocalKafka,
        folder: Path,
        guarantee: str = "exactly_once",
        settings: Any = QUICK,
        clients: Sequence[str] = ("kafka-python",),
        every: str | None = None,
        has_instances: bool = False,
        checkpoint: str = "200ms",
        labels: Mapping[str, Any] | None = None,
        sections: Mapping[str, Any] = MappingProxyType({}),
        are_forked: bool = False,
    ) -> None:
        self.kafka, self.folder, self.has_instances = kafka, folder, has_instances
        self.are_forked = are_forked
        self.name = f"torture-{uuid.uuid4().hex[:8]}"
        self.workers: list[Worker] = []
        self.started = 0
        parts = ["events", "predictions", "rejects", *(["labels", "outcomes"] if labels else [])]
        parts += [part for part in ("queries", "mixing") if part in sections]
        topics = {part: f"{self.name}-{part}" for part in parts}
        alone = "rejects", "mixing"
        kafka.create_topics({topic: 1 if part in alone else PARTITIONS for part, topic in topics.items()})
        self.files = []
        for client in clients:
            self.files.append(folder / f"{client}.yaml")
            place = {"bootstrap_servers": kafka.bootstrap_servers, "client": client}
            file = {
                "name": self.name,
                "kafka": named(client, place | settings),
                "input": {"topic": topics["events"], "start": "earliest"},
                "record": {"id": "id", "label": "label"},
                "learner": ["StandardScaler", {"PAClassifier": {"C": 0.01, "mode": 1}}],
                "output": {"topic": topics["predictions"]},
                "rejects": {"topic": topics["rejects"]},
                "checkpoint": {"guarantee": guarantee, "every": checkpoint},
                "snapshots": {"folder": str(folder / "snapshots")} | ({"every": every} if every else {}),
            } | ({"instance": "${INSTANCE:-none}"} if has_instances else {})  # fmt: skip
            if labels:
                file |= {"labels": labels | {"topic": topics["labels"]}, "outcomes": {"topic": topics["outcomes"]}}
            file |= sections
            for part in ("queries", "mixing"):
                if part in sections:
                    file[part] = sections[part] | {"topic": topics[part]}
            self.files[-1].write_text(json.dumps(file))
        self.config = config.load(self.files[0])
        self.partitions = PARTITIONS

    def __enter__(self) -> Self:
        self._offsets = self._reader()
        return self

    def _reader(self) -> KafkaConsumer:
        servers = self.kafka.bootstrap_servers
        return KafkaConsumer(bootstrap_servers=servers, group_id=self.name, bootstrap_timeout_ms=5000)

    def __exit__(self, *_: object) -> None:
        self.kill_all()
        self._offsets.close(autocommit=False)

    @property
    def _places(self) -> list[TopicPartition]:
        return [TopicPartition(self.config.input.topic, number) for number in range(self.partitions)]

    @property
    def _places_of_labels(self) -> list[TopicPartition]:
        topics = [self.config.labels.topic] if self.config.labels else []
        return [TopicPartition(topic, number) for topic in topics for number in range(self.partitions)]

    def topic(self, side: Side) -> str:
        """The topic of one of the two sides."""
        if side is Side.RECORDS:
            return self.config.input.topic
        assert self.config.labels is not None
        return self.config.labels.topic

    def grow(self, *topics: str) -> None:
        """Give the input another partition, and other topics, with that of labels, as many as it has then."""
        more = self.partitions + 1
        topics = (*topics, *dict.fromkeys(place.topic for place in self._places_of_labels))
        with contextlib.closing(KafkaAdminClient(bootstrap_servers=self.kafka.bootstrap_servers)) as admin:
            for topic in (*topics, self.config.input.topic):
                admin.create_partitions({topic: more})
                wait_until(
                    lambda topic=topic: len(admin.describe_topics([topic])[0]["partitions"]) == more,  # type: ignore[misc]
                    f"`{topic}` has {more} partitions",
                )
        self.partitions = more

    # Processes

    def spawn(self, *options: str, instance: str = "") -> Worker:
        self.started += 1
        if self.has_instances and not instance:
            taken = {worker.instance for worker in self.workers}
            instance = next(name for n in count() if (name := f"i{n}") not in taken)
        file = self.files[self.started % len(self.files)]
        worker = Worker(file, self.folder, self.started, options, instance, self.are_forked)
        self.workers.append(worker)
        return worker

    def reap(self) -> list[Worker]:
        """Forgets the workers that have ended, and returns them."""
        ended = [worker for worker in self.workers if not worker.is_alive]
        self.workers = [worker for worker in self.workers if worker not in ended]
        return ended

    def kill(self, worker: Worker) -> None:
        worker.send(signal.SIGKILL)
        worker.process.wait()
        self.workers.remove(worker)

    def kill_all(self) -> None:
        for worker in self.workers:
            worker.send(signal.SIGKILL)
        for worker in list(self.workers):
            self.kill(worker)

    def end(self, worker: Worker, number: signal.Signals = signal.SIGTERM) -> int:
        """Ends a worker in order, and returns its exit code."""
        # A process that has only just been started does not listen to signals yet.
        wait_until(lambda: worker.generation()[0] >= 0 or not worker.is_alive, "the worker is a member")
        worker.send(number)
        self.workers.remove(worker)
        return worker.process.wait(timeout=DEADLINE)

    def owner(self, partition: int) -> Worker | None:
        """Who had the partition last, of those that live."""
        owners = [worker for worker in self.workers if partition in worker.generation()[1]]
        return max(owners, key=lambda worker: (worker.generation()[0], worker.number), default=None)

    def expel_all(self) -> None:
        """Removes every member from the group, as an operator can."""
        with contextlib.closing(KafkaAdminClient(bootstrap_servers=self.kafka.bootstrap_servers)) as admin:
            members = admin.describe_groups([self.name])[self.name]["members"]
            assert members
            admin.remove_group_members(self.name, [MemberToRemove(member["member_id"]) for member in members])

    def end_transactions(self) -> None:
        """Ends the transactions that the dead left open, by taking over their ids."""
        servers = {"bootstrap_servers": self.kafka.bootstrap_servers}
        with contextlib.closing(KafkaAdminClient(**servers)) as admin:
            listed = admin.list_transactions(state_filters=["Ongoing"]).values()
        for found in chain.from_iterable(listed):
            if found.transactional_id.startswith(self.name):
                with contextlib.closing(KafkaProducer(**servers, transactional_id=found.transactional_id)) as producer:
                    producer.init_transactions()

    def orphans(self) -> int:
        """For how many partitions the newest snapshot is not the one that the committed offset names."""
        number = 0
        for place in self._places:
            files = (self.folder / "snapshots").glob(f"**/{place.partition}/*.snapshot")
            snapshots = (file for file in files if SnapshotName.parse(file.stem))
            newest = max(snapshots, key=lambda file: file.stat().st_mtime_ns, default=None)
            named = self.named_snapshot(place.partition)
            number += newest is not None and named is not None and named != newest
        return number

    def named_snapshot(self, partition: int) -> Path | None:
        """The snapshot that the committed offset names, whether it is there or not; None if nothing is committed."""
        committed = self._offsets.committed(TopicPartition(self.config.input.topic, partition), metadata=True)
        if committed is None:
            return None
        (folder,) = (self.folder / "snapshots").glob(f"**/{partition}")
        return Path(folder / (json.loads(committed.metadata.rstrip("\0"))["snapshot"] + ".snapshot"))

    def named_files(self, partition: int) -> list[Path]:
        """That snapshot, and the files of what waits for labels with it; only those that are there."""
        path = self.named_snapshot(partition)
        if path is None or not path.exists():
            return []
        others = needed(FolderStore(path.parent.parent), partition).get(path.stem, ())
        return [path, *(found for name in sorted(others) if (found := path.with_name(f"{name}.snapshot")).exists())]

    def times_said(self, text: str) -> int:
        """How often workers have said something, all together."""
        return sum(log.read_text().count(text) for log in self.folder.glob("worker-*.log"))

    # Progress

    def committed(self, places: Sequence[TopicPartition] = ()) -> list[int]:
        """The committed offsets of the input, or of other places.

        Those that cannot be learned just now count as 0: `progress` must be repeated.
        """
        found, failed = [], False
        for place in places or self._places:
            try:
                found.append(self._offsets.committed(place, timeout_ms=2000) or 0)
            except (KafkaError, AssertionError):
                found.append(0)
                failed = True
        if failed:
            with contextlib.suppress(KafkaError):  # the library may wait for ever for a coordinator that was away
                reader = self._reader()
                self._offsets.close(autocommit=False)
                self._offsets = reader
        return found

    def ends(self, seconds: float = DEADLINE, places: Sequence[TopicPartition] = ()) -> list[int]:
        places = places or self._places
        # a consumer that has lived through faults may wait for ever for a broker that has long been back
        with contextlib.closing(self._reader()) as reader:

            def found() -> list[int] | None:
                try:
                    ends = reader.end_offsets(places, timeout_ms=int(seconds * 1000))
                except KeyError:  # of a partition that was just added the library may know no leader yet
                    return None
                return [ends[place] for place in places]

            ends: list[int] = wait_until(found, "the end of each partition", seconds)
        return ends

    def wait_done(self, seconds: float = DEADLINE) -> None:
        """Waits until everything that was fed is committed."""
        places = [*self._places, *self._places_of_labels]
        ends = self.ends(places=places)
        wait_until(lambda: self.committed(places) == ends, f"all is committed up to {ends}", seconds, every=0.1)

    def wait_progress(
        self, seconds: float = DEADLINE, meanwhile: Callable[[], None] = lambda: None, but: int | None = None
    ) -> float:
        """Waits until each partition has committed more than now, or all there is, and returns how long that took.

        The partition `but` may do as it likes.
        """
        began, before = time.monotonic(), self.committed()

        def has_progressed() -> bool:
            meanwhile()
            committed = self.committed()
            waiting = {n for n, (now, then) in enumerate(zip(committed, before, strict=True)) if now <= then} - {but}
            if not waiting:
                return True
            with contextlib.suppress(KafkaError, AssertionError):
                ends = self.ends(2.0)
                return all(committed[n] == ends[n] for n in waiting)
            return False

        wait_until(has_progressed, f"each partition goes on from {before}", seconds, every=0.1)
        return time.monotonic() - began

    def wait_snapshot(self) -> int:
        """Waits for the next snapshot to appear, and returns its partition."""
        before = self._changes()
        return int(wait_until(lambda: self._changes() - before, "a snapshot appears", every=0.001).pop()[0])

    def _changes(self) -> set[tuple[str, int]]:
        folders = (self.folder / "snapshots").glob("**/[0-9]")
        return {(folder.name, folder.stat().st_mtime_ns) for folder in folders}


class Event(NamedTuple):
    """Something to feed: what belongs to the record of number n goes to the partition of that record.

    Without a `time`, in milliseconds, the timestamp is the moment at which it is fed.
    """

    n: int
    side: Side
    time: int | None
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]] = ()


class Feeder(threading.Thread):
    """Feeds records to the partitions in turn: in each 50 ms a share of those that are left, so that some always are.

    A third of them is fed within 0.4 times `seconds`, two thirds within 1.1 times. Nothing is fed before what was
    fed a second ago is there.
    """

    def __init__(self, group: Group, events: Sequence[Event], seconds: float) -> None:
        super().__init__(daemon=True)
        self.group, self.events, self.share = group, events, 0.05 / seconds
        self.hurry = threading.Event()
        self.fed = False
        self._numbers: dict[int, int] = {}

    def run(self) -> None:
        producer = KafkaProducer(
            bootstrap_servers=self.group.kafka.bootstrap_servers, acks="all", linger_ms=5, metadata_max_age_ms=500
        )
        try:
            sent: deque[tuple[float, Any]] = deque()
            due = 0.0
            for at, event in enumerate(self.events):
                while at >= due and not self.hurry.wait(0.05):
                    due += (len(self.events) - due) * self.share
                topic, number = self.group.topic(event.side), self._number(producer, event.n)
                future = producer.send(topic, event.value, event.key, list(event.headers), number, event.time)
                sent.append((time.monotonic(), future))
                while sent and (sent[0][1].is_done or sent[0][0] < time.monotonic() - 1):
                    sent.popleft()[1].get(timeout=DEADLINE)
            producer.flush(timeout=DEADLINE)
            for _, future in sent:
                future.get(timeout=DEADLINE)
            self.fed = True
        finally:
            producer.close(timeout=5)

    def _number(self, producer: KafkaProducer, n: int) -> int:
        """The partition of a record and of its labels; the topics may get more of them."""
        if n not in self._numbers:
            topics = [Side.RECORDS, *([Side.LABELS] if self.group.config.labels else [])]
            found = (len(producer.partitions_for(self.group.topic(side)) or ()) for side in topics)
            self._numbers[n] = n % max(PARTITIONS, min(found))
        return self._numbers[n]

    def finish(self) -> None:
        """Feeds what is left at once."""
        self.hurry.set()
        self.join()
        assert self.fed, "the input could not be written"


def plain(count: int, seed: int) -> list[Event]:
    """So many records, without labels of their own."""
    return [Event(n, Side.RECORDS, None, f"k{n % 7}".encode(), value) for n, value in enumerate(records(count, seed))]


def feed(group: Group, events: Sequence[Event]) -> None:
    """Feeds all of it now."""
    feeder = Feeder(group, events, 1)
    feeder.start()
    feeder.finish()
