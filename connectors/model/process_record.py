"""One record through its model: decode, predict, learn, encode; the same for topics and for files."""

from typing import Any

from connectors.model.counts import Counts
from connectors.model.partition import Partition
from connectors.model.records import Message, Reject, encode, rejected

LONGEST_REASON = 300


def answer(
    partition: Partition, key: bytes | None, value: bytes | None, source: str, counts: Counts
) -> tuple[Any, Message, str | None]:
    """Takes one record of the place `source` through its model, and counts what was done.

    Returns
    -------
    The id of the record; a message for the output, or one for the rejects; in the second case, the reason.
    """
    counts.read += 1
    id: Any = source
    try:
        id, features, label = partition.decode(value, source)
        prediction, score = partition.predict(features)
        output = encode(id, prediction, score, label)
        headers = [("source", source.encode()), ("model", b"%b/%d" % (partition.name, partition.examples))]
        if label is not None:
            partition.learn(features, label, value)
            counts.learned += 1
    except Reject as reject:
        counts.rejected += 1
        counts.reasons[reject.kind] += 1
        reason = str(reject)
        if len(reason) > LONGEST_REASON:  # it may quote what was wrong, which may be most of the record
            reason = f"{reason[:LONGEST_REASON]} ..."
        return id, rejected(key, value, source.encode(), reason), reason
    counts.predicted += 1
    counts.judge(prediction, label, partition.is_regressor)
    return id, (key, output, headers), None
