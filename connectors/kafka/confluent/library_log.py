"""The log of librdkafka, in which one sentence tells what happens to a connection.

librdkafka reports each attempt of each of its threads (`FAIL [rdkafka#consumer-2] [thrd:GroupCoordinator]: ...`),
several times a second while a broker is away.
"""

import logging
import re
import threading
import time

REPEAT_INTERVAL = 30.0  # seconds in which an equal sentence is not logged again

# The texts are not documented. A line that no pattern fits is logged as it is, so another release is only less clear.
_PREFIX = re.compile(r"^[A-Z_0-9]+ \[[^\]]*\] \[thrd:[^\]]*\]: ")
_BROKER = r"(?:GroupCoordinator|TxnCoordinator)?(?:: |/)?(?P<broker>[^\s/]+:\d+|\d+)?(?:/\w+)?: "
_PATTERNS = {
    r".*Connect to ipv[46]#(?P<broker>\S+) failed: (?P<why>.+)": "the broker{where} cannot be reached: {why}",
    r".*Failed to resolve '(?P<broker>[^']+)': (?P<why>.+)": "the name of the broker{where} cannot be resolved: {why}",
    rf"{_BROKER}(?P<why>(?:Disconnected|Connection closed|Receive failed|Send failed).*)":
        "the connection to the broker{where} ended: {why}",
    rf"{_BROKER}(?P<why>(?:Timed out|\d+ request\(s\) timed out).*)": "the broker{where} does not answer: {why}",
    r"Failed to acquire transactional PID .*: Broker: (?P<why>.+): retrying":
        "the brokers are not ready for transactions yet: {why}",
    r"(?P<why>\d+/\d+ brokers are down)": "no connection to any broker: {why}",
}  # fmt: skip
_SENTENCES = {re.compile(pattern): sentence for pattern, sentence in _PATTERNS.items()}
_STATISTICS = re.compile(r" \((?:after|average) .*")


def explain(text: str) -> str | None:
    """Return a sentence for a line of librdkafka about a connection; None for any other line.

    >>> explain("FAIL [rdkafka#consumer-2] [thrd:GroupCoordinator]: GroupCoordinator: kafka:9092: Connect to "
    ...         "ipv4#10.0.0.7:9092 failed: Connection refused (after 0ms in state CONNECT)")
    'the broker at 10.0.0.7:9092 cannot be reached: Connection refused; the client tries again'
    >>> explain("FAIL [rdkafka#producer-1] [thrd:kafka:9092/1]: kafka:9092/1: Disconnected (after 90ms in state UP)")
    'the connection to the broker at kafka:9092 ended: Disconnected; the client tries again'
    """
    said = _PREFIX.sub("", text)
    for pattern, sentence in _SENTENCES.items():
        if found := pattern.fullmatch(said):
            broker = found.groupdict().get("broker") or ""
            where = f" at {broker}" if ":" in broker else f" {broker}" if broker else ""
            why = _STATISTICS.sub("", found["why"])
            return f"{sentence.format(where=where, why=why)}; the client tries again"
    return None


class _Filter(logging.Filter):
    """Explains a line, and drops one that was logged a moment ago; of other lines, also if only numbers differ."""

    def __init__(self) -> None:
        super().__init__()
        self._logged: dict[str, float] = {}
        self._lock = threading.Lock()  # clients log in their own threads

    def filter(self, record: logging.LogRecord) -> bool:
        text, now = record.getMessage(), time.monotonic()
        sentence = explain(text)
        if sentence is not None:  # the processor itself reports it as an error if it cannot go on
            record.msg, record.args = sentence, ()
            record.levelno, record.levelname = logging.WARNING, "WARNING"
        key = sentence or re.sub(r"\d+", "", text)
        with self._lock:
            self._logged = {known: until for known, until in self._logged.items() if until > now}
            return self._logged.setdefault(key, now + REPEAT_INTERVAL) == now + REPEAT_INTERVAL


log = logging.getLogger("connectors.kafka.librdkafka")
log.addFilter(_Filter())
