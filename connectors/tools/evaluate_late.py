"""Progressive validation with labels that come later: the route of a processor with `labels`, with River's metrics."""

import contextlib
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

from connectors.config import Config, FileConfig
from connectors.config.files_schema import FORMATS, STANDARD, is_file
from connectors.errors import ConfigError, StartError
from connectors.files.byte_streams import Unfit
from connectors.files.merged import Lookahead, clock_of_labels, clock_of_records, decoder_of_labels, merged
from connectors.files.processor import make_asking, make_decoder
from connectors.files.readers import AnyReader, open_records
from connectors.labels.late_learning import LateLearning, Results
from connectors.labels.merging import NO_TIME, Side
from connectors.labels.waiting import WaitingRecords
from connectors.model.counts import Counts
from connectors.model.field_paths import FieldPath
from connectors.model.partition_model import PartitionModel
from connectors.model.records import Record
from connectors.model.rejects import reason_of
from connectors.tools.result import Result

FEW = 1000  # probabilities that are held for records that wait no longer


class LateSource:
    """Records in one file, and their labels in another one.

    Parameters
    ----------
    config
        The processor's file, with `labels`.
    data, labels
        The two files.
    time, label_time
        The fields with the time of a record and of a label, instead of `record.time` and `labels.time`.
    """

    def __init__(
        self, config: Config | FileConfig, data: str, labels: str, time: str | None, label_time: str | None
    ) -> None:
        self.name = data
        self.record, self.section = _sections(config, time, label_time)
        self._readers = [self._reader(path) for path in (data, labels)]
        records, of_labels = self._readers
        self.total = None
        if records.total is not None and of_labels.total is not None:
            self.total = records.total + of_labels.total
        self.decode = make_decoder(config, self.record, records, is_joined=True).decode
        self.asking = make_asking(config, records, None)
        self.decoder_of_labels = decoder_of_labels(self.section, of_labels)
        self.sources = f"{pathlib.Path(data).name}:", f"{pathlib.Path(labels).name}:"
        self._heads = (
            Lookahead(records, clock_of_records(self.record, records, config.text_fields)),
            Lookahead(of_labels, clock_of_labels(self.section, of_labels)),
        )

    def _reader(self, path: str) -> AnyReader:
        if path == STANDARD or not is_file(path):
            raise ConfigError(f"`{path}`: with labels, two files are needed, whose names end with {FORMATS}")
        with as_start_errors(path):
            return open_records(path)

    @property
    def done(self) -> int:
        """The number of bytes or rows read so far."""
        return sum(reader.length for reader in self._readers)

    def __iter__(self) -> Iterator[Any]:
        """Yield records and labels in the order of their times."""
        with as_start_errors(self.name):
            yield from merged(*self._heads)


@contextlib.contextmanager
def as_start_errors(path: str) -> Iterator[None]:
    """Name the file in errors of reading it."""
    try:
        yield
    except Unfit as error:
        raise StartError(f"the data `{path}`: {error}") from error
    except OSError as error:
        raise StartError(f"the data `{path}`: {error.strerror}") from error


def _sections(config: Config | FileConfig, time: str | None, label_time: str | None) -> tuple[Any, Any]:
    """Return the sections `record` and `labels` with these fields for times, or raise ConfigError."""
    if config.labels is None:
        raise ConfigError("labels in a file of their own need the section `labels` of the processor's file: add it")
    for option, text in (("--time", time), ("--label-time", label_time)):
        try:
            FieldPath.parse(text or "a")
        except ValueError as error:
            raise ConfigError(f"`{option}`: {error}") from error
    record = config.record.model_copy(update={"time": time} if time else {})
    labels = config.labels.model_copy(update={"time": label_time} if label_time else {})
    needed = {
        "record.time": (record.time, "the time of a record: name its field with `--time`"),
        "labels.time": (labels.time, "the time of a label: name its field with `--label-time`"),
        "record.id": (record.id, "which record it is: name the field with the id in the processor's file"),
        "labels.id": (labels.id, "which record a label is for: name the field with the id in the processor's file"),
    }
    for key, (text, does) in needed.items():
        if text is None:
            raise ConfigError(f"`{key}` is missing: in files, nothing but a field tells {does}")
    return record, labels


class _Judge:
    """Measures predictions when their labels come; remembers until then what `LateLearning` does not.

    Parameters
    ----------
    result
        The result to fill.
    model
        The model. If a metric needs probabilities, those of its last prediction are kept from now on.
    """

    def __init__(self, result: Result, model: PartitionModel) -> None:
        self._result = result
        self._last: Any = None
        if result.needs_probabilities:
            model.predict = self._remembering(model, model.predict)  # type: ignore[method-assign, assignment]
        self._probabilities: dict[str, Any] = {}  # of records that wait, by their source

    def _remembering(self, model: PartitionModel, predict: Callable[[Record], None]) -> Callable[[Record], None]:
        def remembering(record: Record) -> None:
            predict(record)
            self._last = model.learner.predict_proba_one(model.features_of(record))

        return remembering

    def take_record(self, record: Record) -> None:
        """Measure the prediction of a record with its own label, or remember its probabilities."""
        if record.output is not None:
            self._result.odd_features.see(record.features)
        if record.output is not None and record.label is not None:
            self._result.judge(record.label, record.prediction, self._last)
        elif self._result.needs_probabilities:
            self._probabilities[record.source] = self._last
        self._count_reject(record)

    def take_results(self, results: Results) -> None:
        """Measure the predictions whose labels came, and count the rejects."""
        for outcome in results.outcomes:
            self._result.judge(outcome.label, outcome.prediction, self._probabilities.pop(outcome.record, None))
        for reject in results.rejects:
            self._count_reject(reject)

    def _count_reject(self, record: Record) -> None:
        if record.known is not None:
            self._result.reject(record.source, record.known.kind, reason_of(record.known))

    def forget(self, waiting: WaitingRecords, source: str) -> None:
        """Forget the probabilities of records that wait no longer, if there are many."""
        if len(self._probabilities) > FEW + 2 * len(waiting.records):
            there = {f"{source}{item.sequence}" for item in waiting.records}
            self._probabilities = {place: found for place, found in self._probabilities.items() if place in there}


def measure(result: Result, source: LateSource, remembered: int) -> Iterator[int]:
    """Predict and learn all records of a source, and measure each prediction when its label comes.

    Yield the number of predictions measured so far; after each `remembered` records and labels, the model is copied.
    """
    saved: dict[str, bytes] = {}
    model = result.make_model(saved, source.decode)
    section, counts, judge = source.section, Counts(), _Judge(result, model)
    waiting = WaitingRecords(section.within_ms, section.pending)
    route = LateLearning(model, waiting, source.decoder_of_labels, source.sources, section.otherwise, source.asking)
    for number, taken in enumerate(source, 1):
        result.backward += waiting.is_past(taken.time)
        if result.first_time == NO_TIME:
            result.first_time = taken.time
        if taken.side is Side.RECORDS:
            results = route.take_record(taken.record, taken.sequence, taken.time, counts)
            judge.take_record(taken.record)
        else:
            results = route.take_label(taken.record, taken.sequence, taken.time, counts)
        judge.take_results(results)
        judge.forget(waiting, source.sources[0])
        if number % remembered == 0:  # examples would not do: a model that begins anew has few
            saved[""] = model.dumps({})
            model.saved_as("")
        yield result.examples
    result.unlabelled = counts.expired + counts.displaced + len(waiting.records)
    result.queries = None if source.asking is None else counts.queries
    if source.asking is not None and not source.asking.all_wait:  # those that were not asked for did not wait
        result.unlabelled += source.asking.asked.records - counts.queries
    result.note_end(model)
