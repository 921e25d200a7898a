"""Which snapshots of a partition outlive their successors."""

from collections.abc import Iterable

from connectors.pointer import Name
from connectors.sections import Keep


def kept(names: Iterable[str], keep: Keep) -> set[str]:
    """Returns the snapshots that `snapshots.keep` asks for; hours and days are those of UTC.

    >>> names = [f"{n:020d}-0-2026112{n // 24}T{n % 24:02d}3000Z-00000000" for n in range(72)]
    >>> [int(name[:20]) for name in sorted(kept(names, Keep(last=2, hourly=3, daily=2)))]
    [47, 69, 70, 71]
    """
    newest_first = sorted(((name.time, text) for text in names if (name := Name.parse(text))), reverse=True)
    found = {text for _, text in newest_first[: keep.last]}
    for count, length in ((keep.hourly, 3600), (keep.daily, 86400)):
        newest_of_each: dict[int, str] = {}
        for moment, text in newest_first:
            newest_of_each.setdefault(moment // length, text)
        found.update(list(newest_of_each.values())[:count])
    return found
