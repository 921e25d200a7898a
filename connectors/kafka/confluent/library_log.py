"""The log of librdkafka, in which one sentence tells what happens to a connection.

librdkafka reports each attempt of each of its threads (`FAIL [rdkafka#consumer-2] [thrd:GroupCoordinator]: ...`),
several times a second while a broker is away.
"""

import logging
import re

from connectors.logs import Seldom, without_numbers

# The texts are not documented. A line that no pattern fits is logged as it is, so another release is only less clear.
_PREFIX = re.compile(r"^[A-Z_0-9]+ \[[^\]]*\] \[thrd:[^\]]*\]: ")
_BROKER = r"(?:GroupCoordinator|TxnCoordinator)?(?:: |/)?(?P<broker>[^\s/]+:\d+|\d+)?(?:/\w+)?: "
_PATTERNS = {
    r".*Connect to ipv[46]#(?P<broker>\S+) failed: (?P<why>.+)": "the broker{where} cannot be reached: {why}",
    r".*Failed to resolve '(?P<broker>[^']+)': (?P<why>.+)": "the name of the broker{where} cannot be resolved: {why}",
    rf"{_BROKER}(?P<why>(?:Disconnected|Connection closed|Receive failed|Send failed).*)":
        "the connection to the broker{where} ended: {why}",
    rf"{_BROKER}ApiVersionRequest failed: Local: (?P<why>Timed out):.*": "the broker{where} does not answer: {why}",
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


class _Filter(Seldom):
    """Explains a line, and drops one that was logged a moment ago; numbers differ in sentences, as those of ports."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        sentence = explain(text)
        if sentence is not None:  # the processor itself reports it as an error if it cannot go on
            record.msg, record.args = sentence, ()
            record.levelno, record.levelname = logging.WARNING, "WARNING"
        return self.is_new(sentence or without_numbers(text))


log = logging.getLogger("connectors.kafka.librdkafka")
log.addFilter(_Filter())
