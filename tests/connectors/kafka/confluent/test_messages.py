"""Messages of confluent-kafka become records, by its methods that are called directly."""

import pytest
from confluent_kafka import KafkaError, Message

from connectors.kafka.confluent.messages import records_of
from connectors.kafka.leader_epochs import LeaderEpochs


def message(topic, partition, offset, value=b"v", error=None, timestamp=(1, 1700), epoch=-1):
    return Message(
        topic=topic, partition=partition, offset=offset, key=b"k", value=value, headers=[("h", b"x")], error=error,
        timestamp=timestamp, leader_epoch=epoch,
    )  # fmt: skip


def fail(*arguments):
    raise AssertionError(arguments)


def test_records_have_what_the_methods_of_their_messages_return():
    for found in (message("a", 1, 7), message("a", 1, 7, None, timestamp=(0, -1))):
        positions = {1: 5}
        key, value, headers, (_, timestamp) = found.key(), found.value(), found.headers(), found.timestamp()
        expected = [(1, 7, key, value, headers, timestamp)]
        assert records_of([found], positions, None, LeaderEpochs(), fail, fail) == expected
        assert positions == {1: 8} and (key, headers, timestamp) == (b"k", [("h", b"x")], found.timestamp()[1])


def test_positions_pass_the_records_of_this_assignment_only():
    """Partition n of the labels is ~n."""
    positions, events = {0: 5, ~0: 2}, []
    end = KafkaError(KafkaError._PARTITION_EOF)
    read = [
        message("a", 0, 4), message("a", 0, 5), message("b", 0, 3), message("a", 1, 9), message("a", 0, 7, error=end),
        message("a", 0, 6), message("a", 0, 6), message("b", 0, 1),
    ]  # fmt: skip
    found = records_of(read, positions, "b", LeaderEpochs(), lambda *event: events.append(event), fail)
    assert [record[:2] for record in found] == [(0, 5), (~0, 3), (0, 6)]
    assert positions == {0: 7, ~0: 4} and events == [(read[4], end)]


def test_what_is_no_message_is_refused():
    with pytest.raises(TypeError, match="not a message: None"):
        records_of([None], {}, None, LeaderEpochs(), fail, fail)


def test_the_epochs_of_records_are_noted_by_partition():
    positions, epochs = {0: 5, ~0: 2}, LeaderEpochs()
    read = [
        message("a", 0, 5, epoch=3), message("a", 0, 8, epoch=3), message("b", 0, 2, epoch=300),
        message("b", 0, 3, epoch=300), message("a", 0, 9, epoch=4), message("b", 0, 4), message("a", 1, 4, epoch=9),
    ]  # fmt: skip
    records_of(read, positions, "b", epochs, fail, fail)
    assert [epochs.before(0, offset) for offset in range(5, 12)] == [-1, 3, 3, 3, 3, 4, -1]
    assert [epochs.before(~0, offset) for offset in range(2, 6)] == [-1, 300, 300, -1]
    assert epochs.before(1, 5) == -1, "it is not read"
