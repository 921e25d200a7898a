"""Two phrases of messages to users: a suggestion for a misspelled word, and the description of a value."""

import difflib
from collections.abc import Iterable
from typing import Any

LONGEST = 100  # characters of a text that are shown


def did_you_mean(word: str, known: Iterable[str], least: float = 0.6) -> str:
    """Return `, did you mean ...?` if a known word is close to this one (a share from 0 to 1), else nothing.

    >>> did_you_mean("topc", ["topic", "start"])
    ', did you mean `topic`?'
    >>> did_you_mean("zebra", ["topic", "start"])
    ''
    """
    spelled = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), spelled, n=1, cutoff=least)
    return f", did you mean `{spelled[close[0]]}`?" if close else ""


def describe(value: Any) -> str:
    """Return a phrase for a value of a YAML file, the beginning of a long one.

    >>> describe(3), describe("x"), describe([1]), describe(None)
    ('the number `3`', 'the text `x`', 'a list', 'nothing')
    >>> describe("x" * 1_000_000) == f"the text `{'x' * LONGEST}...`"
    True
    """
    match value:
        case None:
            return "nothing"
        case bool():
            return f"`{str(value).lower()}`"
        case int() | float():
            return f"the number `{value}`"
        case str():
            return f"the text `{value if len(value) <= LONGEST else value[:LONGEST] + '...'}`"
        case list():
            return "a list"
    return "a mapping"
