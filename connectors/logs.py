"""The log on standard error: a line for people, or a JSON object a line for machines."""

import contextlib
import logging
import os
import re
import sys
import threading
import time
from typing import Any, Literal, TextIO

import orjson

Format = Literal["plain", "json"]
PLACE = ("topic", "partition", "offset", "offsets")  # attributes of a log record that say which records it is about
CLIENTS = ("kafka", "connectors.kafka.librdkafka", "httpx", "httpx2")  # their loggers
REPEAT_INTERVAL = 30.0  # seconds in which an equal line of a client is not logged again
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
PLAIN = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def is_terminal() -> bool:
    """Tell whether standard error is a terminal; a shell may also have closed it."""
    return sys.stderr is not None and sys.stderr.isatty()


def without_controls(text: str) -> str:
    r"""Return a text that cannot command the terminal: what records and snapshots hold may try. Line breaks stay.

    >>> print(without_controls("a\x1b[2J"))
    a\x1b[2J
    """
    return "\n".join(CONTROLS.sub(_escaped, line) for line in text.split("\n"))


def _escaped(found: re.Match[str]) -> str:
    return ascii(found[0])[1:-1]


def where(topic: str, partition: int, offset: int) -> dict[str, Any]:
    """Return the `extra` of a log line about a record or a partition.

    >>> where("events", 0, 7)
    {'topic': 'events', 'partition': 0, 'offset': 7}
    """
    return {"topic": topic, "partition": partition, "offset": offset}


def where_read(source: str) -> dict[str, Any]:
    """Return the `extra` of a log line about a record or a label of a topic, by its source.

    >>> where_read("card-events-0-7")
    {'topic': 'card-events', 'partition': 0, 'offset': 7}
    """
    topic, partition, offset = source.rsplit("-", 2)
    return where(topic, int(partition), int(offset))


class Seldom(logging.Filter):
    """Drops a line that was logged a moment ago, also if only numbers differ; lines of other loggers than `name` pass.

    While a broker is away, a client reports each attempt of each of its connections, several times a second.
    """

    def __init__(self, name: str = "") -> None:
        super().__init__(name)
        self._logged: dict[str, float] = {}
        self._lock = threading.Lock()  # clients log in their own threads

    def filter(self, record: logging.LogRecord) -> bool:
        return not super().filter(record) or self.is_new(without_numbers(record.getMessage()))

    def is_new(self, text: str) -> bool:
        """Return whether a text was not logged in the last seconds, and note that it is now."""
        now = time.monotonic()
        with self._lock:
            self._logged = {known: until for known, until in self._logged.items() if until > now}
            return self._logged.setdefault(text, now + REPEAT_INTERVAL) == now + REPEAT_INTERVAL


def without_numbers(text: str) -> str:
    """Return the text by which lines are compared.

    >>> without_numbers("Bootstrap bootstrap-0 not ready; waiting 0.34 secs")
    'Bootstrap bootstrap- not ready; waiting . secs'
    """
    return re.sub(r"\d+", "", text)


class PlainFormatter(logging.Formatter):
    """Formats each message as one line: what a record holds can neither end the line nor command the terminal."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return CONTROLS.sub(_escaped, super().formatMessage(record))


class JsonFormatter(logging.Formatter):
    """Formats each line as one object: time (UTC), level, logger, message, and topic, partition and offset if known."""

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _text(record.getMessage()),
        }
        line |= {name: vars(record)[name] for name in PLACE if name in vars(record)}
        if record.exc_info:
            line["exception"] = _text(self.formatException(record.exc_info))
        return orjson.dumps(line, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


def _text(text: str) -> str:
    """Return a text that UTF-8 can hold; the name of a file may be another one."""
    return text.encode(errors="replace").decode()


def set_up(format: Format = "plain", clients: int = logging.WARNING) -> None:
    """Send the log to standard error; in JSON, also uncaught exceptions and warnings, so that every line is an object.

    `clients` is the lowest level of a line of the clients of Kafka and of a schema registry.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if format == "json" else PlainFormatter(PLAIN))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    # kafka-python logs each reconnection and each failed attempt, which would bury the lines of the processor
    handler.addFilter(Seldom("kafka"))
    for name in CLIENTS:
        logging.getLogger(name).setLevel(clients)
    # it warns of each step of its own loop that takes 0.1 s, as many do on a busy machine
    logging.getLogger("kafka.net.selector").setLevel(max(clients, logging.ERROR))
    if format == "json":
        sys.excepthook = _log_uncaught
        threading.excepthook = lambda told: _log_uncaught(*told[:3])
        logging.captureWarnings(True)


def _log_uncaught(kind: Any, error: Any, trace: Any) -> None:
    logging.critical(error, exc_info=(kind, error, trace))


def say_last(error: Exception) -> None:
    """Print the error that ends the process: as a plain sentence, or as a line of the log if that is JSON."""
    formatter = logging.getLogger().handlers[0].formatter
    if isinstance(formatter, JsonFormatter):
        logging.getLogger("connectors").critical(error)
    elif sys.stderr is not None:  # `print` would take standard output in its place, which may be data
        with contextlib.suppress(OSError):  # of a full disk, or a reader that has ended: the exit code stays
            print(without_controls(str(error)), file=sys.stderr)


def drop_unwritten(stream: TextIO | None) -> None:
    """Drop what standard output or standard error did not take, on a full disk for example.

    Python tries to write it once more at its very end. If that fails too, the exit code is 120, whatever it was.
    """
    if stream is None or stream.closed:
        return
    try:
        stream.flush()
    except OSError:
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), stream.fileno())
