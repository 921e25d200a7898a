"""Progressive validation: each example is predicted before it is learned, and the predictions are measured.

The metrics equal those of River's `evaluate.progressive_val_score`, to the last digit. A record that cannot be
processed, or that has no label, leaves the model as it was and is counted.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from connectors.config import Config, FileConfig
from connectors.config.files_schema import FORMATS, STANDARD, is_file
from connectors.config.learner import texts_of
from connectors.errors import ConfigError, StartError
from connectors.files.processor import make_decoder
from connectors.files.readers import open_records
from connectors.model.field_paths import FieldPath, Picker, named
from connectors.model.records import Record
from connectors.model.rejects import Reject
from connectors.tools import evaluate_late, measures, river_names
from connectors.tools.evaluate_late import LateSource, as_start_errors
from connectors.tools.odd_values import OddFeatures
from connectors.tools.result import Result

REMEMBERED = 10_000  # examples between two copies of the model: it is rebuilt from one when learning fails half-way


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
    for number, features, label, given in _asked_and_answered(_labelled(result, source), delay):
        record = Record.of_example(features, label, **given)
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


def _asked_and_answered(examples: Iterable[Any], delay: int | None) -> Iterator[tuple[int, Any, Any, Any]]:
    """Yield each example with its number, first without its label, and with it when that becomes known.

    As River's `stream.simulate_qa`. To import that takes a second where scikit-learn is installed: more than the rest.
    """
    waiting: deque[tuple[int, Any, Any, Any]] = deque()
    for number, (features, label, given) in enumerate(examples):
        while waiting and delay is not None and waiting[0][0] + delay <= number:
            yield waiting.popleft()
        yield number, features, None, given
        if delay is None:
            yield number, features, label, given
        else:
            waiting.append((number, features, label, given))
    yield from waiting


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
        from river import datasets  # only here: it imports scikit-learn, where that is installed

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
