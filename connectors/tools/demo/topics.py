"""The demo: a real Kafka, a real stream, a processor killed in the middle of its work, and a proof of its output.

The demo sends River's Phishing stream several times over and runs `phishing.yaml` as a process of its own. Half-way it
kills that process with kill -9 and starts a second one. At the end it compares every output with the bare learner's.
"""

import collections
import contextlib
import json
import logging
import os
import pathlib
import secrets
import signal
import tempfile
import time
from collections.abc import Iterator

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError
from rich.console import Console
from rich.table import Table

from connectors import config
from connectors.errors import ConnectorError, StartError
from connectors.kafka import ClientError, client, local
from connectors.tools import referee
from connectors.tools.demo import files as demo_files
from connectors.tools.demo.stage import EXAMPLES, Processor, Screen

EXAMPLE = EXAMPLES / "phishing.yaml"
PARTITIONS = 4
PASSES = 16
RATE = 500  # records per second: the stream takes 40 s, long enough for the kill and the start of the second process
AHEAD = 1000  # records sent before their output is committed, at most, until the first process is killed
IN_FLIGHT = 100  # outputs in an open transaction when the first process is killed, at least
LONGEST_PAUSE = 90.0  # seconds without output after which the demo gives up


def run() -> bool:
    """Run the demo and return whether every output is the bare learner's, bit for bit.

    The demo runs on files if there is no local Kafka and the environment variable BOOTSTRAP names none.

    Raises
    ------
    ConnectorError
        The processor ended by itself, or no broker answers at BOOTSTRAP.
    """
    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # the library raises what it logs
    console = Console()
    try:
        return _run_on_kafka(console)
    except local.LocalKafkaUnavailable as error:
        console.print(f"there is no local Kafka: {error}", highlight=False, soft_wrap=True)
    console.print("the demo runs on files instead, with the same proof")
    return demo_files.run(console)


def _run_on_kafka(console: Console) -> bool:
    prefix = f"demo-{secrets.token_hex(4)}-"
    with _broker(console, prefix) as broker, tempfile.TemporaryDirectory(prefix="river-margins-") as folder:
        os.environ |= {"BOOTSTRAP": broker, "PREFIX": prefix, "SNAPSHOTS": f"{folder}/snapshots"}
        settings = config.load_topics(EXAMPLE)
        local.create_topics(broker, dict.fromkeys(_topics(settings), PARTITIONS))
        with contextlib.ExitStack() as resources, Screen(console) as screen:
            stage = Stage(settings, pathlib.Path(folder), resources)
            stage.perform(screen)
        console.print("comparing every output with the bare learner ...")
        verdict = referee.compare(settings)
    is_proven = verdict.exact and verdict.outputs == verdict.inputs == stage.feed.total and stage.pause is not None
    _summarise(console, stage, verdict, is_proven)
    return is_proven


class Feed:
    """Sends the stream at a steady rate."""

    def __init__(self, settings: config.Config) -> None:
        from river import datasets  # only here, see tests/connectors/cli/test_imports.py

        stream = list(datasets.Phishing())
        self._records = [
            {"id": f"site-{turn}-{number}", **features, "is_phishing": label}
            for turn in range(PASSES)
            for number, (features, label) in enumerate(stream)
        ]
        self._topic = settings.input.topic
        self._producer = KafkaProducer(bootstrap_servers=settings.kafka.bootstrap_servers, linger_ms=20, acks="all")
        self._began = time.monotonic()
        self.total = len(self._records)
        self.sent = 0

    def step(self, limit: int) -> None:
        """Send what is due, up to this number of records in all."""
        due = max(self.sent, min(self.total, limit, int((time.monotonic() - self._began) * RATE)))
        for number in range(self.sent, due):
            record = self._records[number]
            value, key = json.dumps(record).encode(), record["id"].encode()
            self._producer.send(self._topic, value, key, partition=number % PARTITIONS)
        self.sent = due

    def close(self) -> None:
        self._producer.close(timeout=10)


class OutputCounter:
    """Reads the output topic and counts its records."""

    def __init__(self, settings: config.Config, isolation_level: str) -> None:
        self._consumer = KafkaConsumer(
            bootstrap_servers=settings.kafka.bootstrap_servers,
            isolation_level=isolation_level,
            enable_auto_commit=False,
            max_poll_records=5000,
        )
        self._consumer.assign([TopicPartition(settings.output.topic, number) for number in range(PARTITIONS)])
        self._consumer.seek_to_beginning()
        self._history: collections.deque[tuple[float, int]] = collections.deque(maxlen=50)
        self.outputs = self.right = 0
        self.snapshots: set[bytes] = set()

    def step(self, seconds: float) -> None:
        for records in self._consumer.poll(timeout_ms=int(seconds * 1000)).values():
            for record in records:
                output = json.loads(record.value)
                self.outputs += 1
                self.right += output["prediction"] == output["label"]
                self.snapshots.add(dict(record.headers)["model"].partition(b"/")[0])
        self._history.append((time.monotonic(), self.outputs))

    @property
    def rate(self) -> float:
        """The records per second, over the last few seconds."""
        (began, before), (now, after) = self._history[0], self._history[-1]
        return (after - before) / (now - began) if now > began else 0.0

    def close(self) -> None:
        self._consumer.close()


class Stage:
    """Runs the stream through two processes, one after the other, and counts their output."""

    def __init__(self, settings: config.Config, folder: pathlib.Path, resources: contextlib.ExitStack) -> None:
        self._folder, self._resources = folder, resources
        self.seen, self.written = (
            resources.enter_context(contextlib.closing(OutputCounter(settings, level)))
            for level in ("read_committed", "read_uncommitted")
        )
        self.processor = self._start("first")
        self.feed = resources.enter_context(contextlib.closing(Feed(settings)))
        self.in_flight = self._outputs_then = 0
        self.killed_at: float | None = None
        self.pause: float | None = None

    def perform(self, screen: Screen) -> None:
        """Send the whole stream, kill the first process half-way and start the second one."""
        screen.event(f"process {self.processor.pid} started")
        progress = time.monotonic(), (0, 0)
        while self.seen.outputs < self.feed.total:
            # a processor that starts slowly would work off the whole stream before it could be killed in its middle
            self.feed.step(self.seen.outputs + AHEAD if self.killed_at is None else self.feed.total)
            self.written.step(0)
            self.seen.step(0.1)
            if self.processor.has_ended():
                raise ConnectorError(f"the processor ended by itself:\n{self.processor.last_lines()}")
            self._direct(screen)
            self._show(screen)
            if (self.seen.outputs, self.feed.sent) != progress[1]:
                progress = time.monotonic(), (self.seen.outputs, self.feed.sent)
            if time.monotonic() - progress[0] > LONGEST_PAUSE:
                lines = self.processor.last_lines()
                raise ConnectorError(f"no output for {LONGEST_PAUSE:.0f} s; the end of the processor's log:\n{lines}")
        code = self.processor.end(signal.SIGTERM)
        screen.event(f"process {self.processor.pid} asked to stop (SIGTERM): exit code {code}")
        if code:
            raise ConnectorError(f"the processor ended with exit code {code}:\n{self.processor.last_lines()}")

    def _direct(self, screen: Screen) -> None:
        open_outputs = self.written.outputs - self.seen.outputs
        if self.killed_at is None and self.seen.outputs >= self.feed.total / 2 and open_outputs >= IN_FLIGHT:
            first = self.processor
            first.end(signal.SIGKILL)
            self.killed_at, self._outputs_then = time.monotonic(), self.seen.outputs
            self.in_flight = open_outputs
            screen.event(f"process {first.pid} killed (kill -9) with {open_outputs} outputs in an open transaction")
            self.processor = self._start("second")
            screen.event(f"process {self.processor.pid} started; the group waits for the end of the dead one's session")
        elif self.killed_at is not None and self.pause is None and self.seen.outputs > self._outputs_then:
            self.pause = time.monotonic() - self.killed_at
            screen.event(f"output continues, {self.pause:.1f} s after the kill")

    def _show(self, screen: Screen) -> None:
        rows = {
            "records in": f"{self.feed.sent:,} of {self.feed.total:,}",
            "records out": f"{self.seen.outputs:,}",
            "accuracy so far": f"{self.seen.right / max(self.seen.outputs, 1):.2%}",
            "records per second": f"{self.seen.rate:,.0f}",
            "lag": f"{self.feed.sent - self.seen.outputs:,}",
            "snapshots": f"{len(self.seen.snapshots):,}",
            "process": f"{self.processor.pid}",
        }
        screen.update("phishing: one learner a partition, exactly once", rows, self.feed.total, self.seen.outputs)

    def _start(self, name: str) -> Processor:
        processor = Processor(EXAMPLE, self._folder / f"{name}.log")
        return self._resources.enter_context(contextlib.closing(processor))


@contextlib.contextmanager
def _broker(console: Console, prefix: str) -> Iterator[str]:
    """Yield the address of the broker that BOOTSTRAP names, cleaned up afterwards, or of a local one."""
    given = os.environ.get("BOOTSTRAP")
    if not given:
        console.print("starting a local Apache Kafka (the first time its jars are fetched, 45 MB) ...")
        with local.LocalKafka() as kafka:
            yield kafka.bootstrap_servers
        return
    console.print(f"using the broker at {given}, with topics that begin with {prefix}")
    try:
        client("kafka-python").describe([], {"bootstrap_servers": given}, 15.0)
    except ClientError as error:
        raise StartError(f"no broker answers at `{given}`, which BOOTSTRAP names: {error}") from error
    try:
        yield given
    finally:
        with contextlib.suppress(KafkaError), KafkaAdminClient(bootstrap_servers=given) as admin:
            admin.delete_topics([topic for topic in admin.list_topics() if topic.startswith(prefix)])
            admin.delete_groups([f"{prefix}phishing"])


def _topics(settings: config.Config) -> list[str]:
    topics = [settings.input.topic, settings.output.topic]
    return topics + ([settings.rejects.topic] if settings.rejects else [])


def _summarise(console: Console, stage: Stage, verdict: referee.Verdict, is_proven: bool) -> None:
    table = Table(title="what the referee found", show_header=False)
    table.add_row("records in", f"{verdict.inputs:,}")
    table.add_row("records out, as a reader of committed records sees them", f"{verdict.outputs:,}")
    table.add_row("without an output", f"{verdict.lost:,}")
    table.add_row("with more than one", f"{verdict.doubled:,}")
    table.add_row("out of order within their partition", f"{verdict.disordered:,}")
    table.add_row("prediction or score differs from the bare learner's by a bit or more", f"{verdict.different:,}")
    table.add_row("in an open transaction when the first process was killed", f"{stage.in_flight:,} or more")
    table.add_row("written by it, dropped by Kafka, and written again by the second", f"{verdict.dropped:,}")
    table.add_row("pause seen by a reader, from the kill on", f"{stage.pause or 0:.1f} s")
    table.add_row("accuracy", f"{stage.seen.right / max(stage.seen.outputs, 1):.2%}")
    console.print(table)
    for sentence in verdict.examples:
        console.print(f"  {sentence}", highlight=False, soft_wrap=True)
    if is_proven:
        console.print("exact: the kill cannot be seen in the output")
    elif verdict.exact:
        console.print("NOT proven: the processor had finished before it could be killed half-way")
    else:
        console.print("NOT exact: the output is not what the bare learner gives")
