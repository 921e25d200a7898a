"""A producer on kafka-python after a message has failed, without a broker."""

import time
from types import SimpleNamespace

import pytest
from kafka import errors as kafka_errors
from kafka.future import Future

from connectors.kafka import ClientError
from connectors.kafka.kafka_python.producer import Producer
from tests.helpers.deadline import DEADLINE


def wait_in_vain(timeout):
    time.sleep(0.01)
    raise kafka_errors.KafkaTimeoutError("Timeout waiting for future")


@pytest.fixture
def producer():
    """A producer with two messages, of which the second has expired and the first one never has an outcome."""
    made = Producer.__new__(Producer)
    connections = SimpleNamespace(_client=SimpleNamespace(_manager=SimpleNamespace(_conns={})))
    library = SimpleNamespace(
        send=lambda *_: Future(), flush=wait_in_vain, _transaction_manager=None, _sender=connections
    )
    made.__dict__.update(_sent=[], _taken=0, _next_look=3, _failed=[], _permissions={}, _producer=library)
    for place in range(2):
        made.send("a", 0, b"k", b"v", [], place)
    made._sent[1].failure(kafka_errors.KafkaTimeoutError("Expiring 1 record(s)"))
    return made


def test_the_next_message_raises_the_failure(producer):
    """With a long time between two commits it would be one of many that wait in memory, and are never sent."""
    with pytest.raises(ClientError, match="Expiring 1 record"):
        producer.send("a", 0, b"k", b"v", [], 2)
    assert len(producer._sent) == 2


def test_nothing_waits_for_the_others(producer):
    began = time.monotonic()
    producer.flush(DEADLINE)
    assert time.monotonic() - began < DEADLINE / 2
    with pytest.raises(ClientError, match="Expiring 1 record"):
        producer.check()
