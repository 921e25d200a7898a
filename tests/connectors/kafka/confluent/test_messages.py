"""Messages of confluent-kafka become records, by its methods that are called directly."""

import pytest
from confluent_kafka import KafkaError, Message

from connectors.kafka.confluent.messages import records_of


def message(topic, partition, offset, value=b"v", error=None, timestamp=(1, 1700)):
    return Message(
        topic=topic, partition=partition, offset=offset, key=b"k", value=value, headers=[("h", b"x")], error=error,
        timestamp=timestamp,
    )  # fmt: skip


def fail(*arguments):
    raise AssertionError(arguments)


def test_records_have_what_the_methods_of_their_messages_return():
    for found in (message("a", 1, 7), message("a", 1, 7, None, timestamp=(0, -1))):
        positions = {1: 5}
        key, value, headers, (_, timestamp) = found.key(), found.value(), found.headers(), found.timestamp()
        assert records_of([found], positions, None, fail, fail) == [(1, 7, key, value, headers, timestamp)]
        assert positions == {1: 8} and (key, headers, timestamp) == (b"k", [("h", b"x")], found.timestamp()[1])


def test_positions_pass_the_records_of_this_assignment_only():
    """Partition n of the labels is ~n."""
    positions, events = {0: 5, ~0: 2}, []
    end = KafkaError(KafkaError._PARTITION_EOF)
    read = [
        message("a", 0, 4), message("a", 0, 5), message("b", 0, 3), message("a", 1, 9), message("a", 0, 7, error=end),
        message("a", 0, 6), message("a", 0, 6), message("b", 0, 1),
    ]  # fmt: skip
    found = records_of(read, positions, "b", lambda *event: events.append(event), fail)
    assert [record[:2] for record in found] == [(0, 5), (~0, 3), (0, 6)]
    assert positions == {0: 7, ~0: 4} and events == [(read[4], end)]


def test_what_is_no_message_is_refused():
    with pytest.raises(TypeError, match="not a message: None"):
        records_of([None], {}, None, fail, fail)
