"""What the settings of both clients have in common: the ones that the guarantee owns, checks, and time-outs."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from connectors.suggest import describe

Settings = dict[str, Any]
Sides = Mapping[str, Mapping[str, Any]]
Problem = tuple[str, str, str]  # side (`consumer` or `producer`), key, sentence
Rule = tuple[tuple[str, str, float], tuple[str, str], str]  # smaller side with a margin, larger side, reason

TRANSACTION_SWEEP_MS = 10_000  # a broker looks for timed-out transactions this often, by default
COMMITTED_MARGIN_MS = TRANSACTION_SWEEP_MS + 5_000  # to wait for pending offsets after the transaction's time-out
MAX_POLL_MARGIN_MS = COMMITTED_MARGIN_MS  # of the longest poll interval over the transaction's time-out

SHORTEST_GATHERING = 0.02  # seconds
FULL_FETCH = 64 * 1024  # bytes: a fetch costs more than a hundred records

SECTION = ("bootstrap_servers", "client", "consumer", "producer")  # keys of the section `kafka` that are no settings
CODE = "it is a piece of a program"
OWNED = {
    "servers": "it is `kafka.bootstrap_servers` for both sides",
    "group": "it is the `name` of the processor",
    "instance": "it is `instance`",
    "isolation": "only committed records may be learned, so it is `read_committed`",
    "offsets": "offsets move with the model, in the checkpoint only",
    "reset": "records must not be skipped or repeated silently; see `input.start`",
    "creation": "a mistyped topic must not be created",
    "assignment": "ownership of partitions is proven for eager range assignment",
    "transactional_id": "it is made of `name` and `instance`",
    "idempotence": "a retry must not write twice, so it is on",
    "acks": "a record counts as written when all in-sync replicas have it, so it is `all`",
}  # why a setting cannot be set


def other_side(side: str) -> str:
    return "producer" if side == "consumer" else "consumer"


def cannot_be_set(key: str, reason: str) -> str:
    return f"`{key}` cannot be set: {reason}; leave it out"


def belongs_to_other_side(key: str, side: str, library: str) -> str:
    return f"`{key}` is not a {side} setting of {library}: put it under `kafka.{other_side(side)}`"


def check_whole_number(key: str, value: Any) -> str | None:
    """Return what is wrong with a value that must be a whole number of at least 0; None if nothing is.

    >>> check_whole_number("linger", 5), check_whole_number("linger", True)
    (None, '`linger` is a whole number of at least 0, found `true`')
    """
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return None
    return f"`{key}` is a whole number of at least 0, found {describe(value)}"


def timeouts_in_seconds(transaction_ms: float, max_poll_ms: float) -> tuple[float, float, float]:
    """Return the seconds of a transaction, of the wait for pending offsets, and of a commit.

    Pending offsets are waited for until the broker has ended the transaction of a dead process. A commit may take as
    long as a member of the group may leave out `poll`.

    >>> timeouts_in_seconds(5000, 30_000)
    (5.0, 20.0, 30.0)
    """
    return transaction_ms / 1000, (transaction_ms + COMMITTED_MARGIN_MS) / 1000, max_poll_ms / 1000


def gathering(settings: Settings, keys: tuple[str, str], seconds: float) -> Settings:
    """Let brokers gather records for up to some seconds before they answer a fetch, by the keys of a client for it.

    Unless the settings tell already how to fetch, or the time is so short that an idle consumer would ask all the time.

    >>> gathering({}, ("least", "wait"), 0.1), gathering({}, ("least", "wait"), 0.005)
    ({'least': 65536, 'wait': 100}, {})
    >>> gathering({"wait": 500}, ("least", "wait"), 0.1)
    {'wait': 500}
    """
    if seconds < SHORTEST_GATHERING or any(key in settings for key in keys):
        return settings
    return settings | dict(zip(keys, (FULL_FETCH, round(1000 * seconds)), strict=True))


def group_rules(heartbeat: str, session: str, max_poll: str, transaction: str) -> list[Rule]:
    """Return the rules for time-outs that hold for every client, given its names of the settings."""
    return [
        (
            ("consumer", heartbeat, 0),
            ("consumer", session),
            "or the group declares a member dead between two heartbeats",
        ),
        (
            ("producer", transaction, 0),
            ("consumer", session),
            "or a partition gets a new owner while the transaction of the last one is still open",
        ),
        (
            ("producer", transaction, MAX_POLL_MARGIN_MS),
            ("consumer", max_poll),
            "or a member leaves the group while it waits for the transaction of a dead one to be aborted",
        ),
    ]


def check_order(rules: Sequence[Rule], values: Sides, given: Sides, wrong: Collection[str] = ()) -> list[Problem]:
    """Return a problem for each rule that does not hold, with a key to blame that was given.

    A rule about one of the `wrong` keys is not checked: such a value has a problem of its own.

    >>> rules = [(("consumer", "heartbeat", 0), ("consumer", "session"), "or it is dead")]
    >>> check_order(rules, {"consumer": {"heartbeat": 3, "session": 2}}, {"consumer": {"session": 2}})
    [('consumer', 'session', '`session` (2) must be above `heartbeat` (3), or it is dead')]
    """
    problems = []
    for (low_side, low, margin), (high_side, high), reason in rules:
        if low in wrong or high in wrong:
            continue
        least = values[low_side][low] + margin
        if values[high_side][high] > least:
            continue
        side, key = (high_side, high) if high in given[high_side] else (low_side, low)
        more = f" + {margin} ms" if margin else ""
        problems.append(
            (side, key, f"`{high}` ({values[high_side][high]}) must be above `{low}`{more} ({least}), {reason}")
        )
    return problems
