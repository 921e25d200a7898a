"""Broken and odd records by the million: `python -m tests.torture.hostile [--client NAME]`.

One processor on four partitions of a real Apache Kafka reads records from `grammar`. Each must come out once, as an
output, as a reject with its original bytes, or as both if only its label is wrong; the outputs must be those of a bare
learner that never learned the rejects, and the processor's memory must stay what it was. Prints a table, and ends with
1 when anything is wrong.
"""

import argparse
import contextlib
import hashlib
import json
import random
import re
import resource
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType

from connectors.kafka import CLIENTS
from connectors.kafka.local import LocalKafka
from connectors.tools.referee import expected
from tests.torture.grammar import BOTH, EITHER, LARGE, OUTPUT, REJECT, Hostile, records
from tests.torture.group import DEADLINE, PARTITIONS, Group, Worker

LIMIT = 2 * LARGE  # bytes of a request or a message: a large record fits with its headers
SETTINGS = {
    "consumer": {"session_timeout_ms": 30_000, "max_poll_interval_ms": 60_000},
}
LARGEST = {"kafka-python": "max_request_size", "confluent": "message_max_bytes"}
# Memory at the end of the run, as a multiple of that after its first tenth and of that half-way: the heap of a process
# keeps holes as large as the largest records it has met, but must come to rest.
GROWTH, LATE_GROWTH = 1.25, 1.05
SAMPLE = 0.2  # seconds between two looks at the memory


@dataclass
class Row:
    """What became of the records of a kind."""

    records: int = 0
    outputs: int = 0
    rejects: int = 0
    reasons: Counter[str] = field(default_factory=Counter)


@dataclass
class Report:
    """`wrong` has a sentence for what is not as promised, by what is wrong, with how often."""

    rows: dict[str, Row] = field(default_factory=lambda: defaultdict(Row))
    wrong: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    memory: list[tuple[int, float]] = field(default_factory=list)
    seconds: float = 0.0

    def note(self, what: str, example: object) -> None:
        self.wrong[what] += 1
        self.examples.setdefault(what, str(example)[:300])

    def sizes(self) -> tuple[float, float, float]:
        """The median memory in MB after a tenth of the records, half-way and at the end."""
        whole = self.memory[-1][0]

        def median(first: float, last: float) -> float:
            found = [size for done, size in self.memory if first * whole <= done <= last * whole]
            return statistics.median(found or [self.memory[-1][1]])

        return median(0.1, 0.2), median(0.45, 0.55), median(0.9, 1)


def run(kafka: Any, folder: Path, count: int, seed: int, client: str = "kafka-python") -> Report:
    """Feeds the records, lets a processor work them off, and compares."""
    report = Report()
    settings = SETTINGS | {"producer": {LARGEST[client]: LIMIT}}
    with Group(kafka, folder, settings=settings, clients=[client]) as group:
        _allow_large(group)
        _feed(group, count, seed)
        began = time.monotonic()
        worker = group.spawn()
        _watch(group, worker, count, report)
        report.seconds = time.monotonic() - began
        if code := group.end(worker):
            report.note("the processor ended with an error", f"exit {code}: {worker.last_words()}")
        _judge(group, count, seed, report)
    return report


def _allow_large(group: Group) -> None:
    topics = [group.config.input.topic, group.config.output.topic, group.config.rejects.topic]
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=group.kafka.bootstrap_servers)) as admin:
        admin.alter_configs(
            [
                ConfigResource(ConfigResourceType.TOPIC, topic, configs={"max.message.bytes": str(LIMIT)})
                for topic in topics
            ]
        )


def _feed(group: Group, count: int, seed: int) -> None:
    producer = KafkaProducer(
        bootstrap_servers=group.kafka.bootstrap_servers, max_request_size=LIMIT, linger_ms=20, batch_size=128 * 1024
    )
    futures: Any = []
    for n, record in enumerate(records(count, seed, PARTITIONS)):
        future = producer.send(
            group.config.input.topic, record.value, record.key, record.headers, partition=n % PARTITIONS
        )
        futures.append(future)
        if len(futures) == 10_000:
            for future in futures:
                future.get(timeout=DEADLINE)
            futures = []
    for future in futures:
        future.get(timeout=DEADLINE)
    producer.close()
    assert sum(group.ends()) == count, "the input has other records than were sent"


def _watch(group: Group, worker: Worker, count: int, report: Report) -> None:
    """Notes the memory of the processor and how many records it has committed, until all are."""
    page = resource.getpagesize() / 1e6
    with worker.log.open() as log:
        done, waited = 0, time.monotonic()
        while done < count:
            assert worker.is_alive, f"the processor ended: {worker.last_words()}"
            new = sum(map(int, re.findall(r"committed partitions=\S+ records=(\d+)", log.read())))
            if new:
                waited = time.monotonic()
            done += new
            assert time.monotonic() < waited + DEADLINE, f"no commit for {DEADLINE:g} s: {worker.last_words()}"
            pages = int(Path(f"/proc/{worker.process.pid}/statm").read_text().split()[1])
            report.memory.append((done, pages * page))
            time.sleep(SAMPLE)


# What came of it


def digest(content: bytes | None) -> bytes | None:
    return None if content is None else hashlib.sha256(content).digest()


def _judge(group: Group, count: int, seed: int, report: Report) -> None:
    outputs, rejects = _outputs(group, report), _rejects(group, report)
    learners = [group.config.first_learner() for _ in range(PARTITIONS)]
    for n, record in enumerate(records(count, seed, PARTITIONS)):
        source = f"{group.config.input.topic}-{n % PARTITIONS}-{n // PARTITIONS}"
        row = report.rows[record.kind]
        row.records += 1
        output, reject = outputs.pop(source, None), rejects.pop(source, None)
        found = BOTH if output and reject else OUTPUT if output else REJECT if reject else ""
        if found != record.destiny and not (found and record.destiny == EITHER):
            report.note(f"`{record.kind}` has `{found}`, not `{record.destiny}`", f"{source}: {record.value!r}")
        if reject is not None:
            row.rejects += 1
            row.reasons[re.sub(r"['`].*?['`]|\d+", "...", reject[2])[:70]] += 1
            _check_reject(source, record, reject, report)
        if output is not None:
            row.outputs += 1
            is_learned = reject is None
            _check_output(source, record, output, learners[n % PARTITIONS], is_learned, group, report)
    for source in [*outputs, *rejects]:
        report.note("comes from no input", source)


def _check_reject(source: str, record: Hostile, reject: Any, report: Report) -> None:
    value, key, reason = reject
    if (value, key) != (digest(record.value), digest(record.key)):
        report.note("a reject without its original bytes", f"{source} ({record.kind})")
    if not 0 < len(reason) < 1_000:
        report.note("a reason that nobody can read", f"{source} ({record.kind}): {len(reason)} characters")


def _check_output(
    source: str, record: Hostile, output: Any, learner: Any, is_learned: bool, group: Group, report: Report
) -> None:
    value, key = output
    assert record.value is not None
    said, bare = json.loads(value), expected(group.config, learner, source, record.value, is_learned)
    if repr(said) != repr(bare) or key != digest(record.key):
        report.note("an output that is not the bare learner's", f"{source} ({record.kind}): {said}, not {bare}")


def _outputs(group: Group, report: Report) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for message, source, _ in _messages(group, group.config.output.topic):
        if source in found:
            report.note("not accounted for exactly once", f"{source} has two outputs")
        found[source] = message.value, digest(message.key)
    return found


def _rejects(group: Group, report: Report) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for message, source, headers in _messages(group, group.config.rejects.topic):
        if source in found:
            report.note("not accounted for exactly once", f"{source} has two rejects")
        found[source] = digest(message.value), digest(message.key), headers["reason"].decode()
    return found


def _messages(group: Group, topic: str) -> Any:
    """All committed messages, one after the other: they need not fit into memory."""
    consumer = KafkaConsumer(bootstrap_servers=group.kafka.bootstrap_servers, isolation_level="read_committed")
    with contextlib.closing(consumer):
        places = [TopicPartition(topic, number) for number in sorted(consumer.partitions_for_topic(topic))]
        ends = consumer.end_offsets(places)
        consumer.assign(places)
        consumer.seek_to_beginning()
        deadline = time.monotonic() + DEADLINE
        while any(consumer.position(place) < ends[place] for place in places):
            assert time.monotonic() < deadline, f"`{topic}` could not be read to its end"
            for batch in consumer.poll(timeout_ms=200).values():
                deadline = time.monotonic() + DEADLINE
                for message in batch:
                    headers = dict(message.headers)
                    yield message, headers["source"].decode(), headers


def table(report: Report) -> str:
    lines = ["| kind | records | outputs | rejects | most frequent reason |", "|---|---|---|---|---|"]
    for kind, row in sorted(report.rows.items(), key=lambda item: -item[1].records):
        ((reason, _),) = row.reasons.most_common(1) or [("", 0)]
        lines.append(f"| {kind} | {row.records:,} | {row.outputs:,} | {row.rejects:,} | {reason} |")
    rows = report.rows.values()
    sums = (sum(row.records for row in rows), sum(row.outputs for row in rows), sum(row.rejects for row in rows))
    lines.append("| **all** | " + " | ".join(f"{number:,}" for number in sums) + " | |")
    early, middle, late = report.sizes()
    memory = f"memory {early:.0f} MB after a tenth of the records, {middle:.0f} MB half-way, {late:.0f} MB at the end"
    lines += ["", f"{report.seconds:.0f} s; {memory}"]
    lines += [f"WRONG: {what}, {times} times, such as {report.examples[what]}" for what, times in report.wrong.items()]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--client", choices=CLIENTS, default="kafka-python")
    options = parser.parse_args()
    print(f"{options.records} records, seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder, LocalKafka() as kafka:
        report = run(kafka, Path(folder), options.records, options.seed, options.client)
    early, middle, late = report.sizes()
    if late > early * GROWTH or late > middle * LATE_GROWTH:
        report.note("the memory has grown", f"from {early:.0f} and {middle:.0f} to {late:.0f} MB")
    print(table(report))
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
