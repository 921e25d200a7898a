"""Progressive validation: each example is predicted before it is learned, and the predictions are measured.

The metrics equal those of River's `evaluate.progressive_val_score`, to the last digit. A record that cannot be
processed, or that has no label, leaves the model as it was and is counted.
"""

import ast
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from river import base, datasets, metrics, stream

from connectors.config import Config, FileConfig
from connectors.config.files_schema import FORMATS, STANDARD, is_file
from connectors.errors import ConfigError, StartError
from connectors.files.processor import make_decoder
from connectors.files.readers import open_records
from connectors.model.field_paths import FieldPath, Picker, named
from connectors.model.partition_model import PartitionModel, no_decoder
from connectors.model.records import Record
from connectors.model.rejects import Reject
from connectors.snapshots.models import Builder
from connectors.suggest import did_you_mean
from connectors.tools import evaluate_late
from connectors.tools.evaluate_late import LateSource, as_start_errors
from river_margins import snapshot

MOST_POINTS = 1000
REMEMBERED = 10_000  # examples between two copies of the model: it is rebuilt from one when learning fails half-way


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
    queries
        How many labels were asked for; None without `queries`.
    drifts
        How many drifts there were; None for a model that nothing watches.
    reason
        The first record that could not be processed, and why.
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
    queries: int | None = None
    drifts: int | None = None
    reason: str = ""
    curve: list[tuple[int, list[float]]] = field(default_factory=list)
    _watched: Config | FileConfig | None = None  # the file, for the learner whose loss it watches for drift
    _step: int = 1

    def __post_init__(self) -> None:
        self.drawable = [name for name, metric in self.metrics.items() if _is_number(metric)]

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

    def reject(self, place: str, reason: Reject | str) -> None:
        """Count a record that could not be processed, and keep the reason of the first one."""
        self.rejected += 1
        self.reason = self.reason or f"{place}: {reason}"

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


def _is_number(metric: Any) -> bool:
    try:
        return isinstance(metric.get(), int | float)
    except NotImplementedError:  # a confusion matrix has no single value
        return False


def run(
    config: Config | FileConfig,
    data: str | None = None,
    names: Sequence[str] = (),
    delay: int | None = None,
    labels: str | None = None,
    time: str | None = None,
    label_time: str | None = None,
) -> Result:
    """Evaluate the learner of a processor; `connectors.evaluate` documents the parameters."""
    result = start(config, names)
    for each in (result, *result.challengers.values()):
        for _ in measure(each, any_source_of(config, data, labels, time, label_time), delay):
            pass
    return result


def start(config: Config | FileConfig, names: Sequence[str] = ()) -> Result:
    """Return a result to be filled by `measure`: the learner of a processor and fresh metrics of these names.

    So are the results of its challengers.
    """
    first, *others = [Result(make_metrics(names, learner), learner) for learner in config.first_learners().values()]
    first.challengers = dict(zip(config.challengers, others, strict=True))
    first._watched = config if config.drift else None
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
        After how many further examples with a label an example's own label becomes known; None: at once, or with
        labels in a file of their own, when they come.
    """
    if isinstance(source, LateSource):
        if delay is not None:
            raise ConfigError("`--delay` is for labels in the records themselves: the times of late labels tell theirs")
        yield from evaluate_late.measure(result, source, REMEMBERED)
        return
    saved: dict[str, bytes] = {}
    model = result.make_model(saved)
    watch, is_classifier = model.watch, isinstance(result.learner, base.Classifier)
    in_classes = [metric for metric in result.metrics.values() if not is_classifier or metric.requires_labels]
    in_probabilities = [metric for metric in result.metrics.values() if metric not in in_classes]
    # the example with its probabilities, by its number, until its label is known
    pending: dict[int, tuple[Record, Any]] = {}
    for number, features, label, *weight in stream.simulate_qa(_labelled(result, source), None, delay, copy=False):
        record = Record.of_example(features, label, **(weight[0] if weight else {}))
        try:
            if label is None:  # the example comes first, and its label in a later round
                model.predict(record)
                probabilities = model.learner.predict_proba_one(features) if in_probabilities else None
                pending[number] = record, probabilities
                if watch is not None:
                    watch.past.newest = number
                continue
            if number not in pending:
                continue
            said, probabilities = pending.pop(number)
            record.source, record.prediction, record.answers = f"example {number + 1}", said.prediction, said.answers
            model.learn(record, is_watched=watch is None or number > watch.past.since)
        except Reject as reject:
            result.reject(f"example {number + 1}", reject)
            continue
        for prediction, measures in ((said.prediction, in_classes), (probabilities, in_probabilities)):
            for metric in measures if prediction is not None and prediction != {} else ():
                metric.update(label, prediction)
        result.note_one()
        if result.examples % REMEMBERED == 0:
            saved[""] = model.dumps({})
            model.saved_as("")
        yield result.examples
    result.note_end(model)


def _labelled(result: Result, source: "FileSource | DataSet") -> Iterator[Any]:
    """Yield features, label and `{"w": weight}` of the examples with a label, as River takes them."""
    for record in source.examples(result):
        if record.label is None:
            result.unlabelled += 1
        else:
            yield record.features, record.label, {} if record.weight == 1.0 else {"w": record.weight}


class FileSource:
    """The records of a file, read as by a processor; `-` is standard input."""

    def __init__(self, config: Config | FileConfig, path: str) -> None:
        self.name, self._path = path, path
        with as_start_errors(self._path):
            self._reader = open_records(path)
        self._decoder, self.total = make_decoder(config.record, self._reader), self._reader.total

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
                result.reject(record.source, reject)
            else:
                if record.known is not None:
                    result.reject(record.source, record.known)
                else:
                    yield record

    def parser(self, id: str | None) -> Callable[[bytes], Any] | None:
        """Return what turns a value into fields; None for JSON."""
        return self._reader.parser(id)

    def records(self) -> Iterator[Record]:
        """Yield the records, not decoded."""
        with as_start_errors(self._path):
            for record in self._reader:
                if record is not None:
                    yield record


class DataSet:
    """The examples of one of River's data sets."""

    def __init__(self, config: Config | FileConfig, name: str) -> None:
        self.name, self._data = make(name, known_data_sets(), "data set")
        self.total, self.done = self._data.n_samples, 0
        record = config.record
        features = None if record.features is None else named(record.features)
        weight = None if record.weight is None else FieldPath.parse(record.weight)
        is_plain = features is None and record.nulls is None and weight is None
        self._pick = None if is_plain else Picker(None, None, weight, features, record.nulls)

    def examples(self, result: Result) -> Iterator[Record]:
        """Yield the examples, and reject those that hold none of the listed features."""
        for features, label in self.pairs():
            self.done += 1
            weight = None
            try:
                if self._pick is not None:
                    _, _, weight, features = self._pick(features)
                if not features:
                    raise Reject("no features", "no_features")
                record = Record.of_example(features, label)
                if weight is not None:
                    record.weigh(weight)
                if record.known is not None:
                    raise record.known
            except Reject as reject:
                result.reject(f"{self.name}:{self.done}", reject)
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


def known_metrics() -> dict[str, type]:
    """Return River's metrics by their names, without those for clusters."""
    found = _classes(metrics, metrics.base.Metric)
    return {name: kind for name, kind in found.items() if not issubclass(kind, metrics.base.ClusteringMetric)}


def known_data_sets() -> dict[str, type]:
    """Return River's data sets by their names."""
    return _classes(datasets, datasets.base.Dataset)


def _classes(module: Any, base_class: type) -> dict[str, type]:
    # River's `__all__` holds a name that the module does not have.
    found = {name: getattr(module, name, None) for name in module.__all__}
    return {name: kind for name, kind in found.items() if isinstance(kind, type) and issubclass(kind, base_class)}


def make(text: str, known: dict[str, type], what: str) -> tuple[str, Any]:
    """Make a metric or a data set from its name, in small or capital letters, with or without parameters.

    >>> make("fbeta(beta=2)", known_metrics(), "metric")
    ('FBeta(beta=2)', FBeta: 0.00%)
    """
    name, given = re.fullmatch(r"([^(]*)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    spelled = {known_name.lower(): kind for known_name, kind in known.items()}
    kind = spelled.get(name.lower())
    if kind is None:
        hint = did_you_mean(name, known) or f"; known are {', '.join(known)}"
        raise ConfigError(f"River has no {what} `{name}`{hint}")
    try:
        return kind.__name__ + given, kind(**_parameters(given or "()"))
    except (SyntaxError, TypeError, ValueError) as error:
        raise ConfigError(f"`{text}` is refused: {error}; parameters are given as in `FBeta(beta=2)`") from error


def _parameters(text: str) -> dict[str, Any]:
    call = ast.parse(f"f{text}", mode="eval").body
    if not isinstance(call, ast.Call) or call.args:
        raise ValueError("a parameter needs its name")
    return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}


def make_metrics(texts: Sequence[str], learner: Any) -> dict[str, Any]:
    """Return fresh metrics that fit a learner, by their names.

    >>> import river_margins as rm
    >>> make_metrics([], rm.PAClassifier()), list(make_metrics(["rmse", "R2"], rm.PARegressor()))
    ({'Accuracy': Accuracy: 0.00%}, ['RMSE', 'R2'])
    """
    found = {}
    is_regressor = isinstance(learner, base.Regressor)
    for text in texts or ["MAE" if is_regressor else "Accuracy"]:
        name, metric = make(text, known_metrics(), "metric")
        if not metric.works_with(learner):
            raise ConfigError(f"the metric `{name}` cannot measure a {'regressor' if is_regressor else 'classifier'}")
        found[name] = metric
    return found
