"""Progressive validation: each example is predicted before it is learned, and what came of that is measured.

It is River's `evaluate.progressive_val_score`, to the last digit, for the records of a processor: one that cannot be
processed leaves the model as it was and is counted, and so is one without a label, from which nothing can be measured.
"""

import contextlib
import inspect
import os
import pathlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from river import base, datasets, metrics, stream

from connectors.config import Config, FileConfig
from connectors.errors import ConfigError, StartError
from connectors.file_sections import STANDARD, is_file
from connectors.files import make_decoder
from connectors.kafka import Committed
from connectors.lines import Reader
from connectors.partition import Partition
from connectors.records import Example, Reject
from connectors.streams import Unfit
from connectors.words import did_you_mean
from river_margins import snapshot

MOST_POINTS = 1000
REMEMBERED = 10_000  # examples that a model is built again from when one cannot be learned


@dataclass
class Result:
    """What an evaluation found.

    Attributes
    ----------
    metrics
        River's metrics, by their names.
    learner
        The learner after the last example.
    examples, unlabelled, rejected
        What was measured, what had no label, and what could not be processed.
    reason
        Which record was the first that could not be processed, and why.
    curve
        A number of examples, and then the values of the metrics that are one number.
    drawable
        The names of these metrics.
    """

    metrics: dict[str, Any]
    learner: Any
    examples: int = 0
    unlabelled: int = 0
    rejected: int = 0
    reason: str = ""
    curve: list[tuple[int, list[float]]] = field(default_factory=list)
    _step: int = 1

    def __post_init__(self) -> None:
        self.drawable = [name for name, metric in self.metrics.items() if _is_number(metric)]

    def reject(self, place: str, reject: Reject) -> None:
        self.rejected += 1
        self.reason = self.reason or f"{place}: {reject}"

    def note_one(self) -> None:
        """Counts an example, and adds to the curve, from which every second point goes when there are too many."""
        self.examples += 1
        if self.examples % self._step == 0:
            self.curve.append((self.examples, [self.metrics[name].get() for name in self.drawable]))
            if len(self.curve) == 2 * MOST_POINTS:
                self._step *= 2
                del self.curve[::2]


def _is_number(metric: Any) -> bool:
    try:
        return isinstance(metric.get(), int | float)
    except NotImplementedError:  # as a confusion matrix says
        return False


def measure(result: Result, source: "FileSource | DataSet", delay: int | None = None) -> Iterator[int]:
    """Takes all examples of a source through `result.learner` and its metrics; yields how many it has measured.

    Parameters
    ----------
    result
        A learner and fresh metrics; filled on the way.
    source
        Where examples come from.
    delay
        After how many further examples with a label the label of one becomes known; None: at once.
    """
    saved = {"": snapshot.dumps(result.learner)}
    partition = Partition(result.learner, Committed(0, ""), "", 0, lambda name: snapshot.loads(saved[name]))
    is_classifier = isinstance(result.learner, base.Classifier)
    in_classes = [metric for metric in result.metrics.values() if not is_classifier or metric.requires_labels]
    in_probabilities = [metric for metric in result.metrics.values() if metric not in in_classes]
    said: dict[int, tuple[Any, Any]] = {}
    for number, features, label in stream.simulate_qa(_labelled(result, source), None, delay, copy=False):
        try:
            if label is None:  # not yet: this is the question
                prediction = partition.predict(features)[0]
                said[number] = prediction, partition.learner.predict_proba_one(features) if in_probabilities else None
                continue
            if number not in said:
                continue
            answers = said.pop(number)
            partition.learn(features, label)
        except Reject as reject:
            result.reject(f"example {number + 1}", reject)
            continue
        for answer, measures in zip(answers, (in_classes, in_probabilities), strict=True):
            for metric in measures if answer is not None and answer != {} else ():
                metric.update(label, answer)
        result.note_one()
        if result.examples % REMEMBERED == 0:
            saved[""] = snapshot.dumps(partition.learner)
            partition.remember(partition.written, "")
        yield result.examples
    result.learner = partition.learner


def _labelled(result: Result, source: "FileSource | DataSet") -> Iterator[tuple[dict[Any, Any], Any]]:
    for example in source.examples(result):
        if example.label is None:
            result.unlabelled += 1
        else:
            yield example.features, example.label


class FileSource:
    """The records of a file, as the processor reads them; `-` is standard input."""

    def __init__(self, config: Config | FileConfig, path: str) -> None:
        self.name, self._path = path, path
        with self._named():
            self._reader = Reader(path)
        self._decoder = make_decoder(config.record, self._reader.columns, path)
        is_plain = path.endswith((".jsonl", ".csv"))
        self.total = os.path.getsize(path) if is_plain else None

    @property
    def done(self) -> int:
        """How many bytes were read."""
        return self._reader.length

    def examples(self, result: Result) -> Iterator[Example]:
        """Yields the examples; what is none goes to the result."""
        with self._named():
            for line in self._reader:
                if line is not None:
                    place = f"{pathlib.Path(self._path).name}:{line.offset}"
                    try:
                        example = self._decoder.decode(line.value, place)
                    except Reject as reject:
                        result.reject(place, reject)
                    else:
                        yield example

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except Unfit as error:
            raise StartError(f"the data `{self._path}`: {error}") from error
        except OSError as error:
            raise StartError(f"the data `{self._path}`: {error.strerror}") from error


class DataSet:
    """The examples of one of River's data sets."""

    def __init__(self, config: Config | FileConfig, name: str) -> None:
        self._data = find(name, known_data_sets(), "data set")
        self.name = type(self._data).__name__
        self.total, self.done = self._data.n_samples, 0
        self._features = config.record.features

    def examples(self, result: Result) -> Iterator[Example]:
        """Yields the examples; one that holds none of the listed features goes to the result."""
        for features, label in self._data:
            self.done += 1
            if self._features is not None:
                features = {name: features[name] for name in self._features if name in features}
            if features:
                yield Example(None, features, label)
            else:
                result.reject(f"{self.name}:{self.done}", Reject("no features"))


def source_of(config: Config | FileConfig, data: str | None) -> FileSource | DataSet:
    """Returns where examples come from: `data`, or the input file of the processor."""
    if data is None and isinstance(config, FileConfig):
        return FileSource(config, config.input.file)
    if data is None:
        raise ConfigError("this processor reads a topic: name what to evaluate on with `--data`, a file or a data set")
    if data == STANDARD or is_file(data):
        return FileSource(config, data)
    if os.path.exists(data):
        raise ConfigError(
            f"`{data}` does not say what it holds: give it a name that ends with `.jsonl` or `.csv`, perhaps with `.gz`"
        )
    return DataSet(config, data)


def known_metrics() -> dict[str, type]:
    """Returns River's metrics that need no parameter and no cluster, by their names."""
    found = _without_parameters(metrics, metrics.base.Metric)
    return {name: kind for name, kind in found.items() if not issubclass(kind, metrics.base.ClusteringMetric)}


def known_data_sets() -> dict[str, type]:
    """Returns River's data sets, by their names."""
    return _without_parameters(datasets, datasets.base.Dataset)


def _without_parameters(module: Any, kind: type) -> dict[str, type]:
    found = {}
    for name in module.__all__:
        thing = getattr(module, name, None)  # River lists one name that it does not have
        if isinstance(thing, type) and issubclass(thing, kind):
            parameters = inspect.signature(thing).parameters.values()
            if all(
                one.default is not one.empty or one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters
            ):
                found[name] = thing
    return found


def find(name: str, known: dict[str, type], what: str) -> Any:
    """Makes a thing of River by its name, in small or capital letters; ConfigError when there is none."""
    spelled = {known_name.lower(): kind for known_name, kind in known.items()}
    if name.lower() not in spelled:
        hint = did_you_mean(name, known) or f"; known are {', '.join(known)}"
        raise ConfigError(f"River has no {what} `{name}`{hint}")
    return spelled[name.lower()]()


def find_metrics(names: Sequence[str], learner: Any) -> dict[str, Any]:
    """Returns fresh metrics that fit a learner, by their names.

    >>> import river_margins as rm
    >>> find_metrics([], rm.PAClassifier()), list(find_metrics(["rmse", "R2"], rm.PARegressor()))
    ({'Accuracy': Accuracy: 0.00%}, ['RMSE', 'R2'])
    """
    found = {}
    for name in names or ["MAE" if isinstance(learner, base.Regressor) else "Accuracy"]:
        metric = find(name, known_metrics(), "metric")
        if not metric.works_with(learner):
            kind = "regressor" if isinstance(learner, base.Regressor) else "classifier"
            raise ConfigError(f"the metric `{type(metric).__name__}` cannot measure a {kind}")
        found[type(metric).__name__] = metric
    return found
