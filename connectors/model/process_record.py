"""The route of one record: decode, predict, encode, learn. It is the same for topics and for files."""

from connectors.model.counts import Counts
from connectors.model.partition_model import PartitionModel
from connectors.model.records import Record, Reject, encode

MAX_REASON_LENGTH = 300


def process_record(model: PartitionModel, record: Record, counts: Counts) -> None:
    """Take one record through a model: afterwards it has an output, or the reason why it was rejected.

    Parameters
    ----------
    model
        The model of the record's partition. A rejected record leaves it as it was, bit for bit.
    record
        The record; filled on the way.
    counts
        What was done is added here.

    Raises
    ------
    ReplayNeeded
        The model must be reloaded; nothing was counted.
    """
    try:
        model.decode(record)
        if record.reason is not None:
            raise Reject(record.reason)
        model.predict(record)
        record.output = encode(record.id, record.prediction, record.score, record.label)
        if record.label is not None:
            model.learn(record)
    except Reject as reject:
        reason = str(reject)
        if len(reason) > MAX_REASON_LENGTH:  # a reason may quote most of the record
            reason = f"{reason[:MAX_REASON_LENGTH]} ..."
        record.reason = reason
        counts.add_reject(reject.kind)
    else:
        counts.add_prediction(record.prediction, record.label, model.is_regressor)
