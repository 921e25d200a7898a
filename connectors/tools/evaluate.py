"""Progressive validation: each example is predicted before it is learned, and the predictions are measured.

The metrics equal those of River's `evaluate.progressive_val_score`, to the last digit. A record that cannot be
processed, or that has no label, leaves the model as it was and is counted.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from river import base, datasets, stream
from river.metrics.base import BinaryMetric

from connectors.config import Config, FileConfig
from connectors.config.files_schema import FORMATS, STANDARD, is_file
from connectors.config.learner import last_step, texts_of
from connectors.errors import ConfigError, StartError
from connectors.files.processor import make_decoder
from connectors.files.readers import open_records
from connectors.labels.merging import NO_TIME
from connectors.model.field_paths import FieldPath, Picker, named
from connectors.model.partition_model import PartitionModel, no_decoder
from connectors.model.records import Record
from connectors.model.rejects import Reject
from connectors.snapshots.models import Builder
from connectors.tools import evaluate_late, measures, river_names
from connectors.tools.evaluate_late import LateSource, as_start_errors
from connectors.tools.odd_values import OddFeatures, OddLabels
from river_margins import snapshot

MOST_POINTS = 1000
REMEMBERED = 10_000  # examples between two copies of the model: it is rebuilt from one when learning fails half-way
MANY_CLASSES = 20  # numbers with decimals: what a measurement gives, and a class seldom is


@dataclass
class Result:
    """The result of an evaluation.

    Attributes
    ----------
    metrics
        River's metrics, by their names.
    learner
        The learner after the last example.
    challengers
        The results of the challengers, by name, each as if it were alone on the same data.
    examples, unlabelled, rejected
        How many examples were measured, had no label, and could not be processed. Labels in a file of their own that
        cannot be used count as not processed, too.
    kinds, reasons
        How many could not be processed, by kind, and the first one of each kind: which one, and why.
    backward, first_time
        With labels in a file of their own: how many records and labels were taken after one with a later time, and the
        first time of all.
    queries
        How many labels were asked for; None without `queries`.
    drifts
        How many drifts there were; None for a model that nothing watches.
    absent
        The paths of the listed features that no record has had, by the names of the features.
    odd_features
        Looks for features whose texts are no categories.
    curve
        Points of a plot: the number of examples so far, and the values of the `drawable` metrics.
    drawable
        The names of the metrics whose value is one number.
    """

    metrics: dict[str, Any]
    learner: Any
    challengers: dict[str, "Result"] = field(default_factory=dict)
    examples: int = 0
    unlabelled: int = 0
    rejected: int = 0
    kinds: Counter[str] = field(default_factory=Counter, repr=False)
    reasons: dict[str, str] = field(default_factory=dict)
    backward: int = 0
    first_time: float = NO_TIME
    queries: int | None = None
    drifts: int | None = None
    absent: dict[str, str] = field(default_factory=dict, repr=False)
    odd_features: OddFeatures = field(default_factory=OddFeatures, repr=False)
    curve: list[tuple[int, list[float]]] = field(default_factory=list, repr=False)  # of up to 2,000 points
    _watched: Config | FileConfig | None = field(default=None, repr=False)  # the file, whose drift detector it runs
    _step: int = field(default=1, repr=False)

    def __post_init__(self) -> None:
        self.drawable = [name for name, metric in self.metrics.items() if measures.is_number(metric)]
        is_classifier, found = isinstance(self.learner, base.Classifier), self.metrics.values()
        self._in_classes = [metric for metric in found if not is_classifier or metric.requires_labels]
        self._in_probabilities = [metric for metric in found if metric not in self._in_classes]
        last = last_step(self.learner)
        weights = getattr(getattr(last, "classifier", last), "class_weight", None)  # also of a learner around another
        self._named_labels = measures.NamedLabels(self.metrics, weights)
        self._unmeasured, self._fractions = 0, set[float]()  # different labels with decimals, the first ones of many
        self._odd_labels = OddLabels(weights is not None) if is_classifier else None

    @property
    def needs_probabilities(self) -> bool:
        """Whether there is a metric of probabilities."""
        return bool(self._in_probabilities)

    @property
    def warnings(self) -> list[str]:
        """What is odd about the metrics and the weights of classes, in sentences."""
        if self._in_classes and 1 < self.examples == self._unmeasured:
            return [f"no prediction was measured: all {self.examples:,} were made before the first label was known"]
        said = self._named_labels.warnings()
        if isinstance(self.learner, base.Classifier) and len(self._fractions) == MANY_CLASSES:
            said.append("many labels are numbers with decimals, and each number is a class here: use a regressor")
        if self.absent and self.examples:  # what a path does not find is absent, also where it was mistyped
            paths = ", ".join(f"`{path}`" for path in sorted(self.absent.values()))
            said.append(f"`record.features`: no record has a value at {paths}")
        said += [] if self._odd_labels is None else self._odd_labels.warnings()
        return said + self.odd_features.warnings(self.learner)

    def judge(self, label: Any, prediction: Any, probabilities: Any) -> None:
        """Measure a prediction, whose probabilities are None if no metric needs them, and count an example."""
        for said, metrics in ((prediction, self._in_classes), (probabilities, self._in_probabilities)):
            for metric in metrics if said is not None and said != {} else ():
                try:
                    metric.update(label, said)
                except (ArithmeticError, TypeError, ValueError) as error:  # such as the logarithm of a negative number
                    raise ConfigError(self._why_not(metric, label, said, error)) from error
        self._unmeasured += prediction is None
        if type(label) is float and not label.is_integer() and len(self._fractions) < MANY_CLASSES:
            self._fractions.add(label)
        self._named_labels.see(label)
        if self._odd_labels is not None:
            self._odd_labels.see(label, prediction)
        self.note_one()

    def _why_not(self, metric: Any, label: Any, said: Any, error: Exception) -> str:
        """Say which metric cannot measure, and for text labels of a metric of two, how to name the positive one."""
        name = next(name for name, each in self.metrics.items() if each is metric)
        why = f"the metric `{name}` cannot measure the prediction {said!r} of {label!r}: {error}"
        if isinstance(label, str) and isinstance(metric, BinaryMetric):
            why += f'; name the label you mean: `--metric "{river_names.with_parameters(name, pos_val=label)}"`'
        return why

    def make_model(self, saved: dict[str, bytes], decode: Callable[..., None] = no_decoder) -> PartitionModel:
        """Return the model that predicts and learns; `saved` gets its first snapshot.

        With `drift` in the file, it is the whole one of the processor: a drift may make a challenger the champion.
        """
        if self._watched is None:
            saved[""] = snapshot.dumps(self.learner)
            return PartitionModel(self.learner, "", 0, lambda name: snapshot.loads(saved[name]), decode)
        model = Builder(self._watched, saved.__getitem__, decode).start()
        saved[""] = model.dumps({})
        return model

    def reject(self, place: str, kind: str, reason: Reject | str) -> None:
        """Count a record that could not be processed, and keep the reason of the first one of its kind."""
        self.rejected += 1
        self.kinds[kind] += 1
        self.reasons.setdefault(kind, f"{place}: {reason}")

    def note_end(self, model: PartitionModel) -> None:
        """Note the learner at the end, and how many drifts there were."""
        self.learner, self.drifts = model.learner, None if model.watch is None else model.watch.past.drifts

    def note_one(self) -> None:
        """Count an example and add a point to the curve; drop every second point when there are too many."""
        self.examples += 1
        if self.examples % self._step == 0:
            self.curve.append((self.examples, [self.metrics[name].get() for name in self.drawable]))
            if len(self.curve) == 2 * MOST_POINTS:
                self._step *= 2
                del self.curve[::2]


def run(
    config: Config | FileConfig,
    data: str | os.PathLike[str] | None = None,
    names: str | Sequence[str] = (),
    delay: int | None = None,
    labels: str | os.PathLike[str] | None = None,
    time: str | None = None,
    label_time: str | None = None,
) -> Result:
    """Evaluate the learner of a processor; `connectors.evaluate` documents the parameters."""
    result = start(config, [names] if isinstance(names, str) else names)
    data, labels = (None if path is None else os.fspath(path) for path in (data, labels))
    for each in (result, *result.challengers.values()):
        for _ in measure(each, any_source_of(config, data, labels, time, label_time), delay):
            pass
    return result


def start(config: Config | FileConfig, names: Sequence[str] = ()) -> Result:
    """Return a result to be filled by `measure`: the learner of a processor and fresh metrics of these names.

    So are the results of its challengers.
    """
    first, *others = [Result(measures.make(names, learner), learner) for learner in config.first_learners().values()]
    first.challengers = dict(zip(config.challengers, others, strict=True))
    first._watched = config if config.drift else None
    first.odd_features = OddFeatures(texts_of(config.learner.steps))
    first.absent = {name: path.name for name, path in named(config.record.features or ())}
    return first


def measure(result: Result, source: "Source", delay: int | None = None) -> Iterator[int]:
    """Predict, measure and learn all examples of a source; yield the number of examples measured so far.

    Parameters
    ----------
    result
        The result of `start`, which this function fills.
    source
        Where examples come from.
    delay
        A label becomes known right before the labelled example that comes so many later; None: at once, or with
        labels in a file of their own, when they come.
    """
    if isinstance(source, LateSource):
        if delay is not None:
            raise ConfigError("`--delay` is for labels in the records themselves: the times of late labels tell theirs")
        result.absent.clear()  # records are decoded when their labels come, and not seen here
        yield from evaluate_late.measure(result, source, REMEMBERED)
        return
    saved: dict[str, bytes] = {}
    model = result.make_model(saved)
    watch = model.watch
    # the example with its probabilities, by its number, until its label is known
    pending: dict[int, tuple[Record, Any]] = {}
    for number, features, label, *weight in stream.simulate_qa(_labelled(result, source), None, delay, copy=False):
        record = Record.of_example(features, label, **(weight[0] if weight else {}))
        try:
            if label is None:  # the example comes first, and its label in a later round
                model.predict(record)
                probabilities = None
                if result.needs_probabilities:  # of a copy: steps may change what they are given
                    probabilities = model.learner.predict_proba_one(model.features_of(record))
                pending[number] = record, probabilities
                if watch is not None:
                    watch.past.newest = number
                continue
            if number not in pending:
                continue
            said, probabilities = pending.pop(number)
            record.prediction, record.answers = said.prediction, said.answers
            model.learn(record, is_watched=watch is None or number > watch.past.since)
        except Reject as reject:
            result.reject(record.source, reject.kind, reject)
            continue
        result.judge(label, said.prediction, probabilities)
        result.odd_features.see(features)  # a learner that takes no texts has refused those, and said why
        if result.examples % REMEMBERED == 0:
            saved[""] = model.dumps({})
            model.saved_as("")
        yield result.examples
    result.note_end(model)


def _labelled(result: Result, source: "FileSource | DataSet") -> Iterator[Any]:
    """Yield features, label, and weight and place of the examples with a label, as River takes them."""
    for record in source.examples(result):
        for name in record.features.keys() & result.absent.keys():
            del result.absent[name]
        if record.label is None:
            result.unlabelled += 1
        else:
            yield record.features, record.label, {"w": record.weight, "source": record.source}


class FileSource:
    """The records of a file, read as by a processor; `-` is standard input."""

    def __init__(self, config: Config | FileConfig, path: str) -> None:
        self.name, self._path = path, path
        self._texts, self._nulls = config.text_fields, config.imputed_fields
        with as_start_errors(self._path):
            self._reader = open_records(path)
        self._decoder, self.total = make_decoder(config, config.record, self._reader), self._reader.total

    @property
    def done(self) -> int:
        """The number of bytes or rows read so far."""
        return self._reader.length

    def examples(self, result: Result) -> Iterator[Record]:
        """Yield the examples, and reject records that are not examples."""
        for record in self.records():
            try:
                self._decoder.decode(record)
            except Reject as reject:
                result.reject(record.source, reject.kind, reject)
            else:
                if record.known is not None:
                    result.reject(record.source, record.known.kind, record.known)
                else:
                    yield record

    def parser(self, id: str | None) -> Callable[[bytes], Any] | None:
        """Return what turns a value into fields; None for JSON."""
        return self._reader.parser(id, *self._texts, nulls=self._nulls)

    def records(self) -> Iterator[Record]:
        """Yield the records, not decoded."""
        with as_start_errors(self._path):
            for record in self._reader:
                if record is not None:
                    yield record


class DataSet:
    """The examples of one of River's data sets."""

    def __init__(self, config: Config | FileConfig, name: str) -> None:
        known = river_names.classes_of(datasets, datasets.base.Dataset)
        self.name, self._data = river_names.make(name, known, "data set")
        self.total, self.done = self._data.n_samples, 0
        record = config.record
        features = None if record.features is None else named(record.features)
        weight = None if record.weight is None else FieldPath.parse(record.weight)
        # A processor takes these out of a record before it learns the other fields.
        apart = (record.id, record.label, record.time) if features is None else ()
        self._apart = {FieldPath.parse(text).name for text in apart if text is not None}
        is_plain = features is None and record.nulls is None and weight is None
        self._pick = None if is_plain else Picker(None, None, weight, features, record.nulls)

    def examples(self, result: Result) -> Iterator[Record]:
        """Yield the examples, and reject those that hold none of the listed features."""
        for features, label in self.pairs():
            self.done += 1
            weight = None
            if not self._apart.isdisjoint(features):
                features = {name: value for name, value in features.items() if name not in self._apart}
            try:
                if self._pick is not None:
                    _, _, weight, features = self._pick(features)
                if not features:
                    raise Reject("no features", "no_features")
                record = Record.of_example(features, label, source=f"{self.name}:{self.done}")
                if weight is not None:
                    record.weigh(weight)
                if record.known is not None:
                    raise record.known
            except Reject as reject:
                result.reject(f"{self.name}:{self.done}", reject.kind, reject)
            else:
                yield record

    def pairs(self) -> Iterator[tuple[dict[str, Any], Any]]:
        """Yield features and label of each example."""
        try:
            yield from self._data
        except OSError as error:
            raise StartError(f"River's data set `{self.name}` cannot be read: {error}") from error


def source_of(config: Config | FileConfig, data: str | None) -> FileSource | DataSet:
    """Return the source of the examples: `data`, or the input file of the processor."""
    if data is None and isinstance(config, FileConfig):
        return FileSource(config, config.input.file)
    if data is None:
        raise ConfigError("this processor reads a topic: name what to evaluate on with `--data`, a file or a data set")
    if data == STANDARD or is_file(data):
        return FileSource(config, data)
    if os.path.exists(data):
        raise ConfigError(f"`{data}` does not say what it holds: give it a name that ends with {FORMATS}")
    if "." in data or os.sep in data:
        raise ConfigError(f"there is no file `{data}`, and no data set of this name")
    return DataSet(config, data)


Source = FileSource | DataSet | LateSource


def any_source_of(
    config: Config | FileConfig,
    data: str | None = None,
    labels: str | None = None,
    time: str | None = None,
    label_time: str | None = None,
) -> Source:
    """Return the source of the examples, with their labels in a file of their own if there is one."""
    if data is None and isinstance(config, FileConfig):
        data = config.input.file
        labels = labels or (config.labels.file if config.labels else None)
    if labels is None and (time or label_time):
        raise ConfigError("`--time` and `--label-time` are for labels in a file of their own: name it with `--labels`")
    if data == STANDARD and config.challengers:
        raise ConfigError("standard input can be read once, and each challenger reads the data again: name a file")
    if labels is None:
        return source_of(config, data)
    if data is None:
        raise ConfigError("this processor reads a topic: name the file with the records with `--data`")
    return LateSource(config, data, labels, time, label_time)
