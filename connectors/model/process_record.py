"""The route of one record: decode, predict, encode, learn. It is the same for topics and for files."""

from typing import Any

from connectors.model.counts import Counts
from connectors.model.partition_model import PartitionModel
from connectors.model.records import Record, encode
from connectors.model.rejects import Reject, Unlearnable, reason_of, without_frames


def process_record(model: PartitionModel, record: Record, counts: Counts) -> None:
    """Take one record through a model: afterwards it has an output, or the reason why it was rejected, or both.

    A record that can be predicted and not learned has both, and its output has no label.

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
        if record.known is not None and record.known.may_pass:
            raise record.known  # what was missing may be there by now
        model.decode(record)
        if record.known is not None:
            if not isinstance(record.known, Unlearnable):
                raise record.known
            record.label = None
        model.predict(record)
        record.score = known_score(record, record.label, model.first_score)
        record.output = encode(
            record.id, record.prediction, record.score, record.label, record.explanation, record.challengers
        )
        if record.label is not None:
            model.learn(record)
    except Unlearnable as reject:
        record.label, record.known = None, without_frames(reject)
        record.output = encode(record.id, record.prediction, record.score, None, record.explanation, record.challengers)
    except Reject as reject:
        record.known, record.reason, record.output = without_frames(reject), reason_of(reject), None
        counts.add_reject(reject.kind, record.source, record.reason)
        return
    counts.add_prediction(record.prediction, record.score, record.label, model.is_regressor)
    if record.known is not None:
        record.reason = reason_of(record.known)
        counts.add_unlearned(record.known.kind, record.source, record.reason)


def known_score(record: Record, label: Any, first_score: float) -> Any:
    """Return the score of a predicted record as it is told: before the first label, the one that the learner will have.

    Labels decide whether a score is a number or an object by class. The label of the record itself is the first one if
    it is known; if not, nothing tells the type of the scores yet, and there is none.
    """
    if record.prediction is not None or record.score != {}:
        return record.score
    if label is None:
        return None
    return first_score if isinstance(label, bool) else {}
