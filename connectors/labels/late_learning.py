"""The route of a record and of a label through a model, when labels come later than records."""

import math
from collections.abc import Sequence
from time import monotonic
from typing import Any, NamedTuple

import orjson

from connectors.labels.asking import Asking, Query
from connectors.labels.label_records import LabelDecoder
from connectors.labels.waiting import EarlyLabel, Gone, WaitingRecord, WaitingRecords
from connectors.model.counts import Counts
from connectors.model.partition_model import PartitionModel
from connectors.model.process_record import process_record
from connectors.model.records import ANY_KEYS, Record, id_text
from connectors.model.rejects import Reject, Unjoinable, reason_of, without_frames


class Outcome(NamedTuple):
    """What became of a record whose label came later.

    Attributes
    ----------
    id
        The id of the record, as in its output.
    prediction, score
        Those of its output.
    label
        The label.
    delay
        How long after its record the label came, in milliseconds of event time; below 0 if it came before.
    record
        The source of the record.
    message
        The record of the label.
    challengers
        Prediction and score of each challenger, as in its output; None if that does not tell them.
    """

    id: Any
    prediction: Any
    score: Any
    label: Any
    delay: int
    record: str
    message: Record
    challengers: dict[str, Any] | None = None

    @property
    def value(self) -> bytes:
        """The JSON object that is written."""
        names = ("id", "prediction", "score", "label", "delay")
        value = dict(zip(names, self, strict=False))
        if self.challengers is not None:
            value["challengers"] = self.challengers
        return orjson.dumps(value, option=ANY_KEYS)


class Results(NamedTuple):
    """What a step has led to beside the output of its record, in order.

    Attributes
    ----------
    outcomes
        Records that were learned because of a label that came later.
    rejects
        Labels, and records, that were rejected, with their reason.
    queries
        Records whose label is asked for.
    """

    outcomes: Sequence[Outcome]
    rejects: Sequence[Record]
    queries: Sequence[Query] = ()


NOTHING = Results((), ())
AT_ONCE = 10_000  # records that are learned with `otherwise` between two polls at most: about half a second
LONGEST_SLICE = 0.5  # seconds for them: a slow learner would take minutes, and its member would leave the group


class LateLearning:
    """The route of the records and labels of one partition through its model.

    A record is predicted when it comes. With a label in it, it is learned at once; without, it waits. When its label
    comes, the model learns exactly the features that were predicted, and the prediction made then is judged.

    Each step moves the event time on first. What has waited too long leaves then, before the step's own record is
    looked at.

    Parameters
    ----------
    model
        The model of the partition. Its decoder knows that labels come later (`is_joined`).
    waiting
        What waits.
    labels
        The decoder of labels.
    sources
        The beginnings of the sources of records and of labels, such as `payments-0-` and `chargebacks-0-`.
    otherwise
        The label with which a record is learned whose label did not come in time; None: it is not learned.
    asking
        Decides which labels are asked for; None: none.
    key_is_id
        Whether the id of a record is its key.

    Attributes
    ----------
    label_fields
        The names of id and label in a label, as `LabelDecoder.plain_fields`.
    """

    def __init__(
        self,
        model: PartitionModel,
        waiting: WaitingRecords,
        labels: LabelDecoder,
        sources: tuple[str, str],
        otherwise: Any = None,
        asking: Asking | None = None,
        key_is_id: bool = False,
    ) -> None:
        self._key_is_id = key_is_id
        self.model, self.waiting, self.asking, self.otherwise = model, waiting, asking, otherwise
        self._decode_label, self.label_fields = labels.decode, labels.plain_fields
        self._source_of_records, self._source_of_labels = sources
        if model.watch is not None:  # a new one knows nothing of the records that wait already
            past = model.watch.past
            past.newest = max(past.newest, waiting.records.next_sequence - 1)
        self._outcomes: list[Outcome] = []
        self._rejects: list[Record] = []
        self._queries: list[Query] = []

    def take_record(self, record: Record, sequence: int, time: float, counts: Counts) -> Results:
        """Predict a record; learn it if its label is known, else let it wait.

        Parameters
        ----------
        record
            The record. Afterwards it has an output, or the reason why it was rejected, or both.
        sequence
            Its number in the order of arrival: an offset, or a line.
        time
            Its time in milliseconds, or `NO_TIME`.
        counts
            What was done is added here.
        """
        if self.waiting.advance(time):
            self.let_go(counts)
        process_record(self.model, record, counts)
        if self.model.watch is not None:
            self.model.watch.past.newest = sequence
        if record.output is not None and not isinstance(record.known, Unjoinable):
            self._learn_or_wait(record, sequence, counts)
        return self._results() if self._outcomes or self._rejects or self._queries else NOTHING

    def _learn_or_wait(self, record: Record, sequence: int, counts: Counts) -> None:
        id = record.id if type(record.id) is str else id_text(record.id)
        if record.label is not None:
            early = self.waiting.take_early(id)
            self.waiting.forget(id)
            if early is not None:
                reason = f"`{id}` has a label in its record, which counts"
                self._reject(self._message(early), Reject(reason, "second_label"), counts)
        elif record.known is not None and self.otherwise is not None and not self.waiting.has_early(id):
            self.waiting.forget(id)  # it has a label, though a bad one: `otherwise` would teach something else
        elif not self.waiting.add(id, sequence, record):
            if record.known is not None:  # its own label was refused: it is rejected already, with that reason
                return
            reject = Unjoinable(f"a record with the id `{id}` waits for its label already", "id")
            record.known, record.reason = reject, reason_of(reject)
            counts.add_unlearned(reject.kind, record.source, record.reason)
        else:
            early = self.waiting.take_early(id)
            if early is not None:
                self._settle_early(id, early, counts)
                return
            if self.asking is not None:
                self._ask(self.asking, id, record, counts)
            if self.waiting.records.is_overfull:
                self.let_go(counts)

    def _ask(self, asking: Asking, id: str, record: Record, counts: Counts) -> None:
        query = asking.ask(record, self.model, counts)
        if query is not None:
            self._queries.append(query)
        elif not asking.all_wait:
            self.waiting.drop(id)

    def _settle_early(self, id: str, early: EarlyLabel, counts: Counts) -> None:
        message = self._message(early)
        try:
            self._decode_label(message)
        except Reject as reject:  # the names of its fields have changed since it came
            self._reject(message, reject, counts)
            return
        found = self.waiting.settle(id)
        assert found is not None
        self._learn(found, message, early.time - found.time, counts)

    def take_label(self, label: Record, sequence: int, time: float, counts: Counts) -> Results:
        """Learn the record that a label is for; let the label wait if that record did not come yet.

        A label that cannot be used is among the rejects afterwards, with its reason. The parameters are those of
        `take_record`.
        """
        if self.waiting.advance(time):
            self.let_go(counts)
        counts.labels += 1
        try:
            if label.known is not None:
                raise label.known
            self._decode_label(label)
            found = self.waiting.settle(label.id)
        except Reject as reject:
            self._reject(label, reject, counts)
            return self._results() if self._outcomes or self._rejects else NOTHING
        if found is not None:
            self._learn(found, label, self.waiting.time - found.time, counts)
        else:
            counts.early += 1
            self.waiting.add_early(label.id, sequence, label)
            if self.waiting.labels.is_overfull:
                self.let_go(counts)
        return self._results() if self._outcomes or self._rejects else NOTHING

    def _results(self) -> Results:
        results = Results(self._outcomes, self._rejects, self._queries)
        self._outcomes, self._rejects, self._queries = [], [], []
        return results

    def let_some_go(self, time: float, counts: Counts) -> Results | None:
        """Let some leave that have waited too long at this time; None if few are left, which the next step does.

        For those who must do something else from time to time: they call it before they take the record or label of
        this time, until it returns None. Some are `AT_ONCE`, or as many as leave within `LONGEST_SLICE`, and one at
        least.
        """
        if self.otherwise is None or not self.waiting.advance(time):
            return None
        return self._results() if self.let_go(counts, AT_ONCE, monotonic() + LONGEST_SLICE) else None

    def let_go(self, counts: Counts, most: int | None = None, end: float = math.inf) -> bool:
        """Let all records leave that have waited too long, and the oldest of too many.

        Return True, and leave the others to the next call, after `most` of them or at the moment `end`.
        """
        for number, (found, why) in enumerate(self.waiting.expired(), 1):
            counts.expired += why is Gone.EXPIRED
            counts.displaced += why is Gone.DISPLACED
            if self.otherwise is not None:
                self._learn_otherwise(found, counts)
            if number == most or monotonic() >= end:
                return True
        for early in self.waiting.expired_labels():
            reason = f"no record `{early.id}` came before this label or within `labels.within` after it"
            if self.waiting.time <= early.time + self.waiting.labels.within:  # it could have waited longer
                reason = f"no record `{early.id}` came yet, and more than `labels.pending` labels wait: it was evicted"
            self._reject(self._message(early), Reject(reason, "unknown_id"), counts)
        return False

    def _learn(self, found: WaitingRecord, message: Record, delay: int, counts: Counts) -> None:
        counts.add_delay(delay)
        label = message.label
        try:
            record = self._learned(found, label, is_judged=True)
        except Reject as reject:
            self._reject(message, type(reject)(f"record `{found.id}`: {reject}", reject.kind), counts)
            return
        counts.add_learned(found.prediction, label, self.model.is_regressor)
        said = found.prediction, found.score
        challengers = None if found.answers is None else self.model.told(found.answers)
        self._outcomes.append(Outcome(record.id, *said, label, delay, record.source, message, challengers))

    def _learn_otherwise(self, found: WaitingRecord, counts: Counts) -> None:
        try:
            self._learned(found, self.otherwise)
        except Reject as reject:
            key = found.id.encode() if self._key_is_id else None
            record = Record(f"{self._source_of_records}{found.sequence}", key, found.value)
            self._reject(record, reject, counts)
        else:
            counts.learned += 1

    def _learned(self, found: WaitingRecord, label: Any, is_judged: bool = False) -> Record:
        """Learn a record that has waited, and return it, or raise Reject: the model is then as it was.

        `is_judged` tells that what was predicted then is judged now. The loss is watched for drift unless the model has
        begun anew since.
        """
        record = Record(f"{self._source_of_records}{found.sequence}", found.id.encode(), found.value)
        self.model.decode(record, label)
        if record.known is not None:
            raise record.known
        watch, is_watched = self.model.watch, is_judged
        if is_judged:
            record.prediction, record.answers = found.prediction, found.answers
            is_watched = watch is None or found.sequence > watch.past.since
        elif found.answers is not None:  # who refused the features does not learn them, whatever the label
            record.answers = {name: None for name, answer in found.answers.items() if answer is None}
        self.model.learn(record, is_late=True, is_watched=is_watched)
        return record

    def _reject(self, record: Record, reject: Reject, counts: Counts) -> None:
        record.known, record.reason = without_frames(reject), reason_of(reject)
        counts.add_unlearned(reject.kind, record.source, record.reason)
        self._rejects.append(record)

    def _message(self, early: EarlyLabel) -> Record:
        source = f"{self._source_of_labels}{early.sequence}"
        return Record(source, early.key, early.value, None, early.headers, early.timestamp)
