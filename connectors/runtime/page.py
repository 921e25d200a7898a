"""The page of a processor: a static file at `/`, which shows what `/state.json` tells.

Names of fields, ids and reasons come from records, so they may be anything. The page writes them as text. Beside that,
its content security policy runs no script but its own, and allows requests to this processor only.
"""

import base64
import hashlib
import importlib.resources
import ipaddress
import re
from collections.abc import Callable
from typing import Any

from connectors.config.schema import MetricsAddress

Answer = tuple[str, str, bytes]  # status, type of the content, content

SAFE_METHODS = ("GET", "HEAD")
TEXT = "text/plain; charset=utf-8"


class Page:
    """The page and its data, for a server.

    Parameters
    ----------
    address
        The address of the server.
    state
        Returns the state of the processor as JSON.
    """

    def __init__(self, address: MetricsAddress, state: Callable[[], bytes]) -> None:
        self._is_local, self._host, self._state = _is_loopback(address.host), address.host, state
        self._is_served = self._is_local if address.page is None else address.page
        self._content = importlib.resources.files("connectors.runtime").joinpath("page.html").read_bytes()
        self.headers = [
            ("Content-Security-Policy", _policy(self._content.decode())),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
            ("Cache-Control", "no-store"),
        ]

    def answer(self, environ: dict[str, Any]) -> Answer | None:
        """Return the answer to a request; None for another path."""
        path = environ["PATH_INFO"]
        if path not in ("/", "/state.json"):
            return None
        if not self._is_served:
            return (
                "404 Not Found",
                TEXT,
                b"the page is served on loopback only; `metrics: {page: true}` serves it here\n",
            )
        if environ["REQUEST_METHOD"] not in SAFE_METHODS:
            return "405 Method Not Allowed", TEXT, b"this page is read-only: use GET or HEAD\n"
        asked = environ.get("HTTP_HOST", "")
        if self._is_local and not self._is_own(asked):
            said = "this processor listens on loopback, and its page answers to `localhost` or an IP address as Host\n"
            return "403 Forbidden", TEXT, said.encode()
        if path == "/":
            return "200 OK", "text/html; charset=utf-8", self._content
        return "200 OK", "application/json", self._state()

    def _is_own(self, asked: str) -> bool:
        """Whether a Host header names this machine. Another name may be a foreign page's, resolved to this address."""
        name = re.sub(r":\d*$", "", asked).lower()
        return name in ("", "localhost", self._host.lower()) or _is_ip_address(name.strip("[]"))


def _is_ip_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    return host == "localhost" or (_is_ip_address(host) and ipaddress.ip_address(host).is_loopback)


def _policy(content: str) -> str:
    """Return the content security policy of a page: it may run and use what it holds, and nothing else."""
    script, style = (_hash(content, name) for name in ("script", "style"))
    return (
        f"default-src 'none'; script-src '{script}'; style-src '{style}'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


def _hash(content: str, name: str) -> str:
    found = re.search(rf"<{name}>(.*?)</{name}>", content, re.DOTALL)
    assert found is not None
    return f"sha256-{base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()}"
