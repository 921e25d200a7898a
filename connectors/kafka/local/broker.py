"""A real Apache Kafka on this machine, from two pip packages: for demos and for tests with real faults."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from kafka.admin import KafkaAdminClient
from kafka.errors import InvalidReplicationFactorError, KafkaError

from connectors.errors import StartError
from connectors.kafka.kafka_python import check_assertions
from connectors.kafka.local import blank_folder
from connectors.kafka.local.class_archive import WRITE_TIMEOUT, ClassArchive
from connectors.kafka.local.jars import LocalKafkaUnavailable, java, kafka_jars
from connectors.kafka.local.ports import HeldPort

__all__ = ["VERSION", "LocalKafka", "LocalKafkaUnavailable", "create_topics", "serve"]

VERSION = "4.3.0"
USUAL_PORT = 9092
# Seconds. A start takes 2 to 5, but two minutes were seen where others took nearly all of the processor.
START_TIMEOUT = 240.0
TOPICS_TIMEOUT = 120.0
LOOK_EVERY = 0.2  # seconds between two looks whether a broker still runs
Settings = Mapping[str, str | int | bool]
SWEEP = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
JVM = ["-Xmx400m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Djava.awt.headless=true"]
LOG4J = """log4j.rootLogger=WARN, console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%p %c: %m%n
"""
# Java replaces this shell and keeps its process id. A second shell in the background waits for the end of standard
# input, which comes when this Python ends in whatever way, kill -9 included. It then ends the broker and removes the
# folder ($0).
GUARDED = 'exec 3<&0; (read -r _ <&3; kill -9 $$; rm -rf "$0") & exec "$@" </dev/null 3<&-'


class LocalKafka:
    """An Apache Kafka (KRaft) that listens on 127.0.0.1 and is removed at the end of the `with` block.

    The brokers and their temporary folder are also removed when the Python process ends otherwise, killed included.

    Parameters
    ----------
    brokers
        1 to 3; each takes about 250 MB. With three, topics and transactions have three replicas and need two.
    version
        Apache Kafka's version; 4.3.0, 4.2.0 and 3.9.1 are tested. The first use downloads its jars (45 MB).
    settings
        Broker properties that are added or replaced. The brokers look for timed-out transactions every second, and not
        every 10 s as by default: `transaction.abort.timed.out.transaction.cleanup.interval.ms`. A single broker that
        was started again looks every 15 s: if one of 4.3.0 finds such a transaction before it listens, it never writes
        its end, and what was never committed becomes visible later. A single broker of 4.3.0 that is killed while it
        aborts a transaction does the same; for many such kills take 4.2.0.
    port
        Where the first broker listens; 0, the default, takes any free port. Other brokers always take free ports.

    Raises
    ------
    LocalKafkaUnavailable
        A package is missing, or the jars cannot be fetched.
    StartError
        The port is in use, or a broker does not start; the message then ends with the last lines of its log.

    Examples
    --------
    >>> with LocalKafka() as kafka:  # doctest: +SKIP
    ...     kafka.create_topics({"events": 4})
    ...     kafka.kill(1)  # as kill -9
    ...     kafka.start(1)  # same ports, same data
    """

    def __init__(
        self, brokers: int = 1, version: str = VERSION, settings: Settings | None = None, port: int = 0
    ) -> None:
        if brokers not in (1, 2, 3):
            raise ValueError(f"`brokers` must be 1, 2 or 3, not `{brokers}`")
        if not 0 <= port <= 65535:
            raise ValueError(f"`port` must be from 1 to 65535, or 0 for any free one, not `{port}`")
        self.version = version
        self._port = port
        self.nodes = range(1, brokers + 1)
        self._settings = settings or {}
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._ports: list[HeldPort] = []

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of the brokers, in the form that clients take."""
        self._check_begun()
        return ",".join(self._address(node) for node in self.nodes)

    def __enter__(self) -> Self:
        check_assertions()
        self._folder = Path(tempfile.mkdtemp(prefix="local-kafka-"))
        self._ports = []
        try:
            self._hold_ports()
            self._java = str(java())
            self._class_path = os.pathsep.join(map(str, kafka_jars(self.version)))
            self._archive = ClassArchive(self.version, JVM)
            self._new_archive = self._folder / "classes.jsa"
            self._format()
            for node in self.nodes:
                self._spawn(node)
            for node in self.nodes:
                self._wait_until_ready(node)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if 1 in self._processes and not self._archive.is_complete and self._end_in_order(1):
            self._archive.keep(self._new_archive)
        for node in list(self._processes):
            self.kill(node)
        for port in self._ports:
            port.release()
        shutil.rmtree(self._folder)

    def _hold_ports(self) -> None:
        """Hold two ports for each broker, also while it is down: those of the clients first, then the controllers'."""
        try:
            self._ports.append(HeldPort(self._port))
        except OSError as error:
            if not self._port:
                raise
            advice = "give another with `--port`, or `--port 0` for any free one"
            raise StartError(f"port {self._port} is in use: {advice}") from error
        while len(self._ports) < 2 * len(self.nodes):
            self._ports.append(HeldPort())

    def _end_in_order(self, node: int) -> bool:
        """Ask a broker to end, which writes the archive of its classes. Return False if that takes too long."""
        process = self._running(node)
        process.terminate()
        try:
            return process.wait(WRITE_TIMEOUT) >= 0  # below 0, a signal ended it, perhaps while it wrote
        except subprocess.TimeoutExpired:
            return False

    def start(self, node: int) -> None:
        """Start a broker again after `kill`, with its ports and data, and wait until it serves."""
        if node in self._processes:
            raise ValueError(f"broker {node} runs already: `kill({node})` it first")
        self._check(node)
        if len(self.nodes) == 1:
            self._write_properties(node, {SWEEP: 15_000, **self._settings})
        self._spawn(node)
        self._wait_until_ready(node)

    def kill(self, node: int) -> None:
        """End a broker at once, as kill -9 does; its data stays for `start`."""
        process = self._running(node)
        with contextlib.suppress(ProcessLookupError):  # its whole group was killed by others, and `wait` has seen it
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stdin is not None
        process.stdin.close()
        del self._processes[node]

    def stop(self, node: int) -> None:
        """Freeze a broker (SIGSTOP): its connections stay open and nothing answers."""
        process = self._running(node)
        os.kill(process.pid, signal.SIGSTOP)
        if hasattr(os, "waitid"):  # on macOS, Python has it from 3.13 on
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)  # some of its threads may run on for a moment

    def resume(self, node: int) -> None:
        """Let a frozen broker go on (SIGCONT)."""
        os.kill(self._running(node).pid, signal.SIGCONT)

    def create_topics(self, partitions: dict[str, int]) -> None:
        """Create topics, given their numbers of partitions, and wait until each partition has a leader."""
        create_topics(self.bootstrap_servers, partitions)

    def log(self, node: int, lines: int = 20) -> str:
        """Return the last lines of a broker's log, without those of Java's stack traces."""
        self._check(node)
        text = self._log_file(node).read_text(errors="replace")
        return "\n".join([line for line in text.splitlines() if not line.startswith("\tat ")][-lines:])

    def wait(self) -> None:
        """Block until a broker ends by itself, and raise a StartError with the end of its log."""
        while True:
            for node, process in list(self._processes.items()):
                if process.poll() is not None:
                    raise self._failed(node)
            time.sleep(LOOK_EVERY)  # a wait for any child would return for those of the caller, too

    def _check_begun(self) -> None:
        if not self._ports:
            raise ValueError("this Kafka was not started: write `with LocalKafka() as kafka:`")

    def _check(self, node: int) -> None:
        self._check_begun()
        if node not in self.nodes:
            raise ValueError(f"there is no broker {node}: there are {', '.join(map(str, self.nodes))}")

    def _running(self, node: int) -> subprocess.Popen[bytes]:
        self._check(node)
        if node not in self._processes:
            raise ValueError(f"broker {node} does not run: `start({node})` it first")
        return self._processes[node]

    def _address(self, node: int) -> str:
        return f"127.0.0.1:{self._ports[node - 1].number}"

    def _controller(self, node: int) -> str:
        return f"127.0.0.1:{self._ports[len(self.nodes) + node - 1].number}"

    def _log_file(self, node: int) -> Path:
        return self._folder / f"{node}.log"

    def _write_properties(self, node: int, settings: Settings) -> Path:
        file = self._folder / f"{node}.properties"
        file.write_text("".join(f"{name}={_text(value)}\n" for name, value in self._properties(node, settings).items()))
        return file

    def _properties(self, node: int, settings: Settings) -> dict[str, object]:
        replicas = len(self.nodes)
        in_sync = max(1, replicas - 1)
        # How long a killed broker must stay away before it may come back, and how long the others wait for it. A single
        # broker needs longer: if the machine has no time for it, it is fenced, and then there is no broker at all.
        session = 2000 if replicas > 1 else 6000
        return {
            "process.roles": "broker,controller",
            "node.id": node,
            "controller.quorum.voters": ",".join(f"{n}@{self._controller(n)}" for n in self.nodes),
            "listeners": f"PLAINTEXT://{self._address(node)},CONTROLLER://{self._controller(node)}",
            "advertised.listeners": f"PLAINTEXT://{self._address(node)}",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": self._folder / str(node),
            "default.replication.factor": replicas,
            "min.insync.replicas": in_sync,
            "offsets.topic.replication.factor": replicas,
            "transaction.state.log.replication.factor": replicas,
            "transaction.state.log.min.isr": in_sync,
            "share.coordinator.state.topic.replication.factor": replicas,
            "share.coordinator.state.topic.min.isr": in_sync,
            "offsets.topic.num.partitions": 2,
            "transaction.state.log.num.partitions": 2,
            "broker.session.timeout.ms": session,
            "broker.heartbeat.interval.ms": session // 4,
            "group.initial.rebalance.delay.ms": 0,
            "group.min.session.timeout.ms": 1000,
            SWEEP: 1000,
            # Its data is gone at its end anyway. Seven days, the default, count from the timestamps of the records:
            # records of an older stream would be deleted minutes after they were written.
            "log.retention.ms": -1,
            # An idle broker then takes 2.3 % of a processor, not 3.7: no record twice a second, fewer polling threads.
            "metadata.max.idle.interval.ms": 0,
            "num.io.threads": 3,
            "num.network.threads": 2,
            # Less memory (128 MB for the cleaner by default) and a quicker start after a kill, which makes the indexes
            # of all partitions again. An index of this size serves 350 MB; then another file begins.
            "log.cleaner.dedupe.buffer.size": 4 << 20,
            "log.index.size.max.bytes": 1 << 20,
            **settings,
        }

    def _command(self, main: str, *arguments: str, java_flags: Sequence[str] = ()) -> list[str]:
        logging = ["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", f"-Dlog4j.configuration=file:{self._folder}/log4j"]
        return [self._java, *JVM, *java_flags, *logging, "-cp", self._class_path, main, *arguments]

    def _format(self) -> None:
        """Write the properties of each broker and format an empty folder for it, all of one new cluster."""
        cluster = blank_folder.new_id()
        (self._folder / "log4j").write_text(LOG4J)
        for node in self.nodes:
            file, folder = self._write_properties(node, self._settings), self._folder / str(node)
            if blank_folder.make(folder, self.version, cluster, node):
                continue
            arguments = ["format", f"--cluster-id={cluster}", "-c", str(file)]
            command = self._command("kafka.tools.StorageTool", *arguments, java_flags=self._archive.flags())
            with self._log_file(node).open("wb") as log:
                done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False)
            if done.returncode:
                raise self._failed(node)
            blank_folder.keep(folder, self.version)

    def _spawn(self, node: int) -> None:
        flags = self._archive.flags(self._new_archive if node == 1 else None)
        command = self._command("kafka.Kafka", str(self._folder / f"{node}.properties"), java_flags=flags)
        with self._log_file(node).open("ab") as log:
            self._processes[node] = subprocess.Popen(
                ["/bin/sh", "-c", GUARDED, str(self._folder), *command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C reaches only the Python process, which then ends the brokers
            )

    def _wait_until_ready(self, node: int) -> None:
        """Wait until this broker answers and every running broker is registered and not fenced."""
        deadline = time.monotonic() + START_TIMEOUT
        while not self._serves(node):
            if self._processes[node].poll() is not None or time.monotonic() > deadline:
                raise self._failed(node)
            time.sleep(0.02)

    def _serves(self, node: int) -> bool:
        try:
            host, port = self._address(node).split(":")
            socket.create_connection((host, int(port)), timeout=1).close()
            with _admin(self._address(node)) as admin:
                brokers = admin.describe_cluster()["brokers"]
        except (OSError, KafkaError):
            return False
        return {b["broker_id"] for b in brokers if not b.get("is_fenced")} >= set(self._processes)

    def _failed(self, node: int) -> StartError:
        return StartError(
            f"broker {node} of the local Apache Kafka {self.version} does not run; its log ends with:\n{self.log(node)}"
        )


def create_topics(bootstrap_servers: str, partitions: dict[str, int]) -> None:
    """Create topics, given their numbers of partitions, and wait until each partition has a leader.

    They get as many replicas as the brokers have as their default.
    """
    deadline = time.monotonic() + TOPICS_TIMEOUT
    with _admin(bootstrap_servers) as admin:
        while True:
            try:
                admin.create_topics({t: {"num_partitions": n} for t, n in partitions.items()})
                break
            except InvalidReplicationFactorError:
                # A broker is fenced while it is late with its heartbeats, as on a machine that had no time for it.
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        admin.wait_for_topics(list(partitions), timeout_ms=round(TOPICS_TIMEOUT * 1000))


NEXT = """in another terminal, with a FILE whose `kafka.bootstrap_servers` is {servers}:
  river-margins topics create FILE
  river-margins produce FILE records.jsonl
  river-margins run FILE
  river-margins tail FILE --from-beginning
Ctrl-C stops Kafka and deletes its data"""


def serve(brokers: int = 1, version: str = VERSION, port: int = USUAL_PORT) -> None:
    """Run a local Kafka until Ctrl-C or SIGTERM.

    Its address is printed on standard output, and what to do next on standard error.

    Parameters
    ----------
    brokers
        1 to 3.
    version
        Apache Kafka's version.
    port
        Where the first broker listens; 0 takes any free port.

    Raises
    ------
    StartError
        Kafka is not available, the port is in use, or a broker does not start or ends by itself.
    """

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, interrupt)
    try:
        print(f"starting Apache Kafka {version}", file=sys.stderr)
        with LocalKafka(brokers, version, port=port) as kafka:
            print(kafka.bootstrap_servers, flush=True)
            print(NEXT.format(servers=kafka.bootstrap_servers.split(",")[0]), file=sys.stderr)
            kafka.wait()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)


def _admin(bootstrap_servers: str) -> KafkaAdminClient:
    return KafkaAdminClient(bootstrap_servers=bootstrap_servers)


def _text(value: object) -> str:
    """Return a value as Java reads it from a file of properties: in ASCII, with the escapes that JSON has, too."""
    return json.dumps(str(value).lower() if isinstance(value, bool) else str(value))[1:-1]
