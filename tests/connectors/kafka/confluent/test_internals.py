"""What confluent-kafka does not document, and does as `internals` relies on. A failure names the function."""

import contextlib
import gc
import importlib.metadata
import inspect
import signal
import subprocess
import sys
import threading
import time
import uuid
import weakref

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, KafkaException
from kafka import KafkaConsumer, TopicPartition
from kafka.structs import OffsetAndMetadata

from connectors.kafka import ClientError, NotAccepted
from connectors.kafka.confluent import internals
from connectors.kafka.confluent.library_log import log
from connectors.kafka.confluent.producer import Producer
from connectors.kafka.confluent.settings import ONE_MESSAGE_PER_BATCH
from tests.helpers.streams import DEADLINE, wait_for


def broken(function):
    installed = importlib.metadata.version("confluent-kafka")
    return (
        f"confluent-kafka {installed} has changed what `internals.{function.__name__}` relies on (tried with "
        f"{', '.join(internals.TRIED_VERSIONS)}): {inspect.getdoc(function)}"
    )


@pytest.fixture
def topic(kafka):
    name = f"i{uuid.uuid4().hex[:12]}"
    kafka.create_topics({name: 2})
    return name


@pytest.fixture
def consumer(kafka, topic):
    made = confluent_kafka.Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": topic})
    yield made
    made.close()


def test_parse_group_metadata(consumer, topic):
    """`test_facts` compares what is read with what the broker says."""
    consumer.subscribe([topic])
    wait_for(lambda: consumer.poll(0.1) or consumer.assignment(), "an assignment")
    generation, member = internals.parse_group_metadata(consumer.consumer_group_metadata())
    assert generation == 1 and member.startswith("rdkafka-"), broken(internals.parse_group_metadata)
    with pytest.raises(NotAccepted, match="update this package"):
        internals.parse_group_metadata(b"CGMDv9:" + bytes(20))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}\0', ['{"a": 1}']),
        ('{"a": 1}', ['{"a": 1}', "not readable"]),  # what lies behind it in memory may be no text
    ],
)
def test_offset_metadata(kafka, consumer, topic, text, expected):
    with contextlib.closing(
        KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers, group_id=topic, enable_auto_commit=False)
    ) as other:
        other.commit({TopicPartition(topic, 0): OffsetAndMetadata(7, text, -1)})
    (found,) = consumer.committed([confluent_kafka.TopicPartition(topic, 0)], DEADLINE)
    assert found.offset == 7
    assert internals.offset_metadata(found) in expected, broken(internals.offset_metadata)


def test_produce_arguments(kafka, topic):
    """Sent by our producer, which passes them by position."""
    installed = importlib.metadata.version("confluent-kafka")
    changed = f"`produce` of confluent-kafka {installed} takes other positions than {internals.PRODUCE_ARGUMENTS}"
    reported, headers = [], [("source", b"a-0-1")]
    sender = Producer(None, {"bootstrap_servers": kafka.bootstrap_servers, **ONE_MESSAGE_PER_BATCH})
    sender._on_failure = lambda *outcome, opaque: reported.append((*outcome, opaque))
    sender.send(topic, 1, b"key", b"value", headers, "mine")
    sender.send(topic, None, b"key", None, [], "other")
    sender.send(f"{topic}-unknown", 7, None, b"lost", [], "lost")
    sender.flush(DEADLINE)
    assert [opaque for *_, opaque in reported] == ["lost"], changed
    reader = KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers)
    with contextlib.closing(reader):
        reader.assign([TopicPartition(topic, number) for number in range(2)])
        reader.seek_to_beginning()
        found = []
        wait_for(
            lambda: found.extend(one for some in reader.poll(100).values() for one in some) or len(found) == 2, changed
        )
    sender.close()
    with_value, without = sorted(found, key=lambda one: one.value is None)
    assert (with_value.partition, with_value.key, with_value.value) == (1, b"key", b"value"), changed
    assert with_value.headers == headers and without.key == b"key", changed
    assert abs(with_value.timestamp / 1000 - time.time()) < 3600, changed


def test_cause_of():
    error = KafkaError(KafkaError._FATAL)
    wrapped = SystemError("returned a result with an exception set")
    assert internals.cause_of(wrapped) is None
    wrapped.__cause__ = KafkaException(error)
    assert internals.cause_of(wrapped) is internals.cause_of(KafkaException(error)) is error, broken(internals.cause_of)


def refusal(**settings):
    with pytest.raises(KafkaException) as raised:
        confluent_kafka.Producer({name.replace("_", "."): value for name, value in settings.items()})
    return raised.value.args[0].str()


def test_is_unknown_setting():
    assert internals.is_unknown_setting(refusal(no_such_setting=1)), broken(internals.is_unknown_setting)
    assert not internals.is_unknown_setting(refusal(acks="many")), broken(internals.is_unknown_setting)


def test_is_contradiction():
    together = refusal(enable_idempotence="true", acks=1)
    assert internals.is_contradiction(together), broken(internals.is_contradiction)
    assert not internals.is_contradiction(refusal(acks="many")), broken(internals.is_contradiction)


def test_drop_messages_and_close():
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": "127.0.0.1:1", "logger": log}
    )  # gives a message up after 300 s
    for _ in range(10):
        producer.produce("nowhere", b"x")
    began = time.monotonic()
    internals.drop_messages_and_close(producer)
    del producer
    gc.collect()
    assert time.monotonic() - began < 60, broken(internals.drop_messages_and_close)


def test_returns_in_time_leaves_a_call_alone_that_does_not_end():
    """As adding offsets may not, where the brokers no longer know who coordinates the group."""
    held = threading.Event()
    assert internals.returns_in_time(held.is_set, seconds=DEADLINE)
    with pytest.raises(ZeroDivisionError):
        internals.returns_in_time(divmod, 1, 0, seconds=DEADLINE)
    assert not internals.returns_in_time(held.wait, seconds=0.1)
    held.set()


def test_returns_in_time_keeps_no_producer_alive_whose_call_failed():
    class Owner:
        def fail(self):
            raise ClientError("refused")

    owner = Owner()
    gone = weakref.ref(owner)
    gc.disable()  # which would find it some day
    try:
        with contextlib.suppress(ClientError):
            internals.returns_in_time(owner.fail, seconds=DEADLINE)
        del owner
        wait_for(lambda: gone() is None, "the end of the thread")
    finally:
        gc.enable()


DROP_IN_ITS_OWN_THREAD = """
import gc, threading, time
from confluent_kafka.admin import AdminClient
from connectors.kafka.confluent import internals

class Owner:
    pass

owner, dropped = Owner(), threading.Event()
owner.client = AdminClient({{"bootstrap.servers": "127.0.0.1:1"}})
{guard}
owners = [owner]
del owner

def drop(future):
    owners.clear()
    gc.collect()
    dropped.set()

owners[0].client.describe_cluster(request_timeout=1.0).add_done_callback(drop)
assert dropped.wait({deadline})
while any(thread.name == "unused clients" for thread in threading.enumerate()) and not internals._unused.empty():
    time.sleep(0.01)
"""


@pytest.mark.parametrize("is_guarded", [False, True])
def test_destroy_apart(is_guarded):
    """Where the library no longer aborts, the function is not needed any more."""
    guard = "internals.destroy_apart(owner, owner.client)" if is_guarded else ""
    code = DROP_IN_ITS_OWN_THREAD.format(guard=guard, deadline=DEADLINE)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=DEADLINE)
    assert ended.returncode == (0 if is_guarded else -signal.SIGABRT), broken(internals.destroy_apart) + ended.stderr
