"""Retention of old snapshots."""

import concurrent.futures
import functools
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from connectors.config.schema import Keep
from connectors.snapshots.names import SnapshotName
from connectors.snapshots.stores import THREADS, Store

GRACE = 60.0  # seconds that a superseded snapshot is kept after the last transaction that could name it
Look = Callable[[int, str, Store], None]
MAX_DELETING = 5.0  # seconds after a commit for which deletions may begin, less than any session of a group


def kept(names: Iterable[str], keep: Keep) -> set[str]:
    """Return the snapshots to keep by `snapshots.keep`; hours and days are those of UTC.

    >>> names = [f"{n:020d}-0-2026112{n // 24}T{n % 24:02d}3000Z-00000000" for n in range(72)]
    >>> [int(name[:20]) for name in sorted(kept(names, Keep(last=2, hourly=3, daily=2)))]
    [47, 69, 70, 71]
    """
    newest_first = sorted(((name.time, text) for text in names if (name := SnapshotName.parse(text))), reverse=True)
    found = {text for _, text in newest_first[: keep.last]}
    for count, length in ((keep.hourly, 3600), (keep.daily, 86400)):
        newest_of_each: dict[int, str] = {}
        for moment, text in newest_first:
            newest_of_each.setdefault(moment // length, text)
        found.update(list(newest_of_each.values())[:count])
    return found


class Superseded:
    """The snapshots that newer ones have superseded: this process did that, or found them when it took a model over.

    They are deleted in threads, so that no commit waits for a slow store. Threads that load models note what they find.

    Parameters
    ----------
    keep
        Which of them to keep.
    transaction
        How long a transaction may be open, in seconds.
    """

    def __init__(self, keep: Keep, transaction: float) -> None:
        self._keep, self._transaction = keep, transaction
        self._names: dict[int, dict[str, float]] = defaultdict(dict)  # since when, by partition and name
        self._files: dict[int, dict[str, frozenset[str]]] = defaultdict(dict)  # needed by a snapshot beside its own
        self._orphans: dict[int, dict[str, float]] = defaultdict(dict)  # files that no snapshot needs, since when
        # partitions of which it is not known what older snapshots need, since when, and what looks for it
        self._unknown: dict[int, tuple[float, Look]] = {}
        self._lock = threading.Lock()
        self._threads = concurrent.futures.ThreadPoolExecutor(THREADS, thread_name_prefix="delete")
        self._running: list[concurrent.futures.Future[None]] = []

    def add(self, partition: int, names: Iterable[str]) -> None:
        """Note that snapshots were superseded now."""
        now = time.monotonic()
        with self._lock:
            for name in names:
                self._names[partition].setdefault(name, now)

    def count_from_now(self, partition: int) -> None:
        """Keep all superseded snapshots of a partition as long as if they were superseded now."""
        with self._lock:
            self._names[partition] = dict.fromkeys(self._names[partition], time.monotonic())

    def note_files(self, partition: int, name: str, files: frozenset[str]) -> None:
        """Note which files a snapshot needs beside its own; several snapshots may need the same one."""
        with self._lock:
            self._files[partition][name] = files

    def note_unknown(self, partition: int, look: Look = lambda *_: None) -> None:
        """Note that it is not known which files older snapshots need: `look` is called again after a minute."""
        with self._lock:
            self._unknown[partition] = time.monotonic(), look

    def add_found(
        self,
        partition: int,
        current: str,
        store: Store,
        needed: Mapping[str, frozenset[str]] | None = None,
        published: str | None = None,
    ) -> None:
        """Look for snapshots that another process left, and note them, with the other files that they need.

        A later one than `current`, which a committed offset names, may still be named by an open transaction. Each was
        superseded when the next one was written: if that counted from now on, a partition that changes hands again and
        again would keep all of them. `published` is not superseded: others mix with it.
        """
        named = SnapshotName.parse(current)
        assert named is not None
        with self._lock:
            known = set(self._files[partition])
        there = store.sizes(partition)
        others = there.keys() - {current, published}
        names = [(name, text) for text in others if (name := SnapshotName.parse(text))]
        found = sorted((name.offset, name.time, text) for name, text in names if name.offset <= named.offset)
        superseded = [moment for _, moment, _ in found[1:]] + [named.time]
        monotonic, now = time.monotonic(), time.time()
        with self._lock:
            for (_, _, text), moment in zip(found, superseded, strict=False):
                self._names[partition].setdefault(text, monotonic - max(0.0, now - moment))
            if needed is None:
                return
            self._unknown.pop(partition, None)
            files = {name: files for name, files in needed.items() if name in there}
            # What a former ownership has noted of snapshots that are gone would hold their files for ever. What was
            # noted after the list was made stays.
            noted = {name: of for name, of in self._files[partition].items() if name in there or name not in known}
            self._files[partition] = noted | files
            wanted = frozenset().union(*files.values())
            for text in there:
                # of a snapshot that was not committed, or was deleted just before a crash
                is_other = text in wanted or SnapshotName.parse(text)  # the name of an empty model has an end, too
                name = None if is_other else SnapshotName.parse(text.rpartition("-")[0])
                if name is not None and (name.offset, name.time) <= (named.offset, named.time):
                    self._orphans[partition].setdefault(text, monotonic)

    def delete(self, named: Mapping[int, str], store: Store) -> None:
        """Begin to delete snapshots that no open transaction can name any more, except those to keep.

        Call it right after a commit that shows that this process still owns the partitions of the `named` snapshots.
        """
        if any(not future.done() for future in self._running):
            return
        began = time.monotonic()
        self._running = []
        with self._lock:
            for partition, current in named.items():
                self._delete_superseded(partition, current, store, began)
                self._delete_orphans(partition, store, began)
                self._look_again(partition, current, store, began)

    def _look_again(self, partition: int, current: str, store: Store, began: float) -> None:
        since, look = self._unknown.get(partition, (began, None))
        if look is not None and since < began - GRACE:
            self._unknown[partition] = began, look
            self._running.append(self._threads.submit(look, partition, current, store))

    def _delete_superseded(self, partition: int, current: str, store: Store, began: float) -> None:
        names = self._names[partition]
        wanted = kept([current, *names], self._keep) | {current} if names else set()
        old = [name for name, since in names.items() if since < began - self._transaction - GRACE]
        for name in [name for name in old if name not in wanted]:
            del names[name]
            again = functools.partial(self._note_again, partition, name, self._files[partition].get(name))
            files = [name, *self._only_needed_by(partition, name)]
            self._running.append(self._threads.submit(self._delete, partition, files, store, began, again))

    def _note_again(self, partition: int, name: str, needs: frozenset[str] | None) -> None:
        """Note a snapshot that was not deleted as superseded now, so that a store that refuses is not asked at once."""
        self.add(partition, [name])
        if needs is not None:
            self.note_files(partition, name, needs)

    def _only_needed_by(self, partition: int, name: str) -> Iterable[str]:
        """Forget a snapshot, and return the files that no other one needs."""
        files = self._files[partition]
        own = files.pop(name, frozenset[str]())
        if partition in self._unknown:  # older snapshots may need what is older, but not what came with this one
            own = frozenset(file for file in own if file.startswith(name))
        return own.difference(*files.values())

    def _delete_orphans(self, partition: int, store: Store, began: float) -> None:
        orphans = self._orphans[partition]
        old = {name for name, since in orphans.items() if since < began - self._transaction - GRACE}
        for name in old:
            del orphans[name]
        if unneeded := old.difference(*self._files[partition].values()):
            self._running.append(self._threads.submit(self._delete, partition, unneeded, store, began))

    @staticmethod
    def _delete(
        partition: int, names: Iterable[str], store: Store, began: float, again: Callable[[], None] = lambda: None
    ) -> None:
        # A process that slept may have lost its partitions: it goes on after a commit that shows that it has them.
        try:
            for name in names:
                if time.monotonic() - began >= MAX_DELETING:
                    raise TimeoutError
                store.delete(partition, name)
        except OSError:
            again()

    def close(self) -> None:
        """Wait a little for the deletions that were begun."""
        concurrent.futures.wait(self._running, MAX_DELETING)
        self._threads.shutdown(wait=False, cancel_futures=True)
