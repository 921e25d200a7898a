"""The processor between files: the records of a file through one model, with output, position and model in step.

It does with each record what the processor between topics does (`connectors.model.process_record`); what must hold at a
crash is in `FileProcessor.commit`.
"""

import base64
import contextlib
import fcntl
import hashlib
import logging
import math
import pathlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from connectors.config.files_schema import STANDARD, FileConfig
from connectors.config.schema import Record
from connectors.errors import StartError, StateError
from connectors.files import csv_rows
from connectors.files.byte_streams import Unfit
from connectors.files.record_files import Line, Mark, Reader, Writer
from connectors.kafka import Committed, Ownership
from connectors.model.counts import Counts
from connectors.model.partition import Partition
from connectors.model.process_record import answer
from connectors.model.records import Decoder
from connectors.runtime.health import PATIENCE, Watch, serving
from connectors.snapshots.names import Name
from connectors.snapshots.stores import FolderStore, make_folder
from connectors.suggest import did_you_mean
from connectors.topics.processor import Stop
from connectors.topics.restore import check_learner
from river_margins import snapshot

log = logging.getLogger(__name__)
commits = log.getChild("commit")

ONLY = 0  # a file is one partition


@dataclass(frozen=True)
class Place:
    """A file, and how much of it was read or written; None when it is a standard stream."""

    path: str
    mark: Mark | None


@dataclass(frozen=True)
class State:
    """A checkpoint: how far each file goes, and the model that belongs to that."""

    input: Place
    lines: int
    output: Place
    rejects: Place | None
    snapshot: str
    sha256: str
    examples: int


STATE = TypeAdapter(State)


def run(config: FileConfig, stop: Stop | None = None, watch: Watch | None = None) -> Counts:
    """Runs a processor to the end of its input, or until SIGTERM or Ctrl-C, which finish a record and commit.

    Parameters
    ----------
    config
        The processor's file, as `connectors.config.load` returns it.
    stop
        Ends the processor when its `requested` is set; default: signals only.
    watch
        Is kept informed of what goes on; default: one for `config.metrics`.

    Returns
    -------
    What was done and committed.

    Raises
    ------
    ConnectorError
        One of its classes for each reason that a processor cannot start or go on; see `connectors.errors`.
    """
    stop, watch = stop or Stop(), watch or Watch(config)
    watch.patience = math.inf  # what was read and written before is compared first, however long that takes
    folder = config.snapshots / config.name / "files"
    with stop.on_signals(), serving(watch, config.metrics), _locked(folder):
        return FileProcessor(config, folder, watch).run(stop)


@contextlib.contextmanager
def _locked(folder: pathlib.Path) -> Iterator[None]:
    """Lets one process at a time work with a folder; a dead one holds nothing."""
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
        yield


class FileProcessor:
    """Takes the records of a file through a model, in order, and writes a value for each.

    `commit` is these steps, in this order:

    1. `write_snapshot`: the model is made durable in the store, under a new name;
    2. `sync_output`: all output and rejects are on the disk;
    3. `write_state`: the checkpoint, which names snapshot, position and lengths, replaces the last one in one move;
    4. `remember`: what was written is now where a failure goes back to;
    5. `delete_superseded`: the snapshot that the last checkpoint named is deleted.

    A crash before the end of 3 leaves the last checkpoint: the next start cuts the output back to it, and reads on from
    there. After it, all have moved.
    """

    def __init__(self, config: FileConfig, folder: pathlib.Path, watch: Watch) -> None:
        self.counts, self.pending = Counts(), Counts()
        self._watch = watch
        self._config, self._store, self._path = config, FolderStore(folder), folder / "checkpoint.json"
        self._name = pathlib.Path(config.input.file).name
        self._state = self._last_state()
        with self._named("input", config.input.file):
            self._reader = Reader(config.input.file)
        self._decode = make_decoder(config.record, self._reader.columns, config.input.file).decode
        self._partition = self._first() if self._state is None else self._restore(self._state)
        self.partitions = {ONLY: self._partition}
        self.ownership: Ownership | None = Ownership(0, "", frozenset(self.partitions), None)
        if self._state is not None and self._state.input.mark is not None and config.input.file != STANDARD:
            with self._named("input", config.input.file):
                self._reader.skip(self._state.input.mark, self._state.lines)
        output, rejects = (self._state.output, self._state.rejects) if self._state else (None, None)
        self._output = self._writer("output", config.output.file, output)
        self._rejects = self._writer("rejects", config.rejects.file, rejects) if config.rejects else None
        self._old = ""
        self._due = 0.0

    # Start

    def _last_state(self) -> State | None:
        try:
            return STATE.validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StateError(f"the checkpoint `{self._path}` cannot be read: {error.strerror}") from error
        except ValidationError as error:
            raise StateError(f"`{self._path}` is no checkpoint; {self._start_over()}") from error

    def _first(self) -> Partition:
        return Partition(self._config.first_learner(), Committed(0, ""), "", 0, self._load, self._decode)

    def _restore(self, state: State) -> Partition:
        named = f"the snapshot `{self._store.path(ONLY, state.snapshot)}`, which the checkpoint `{self._path}` names,"
        try:
            data = self._store.read(ONLY, state.snapshot)
        except OSError as error:
            raise StateError(f"{named} cannot be read: {error.strerror}; {self._start_over()}") from error
        if hashlib.sha256(data).hexdigest() != state.sha256:
            raise StateError(f"{named} is corrupt: its SHA-256 is another one; {self._start_over()}")
        with self._watch.metrics.restore_seconds.time():
            check_learner(self._config.build_learner(), data, named, self._start_over())
            learner = self._load(state.snapshot)
        return Partition(learner, Committed(0, ""), state.snapshot, state.examples, self._load, self._decode)

    def _load(self, name: str) -> Any:
        return snapshot.loads(self._store.read(ONLY, name))

    def _writer(self, what: str, path: str, last: Place | None) -> Writer:
        # the length 0 says nothing about the content, so that it must be the same file
        known = last is not None and last.mark is not None and (last.mark.length > 0 or last.path == path)
        with self._named(what, path):
            return Writer(path, last.mark if last is not None and known else None)

    @contextlib.contextmanager
    def _named(self, what: str, path: str) -> Iterator[None]:
        """Says which file is not as it should be, and what to do."""
        try:
            yield
        except Unfit as error:
            if self._state is None:
                raise StartError(f"the {what} `{path}`: {error}") from error
            raise StateError(
                f"the {what} `{path}` does not fit the checkpoint `{self._path}`: {error}; put it back as it was, or "
                f"{self._start_over()}"
            ) from error
        except OSError as error:
            raise StartError(f"the {what} `{path}`: {error.strerror}") from error

    def _start_over(self) -> str:
        return (
            f"to start over, move `{self._path.parent}` and the output away, or give the processor another `name` "
            f"(with `start_from` and the path of a snapshot it goes on from that model)"
        )

    # Work

    def run(self, stop: Stop) -> Counts:
        """Works until the input or the request to end."""
        try:
            if self._state is None:  # so that output of a first run is known to be its own
                self.write_snapshot()
                self.write_state()
                self.remember()
            with contextlib.ExitStack() as files:
                self._open(files, "output", self._config.output.file, self._output)
                if self._config.rejects and self._rejects:
                    self._open(files, "rejects", self._config.rejects.file, self._rejects)
                self._work(stop)
        except OSError as error:
            raise StartError(
                f"`{self._config.input.file}`: the work stopped after line {self._reader.lines}: {error.strerror}; "
                f"what no checkpoint holds is done again by the next start"
            ) from error
        log.info("ended at line %d of %s: %s", self._reader.lines, self._config.input.file, self.counts)
        return self.counts

    def _open(self, files: contextlib.ExitStack, what: str, path: str, writer: Writer) -> None:
        with self._named(what, path):
            files.enter_context(writer.opened())

    def _work(self, stop: Stop) -> None:
        problem: Unfit | None = None
        self._due = time.monotonic() + self._config.checkpoint.every
        self._watch.beat()
        self._watch.metrics.work, self._watch.patience = self, PATIENCE
        try:
            for line in self._reader:
                self._watch.beat()
                if line is not None:
                    self._process(line)
                if stop.requested:
                    break
                if time.monotonic() >= self._due:
                    self.commit()
        except Unfit as error:
            problem = error
        self.commit()
        if problem is not None:
            raise StartError(f"the input `{self._config.input.file}` after line {self._reader.lines}: {problem}")

    def _process(self, line: Line) -> None:
        source = f"{self._name}:{line.offset}"
        _, (_, value, _), reason = answer(self._partition, None, line.value, source, self.pending)
        if reason is None:
            assert value is not None
            self._output.write(value)
        elif self._rejects is not None:
            self._rejects.write(rejected(line, source, reason))
        else:
            log.warning("rejected %s: %s", source, reason)

    # Commit

    def commit(self) -> None:
        """Moves output, position and model together; does nothing when no record was read."""
        began = time.monotonic()
        if self.pending.read:
            self.write_snapshot()  # 1
            self.sync_output()  # 2
            self.write_state()  # 3
            done = self.pending
            self.remember()  # 4
            self.delete_superseded()  # 5
            self._watch.metrics.note_commit(time.monotonic() - began)
            commits.info(
                "committed line=%d records=%d learned=%d rejects=%d seconds=%.3f",
                self._reader.lines, done.read, done.learned, done.rejected, time.monotonic() - began,
            )  # fmt: skip
        self._due = time.monotonic() + self._config.checkpoint.every

    def write_snapshot(self) -> None:
        began = time.monotonic()
        data, examples = snapshot.dumps(self._partition.learner), self._partition.examples
        name = Name.new(self._reader.lines, examples, is_anchor=not self._partition.snapshot)
        self._store.write(ONLY, name, data)
        self._watch.metrics.note_snapshot(ONLY, time.monotonic() - began, len(data))
        self._new = name, hashlib.sha256(data).hexdigest(), examples

    def sync_output(self) -> None:
        self._output.sync()
        if self._rejects is not None:
            self._rejects.sync()

    def write_state(self) -> None:
        config, is_file = self._config, self._config.input.file != STANDARD
        name, sha256, examples = self._new
        state = State(
            input=Place(config.input.file, self._reader.mark() if is_file else None),
            lines=self._reader.lines,
            output=Place(config.output.file, self._output.mark()),
            rejects=Place(config.rejects.file, self._rejects.mark()) if config.rejects and self._rejects else None,
            snapshot=name,
            sha256=sha256,
            examples=examples,
        )
        snapshot.write_file(self._path, STATE.dump_json(state, indent=1))

    def remember(self) -> None:
        self._old = self._partition.snapshot
        self._partition.remember(Committed(0, ""), self._new[0])
        self.pending.snapshots = self.pending.checkpoints = 1
        self.counts += self.pending
        self.pending = Counts()

    def delete_superseded(self) -> None:
        with contextlib.suppress(OSError):
            self._store.delete(ONLY, self._old)


def make_decoder(record: Record, columns: list[str] | None, path: str) -> Decoder:
    """Returns what reads the records of a file with these columns; StartError when one is missing."""
    if columns is None:
        return Decoder(record.id, record.label, record.features)
    for name in (record.id, record.label, *(record.features or ())):
        if name is not None and name not in columns:
            raise StartError(f"the input `{path}` has no column `{name}`{did_you_mean(name, columns)}")
    return Decoder(record.id, record.label, record.features, csv_rows.parser(columns, record.id))


def rejected(line: Line, source: str, reason: str) -> bytes:
    """Returns a reject as a JSON object, from which the original bytes can be had back.

    >>> rejected(Line(3, b'{"a'), "x.jsonl:3", "not JSON")
    b'{"reason":"not JSON","source":"x.jsonl:3","text":"{\\\\"a"}'
    """
    try:
        content = {"text": line.value.decode()}
    except UnicodeDecodeError:
        content = {"base64": base64.b64encode(line.value).decode()}
    return orjson.dumps({"reason": reason, "source": source} | content)
