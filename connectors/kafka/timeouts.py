"""Time-outs of a client's settings whose order the guarantee needs, by whatever names the client gives them."""

from collections.abc import Mapping, Sequence
from typing import Any

SWEEP_MS = 10_000  # a broker looks for timed-out transactions this often, by default
COMMITTED_MARGIN_MS = SWEEP_MS + 5_000

Sides = Mapping[str, Mapping[str, Any]]
Problem = tuple[str, str, str]  # side (`consumer` or `producer`), key, sentence
Rule = tuple[tuple[str, str, float], tuple[str, str], str]  # smaller side with a margin, larger side, why

ALIVE = "or the group takes a member for dead between two heartbeats"
MOVED = "or a partition moves on while the transaction of its last owner is still open"
SWEPT = "or a member leaves the group while it waits for the transaction of a dead one to be swept away"


def seconds(transaction_ms: float, silent_ms: float) -> tuple[float, float, float]:
    """Returns the seconds of a transaction, of the wait for pending offsets, and of a commit.

    Pending offsets are waited for until the transaction of a dead process is swept away. A commit may take as long as a
    member of the group may be silent.

    >>> seconds(5000, 30_000)
    (5.0, 20.0, 30.0)
    """
    return transaction_ms / 1000, (transaction_ms + COMMITTED_MARGIN_MS) / 1000, silent_ms / 1000


def check_order(rules: Sequence[Rule], values: Sides, given: Sides) -> list[Problem]:
    """Finds the rules that do not hold; the key to blame is one that was given.

    >>> rules = [(("consumer", "heartbeat", 0), ("consumer", "session"), "or it is dead")]
    >>> check_order(rules, {"consumer": {"heartbeat": 3, "session": 2}}, {"consumer": {"session": 2}})
    [('consumer', 'session', '`session` (2) must be above `heartbeat` (3), or it is dead')]
    """
    problems = []
    for (low_side, low, margin), (high_side, high), reason in rules:
        least = values[low_side][low] + margin
        if values[high_side][high] > least:
            continue
        side, key = (high_side, high) if high in given[high_side] else (low_side, low)
        more = f" + {margin} ms" if margin else ""
        problems.append(
            (side, key, f"`{high}` ({values[high_side][high]}) must be above `{low}`{more} ({least}), {reason}")
        )
    return problems
