"""The settings of kafka-python: our defaults, those that the guarantee owns, and what a user's settings contradict."""

from typing import Any

from kafka import KafkaConsumer, KafkaProducer

from connectors.kafka.timeouts import ALIVE, COMMITTED_MARGIN_MS, MOVED, SWEPT, Problem, Rule, check_order, seconds
from connectors.suggest import describe, did_you_mean

Settings = dict[str, Any]

# With 2,000 records a poll, batches of 128 KiB and no metrics a record costs half of what it does by default. Short
# back-offs and time-outs let a processor go on soon after a broker is back, and a transaction soon after the last one.
COMMON: Settings = {"metrics_enabled": False, "reconnect_backoff_max_ms": 1_000, "bootstrap_timeout_ms": 10_000}
CONSUMER: Settings = COMMON | {
    "max_poll_records": 2_000,
    "session_timeout_ms": 15_000,
    "max_poll_interval_ms": 30_000,
    "metadata_max_age_ms": 30_000,
}
PRODUCER: Settings = COMMON | {
    "linger_ms": 20,
    "retry_backoff_ms": 20,
    "batch_size": 128 * 1024,
    "transaction_timeout_ms": 10_000,
    "request_timeout_ms": 5_000,
    "delivery_timeout_ms": 10_000,
    "max_block_ms": 10_000,
}

APART: Settings = {}  # a batch that the broker finds too large is split by the library

_CODE = "it is a piece of a program"
_OWNED: dict[str, Settings] = {
    "consumer": {
        "bootstrap_servers": "it is `kafka.bootstrap_servers` for both sides",
        "group_id": "it is the `name` of the processor",
        "group_instance_id": "a member that keeps its id after it left cannot be told from its successor",
        "isolation_level": "only committed records may be learned, so it is `read_committed`",
        "enable_auto_commit": "offsets move with the model, in the checkpoint only",
        "auto_commit_interval_ms": "offsets move with the model, in the checkpoint only",
        "default_offset_commit_callback": _CODE,
        "auto_offset_reset": "records must not be skipped or repeated silently; see `input.start`",
        "allow_auto_create_topics": "a mistyped topic must not be created",
        "partition_assignment_strategy": "ownership of partitions is proven for eager range assignment",
        "consumer_timeout_ms": "the processor ends by a signal only",
        "exclude_internal_topics": "the input is one topic",
    },
    "producer": {
        "bootstrap_servers": "it is `kafka.bootstrap_servers` for both sides",
        "transactional_id": "it is made of `name` and `instance`",
        "enable_idempotence": "a retry must not write twice, so it is on",
        "acks": "a record counts as written when all in-sync replicas have it, so it is `all`",
        "retries": "`delivery_timeout_ms` says how long to try",
        "partitioner": _CODE,
        "allow_auto_create_topics": "a mistyped topic must not be created",
    },
}
_PROGRAM = {
    "key_deserializer", "value_deserializer", "key_serializer", "value_serializer", "kafka_client", "selector",
    "metric_reporters", "ssl_context", "sasl_oauth_token_provider", "socket_options",
}  # fmt: skip
_KNOWN: dict[str, Settings] = {"consumer": KafkaConsumer.DEFAULT_CONFIG, "producer": KafkaProducer.DEFAULT_CONFIG}


def timeouts(consumer: Settings, producer: Settings) -> tuple[float, float, float]:
    """Returns the seconds of a transaction, of the wait for pending offsets, and of a commit."""
    return seconds((PRODUCER | producer)["transaction_timeout_ms"], (CONSUMER | consumer)["max_poll_interval_ms"])


def check_settings(consumer: Settings, producer: Settings) -> list[Problem]:
    """Finds what is wrong with a user's settings, each with side (`consumer` or `producer`), key and sentence.

    >>> check_settings({"session_timeout": 15000}, {})
    [('consumer', 'session_timeout', '`session_timeout` is no consumer setting of kafka-python, \
did you mean `session_timeout_ms`?')]
    >>> check_settings({}, {"acks": 1})
    [('producer', 'acks', '`acks` cannot be set: a record counts as written when all in-sync replicas have it, \
so it is `all`; leave it out')]
    """
    sides = {"consumer": consumer, "producer": producer}
    problems = [(side, key, sentence) for side in sides for key, sentence in _check_keys(side, sides[side])]
    return problems or _check_timeouts(CONSUMER | consumer, PRODUCER | producer, sides)


def _check_keys(side: str, settings: Settings) -> list[tuple[str, str]]:
    other = "producer" if side == "consumer" else "consumer"
    problems = []
    for key, value in settings.items():
        if key in _OWNED[side]:
            problems.append((key, f"`{key}` cannot be set: {_OWNED[side][key]}; leave it out"))
        elif key in _PROGRAM and key in _KNOWN[side]:
            problems.append((key, f"`{key}` cannot be set: {_CODE}; leave it out"))
        elif key not in _KNOWN[side]:
            hint = did_you_mean(key, _KNOWN[side])
            if key in _KNOWN[other]:
                hint = f": put it under `kafka.{other}`"
            problems.append((key, f"`{key}` is no {side} setting of kafka-python{hint}"))
        elif problem := _check_value(key, value, _KNOWN[side][key]):
            problems.append((key, problem))
    return problems


def _check_value(key: str, value: Any, default: Any) -> str | None:
    if isinstance(default, bool):
        return None if isinstance(value, bool) else f"`{key}` is `true` or `false`, found {describe(value)}"
    if isinstance(default, int | float):
        number = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        return None if number else f"`{key}` is a whole number of at least 0, found {describe(value)}"
    return None


def _check_timeouts(consumer: Settings, producer: Settings, given: dict[str, Settings]) -> list[Problem]:
    request = _KNOWN["consumer"]["request_timeout_ms"]
    rules: list[Rule] = [
        (("consumer", "heartbeat_interval_ms", 0), ("consumer", "session_timeout_ms"), ALIVE),
        (("producer", "transaction_timeout_ms", 0), ("consumer", "session_timeout_ms"), MOVED),
        (("producer", "transaction_timeout_ms", COMMITTED_MARGIN_MS), ("consumer", "max_poll_interval_ms"), SWEPT),
        (("producer", "request_timeout_ms", producer["linger_ms"]), ("producer", "delivery_timeout_ms"),
         "or a record is given up before its first attempt has ended"),
        (("consumer", "fetch_max_wait_ms", 0), ("consumer", "request_timeout_ms"),
         "or a fetch is given up while the broker waits for records"),
    ]  # fmt: skip
    defaults = {"heartbeat_interval_ms": 3_000, "fetch_max_wait_ms": 500, "request_timeout_ms": request}
    problems = check_order(rules, {"consumer": defaults | consumer, "producer": producer}, given)
    if not producer["transaction_timeout_ms"]:
        problems.append(("producer", "transaction_timeout_ms", "`transaction_timeout_ms` must be above 0"))
    return problems
