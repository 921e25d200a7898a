"""One record through its model: decode, predict, learn, encode; the same for topics and for files."""

from typing import Any, NamedTuple

from connectors.counts import Counts
from connectors.kafka import Record
from connectors.partition import Partition
from connectors.records import Decoder, Message, Reject, check_score, encode, rejected

LONGEST_REASON = 300


class Answer(NamedTuple):
    """What became of a record: a message for the output, or one for the rejects with its reason."""

    id: Any
    message: Message
    reason: str | None


def answer(decoder: Decoder, partition: Partition, record: Record, source: str, counts: Counts) -> Answer:
    """Takes one record of the place `source` through its model, and counts what was done."""
    counts.read += 1
    id: Any = source
    try:
        example = decoder.decode(record.value, source)
        id = example.id
        prediction, score = partition.predict(example.features)
        check_score(score)
        value = encode(example, prediction, score)
        headers = [("source", source.encode()), ("model", f"{partition.snapshot}/{partition.examples}".encode())]
        if example.label is not None:
            partition.learn(example.features, example.label)
            counts.learned += 1
    except Reject as reject:
        counts.rejected += 1
        counts.reasons[reject.kind] += 1
        reason = str(reject)
        if len(reason) > LONGEST_REASON:  # it may quote what was wrong, which may be most of the record
            reason = f"{reason[:LONGEST_REASON]} ..."
        return Answer(id, rejected(record, source.encode(), reason), reason)
    counts.predicted += 1
    counts.judge(prediction, example.label, partition.is_regressor)
    return Answer(id, Message(record.key, value, headers), None)
