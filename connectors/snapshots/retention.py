"""Retention of old snapshots."""

import contextlib
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping

from connectors.config.schema import Keep
from connectors.snapshots.names import SnapshotName
from connectors.snapshots.stores import Store

GRACE = 60.0  # seconds that a superseded snapshot is kept after the last transaction that could name it


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
    """The snapshots that this process has superseded itself. It deletes no others."""

    def __init__(self, keep: Keep, transaction: float) -> None:
        self._keep, self._transaction = keep, transaction
        self._names: dict[int, list[tuple[float, str]]] = defaultdict(list)

    def add(self, partition: int, name: str) -> None:
        """Note that a snapshot was superseded now."""
        self._names[partition].append((time.monotonic(), name))

    def delete(self, named: Mapping[int, str], store: Store) -> None:
        """Delete snapshots that no open transaction can name any more, except those to keep beside the `named` ones."""
        oldest = time.monotonic() - self._transaction - GRACE
        for partition, current in named.items():
            names = self._names[partition]
            wanted = kept([current, *(name for _, name in names)], self._keep)
            for since, name in [entry for entry in names if entry[0] < oldest and entry[1] not in wanted]:
                names.remove((since, name))
                with contextlib.suppress(OSError):
                    store.delete(partition, name)
