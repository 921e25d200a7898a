"""The log on standard error: a line for people, or a JSON object a line for machines."""

import logging
import sys
import time
from typing import Any, Literal

import orjson

Format = Literal["plain", "json"]
PLACE = ("topic", "partition", "offset", "offsets")  # attributes of a log record that say which records it is about
CLIENTS = ("kafka", "connectors.kafka.librdkafka", "httpx", "httpx2")  # their loggers
PLAIN = "%(asctime)s %(levelname)s %(name)s: %(message)s"


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


class JsonFormatter(logging.Formatter):
    """Formats each line as one object: time (UTC), level, logger, message, and topic, partition and offset if known."""

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: vars(record)[name] for name in PLACE if name in vars(record)}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


def set_up(format: Format = "plain", clients: int = logging.WARNING) -> None:
    """Send the log to standard error; in JSON, also an uncaught exception, so that every line is an object.

    `clients` is the lowest level of a line of the clients of Kafka and of a schema registry.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if format == "json" else logging.Formatter(PLAIN))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    # kafka-python logs a line for each reconnection, which would bury the lines of the processor
    for name in CLIENTS:
        logging.getLogger(name).setLevel(clients)
    # it warns of each step of its own loop that takes 0.1 s, as many do on a busy machine
    logging.getLogger("kafka.net.selector").setLevel(max(clients, logging.ERROR))
    if format == "json":
        sys.excepthook = lambda kind, error, trace: logging.critical(error, exc_info=(kind, error, trace))


def say_last(error: Exception) -> None:
    """Print the error that ends the process: as a plain sentence, or as a line of the log if that is JSON."""
    formatter = logging.getLogger().handlers[0].formatter
    if isinstance(formatter, JsonFormatter):
        logging.getLogger("connectors").critical(error)
    else:
        print(error, file=sys.stderr)
