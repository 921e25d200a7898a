"""The model of one partition, which predicts and learns its records in order."""

import functools
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from river import base, compose

from connectors.drift.watch import RESET, Watch
from connectors.model.records import Decoder, Record
from connectors.model.rejects import Reject, Unlearnable
from river_margins import INTERCEPT, snapshot

# the attributes of a model that belong to its learner
_OF_LEARNER = (
    "examples", "learner", "certificates", "is_regressor", "_last", "check_label", "_is_pure", "_predict_score_one",
    "_load", "_change", "_first", "learned", "_saved_examples",
)  # fmt: skip
LARGEST = 1e140  # of a loss, so that sums of squares stay finite


class ReplayNeeded(Exception):
    """A step has raised half-way: `reload` the model and replay the inputs. `reject` rejects the present record."""

    def __init__(self, reject: Reject) -> None:
        super().__init__(str(reject))
        self.reject = reject


def loss_of(prediction: Any, label: Any, is_number: bool) -> float:
    """Return 1 for a wrong class and 0 for the right one, or the absolute error of a number.

    >>> loss_of("a", "b", False), loss_of(2.0, 0.5, True)
    (1.0, 1.5)
    """
    return float(min(abs(prediction - label), LARGEST) if is_number else prediction != label)


def positive_of(probabilities: Mapping[Any, float]) -> float:
    """Return the probability of the positive one of two labels: true, or else the first, as learners list them.

    >>> positive_of({False: 0.25, True: 0.75}), positive_of({"spam": 0.75, "ham": 0.25})
    (0.75, 0.75)
    """
    first = next(iter(probabilities))
    return probabilities[True if isinstance(first, bool) else first]  # experts list true and false as they came


def no_decoder(record: Record, label: Any = None) -> None:
    """Refuse to decode: for models that are given examples only."""
    raise NotImplementedError("this model was made without a decoder: give it examples only")


class PartitionModel:
    """A learner with the records it has learned since its snapshot, so that a failure can be undone.

    Parameters
    ----------
    learner
        The learner as the snapshot holds it.
    snapshot, examples
        The name of the snapshot, and how many examples its learner has learned.
    load
        Returns the learner of a snapshot by its name.
    decode
        Fills in id, features, label and weight of a record from its bytes; a label that came later is given to it.
    can_replay
        Whether the inputs since the snapshot can be replayed (see `ReplayNeeded`). If not, they are held in memory.
    change
        Changes parameters of a learner, right before its next snapshot is written; None changes nothing.
    explain
        How many features `predict` names that weighed most in the score; 0 names none and explains nothing.
    watch
        What watches the loss of the model; None if nothing does.
    said_as
        Its name among the answers of several models: records may wait that they have predicted together. Empty: none.
    probability
        Whether the score of a record is the probability of the positive label, or those of the classes, in place of the
        learner's.

    Attributes
    ----------
    name
        The name of the model beside others; empty if it is alone.
    can_replay
        As given.
    has_drifted
        Whether there was a drift since the snapshot.
    is_other_set
        Whether the snapshot holds other models than the file names, or another champion.
    learned
        What it has learned since the snapshot, by which a failure is undone; empty if it can replay. A record whose
        label came later is there as bytes, its label, and the place in the bytes where the record begins.
    check_label
        Raises ValueError for a label that its learner does not take; None if the learner has no such method.
    certificates
        Those of a learner in `Watched`, by name, as they were when the snapshot was written; empty for other learners.
    first_score
        The score of a record whose label is the first one, and true or false.
    """

    name = ""

    def __init__(
        self,
        learner: Any,
        snapshot: str,
        examples: int,
        load: Callable[[str], Any],
        decode: Callable[..., None] = no_decoder,
        can_replay: bool = False,
        change: Callable[[Any], None] | None = None,
        explain: int = 0,
        watch: Watch | None = None,
        said_as: str = "",
        probability: bool = False,
    ) -> None:
        self.examples, self.watch, self._said_as = examples, watch, said_as
        self._explain, self._probability = min(explain, sys.maxsize), probability  # `islice` takes no more
        self.first_score = 0.5 if probability else 0.0
        self.decode = decode
        self._load, self.can_replay = load, can_replay
        self._change: Callable[[Any], None] | None = None
        self._next_watch: tuple[Watch | None] | None = None
        self._set_learner(learner)
        self.saved_as(snapshot)
        self._change = change

    def _set_learner(self, learner: Any) -> None:
        steps = list(learner.steps.values()) if isinstance(learner, compose.Pipeline) else [learner]
        self.learner = learner
        self._last = steps[-1]
        self.is_regressor = isinstance(self._last, base.Regressor)
        self.check_label = getattr(self._last, "check_label", None)
        # Some transformers of River store features that they only transform. Ours change nothing when they transform.
        self._is_pure = all(type(step).__module__.split(".")[0] == "river_margins" for step in steps[:-1])
        self._predict_score_one = getattr(learner, "predict_score_one", None)

    @property
    def is_to_change(self) -> bool:
        """Whether parameters of the learner, its watch, or who the models are, change with the next snapshot."""
        return self._change is not None or self._next_watch is not None or self.is_other_set

    def change_watch(self, watch: Watch | None) -> None:
        """Let another watch, or none, take over with the next snapshot: inputs before it may have to be replayed."""
        self._next_watch = (watch,)

    def prepare_snapshot(self) -> None:
        """Change the parameters that the file changed. Write a snapshot of the model then, before it learns more.

        So what follows a snapshot was always learned with the parameters in it, and learning it again has the same
        result. If the snapshot cannot be committed, the model must be dropped.
        """
        if self._change is not None:
            self._change(self.learner)
        if self._next_watch is not None:
            (watch,) = self._next_watch
            if watch is not None and self.watch is not None:  # which has seen what came since the last snapshot
                watch.follow(self.watch)
            self.watch = watch

    def dumps(self, about: Mapping[str, Any]) -> bytes:
        """Return a snapshot of the model, which also tells this about it."""
        return snapshot.dumps(self.learner, self._with_drift(about))

    def _with_drift(self, about: Mapping[str, Any]) -> Mapping[str, Any]:
        return about if self.watch is None else {**about, "drift": self.watch.value}

    def saved_as(self, snapshot: str) -> None:
        """Note that this snapshot holds the model of this moment: failures go back to it."""
        self.snapshot = snapshot
        self._change, self.has_drifted, self.is_other_set = None, False, False
        self._next_watch = None
        self._first: Callable[[], Any] | None = None
        self._saved_examples = self.examples
        if self.watch is not None:
            self.watch.save()
        self.learned: list[bytes | tuple[bytes, Any, int] | Record] = []
        self.certificates: Mapping[str, float] = getattr(self._last, "certificates", {})

    def reload(self) -> None:
        """Go back to the model of the snapshot."""
        self._set_learner(self._load(self.snapshot))
        self.examples = self._saved_examples
        if self.watch is not None:
            self.watch.go_back()

    @property
    def updates(self) -> int:
        """How often the learner has moved its weights."""
        return getattr(self._last, "n_updates", 0)

    @property
    def weights(self) -> Mapping[Any, Any]:
        """The weights of the last step, by feature, or by class and feature; empty for a learner that has none."""
        try:
            found = getattr(self._last, "weights", {})
            return found if isinstance(found, Mapping) and len(found) else {}
        except ValueError:  # of a kernel
            return {}

    def predict(self, record: Record) -> None:
        """Fill in prediction and score; the model does not move. Raise Reject if a step refuses the features."""
        record.examples = self.examples
        features = self.features_of(record)
        try:
            if self._predict_score_one is not None:
                record.prediction, record.score = self._predict_score_one(features)
            else:
                record.prediction, record.score = self.learner.predict_one(features), self.learner.score_one(features)
            if self._explain:
                record.explanation = self._explanation(record)
            if self._probability and record.score != {}:  # else no label is known yet
                probabilities = self.learner.predict_proba_one(self.features_of(record))
                record.score = probabilities if isinstance(record.score, dict) else positive_of(probabilities)
        except Exception as error:
            reject = _in_terms_of_the_file(_reject(error, Reject, "features"), record.features)
            if not self._is_pure:
                self._undo(reject)
            raise reject from error

    def told(self, answers: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return what is told of the predictions of several models, the first of which counted; None if nothing is."""
        return None

    def _explanation(self, record: Record) -> dict[str, float]:
        explained = self.learner.explain_one(self.features_of(record))
        if isinstance(record.score, dict):
            explained = explained.get(record.prediction, {})
        weighing = ((str(name), part) for name, part in explained.items() if part and name is not INTERCEPT)
        return dict(itertools.islice(weighing, self._explain))

    def learn(self, record: Record, *, is_late: bool = False, is_watched: bool = True) -> None:
        """Learn a record with a label. If that fails, the model stays as it was, bit for bit.

        `is_late` tells that the label came later: the bytes of the record do not hold it. `is_watched` tells that its
        prediction counts for `watch`; a drift is answered after the record was learned.

        Raise Unlearnable if the label is to blame, and Reject if the features are.
        """
        self._learn(record, is_late)
        if self.watch is not None and is_watched:
            prediction = self._judged(record)
            if prediction is not None and self.watch.sees_drift(loss_of(prediction, record.label, self.is_regressor)):
                self.has_drifted = True
                self.watch.note(record.source, self._answer_drift(self.watch))

    def _judged(self, record: Record) -> Any:
        """Return the prediction of a record that is judged; None if there is none, as in River.

        A record that waited for its label may be of a time when this model was a challenger, and another one counted.
        """
        if record.answers is None or not self._said_as:
            return record.prediction
        answer = record.answers.get(self._said_as)
        return None if answer is None else answer[0]

    def _answer_drift(self, watch: Watch) -> str:
        """Do what follows a drift, and return a phrase about it."""
        if watch.plan.then != RESET:
            return "nothing was changed"
        self.begin(functools.partial(watch.anew, self.name), 0)
        watch.past.since = watch.past.newest
        return "the model begins anew"

    def begin(self, first: Callable[[], Any], examples: int) -> None:
        """Begin with another learner, which has learned so many examples; failures go back to it, until a snapshot."""
        self._first = first
        self._set_learner(first())
        self.examples, self.learned = examples, []

    def replace(self, learner: Any) -> None:
        """Go on with another learner. Write a snapshot of the model then, before it learns more."""
        self._set_learner(learner)

    def exchange(self, other: "PartitionModel") -> None:
        """Exchange the learners of two models, with all that belongs to them. Each model keeps its role."""
        mine, others = vars(self), vars(other)
        for name in _OF_LEARNER:
            mine[name], others[name] = others[name], mine[name]

    def _learn(self, record: Record, is_late: bool) -> None:
        self._check_label(record.label)
        try:
            self._learn_one(record)
        except Exception as error:
            reject = self._blame(error, record)
            self._undo(reject)
            raise reject from error
        if not self.can_replay:
            value = record.value  # the bytes take less memory than the features
            self.learned.append(record if value is None else (value, record.label, 0) if is_late else value)
        self.examples += 1

    def _check_label(self, label: Any) -> None:
        try:
            if self.check_label is not None:
                self.check_label(label)
        except ValueError as error:
            raise _reject(error, Unlearnable, "label") from error

    def features_of(self, record: Record) -> dict[str, Any]:
        """Return features for the learner: a copy for one whose steps may change them, since others get them too."""
        return record.features if self._is_pure else record.features.copy()

    def _learn_one(self, record: Record) -> None:
        if record.weight == 1.0:  # as without weights, which not every learner takes
            self.learner.learn_one(self.features_of(record), record.label)
        else:
            self.learner.learn_one(self.features_of(record), record.label, w=record.weight)

    def _blame(self, error: Exception, record: Record) -> Exception:
        """Return why an example cannot be learned whose features could be predicted."""
        if not isinstance(error, OverflowError):
            return _reject(error, Unlearnable, "label")
        # one of the numbers is too large
        numbers = [abs(value) for value in record.features.values() if isinstance(value, int | float)]
        others = ([abs(record.label)] if self.is_regressor else []) + [record.weight] * (record.weight != 1.0)
        is_other = any(all(other > number for number in numbers) for other in others)
        return _reject(error, Unlearnable if is_other else Reject, "overflow")

    def _undo(self, reject: Exception) -> None:
        """Bring the model back to its state before the present record: the step that raised may have moved.

        Raise ReplayNeeded if that takes a replay.
        """
        if self.can_replay:
            raise ReplayNeeded(reject) if isinstance(reject, Reject) else reject
        self.undo()

    def undo_learning(self, error: Exception, value: bytes) -> None:
        """Bring the model back after its learner alone has failed to learn a record. Raise ReplayNeeded as `learn`."""
        if self.can_replay:
            self._undo(self._blame(error, self._example(value)))
        self.undo()

    def undo(self) -> None:
        """Bring the model back to its state before the present record, by what it holds in memory."""
        self._set_learner(self._first() if self._first else self._load(self.snapshot))
        for record in self.examples_since_snapshot():
            self._learn_one(record)

    def examples_since_snapshot(self) -> Iterator[Record]:
        """Yield what the model has learned since its snapshot, or since a drift let it begin anew."""
        for held in self.learned:
            yield held if isinstance(held, Record) else self._example(held)

    @property
    def plain_fields(self) -> tuple[str | None, str | None, list[str] | None] | None:
        """The fields id, label and features, if that is all that matters of a record for this model; else None.

        Then to predict and learn it is no more than two calls of the learner, and `undo_learning` after a failure of
        the second.
        """
        is_special = self.watch is not None or self._explain or self._probability or self._predict_score_one is None
        if type(self) is not PartitionModel or is_special or not self._is_pure:
            return None
        decoder = getattr(self.decode, "__self__", None)
        return decoder.plain_fields if isinstance(decoder, Decoder) else None

    def _example(self, held: bytes | tuple[bytes, Any, int]) -> Record:
        value, label, start = held if isinstance(held, tuple) else (held, None, 0)
        record = Record("", None, value[start:])
        self.decode(record, label)
        return record


def _reject(error: Exception, what: type[Reject], kind: str) -> Exception:
    if isinstance(error, MemoryError):
        return error
    said = str(error) or "no reason given"
    if isinstance(error, KeyError) and kind == "features":
        said += ", perhaps a feature that a step of the learner needs and the record does not have"
    if isinstance(error, OverflowError):
        kind = "overflow"
    return what(said if isinstance(error, ValueError | OverflowError) else f"{type(error).__name__}: {said}", kind)


def _in_terms_of_the_file(reject: Exception, features: dict[str, Any]) -> Exception:
    """Return a reject that says what a file can do about a null, an object or a list; learners advise in Python."""
    said = str(reject)
    name = next((name for name in features if said.startswith(f"feature {name!r} is ")), None)
    value = "" if name is None else features[name]
    if value is None:
        advice = "`record: {nulls: absent}` leaves nulls out, and `river.preprocessing.StatImputer` fills them in"
        return Reject(f"feature {name!r} is null: {advice}", "features")
    if isinstance(value, dict | list):
        return Reject(f"{said}: list the fields in it in `record.features`, by their paths", "features")
    return reject
