"""The few phrases that every message to a user needs."""

import difflib
import re
from collections.abc import Iterable
from typing import Any

SECRET = re.compile(r"password|passphrase|secret|token|key.pem|oauthbearer.config", re.IGNORECASE)
STARS = "********"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Returns `, did you mean ...?` when a known word is close to this one, else nothing.

    >>> did_you_mean("topc", ["topic", "start"])
    ', did you mean `topic`?'
    >>> did_you_mean("zebra", ["topic", "start"])
    ''
    """
    spelled = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), spelled, n=1)
    return f", did you mean `{spelled[close[0]]}`?" if close else ""


def is_secret(name: str) -> bool:
    """Tells whether a setting of this name must never be shown.

    >>> is_secret("sasl_plain_password"), is_secret("client_id")
    (True, False)
    """
    return bool(SECRET.search(name))


def describe(value: Any) -> str:
    """Says what kind of thing was found in a YAML file.

    >>> describe(3), describe("x"), describe([1]), describe(None)
    ('the number `3`', 'the text `x`', 'a list', 'nothing')
    """
    match value:
        case None:
            return "nothing"
        case bool():
            return f"`{str(value).lower()}`"
        case int() | float():
            return f"the number `{value}`"
        case str():
            return f"the text `{value}`"
        case list():
            return "a list"
    return "a mapping"


class Secret(str):
    """A text that shows stars wherever a mapping or a traceback shows its values.

    >>> {"password": Secret("b")}, Secret("b") == "b"
    ({'password': ********}, True)
    """

    def __repr__(self) -> str:
        return STARS


class Settings(dict[str, Any]):
    """A mapping of client settings whose secrets print as stars, also once they are in another mapping.

    >>> Settings(client_id="a", sasl_plain_password="b")
    {'client_id': 'a', 'sasl_plain_password': ********}
    """

    def __init__(self, *settings: Any, **more: Any) -> None:
        super().__init__(*settings, **more)
        self.update({key: Secret(value) for key, value in self.items() if is_secret(key) and isinstance(value, str)})

    def __repr__(self) -> str:
        return repr({key: Secret() if is_secret(key) else value for key, value in self.items()})

    __str__ = __repr__
