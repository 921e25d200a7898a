"""Passwords and keys among the settings of a client: how they are recognised, and how they are kept out of sight."""

import re
from typing import Any

STARS = "********"
_SECRET = re.compile(r"password|passphrase|secret|token|key.pem|oauthbearer.config", re.IGNORECASE)
_LOGIN = re.compile(r"(://[^/\s:`]*:)[^\s@`]*@")


def is_secret(name: str) -> bool:
    """Tell whether the value of a setting of this name must never be shown.

    >>> is_secret("sasl_plain_password"), is_secret("client_id")
    (True, False)
    """
    return bool(_SECRET.search(name))


def without_passwords(text: str) -> str:
    """Return a text whose URLs show stars for their passwords.

    >>> without_passwords("`https://me:b@host/a` does not exist")
    '`https://me:********@host/a` does not exist'
    """
    return _LOGIN.sub(rf"\1{STARS}@", text)


class Secret(str):
    """A text that is shown as stars in a mapping or a traceback.

    >>> {"password": Secret("b")}, Secret("b") == "b"
    ({'password': ********}, True)
    """

    def __repr__(self) -> str:
        return STARS


class Settings(dict[str, Any]):
    """Client settings whose secrets are shown as stars, also after they were copied to another mapping.

    >>> Settings(client_id="a", sasl_plain_password="b")
    {'client_id': 'a', 'sasl_plain_password': ********}
    """

    def __init__(self, *settings: Any, **more: Any) -> None:
        super().__init__(*settings, **more)
        self.update({key: Secret(value) for key, value in self.items() if is_secret(key) and isinstance(value, str)})

    def __repr__(self) -> str:
        return repr({key: Secret() if is_secret(key) else value for key, value in self.items()})

    __str__ = __repr__
