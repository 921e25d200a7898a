"""Tools for tests of the processor on a real Kafka: topics, records, files, processors, the bare learner."""

import contextlib
import functools
import itertools
import json
import textwrap
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import CoordinatorNotAvailableError, KafkaTimeoutError, MetadataEmptyBrokerList
from kafka.protocol.admin.client_quotas import AlterClientQuotasRequest
from river.datasets import Phishing

from connectors import config
from connectors.kafka import CLIENTS
from connectors.model.counts import Counts
from connectors.runtime.stop import Stop
from connectors.topics import processor
from connectors.topics.offset_metadata import OffsetMetadata
from connectors.topics.record_loop import RecordLoop
from tests.helpers.deadline import DEADLINE
from tests.helpers.forks import Fork

BOTH_CLIENTS = pytest.mark.parametrize("client", CLIENTS, indirect=True)
CLIENT = CLIENTS[0]  # of the running test, see `conftest.py`
LIBRDKAFKA = {
    "bootstrap_servers": "bootstrap_servers",
    "max_request_size": "message.max.bytes",
    "fetch_max_wait_ms": "fetch.wait.max.ms",
    "metadata_max_age_ms": "topic.metadata.refresh.interval.ms",
    "max_block_ms": None,
    "bootstrap_timeout_ms": None,
}


def named(client: str, section: dict[str, Any]) -> dict[str, Any]:
    """The section `kafka` of a file for a client, written with the names of kafka-python."""
    if client == "kafka-python":
        return section
    sides = {side: named(client, section.get(side, {})) for side in ("consumer", "producer") if side in section}
    names = {key: LIBRDKAFKA.get(key, key.replace("_", ".")) for key in section if key not in sides}
    return {name: section[key] for key, name in names.items() if name} | sides


class Stream:
    """Topics of their own on a broker, and the file of a processor between them."""

    def __init__(self, kafka: Any, folder: Path, /, partitions: int = 2, **changes: Any) -> None:
        self.kafka, self.folder, self.partitions = kafka, folder, partitions
        self.name = f"t{uuid.uuid4().hex[:12]}"
        self.input, self.output, self.rejects = (f"{self.name}-{part}" for part in ("events", "predictions", "rejects"))
        kafka.create_topics({self.input: partitions, self.output: partitions, self.rejects: 1})
        self.settings: dict[str, Any] = {
            "name": self.name,
            "kafka": {"bootstrap_servers": kafka.bootstrap_servers, "consumer": {"heartbeat_interval_ms": 300}},
            "input": {"topic": self.input},
            "record": {"label": "y", "id": "id"},
            "learner": ["StandardScaler", {"PAClassifier": {"C": 0.01, "mode": 1}}],
            "output": {"topic": self.output},
            "rejects": {"topic": self.rejects},
            "checkpoint": {"every": "100ms"},
            "snapshots": str(folder / "snapshots"),
        } | changes

    def forget_the_dead_soon(self) -> None:
        """Shortens the time after which a dead process' partitions and transaction are given up."""
        self.settings["kafka"] |= {
            "consumer": {"session_timeout_ms": 2500, "heartbeat_interval_ms": 300},
            "producer": {"transaction_timeout_ms": 2000},
        }

    def file(self, **changes: Any) -> Path:
        """Writes the processor's file: JSON is YAML."""
        path = self.folder / f"{self.name}-{uuid.uuid4().hex[:6]}.yaml"
        settings = {key: value for key, value in (self.settings | changes).items() if value is not None}
        settings["kafka"] = {"client": CLIENT, **named(CLIENT, settings["kafka"])}
        path.write_text(json.dumps(settings, indent=1))
        return path

    def config(self, **changes: Any) -> config.Config:
        return config.load(self.file(**changes))

    def produce(self, values: Iterable[Any], key: bytes | None = b"k", partition: int | None = None) -> None:
        """Writes values to the input, to its partitions in turn or to one: what fits into a batch arrives together.

        Values are bytes, None, or objects that become JSON.
        """
        settings = {"linger_ms": 60_000, "batch_size": 512 * 1024}  # a flush does not wait for the former
        settings["metadata_max_age_ms"] = 500  # a partition that was just added comes to be known
        producer = KafkaProducer(bootstrap_servers=self.kafka.bootstrap_servers, **settings)
        try:
            wait_for(lambda: (partition or 0) in (producer.partitions_for(self.input) or ()), "the partition")
            futures = [
                producer.send(self.input, value, key, partition=n % self.partitions if partition is None else partition)
                for n, value in enumerate(map(_encoded, values))
            ]
            producer.flush()
            for future in futures:
                future.get(timeout=DEADLINE)
        finally:
            producer.close()

    @contextlib.contextmanager
    def reader(self, topic: str, isolation: str = "read_committed") -> Iterator[tuple[KafkaConsumer, list[Any]]]:
        """A consumer of all partitions of a topic from their beginning."""
        consumer = KafkaConsumer(
            bootstrap_servers=self.kafka.bootstrap_servers, isolation_level=isolation, auto_offset_reset="earliest"
        )

        def partitions() -> Any:
            # a broker that was paused knows of none until it is let in again
            with contextlib.suppress(MetadataEmptyBrokerList, KafkaTimeoutError):
                # What it has heard of this topic is enough. Else it asks for all, hundreds on a broker of the suite.
                consumer.assign([TopicPartition(topic, 0)])
                consumer.beginning_offsets([TopicPartition(topic, 0)], timeout_ms=5000)
                return consumer.partitions_for_topic(topic)

        try:
            places = [TopicPartition(topic, p) for p in sorted(wait_for(partitions, f"the partitions of `{topic}`"))]
            consumer.assign(places)
            consumer.seek_to_beginning()
            yield consumer, places
        finally:
            consumer.close()

    def read(self, topic: str, count: int) -> list[Any]:
        """Returns all committed messages of a topic; fails unless there are just `count` of them."""
        found: list[Any] = []
        end = time.monotonic() + DEADLINE
        with self.reader(topic) as (consumer, places):
            while len(found) < count or any(consumer.position(p) < consumer.end_offsets([p])[p] for p in places):
                for messages in consumer.poll(timeout_ms=200).values():
                    found += messages
                raise_what_ended()
                assert time.monotonic() < end, f"{len(found)} of {count} messages in `{topic}`"
        assert len(found) == count, f"`{topic}` has {len(found)} messages, {count} were expected"
        return found

    def outputs(self, count: int) -> dict[int, list[Any]]:
        """The output values by partition, in order."""
        found: dict[int, list[Any]] = {number: [] for number in range(self.partitions)}
        for message in self.read(self.output, count):
            found[message.partition].append(json.loads(message.value))
        return found

    def assert_exact(self, records: list[dict[str, Any]], outputs: dict[int, list[Any]] | None = None) -> None:
        """Asserts that records, produced to the partitions in turn, have the outputs of the bare learner.

        The outputs are read if they are not given.
        """
        model = self.config().build_learner
        found = self.outputs(len(records)) if outputs is None else outputs
        assert found == {n: twin(model(), records[n :: self.partitions]) for n in range(self.partitions)}

    def members(self) -> list[int]:
        """How many partitions each member of the group has."""
        return sorted(
            len(topic["partitions"])
            for member in self._describe_group()["members"]
            for topic in (member["member_assignment"] or {}).get("assigned_partitions", [])
        )

    def member_ids(self) -> list[str]:
        return [member["member_id"] for member in self._describe_group()["members"]]

    def _describe_group(self) -> Any:
        admin = self._kept("admin")

        def describe() -> Any:
            with contextlib.suppress(CoordinatorNotAvailableError):  # of a broker that has had no group yet
                return admin.describe_groups([self.name])[self.name]

        return wait_for(describe, "a group coordinator")

    def configure(self, topic: str, **settings: Any) -> None:
        """Sets properties of a topic, `_` for `.` in their names."""
        configs = {name.replace("_", "."): str(value) for name, value in settings.items()}
        with self.admin() as admin:
            admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs=configs)])

    def limit_producer(self, client_id: str, bytes_per_second: float) -> None:
        """Sets a quota on what clients with this id may write to a broker."""
        entry = AlterClientQuotasRequest.EntryData
        of = [entry.EntityData(entity_type="client-id", entity_name=client_id)]
        ops = [entry.OpData(key="producer_byte_rate", value=float(bytes_per_second), remove=False)]
        request = AlterClientQuotasRequest(entries=[entry(entity=of, ops=ops)], validate_only=False)

        async def send() -> Any:
            return await admin._manager.send(request)

        with self.admin() as admin:
            (answer,) = admin._manager.run(send).entries
        assert not answer.error_code, answer

    @contextlib.contextmanager
    def admin(self) -> Iterator[KafkaAdminClient]:
        admin = KafkaAdminClient(bootstrap_servers=self.kafka.bootstrap_servers)
        try:
            yield admin
        finally:
            admin.close()

    def place(self, partition: int) -> TopicPartition:
        return TopicPartition(self.input, partition)

    def committed(self, partition: int) -> Any:
        consumer = self._kept("group")
        found = consumer.committed(self.place(partition), metadata=True, timeout_ms=int(1000 * DEADLINE))
        return found and found._replace(metadata=found.metadata.rstrip("\0"))  # which confluent-kafka adds

    def _kept(self, kind: str) -> Any:
        """A client that stays open to the end of the test: many tests ask again and again, and a new one costs more."""
        if (self, kind) not in _clients:
            _clients[self, kind] = _open.enter_context(getattr(self, kind)())
        return _clients[self, kind]

    def pointer(self, partition: int = 0) -> OffsetMetadata:
        """What the committed offset of a partition names."""
        found = OffsetMetadata.from_text(self.committed(partition).metadata)
        assert found is not None
        return found

    def snapshot_path(self, partition: int = 0) -> Path:
        """The file of the snapshot that the committed offset names."""
        (path,) = (self.folder / "snapshots").rglob(f"{self.pointer(partition).snapshot}.snapshot")
        return path

    @contextlib.contextmanager
    def group(self) -> Iterator[KafkaConsumer]:
        consumer = KafkaConsumer(
            bootstrap_servers=self.kafka.bootstrap_servers,
            group_id=self.name,
            isolation_level="read_committed",
            enable_auto_commit=False,
        )
        try:
            yield consumer
        finally:
            consumer.close()


_clients: dict[tuple[Stream, str], Any] = {}
_open = contextlib.ExitStack()  # closes them


def close_clients() -> None:
    """Closes the clients that a test has asked."""
    _clients.clear()
    _open.close()


def _encoded(value: Any) -> bytes | None:
    return value if value is None or isinstance(value, bytes) else orjson.dumps(value)


def ended(committed: Any) -> Any:
    """An offset as the processor commits it: confluent-kafka reads on behind metadata that no null character ends."""
    return committed._replace(metadata=f"{committed.metadata}\0")


HOLD = """
import logging, sys, time

def hold():
    print("held", file=sys.stderr, flush=True)
    sys.stdin.read()
"""


def start(file: Path, before: str = "", arguments: Iterable[str] = ()) -> Fork:
    """A processor as a process of its own; `before` is code that runs before it, and may `hold()` until `let_go`."""
    code = f"{HOLD}\n{textwrap.dedent(before)}\nfrom connectors import cli\ncli.main()"
    _started.append(Fork(code, ["run", str(file), *arguments]))
    return _started[-1]


_started: list[Fork] = []


def kill_what_is_left() -> None:
    """Kills what a test has started and, because it failed, not ended: a processor waits for its broker for ever."""
    while _started:
        process = _started.pop()
        if process.poll() is None:
            process.kill()
            process.communicate()


def read_until(process: Fork, part: str) -> str:
    """Reads what a process says up to a line with this part, and returns that line."""
    return next(line for line in process.stderr if part in line)


def let_go(process: Fork) -> None:
    """Lets a process go on that holds, and never hold again."""
    assert process.stdin is not None
    process.stdin.close()
    process.stdin = None  # `communicate` takes a closed one for open


def before_each_record(monkeypatch: pytest.MonkeyPatch, see: Callable[[Any], object]) -> None:
    """Shows each record of the processors that start from now on, right before it is processed."""

    class OneByOne:
        def __init__(self, outbox: Any) -> None:
            self._loop = RecordLoop(outbox)

        @property
        def place(self) -> int:
            return self._loop.place

        def take(self, partitions: Any, records: list[Any], place: int, skipped: set[int], due: float) -> int:
            last = place - 1
            while last < place < len(records) and time.monotonic() < due:
                see(records[place])
                last, place = place, self._loop.take(partitions, records[: place + 1], place, skipped, due)
            return place

    monkeypatch.setattr(processor, "RecordLoop", OneByOne)


class Running:
    """A processor in a thread of this process."""

    def __init__(self, file: config.Config) -> None:
        self.stop = Stop()
        self.result: Counts | BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=[file], daemon=True)
        self._thread.start()

    def _run(self, file: config.Config) -> None:
        try:
            self.result = processor.run(file, self.stop)
        except BaseException as error:
            self.result = error

    def end(self) -> Counts:
        """Asks for the end and returns what was done; raises what the processor raised."""
        self.stop.request()
        return self.wait()

    def wait(self) -> Counts:
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive(), hung or "the processor does not end"
        if isinstance(self.result, BaseException):
            raise self.result
        assert self.result is not None
        return self.result


_running: list[Running] = []
hung: Exception | None = None  # of a processor in a thread whose commit does not end, see `conftest.py`


@contextlib.contextmanager
def running(file: config.Config) -> Iterator[Running]:
    process = Running(file)
    _running.append(process)
    try:
        yield process
    finally:
        _running.remove(process)
        process.stop.request()
        process._thread.join(DEADLINE)


def raise_what_ended() -> None:
    """Raises what a running processor raised, or that it hangs, so that nobody waits for its output."""
    if hung:
        raise hung
    for process in _running:
        if isinstance(process.result, BaseException):
            raise process.result


def wait_for(condition: Callable[[], Any], what: str) -> Any:
    end = time.monotonic() + DEADLINE
    while not (found := condition()):
        raise_what_ended()
        assert time.monotonic() < end, f"{what}: not within {DEADLINE:g} s"
        time.sleep(0.05)
    return found


def phishing(count: int, unlabelled: int = 5) -> list[dict[str, Any]]:
    """River's Phishing stream, several times over; each `unlabelled`-th record has no label, or a null one."""
    return [
        {"id": f"r{n}", **x} | ({"y": y} if n % unlabelled else {"y": None} if n % 2 else {})
        for n, (x, y) in zip(range(count), itertools.cycle(_examples()), strict=False)
    ]


@functools.cache
def _examples() -> list[tuple[dict[str, Any], bool]]:
    return list(Phishing())


def twin(model: Any, records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the bare pipeline says of these records: predict, score, then learn.

    Before the first label there is no score, unless the record itself has a label: then 0, or no number for any class.
    """
    said = []
    *transformers, last = model.steps.values() if hasattr(model, "steps") else [model]
    for record in records:
        features = {name: value for name, value in record.items() if name not in ("id", "y")}
        transformed = features
        for transformer in transformers:
            transformed = transformer.transform_one(transformed)
        label = record.get("y")
        score = last.score_one(transformed)
        if score == {} and (label is None or isinstance(label, bool)):
            score = None if label is None else 0.0
        output = {"id": record["id"], "prediction": model.predict_one(features), "score": score}
        said.append(output | ({"label": label} if label is not None else {}))
        if label is not None:
            model.learn_one(features, label)
    return said
