"""Commands of an operator on the snapshots of a group: list, show, export, prune, rewind."""

import contextlib
import hashlib
import math
import pathlib
import time
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import orjson
from river import compose

from connectors.config import Config
from connectors.drift.watch import drift_of
from connectors.errors import StartError, StateError
from connectors.kafka import ClientError, Committed, Consumer, LostOwnership, NotPermitted, client
from connectors.labels.waiting import BadState, WaitingRecords
from connectors.labels.waiting_files import WAITING, WaitingFiles, needed, read_index
from connectors.model.standings import contest_of
from connectors.snapshots.check_learner import note_of
from connectors.snapshots.names import SnapshotName
from connectors.snapshots.retention import GRACE, kept
from connectors.snapshots.stores import SUFFIX, StoreError
from connectors.topics import startup
from connectors.topics.advice import REWIND
from connectors.topics.mixing import Published, read_published
from connectors.topics.offset_metadata import OffsetMetadata
from connectors.topics.processor import refusals_as_errors
from connectors.topics.restore import HOST, Restorer
from connectors.topics.timeouts import Timeouts
from river_margins import snapshot

COUNTS = ("n_seen", "n_mistakes", "n_updates")


class Entry(NamedTuple):
    """A snapshot in the store. `is_named` if the committed offset of its partition names it."""

    partition: int
    id: str
    name: SnapshotName
    size: int
    is_named: bool


class Move(NamedTuple):
    """The move of a partition: the committed offset before (None without one), the new offset and its snapshot."""

    partition: int
    before: int | None
    offset: int
    snapshot: str


@contextlib.contextmanager
def opened(config: Config) -> Iterator["SnapshotAdmin"]:
    """Open the snapshots of a processor, whether or not it runs."""
    folder = config.snapshots.folder
    if "://" not in folder and not pathlib.Path(folder).is_dir():
        raise StateError(
            f"the folder of the snapshots `{folder}` does not exist: a relative `snapshots` begins at the working "
            f"directory, so work in that of the processor; before its first start, `river-margins lint --check-broker "
            f"FILE` makes the folder"
        )
    module = client(config.kafka.client)
    for_consumer = config.kafka.consumer_settings
    timeouts = Timeouts(*config.kafka.timeouts)
    restorer = startup.make_first_restorer(config, for_consumer)
    with refusals_as_errors(config):
        consumer = module.Consumer(config.input.topic, config.name, for_consumer, labels=config.topics.get("labels"))
        try:
            yield SnapshotAdmin(config, consumer, restorer, timeouts)
        except StoreError as error:
            raise StateError(f"the snapshots of `{config.name}`: {error}") from error
        finally:
            consumer.close(5.0)


class SnapshotAdmin:
    """The snapshots of one processor, and the offsets of its group."""

    def __init__(self, config: Config, consumer: Consumer, restorer: Restorer, timeouts: Timeouts) -> None:
        self._config, self._consumer, self._restorer, self._timeouts = config, consumer, restorer, timeouts
        self._store = restorer.store
        self._numbers = range(restorer.topic.partitions)

    def entries(self) -> list[Entry]:
        """Return all snapshots, by partition and offset."""
        # List before reading offsets: snapshots of transactions open now are then ahead of the committed offsets.
        sizes = {number: self._store.sizes(number) for number in self._numbers}
        named = {number: metadata.snapshot for number, metadata in self._metadata().items() if metadata}
        for number, text in named.items():
            if text not in sizes[number]:  # a running processor has committed it since
                sizes[number] |= {each: size for each, size in self._store.sizes(number).items() if each == text}
        return [
            Entry(number, text, name, size, text == named.get(number))
            for number in self._numbers
            for text, size in sizes[number].items()
            if (name := SnapshotName.parse(text))
        ]

    @property
    def start_from(self) -> pathlib.Path | None:
        """The snapshot that new models start from; None if they begin empty."""
        return self._config.start_from

    def partitions(self, only: int | None) -> list[int]:
        """Return all partitions, or only one. Raise StateError if there is no such partition."""
        if only is not None and only not in self._numbers:
            topic = self._config.input.topic
            raise StateError(f"`{topic}` has no partition {only}, it has {len(self._numbers)}")
        return list(self._numbers) if only is None else [only]

    def begun(self) -> list[int]:
        """Return the partitions that have a committed offset or a snapshot; the others begin by themselves."""
        committed = self._committed()
        return [number for number in self._numbers if committed[number] or self._store.sizes(number)]

    def _committed(self) -> dict[int, Committed | None]:
        return self._consumer.committed(self._numbers, self._timeouts.committed)

    def _metadata(self) -> dict[int, OffsetMetadata | None]:
        return metadata_of(self._committed())

    def entry(self, id: str) -> Entry:
        """Return a snapshot by its name, by its last eight characters, or by those that make the name unique."""
        wanted = id.removesuffix(SUFFIX)  # as a file of the folder is called
        # The name of an empty model has an end after the characters that make it unique.
        found = [entry for entry in self.entries() if wanted in (entry.id, entry.id[-8:], entry.name.suffix)]
        if len(found) != 1:
            what = "there is no snapshot" if not found else f"there are {len(found)} snapshots"
            raise StateError(f"{what} `{id}` in `{self._store.folder}`; `river-margins snapshots list FILE` shows all")
        return found[0]

    def read(self, entry: Entry) -> bytes:
        """Return the bytes of a snapshot. Raise StateError if it cannot be loaded."""
        try:
            data = self._store.read(entry.partition, entry.id)
            snapshot.loads(data)
        except FileNotFoundError:
            raise StateError(f"the snapshot `{entry.id}` was deleted meanwhile") from None
        except snapshot.SnapshotError as error:
            raise StateError(f"`{self._store.path(entry.partition, entry.id)}`: {error}") from error
        return data

    def committed(self) -> dict[int, bytes]:
        """Return the snapshots that the committed offsets name, by partition."""
        found = {}
        for number, metadata in self._metadata().items():
            if metadata is not None:
                try:
                    found[number] = self._store.read(number, metadata.snapshot)
                except FileNotFoundError:
                    path = self._store.path(number, metadata.snapshot)
                    raise StateError(
                        f"the snapshot `{path}`, which a committed offset names, does not exist; `river-margins lint "
                        f"--check-broker FILE` says how to go on"
                    ) from None
        return found

    def prune(self, is_trial: bool) -> list[Entry]:
        """Delete the snapshots that `snapshots.keep` does not keep, and return them. On trial delete nothing.

        These snapshots always stay: the one that the committed offset names, later ones (an open transaction may name
        them soon), all that are younger than a transaction and a minute, and those with which others mix.
        """
        entries, published = self.entries(), self._published()
        named = {entry.partition: entry.name for entry in entries if entry.is_named}
        wanted = {
            (number, text)
            for number in self._numbers
            for text in kept((entry.id for entry in entries if entry.partition == number), self._config.snapshots.keep)
        }
        youngest = time.time() - self._timeouts.transaction - GRACE
        removed = [
            entry
            for entry in entries
            if not entry.is_named
            and entry.partition in named
            and entry.name.offset <= named[entry.partition].offset
            and entry.name.time < youngest
            and entry[:2] not in wanted
            and entry[:2] not in published
        ]
        for number in {entry.partition for entry in removed} if not is_trial else ():
            self._delete(number, [entry.id for entry in removed if entry.partition == number])
        return removed

    def _published(self) -> set[tuple[int, str]]:
        """Return the snapshots that partitions have published to be mixed with."""
        if self._config.mixing is None:
            return set()
        topic, settings = self._config.mixing.topic, self._config.kafka.consumer_settings
        found = dict[int, Published | None]()
        with contextlib.closing(client(self._config.kafka.client).Reader(topic, self._config.name, settings)) as reader:
            for record in reader.read(self._timeouts.committed):
                with contextlib.suppress(ValueError):  # which no partition mixes with
                    found |= [read_published(record, self._config.name, len(self._numbers))]
        return {(number, published.snapshot) for number, published in found.items() if published}

    def _delete(self, partition: int, names: list[str]) -> None:
        """Delete snapshots, and what no other snapshot needs of the files in which their records wait for labels."""
        # also if the file has no labels any more
        has_labels = any(text.endswith(WAITING) for text in self._store.sizes(partition))
        files = needed(self._store, partition, has_labels)
        unneeded = [files.pop(name, frozenset()) for name in names]
        for name in [*names, *frozenset().union(*unneeded).difference(*files.values())]:
            self._store.delete(partition, name)

    def rewind(self, chosen: dict[int, Entry]) -> list[Move]:
        """Move partitions to snapshots, all or none. Raise StateError if a processor of the group runs."""
        committed = self._committed()
        before, partitions = metadata_of(committed), self._told(chosen, committed)
        with self._or_nothing():
            moves = self._move(
                {n: self._target(entry, self.read(entry), before[n], partitions) for n, entry in chosen.items()}
            )
        self._take_back_published(chosen)
        return moves

    def _told(self, moved: Collection[int], committed: Mapping[int, Committed | None]) -> int:
        """Return the number of partitions to commit: the former one while others have not begun, which are new then.

        With `new_partitions: refuse` it is the present one: who moves partitions after all accepts that they are more.
        """
        is_accepted = self._config.input.new_partitions == "refuse"
        has_all = all(found is not None or number in moved for number, found in committed.items())
        if has_all or is_accepted:
            return self._restorer.topic.partitions
        return self._restorer.partitions_before(committed.values())

    def start_anew(self, partitions: list[int], offset: int | None) -> list[Move]:
        """Give partitions a new model, at this offset or, without one, at their committed offset.

        Offsets of a topic that was created again are worth nothing there: its first record is the next one.
        """
        committed = self._committed()
        metadata, told = metadata_of(committed), self._told(partitions, committed)
        topic, targets = self._restorer.topic, dict[int, Committed]()
        former = self._restorer.partitions_before(committed.values())
        with self._or_nothing():
            for number in partitions:
                found, before = committed[number], metadata.get(number)
                is_other = before is not None and before.topic_id != topic.id
                first, end = self._consumer.offset_range(number)
                if offset is not None:
                    at = offset
                elif found is not None and not is_other:
                    at = min(max(found.offset, first), end)
                else:  # `input.start` is for a group that has never read the topic
                    is_next = is_other or number >= former or self._restorer.stored.former(number) is not None
                    at = first if is_next or self._config.input.start == "earliest" else end
                data = snapshot.dumps(self._config.first_learner(), note_of(self._config.record))
                id = SnapshotName.new(at, 0, is_empty=True)
                name = SnapshotName.parse(id)
                assert name is not None
                if self._config.labels:
                    self._write_nothing_waits(number, id, self._labels_at(number, at, found and found.labels, before))
                self._write(number, id, data)
                targets[number] = self._target(Entry(number, id, name, len(data), False), data, before, told)
            moves = self._move(targets)
        self._take_back_published(partitions)  # after the move: what was written for it must stay if this fails
        return moves

    def _take_back_published(self, numbers: Collection[int]) -> None:
        """Let what partitions have published for mixing count no more: the others would bring back what was undone.

        A partition counts again when it publishes the next time.
        """
        if self._config.mixing is None:
            return
        kafka, topic = self._config.kafka, self._config.mixing.topic
        try:
            with contextlib.closing(client(kafka.client).Producer(None, kafka.producer_settings)) as producer:
                for number in numbers:
                    producer.send(topic, 0, f"{self._config.name}:{number}".encode(), None, [], number)
                producer.flush(self._timeouts.transaction)
                producer.check()
        except ClientError as error:
            raise StateError(
                f"the partitions were moved, but what they have published in `{topic}` still counts ({error}): give "
                "the same command again before you start a processor, or the others bring back what was undone"
            ) from error

    @contextlib.contextmanager
    def _or_nothing(self) -> Iterator[None]:
        """Delete what was written for a move that is refused: else the newest snapshot would be no processor's."""
        self._written, self._are_sent = list[tuple[int, str]](), False
        try:
            yield
        except BaseException as error:  # a lost broker and Ctrl-C among them
            # The brokers may have taken offsets that were sent: only a refusal tells that they have not.
            taken = [] if self._are_sent and not isinstance(error, StateError | NotPermitted) else self._written
            for number, name in taken:
                with contextlib.suppress(OSError):  # of a store that refuses, the first error tells more
                    self._store.delete(number, name)
            raise

    def _write(self, number: int, name: str, data: bytes) -> None:
        self._written.append((number, name))
        self._store.write(number, name, data)

    def _write_nothing_waits(self, number: int, id: str, labels_at: int) -> None:
        section, topic = self._config.labels, self._restorer.labels
        assert section is not None and topic is not None
        waiting = WaitingFiles(WaitingRecords(section.within_ms, section.pending))
        for file, content in waiting.prepare(id, labels_at, topic=topic.id).files.items():
            self._write(number, file, content)

    def _labels_at(self, number: int, at: int, committed: Committed | None, before: OffsetMetadata | None) -> int:
        """Return where a new model that begins at the record `at` reads labels, so that it misses none of its own.

        That is where the former model had read to, unless its records go on before that: then all labels are read.
        """
        first, end = self._consumer.offset_range(~number)
        known = None
        if before is not None and self._restorer.labels is not None and before.labels == self._restorer.labels.id:
            known = before.labels_offset if before.offset <= at else None
        elif before is None and committed is not None:  # set by hand, or that of a model whose offset was
            known = committed.offset if input_offset_of(committed) <= at else None
        return first if known is None else min(max(known, first), end)

    def _check_range(self, number: int, offset: int, topic: str) -> None:
        first, end = self._consumer.offset_range(number)
        if not first <= offset <= end:
            raise StateError(
                f"offset {offset} of partition {max(number, ~number)} of `{topic}` is out of range, there are {first} "
                f"to {end}, and nothing was changed; `river-margins snapshots list FILE` shows where a model can go on"
            )

    def _target(self, entry: Entry, data: bytes, before: OffsetMetadata | None, partitions: int) -> Committed:
        topic, name = self._restorer.topic, entry.name
        digest = hashlib.sha256(data).hexdigest()
        metadata = OffsetMetadata(entry.id, digest, topic.id, partitions, HOST, name.offset, name.examples)
        if (labels := self._restorer.labels) is not None:
            metadata = self._with_labels(entry, metadata._replace(labels=labels.id), before)
            self._check_range(~entry.partition, metadata.labels_offset, self._config.topics["labels"])
        self._check_range(entry.partition, name.offset, self._config.input.topic)
        committed = metadata.to_committed()
        try:
            self._restorer.check_snapshot(entry.partition, self._restorer.check_metadata(entry.partition, committed))
        except StateError as error:
            others = "`river-margins snapshots list FILE` shows others, and nothing was changed"
            raise StateError(f"no rewind to `{entry.id}` ({others}): {error}") from error
        return committed

    def _with_labels(self, entry: Entry, metadata: OffsetMetadata, before: OffsetMetadata | None) -> OffsetMetadata:
        """Return metadata that also name the labels of a snapshot, and what waited for them.

        If the group had no labels, nothing waits. If it had another topic of labels, this one is read from its start.
        """
        first, end = self._consumer.offset_range(~entry.partition)
        if before and not before.labels and entry.id + WAITING not in self._store.sizes(entry.partition):
            self._write_nothing_waits(entry.partition, entry.id, first)
        try:
            same = before if before and before.labels and before.snapshot == entry.id else None
            index, _, sha256 = read_index(self._store, entry.partition, entry.id, same and same.waiting)
        except BadState as error:
            raise StateError(f"the snapshot `{entry.id}` has no records that wait for labels: {error}") from error
        at = min(max(same.labels_offset, first), end) if same else index.labels_offset  # what is gone cannot be read
        # The committed offset tells the topic of its own snapshot, and that of older files, which do not name it.
        topic = before.labels if before and (same or not index.topic) else index.topic
        if topic not in ("", metadata.labels):
            at = first
        return metadata._replace(labels_offset=at, waiting=sha256)

    def _move(self, targets: dict[int, Committed]) -> list[Move]:
        before = self._committed()
        self._are_sent = True
        try:
            self._consumer.alter_group_offsets(targets, self._timeouts.transaction)
        except LostOwnership as error:
            raise StateError(
                f"group `{self._config.name}` has members, and nothing was changed: stop its processors first (one "
                f"that was killed, or that has an `instance`, is a member until its session ends)"
            ) from error
        after = self._metadata()
        return [
            Move(number, found.offset if (found := before[number]) else None, metadata.offset, metadata.snapshot)
            for number in targets
            if (metadata := after[number])
        ]


def metadata_of(committed: Mapping[int, Committed | None]) -> dict[int, OffsetMetadata | None]:
    """Return the metadata of committed offsets; None where there is no offset, or somebody else committed it."""
    return {n: OffsetMetadata.from_text(found.metadata) if found else None for n, found in committed.items()}


def input_offset_of(labels: Committed) -> int:
    """Return the offset of the input that belongs to a committed offset of the labels; 0 if somebody else set it."""
    with contextlib.suppress(orjson.JSONDecodeError):
        found = orjson.loads(labels.metadata)
        if isinstance(found, dict) and isinstance(found.get("input_offset"), int):
            return int(found["input_offset"])
    return 0


def choose(entries: list[Entry], partitions: list[int], offset: int | None, moment: float | None) -> dict[int, Entry]:
    """Return for each partition the newest snapshot not after an offset or a time."""
    at = "" if offset is None else f" --offset {offset}"
    chosen = {}
    for number in partitions:
        possible = [
            entry
            for entry in entries
            if entry.partition == number
            and (offset is None or entry.name.offset <= offset)
            and (moment is None or entry.name.time <= moment)
        ]
        if not possible:
            raise StateError(
                f"partition {number} has no snapshot that old, and nothing was changed; `river-margins snapshots list "
                f"FILE` shows all; with `--partition` the others move alone, and `{REWIND} --empty{at} --partition "
                f"{number}` gives this one an empty model"
            )
        chosen[number] = max(possible, key=lambda entry: entry.name.order)
    return chosen


def moment_of(text: str) -> float:
    """Read a time; it is UTC if it names no zone. `now` is after all snapshots, whatever the clocks of their hosts say.

    >>> moment_of("1970-01-02T00:00:01"), moment_of("1970-01-01T01:00+01:00")
    (86401.0, 0.0)
    """
    if text == "now":
        return math.inf
    found = datetime.fromisoformat(text)
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def time_of(name: SnapshotName) -> str:
    """Return the time at which a snapshot was written, as text.

    >>> time_of(SnapshotName(17, 12, 1795256700, "0badcafe", False))
    '2026-11-21T10:25:00Z'
    """
    return datetime.fromtimestamp(name.time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def contents(data: bytes) -> list[tuple[str, str]]:
    """Return what is in a snapshot: the learner with parameters, the versions that wrote it, counts of each step."""
    _, versions = snapshot.describe(data)
    rows = [*_of_model(data), ("written by", ", ".join(f"{name} {number}" for name, number in versions.items()))]
    for name, part in snapshot.beside(data)[1].items():
        rows += [(f"{name}: {what}", value) for what, value in _of_model(part)]
    return [*rows, *_of_roles(data), ("bytes", str(len(data))), ("sha256", hashlib.sha256(data).hexdigest())]


def _of_roles(data: bytes) -> list[tuple[str, str]]:
    """Return who is the champion, and what is told of drift."""
    about, _ = snapshot.beside(data)
    try:
        contest, drift = contest_of(about), drift_of(about)
    except ValueError as error:
        raise StateError(f"the snapshot cannot be read: {error}") from error
    rows = [("champion", contest.champion)] if contest else []
    if drift is not None:
        past, many = drift.past, "" if drift.past.drifts == 1 else "s"
        last = f", the last one at {past.last}" if past.last else ""
        rows.append(("drift", f"{drift.plan.named}, then {drift.plan.action}: {past.drifts} drift{many}{last}"))
        if past.instead_of:
            rows.append(("promoted", f"{drift.promotes} instead of {past.instead_of}"))
    return rows


def _of_model(data: bytes) -> list[tuple[str, str]]:
    model: Any = snapshot.loads(data)
    rows = [("learner", snapshot.describe(data)[0])]
    for step in model.steps.values() if isinstance(model, compose.Pipeline) else [model]:
        kind = type(step).__name__
        rows += [(f"{kind}.{count}", str(getattr(step, count))) for count in COUNTS if hasattr(step, count)]
        if hasattr(step, "weights"):
            with contextlib.suppress(ValueError):  # of a kernel, or of random features: no weights by feature
                rows.append((f"{kind}.weights", str(_size(step.weights))))
    return rows


def _size(weights: Any) -> int:
    """Return the number of weights of all classes."""
    values = list(weights.values())
    return sum(len(value) if hasattr(value, "values") else 1 for value in values)


def read_file(path: pathlib.Path) -> bytes:
    """Return the bytes of a snapshot file. Raise StartError if it cannot be read, and StateError if it is none."""
    try:
        data = path.read_bytes()
        snapshot.loads(data)
    except OSError as error:
        raise StartError(f"`{path}` cannot be read: {error.strerror}") from error
    except snapshot.SnapshotError as error:
        raise StateError(f"`{path}`: {error}") from error
    return data
