"""The processor between files: it takes the records of a file through one model.

Each record takes the same route as in a processor between topics (`connectors.model.process_record`). Output, position
and model are committed together; `FileProcessor.commit` has the steps, whose order makes crashes harmless.
"""

import base64
import contextlib
import fcntl
import hashlib
import logging
import math
import pathlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from connectors.config.files_schema import STANDARD, FileConfig
from connectors.config.schema import AnyConfig
from connectors.config.schema import Record as RecordFields
from connectors.errors import StartError, StateError
from connectors.files.byte_streams import Unfit, with_name
from connectors.files.late_labels import BACKWARD, Kept, LateLabels, WaitingStore
from connectors.files.merged import Lookahead
from connectors.files.readers import AnyReader, missing_column, open_records
from connectors.files.record_files import Mark, Writer
from connectors.labels.asking import Asked, Asking
from connectors.labels.merging import Side
from connectors.labels.waiting import BadState, WaitingRecords
from connectors.model.counts import Counts
from connectors.model.field_paths import FieldPath, named
from connectors.model.missing_labels import MissingLabels
from connectors.model.partition_model import PartitionModel
from connectors.model.process_record import process_record
from connectors.model.records import Decoder, Record
from connectors.model.rejects import log_reject
from connectors.runtime.health import Health
from connectors.runtime.server import serving
from connectors.runtime.start_line import log_start
from connectors.runtime.stop import Stop
from connectors.snapshots.check_learner import note_of
from connectors.snapshots.models import Builder, find
from connectors.snapshots.names import SnapshotName
from connectors.snapshots.stores import FolderStore, make_folder
from connectors.suggest import did_you_mean
from river_margins import snapshot

log = logging.getLogger(__name__)
commits = log.getChild("commit")

PARTITION = 0  # a file is one partition
ATTEMPTS = 5  # to read a snapshot while a processor runs
MOST_COLUMNS = 10  # that a message names


@dataclass(frozen=True)
class Place:
    """A file with the mark of the part that was read or written; the mark of a standard stream is None."""

    path: str
    mark: Mark | None


@dataclass(frozen=True)
class State:
    """A checkpoint: the marks of all files, and the snapshot of the model that belongs to them.

    With labels that come later, also what waits for them.
    """

    input: Place
    lines: int
    output: Place
    rejects: Place | None
    snapshot: str
    sha256: str
    examples: int
    labels: Place | None = None
    lines_of_labels: int = 0
    outcomes: Place | None = None
    waiting: Kept | None = None
    queries: Place | None = None
    has_ended: bool = False  # in order: then what follows a mark was written by somebody else


STATE = TypeAdapter(State)


def run(config: FileConfig, stop: Stop | None = None, health: Health | None = None) -> Counts:
    """Run a processor to the end of its input, or until SIGTERM or Ctrl-C. These finish a record and commit.

    Parameters
    ----------
    config
        The processor's file, as `connectors.config.load` returns it.
    stop
        Ends the processor once it is requested; default: signals only.
    health
        The state of the processor, for other threads; default: one for `config.metrics`.

    Returns
    -------
    The counts of committed work.

    Raises
    ------
    ConnectorError
        One of its classes for each reason that a processor cannot start or go on; see `connectors.errors`.
    """
    stop, health = stop or Stop(), health or Health(config)
    health.extend_limit(math.inf)  # comparing the files with the checkpoint may take long
    folder = config.snapshots / config.name / "files"
    with stop.on_signals(), serving(health, config.metrics), _locked(folder):
        return FileProcessor(config, folder, health).run(stop)


@contextlib.contextmanager
def _locked(folder: pathlib.Path) -> Iterator[None]:
    """Hold the lock of a folder, so that one process at a time works with it. A lock ends with its process."""
    try:
        make_folder(folder)
        file = (folder / "lock").open("a")
    except OSError as error:
        raise StartError(f"the folder of the snapshots `{folder}` cannot be written: {error.strerror}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StartError(
                f"another process runs with the snapshots in `{folder}`: give each processor a `name` of its own"
            ) from None
        except OSError as error:  # some network file systems have no locks
            raise StartError(
                f"the folder of the snapshots `{folder}` cannot be locked: {error.strerror}; give `snapshots` a folder "
                f"on a disk of this machine, or mount this one with locks"
            ) from error
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)  # a process that was forked meanwhile has the file open, too


class FileProcessor:
    """A processor between files: it takes records through a model, in order, and writes a value for each.

    `commit` is these steps, in this order:

    1. `write_snapshot`: the model is made durable in the store, under a new name, and what waits for labels;
    2. `sync_output`: all output and rejects are on the disk;
    3. `write_state`: the new checkpoint, with snapshot, position and lengths, replaces the last one in one rename;
    4. `remember`: a failure now goes back to this checkpoint;
    5. `delete_superseded`: the snapshot that the last checkpoint named is deleted, and what waits no more.

    A crash before the end of step 3 leaves the last checkpoint: the next start cuts the output back to it, and reads on
    from there. After it, all have moved.

    Parameters
    ----------
    config
        The processor's file.
    folder
        The folder of the checkpoint and its snapshot.
    health
        The state of the processor, for other threads.

    Attributes
    ----------
    counts
        The counts of committed work.
    assigned, is_ready, paused, committed_offsets, waiting
        For the metrics: a file is one partition, ready from the start, and has no offsets.
    """

    assigned = 1
    is_ready = True
    paused: Mapping[int, str] = {}
    committed_offsets: Mapping[int, int] = {}

    def __init__(self, config: FileConfig, folder: pathlib.Path, health: Health) -> None:
        self.counts, self._pending = Counts(), Counts()
        self._health = health
        self._config, self._store, self._path = config, FolderStore(folder), folder / "checkpoint.json"
        self._state = self._last_state()
        with self._named("input", config.input.file):
            self._reader = open_records(config.input.file)
        has_labels = config.labels is not None
        self._decode = make_decoder(config, config.record, self._reader, has_labels).decode
        self._model = self._new_model() if self._state is None else self._restore(self._state)
        self.models = {PARTITION: self._model}
        if self._state is not None and config.input.file == STANDARD:
            self._reader.lines = self._state.lines  # so that no two records of a pipe have one position
        elif self._state is not None and self._state.input.mark is not None:
            with self._named("input", config.input.file):
                self._reader.skip(self._state.input.mark, self._state.lines)
        state, outcomes = self._state, config.outcomes
        self._output = self._writer("output", config.output.file, state.output if state else None)
        rejected = state.rejects if state else None
        self._rejects = self._writer("rejects", config.rejects.file, rejected) if config.rejects else None
        known = state.outcomes if state else None
        self._outcomes = self._writer("outcomes", outcomes.file, known) if outcomes else None
        asks = state.queries if state else None
        self._queries = self._writer("queries", config.queries.file, asks) if config.queries else None
        self._waiting = WaitingStore(folder / "waiting", self._start_over())
        self._late = self._late_labels()
        self._old = ""
        self._due = 0.0
        self._has_ended = False
        self._missing_labels = MissingLabels(log, None if has_labels else config.record.label)

    # Start

    def _last_state(self) -> State | None:
        try:
            return STATE.validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StateError(f"the checkpoint `{self._path}` cannot be read: {error.strerror}") from error
        except ValidationError as error:
            raise StateError(f"`{self._path}` is not a checkpoint; {self._start_over()}") from error

    def _new_model(self) -> PartitionModel:
        if changes := self._config.first_changes():
            log.warning("%s", changes)
        return self._builder().start()

    def _builder(self) -> Builder:
        return Builder(self._config, lambda name: self._store.read(PARTITION, name), self._decode)

    def _restore(self, state: State) -> PartitionModel:
        named = (
            f"the snapshot `{self._store.path(PARTITION, state.snapshot)}`, which the checkpoint `{self._path}` names,"
        )
        try:
            data = self._store.read(PARTITION, state.snapshot)
        except OSError as error:
            raise StateError(f"{named} cannot be read: {error.strerror}; {self._start_over()}") from error
        if hashlib.sha256(data).hexdigest() != state.sha256:
            raise StateError(f"{named} is corrupt: its SHA-256 is not the recorded one; {self._start_over()}")
        with self._health.metrics.restore_seconds.time():
            found = find(self._config, data, named, self._start_over())
            try:
                model = self._builder().restore(state.snapshot, state.examples, found)
            except snapshot.SnapshotError as error:
                raise StateError(f"{named} cannot be loaded: {error}; {self._start_over()}") from error
        if found.made:
            log.warning("the learner changes with the next snapshot: %s", ", ".join(found.made))
        if changes := self._config.first_changes(found.new):
            log.warning("%s", changes)
        return model

    def _late_labels(self) -> LateLabels | None:
        state, labels = self._state, self._config.labels
        if labels is None:
            if state is not None and state.waiting is not None:
                raise StateError(
                    f"records wait for labels according to the checkpoint `{self._path}`, and the file has no `labels`:"
                    f" put the section back, or {self._start_over()}"
                )
            return None
        waiting = WaitingRecords(labels.within_ms, labels.pending)
        with self._named("labels", labels.file):
            reader = open_records(labels.file)
            if state is not None and state.labels is not None and state.waiting is not None:
                assert state.labels.mark is not None
                waiting = self._waiting.read(state.waiting, labels.within_ms, labels.pending)
                reader.skip(state.labels.mark, state.lines_of_labels)
        asking = make_asking(self._config, self._reader, state.waiting.asked if state and state.waiting else None)
        return LateLabels(self._config, self._reader, reader, self._model, waiting, asking)

    def _writer(self, what: str, path: str, last: Place | None) -> Writer:
        # a mark of length 0 fits any content: it is valid for the same path only
        known = last is not None and last.mark is not None and (last.mark.length > 0 or last.path == path)
        has_ended = self._state is not None and self._state.has_ended
        with self._named(what, path):
            return Writer(path, last.mark if last is not None and known else None, has_ended)

    @contextlib.contextmanager
    def _named(self, what: str, path: str) -> Iterator[None]:
        """Turn a failure with a file into an error that names the file and what to do."""
        try:
            yield
        except Unfit as error:
            if self._state is None:
                raise StartError(f"the {what} `{path}`: {error}") from error
            last = getattr(self._state, what, None)
            if last is not None and last.path != path:
                error = Unfit(f"{error}, under the name `{last.path}`")
            raise self._unfit(what, path, error) from error
        except OSError as error:
            raise StartError(f"the {what} `{path}`: {error.strerror}") from error

    def _unfit(self, what: str, path: str, error: Unfit) -> StateError:
        return StateError(
            f"the {what} `{path}` does not fit the checkpoint `{self._path}`: {error}; put it back as it was, or "
            f"{self._start_over()}"
        )

    def _start_over(self) -> str:
        waiting = "" if self._config.labels is None else ", but nothing waits for labels any more"
        return (
            f"to start over, move `{self._path.parent}` away, and all files that the processor has written; for "
            f"another input, give it another `name` and other files to write (with a copy of the snapshot as "
            f"`start_from` it goes on from that model{waiting})"
        )

    # Work

    @property
    def waiting(self) -> Mapping[int, int]:
        return {} if self._late is None else {PARTITION: len(self._late.waiting.records)}

    @property
    def _input(self) -> AnyReader | Lookahead:
        return self._late.records if self._late is not None else self._reader

    def run(self, stop: Stop) -> Counts:
        """Work until the end of the input, or until the end is requested."""
        log_start(log, self._config, guarantee=self._config.checkpoint.guarantee, input=self._config.input.file)
        try:
            if self._has_new_file():  # a checkpoint before any output marks later output as written by this processor
                self.write_snapshot()
                self.write_state()
                self.remember()
                self.delete_superseded()
            with contextlib.ExitStack() as files:
                for written in self._written():
                    self._open(files, *written)
                # From now on, a kill leaves output after the marks. Not before: the locks show that nobody else writes.
                if not self.counts.checkpoints and self._state is not None and self._state.has_ended:
                    self._keep(replace(self._state, has_ended=False))
                self._work(stop)
            self._end()
        except OSError as error:
            rest = "is lost" if self._config.input.file == STANDARD else "is done again by the next start"
            refused = f"`{error.filename}`: {error.strerror}" if error.filename else error.strerror
            raise StartError(
                f"`{self._config.input.file}`: the work stopped after line {self._input.lines}: {refused}; "
                f"what no checkpoint holds {rest}"
            ) from error
        self._missing_labels.look(self.counts, self._model.examples, least=1)
        # Without a record, what was rejected are labels.
        if self._rejects is not None and self.counts.read and self.counts.last_rejects and not self.counts.predicted:
            log.warning("no record could be processed; the last one: %s", self.counts.last_rejects[-1].reason)
        if self._late is not None and self._late.backward:
            log.warning("%d %s", self._late.backward, BACKWARD)
        log.info("ended at line %d of %s %s", self._input.lines, self._config.input.file, self.counts)
        return self.counts

    def _end(self) -> None:
        """Note in the checkpoint that this process ended in order."""
        if self.counts.checkpoints:
            self._check_output()  # standard input may have waited for long since the last commit
            self._has_ended = True
            self.write_state()
        elif self._state is not None:  # nothing was read, and what followed the marks was cut off
            written: dict[str, Any] = {what: Place(path, writer.mark()) for what, path, writer in self._written()}
            self._keep(replace(self._state, has_ended=True, **written))

    def _has_new_file(self) -> bool:
        """Whether a file is written that the last checkpoint does not name."""
        state, config = self._state, self._config
        if state is None:
            return True
        written = (
            (config.output, state.output), (config.rejects, state.rejects), (config.outcomes, state.outcomes),
            (config.queries, state.queries),
        )  # fmt: skip
        return any(section is not None and (last is None or last.path != section.file) for section, last in written)

    def _open(self, files: contextlib.ExitStack, what: str, path: str, writer: Writer) -> None:
        with self._named(what, path):
            files.enter_context(writer.opened())

    def _work(self, stop: Stop) -> None:
        problem: Unfit | None = None
        self._due = time.monotonic() + self._config.checkpoint.every
        self._health.beat()
        self._health.metrics.report(self)
        self._health.extend_limit(0.0)
        try:
            for _ in self._steps():
                self._health.beat()
                if stop.requested:
                    break
                if time.monotonic() >= self._due:
                    self.commit()
        except Unfit as error:
            problem = error
        self.commit()
        if problem is not None:
            raise StartError(f"the input `{self._config.input.file}` after line {self._input.lines}: {problem}")

    def _steps(self) -> Iterator[None]:
        """Process one record after the other, and yield after each."""
        if self._late is not None:
            for taken in self._late:
                results = self._late.process(taken, self._pending)
                if taken.side is Side.RECORDS:
                    self._write(taken.record)
                for record in results.rejects:
                    self._write(record)
                if self._queries is not None:
                    for query in results.queries:
                        self._queries.write(query.value)
                if self._outcomes is not None:
                    for outcome in results.outcomes:
                        self._outcomes.write(outcome.value)
                yield
            return
        for read in self._reader:
            if read is not None:
                process_record(self._model, read, self._pending)
                self._write(read)
            yield

    def _write(self, record: Record) -> None:
        if record.output is not None:
            self._output.write(record.output)
        if record.reason is None:
            return
        if self._rejects is not None:
            self._rejects.write(reject_line(record))
        else:
            log_reject(log, record.source, record.reason, self._pending.rejected)

    # Commit

    def commit(self) -> None:
        """Move output, position and model together. Do nothing if no record was read."""
        began = time.monotonic()
        if self._pending.read or self._pending.labels:
            self.write_snapshot()  # 1
            self.sync_output()  # 2
            self.write_state()  # 3
            done = self._pending
            self.remember()  # 4
            self.delete_superseded()  # 5
            self._health.metrics.note_commit(time.monotonic() - began)
            commits.info(
                "committed line=%d records=%d learned=%d rejects=%d seconds=%.3f",
                self._input.lines, done.read, done.learned, done.rejected, time.monotonic() - began,
            )  # fmt: skip
        self._due = time.monotonic() + self._config.checkpoint.every

    def write_snapshot(self) -> None:
        began = time.monotonic()
        self._model.prepare_snapshot()
        data, examples = self._model.dumps(note_of(self._config.record)), self._model.examples
        name = SnapshotName.new(self._input.lines, examples, is_empty=not self._model.snapshot)
        self._store.write(PARTITION, name, data)
        before = self._state.waiting.asked if self._state and self._state.waiting else None  # by an earlier start
        self._kept = self._waiting.write(self._late.waiting, name, self._late.asked or before) if self._late else None
        self._health.metrics.note_snapshot(PARTITION, time.monotonic() - began, len(data))
        self._new = name, hashlib.sha256(data).hexdigest(), examples

    def sync_output(self) -> None:
        for _, _, writer in self._written():
            writer.sync()
        self._check_output()

    def _check_output(self) -> None:
        for what, path, writer in self._written():
            try:
                writer.check()
            except Unfit as error:
                raise self._unfit(what, path, error) from error

    def _written(self) -> Iterator[tuple[str, str, Writer]]:
        """Yield what each file is that is written, its path and its writer."""
        config = self._config
        written = (
            ("output", config.output, self._output), ("rejects", config.rejects, self._rejects),
            ("outcomes", config.outcomes, self._outcomes), ("queries", config.queries, self._queries),
        )  # fmt: skip
        for what, section, writer in written:
            if section is not None and writer is not None:
                yield what, section.file, writer

    def write_state(self) -> None:
        config, is_file = self._config, self._config.input.file != STANDARD
        name, sha256, examples = self._new
        state = State(
            input=Place(config.input.file, self._input.mark() if is_file else None),
            lines=self._input.lines,
            output=Place(config.output.file, self._output.mark()),
            rejects=Place(config.rejects.file, self._rejects.mark()) if config.rejects and self._rejects else None,
            snapshot=name,
            sha256=sha256,
            examples=examples,
            labels=Place(config.labels.file, self._late.labels.mark()) if config.labels and self._late else None,
            lines_of_labels=self._late.labels.lines if self._late else 0,
            outcomes=Place(config.outcomes.file, self._outcomes.mark()) if config.outcomes and self._outcomes else None,
            waiting=self._kept,
            queries=Place(config.queries.file, self._queries.mark()) if config.queries and self._queries else None,
            has_ended=self._has_ended,
        )
        self._keep(state)

    def _keep(self, state: State) -> None:
        try:
            snapshot.write_file(self._path, STATE.dump_json(state, indent=1))
        except OSError as error:
            raise with_name(error, str(self._path)) from error

    def remember(self) -> None:
        self._old = self._model.snapshot
        self._model.saved_as(self._new[0])
        if self._late is not None and self._kept is not None:
            self._waiting.remember(self._kept, self._late.waiting.position)
        self._pending.add_commit(snapshots=1)
        self.counts += self._pending
        self._pending = Counts()
        self._missing_labels.look(self.counts, self._model.examples)

    def delete_superseded(self) -> None:
        with contextlib.suppress(OSError):
            self._store.delete(PARTITION, self._old)
        self._waiting.delete_superseded()


def make_asking(config: AnyConfig, reader: AnyReader, asked: Asked | None) -> Asking | None:
    """Return what decides which labels of a file are asked for; None without `queries`."""
    queries = getattr(config, "queries", None)
    if queries is None:
        return None
    id = config.record.id and FieldPath.parse(config.record.id).name
    parse = reader.parser(id, *config.text_fields) or _on_one_line
    try:
        return Asking(config.build_sampler(), queries.at_most, queries.all_wait, asked, parse)
    except BadState as error:
        raise StateError(f"{error}; put the checkpoint back as it was") from error


def _on_one_line(value: bytes) -> orjson.Fragment:
    """Return the JSON object of a line as it is, but for a carriage return between values, which may end a line."""
    return orjson.Fragment(value.replace(b"\r", b" "))


def committed_snapshot(config: FileConfig) -> bytes | None:
    """Return the snapshot that the last checkpoint of a processor names, whether or not it runs; None without one."""
    folder = config.snapshots / config.name / "files"
    store, path = FolderStore(folder), folder / "checkpoint.json"
    for _ in range(ATTEMPTS):
        try:
            return store.read(PARTITION, STATE.validate_json(path.read_bytes()).snapshot)
        except FileNotFoundError:  # there is none, or a processor that runs has just deleted it
            continue
        except (OSError, ValidationError) as error:
            raise StateError(f"the checkpoint `{path}` cannot be read: {error}") from error
    if path.exists():
        raise StateError(
            f"the snapshot that the checkpoint `{path}` names does not exist: restore it from a backup, or run the "
            "file, which says how to start over"
        )
    return None


def make_decoder(config: AnyConfig, record: RecordFields, reader: AnyReader, is_joined: bool = False) -> Decoder:
    """Return a decoder for the records of a file. Raise StartError if a column is missing.

    `is_joined` tells that labels come later.
    """
    columns = reader.columns
    if columns is None:
        return _decoder(record, reader.parser(None), is_joined)
    fields = (record.id, record.label, record.weight, record.time)
    id, *others = (None if text is None else FieldPath.parse(text) for text in fields)
    name = missing_column(reader, (id, *others, *(field for _, field in named(record.features or ()))))
    if name is not None:
        hint = did_you_mean(name, columns) or f"; its columns are {_shown(columns)}"
        raise StartError(f"the input `{reader.path}` has no column `{name}`{hint}")
    parse = reader.parser(id and id.name, *config.text_fields, nulls=config.imputed_fields)
    return _decoder(record, parse, is_joined)


def _shown(columns: Sequence[str]) -> str:
    """Return the names of columns for a message, the first ones of many.

    >>> _shown(["a", "b"])
    '`a`, `b`'
    """
    first = ", ".join(f"`{name}`" for name in columns[:MOST_COLUMNS])
    return first if len(columns) <= MOST_COLUMNS else f"{first} and {len(columns) - MOST_COLUMNS} more"


def _decoder(record: RecordFields, parse: Callable[[bytes], Any] | None, is_joined: bool) -> Decoder:
    return Decoder(record.id, record.label, record.features, parse, record.nulls, record.weight, record.time, is_joined)


def reject_line(record: Record) -> bytes:
    """Return a rejected record as a JSON object that holds the bytes as they were read.

    >>> reject_line(Record("x.jsonl:3", None, b'{"a', reason="not JSON"))
    b'{"reason":"not JSON","source":"x.jsonl:3","text":"{\\\\"a"}'
    """
    assert record.value is not None
    try:
        content = {"text": record.value.decode()}
    except UnicodeDecodeError:
        content = {"base64": base64.b64encode(record.value).decode()}
    return orjson.dumps({"reason": record.reason, "source": record.source} | content)
