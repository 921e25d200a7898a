"""The settings of kafka-python: our defaults, those that the guarantee owns, and what a user's settings contradict."""

from collections.abc import Mapping
from typing import Any

from connectors.errors import ConfigError
from connectors.kafka import RECORDS_PER_POLL
from connectors.kafka.kafka_python.defaults import known_settings
from connectors.kafka.settings import (
    CODE,
    OWNED,
    SECTION,
    Problem,
    Rule,
    Settings,
    belongs_to_other_side,
    cannot_be_set,
    check_order,
    check_whole_number,
    group_rules,
    other_side,
    timeouts_in_seconds,
)
from connectors.suggest import describe, did_you_mean

LIBRARY = "kafka-python"

# With 2,000 records a poll, batches of 128 KiB and no metrics a record costs half of what it does by default. Short
# back-offs and time-outs let a processor go on soon after a broker is back, and a transaction soon after the last one.
# Without a password for a key that has one, OpenSSL would ask at the terminal for each connection.
COMMON: Settings = {
    "metrics_enabled": False,
    "reconnect_backoff_max_ms": 1_000,
    "bootstrap_timeout_ms": 10_000,
    "ssl_password": "",
}
CONSUMER: Settings = COMMON | {
    "max_poll_records": RECORDS_PER_POLL,
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

FETCH_KEYS = "fetch_min_bytes", "fetch_max_wait_ms"
ONE_MESSAGE_PER_BATCH: Settings = {}  # not needed: the library splits a batch that the broker finds too large

_OWNED: dict[str, Settings] = {
    "consumer": {
        "bootstrap_servers": OWNED["servers"],
        "group_id": OWNED["group"],
        "group_instance_id": OWNED["instance"],
        "isolation_level": OWNED["isolation"],
        "enable_auto_commit": OWNED["offsets"],
        "auto_commit_interval_ms": OWNED["offsets"],
        "default_offset_commit_callback": CODE,
        "auto_offset_reset": OWNED["reset"],
        "allow_auto_create_topics": OWNED["creation"],
        "partition_assignment_strategy": OWNED["assignment"],
        "consumer_timeout_ms": "the processor ends by a signal only",
        "exclude_internal_topics": "the input is one topic",
    },
    "producer": {
        "bootstrap_servers": OWNED["servers"],
        "transactional_id": OWNED["transactional_id"],
        "enable_idempotence": OWNED["idempotence"],
        "acks": OWNED["acks"],
        "retries": "`delivery_timeout_ms` says how long to try",
        "partitioner": CODE,
        "allow_auto_create_topics": OWNED["creation"],
    },
}
_PROGRAM = {
    "key_deserializer", "value_deserializer", "key_serializer", "value_serializer", "kafka_client", "selector",
    "metric_reporters", "ssl_context", "sasl_oauth_token_provider", "socket_options", "api_version",
}  # fmt: skip


# librdkafka's names of the settings that say who a client is and whom it trusts
_LIBRDKAFKA_NAMES = {
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.mechanisms": "sasl_mechanism",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
    "ssl.ca.location": "ssl_cafile",
    "ssl.certificate.location": "ssl_certfile",
    "ssl.key.location": "ssl_keyfile",
    "ssl.key.password": "ssl_password",
}


_SECURITY = ("security.", "sasl.", "ssl.", "enable.ssl.", "enable.sasl.")


def from_any_client(settings: Settings, side: str = "consumer") -> Settings:
    """Return settings that were given for either client under kafka-python's names, for tools that always use it.

    Parameters
    ----------
    settings
        Settings by the names of their client.
    side
        What the settings are for: `consumer`, `producer` or `admin`. Settings that it does not accept are left out.

    Raises
    ------
    ConfigError
        A security setting of librdkafka has no counterpart in kafka-python.

    >>> from_any_client({"sasl.username": "me", "fetch.error.backoff.ms": 5, "client_id": "a"})
    {'sasl_plain_username': 'me', 'client_id': 'a'}
    """
    known = known_settings(side)
    named = {_LIBRDKAFKA_NAMES.get(name, name): value for name, value in settings.items()}
    if "security.protocol" in settings:  # librdkafka takes any case; here all but capitals would mean PLAINTEXT
        named["security_protocol"] = str(settings["security.protocol"]).upper()
    if lost := [name for name in named if name not in known and name.startswith(_SECURITY)]:
        raise ConfigError(
            f"this command uses kafka-python, which has no setting for `{lost[0]}`; use Kafka's own command-line tools"
        )
    return {name: value for name, value in named.items() if name in known}


def admin_settings(settings: Mapping[str, Any]) -> Settings:
    """Return the settings of a consumer or a producer that a client for administration has as well."""
    known = known_settings("admin")
    return {key: value for key, value in (COMMON | dict(settings)).items() if key in known}


def timeouts(consumer: Settings, producer: Settings) -> tuple[float, float, float]:
    """Return the seconds of a transaction, of the wait for pending offsets, and of a commit."""
    return timeouts_in_seconds(
        (PRODUCER | producer)["transaction_timeout_ms"], (CONSUMER | consumer)["max_poll_interval_ms"]
    )


def seconds_between_refreshes(consumer: Settings) -> float:
    """Return how often a consumer looks for new partitions."""
    seconds: float = (CONSUMER | consumer)["metadata_max_age_ms"] / 1000
    return seconds


def check_settings(consumer: Settings, producer: Settings) -> list[Problem]:
    """Return what is wrong with a user's settings, each with side (`consumer` or `producer`), key and sentence.

    >>> check_settings({"session_timeout": 15000}, {})
    [('consumer', 'session_timeout', '`session_timeout` is not a consumer setting of kafka-python, \
did you mean `session_timeout_ms`?')]
    >>> check_settings({}, {"acks": 1})
    [('producer', 'acks', '`acks` cannot be set: a record counts as written when all in-sync replicas have it, \
so it is `all`; leave it out')]
    """
    sides = {"consumer": consumer, "producer": producer}
    problems = [(side, key, sentence) for side in sides for key, sentence in _check_keys(side, sides[side])]
    wrong = {key for _, key, _ in problems}
    return problems + _check_timeouts(CONSUMER | consumer, PRODUCER | producer, sides, wrong)


def _check_keys(side: str, settings: Settings) -> list[tuple[str, str]]:
    return [(key, sentence) for key, value in settings.items() if (sentence := _check_key(side, key, value))]


def _check_key(side: str, key: str, value: Any) -> str | None:
    if key in _OWNED[side]:
        return cannot_be_set(key, _OWNED[side][key])
    known = known_settings(side)
    if key in known:
        return cannot_be_set(key, CODE) if key in _PROGRAM else _check_value(key, value, known[key])
    if key in known_settings(other_side(side)):
        return belongs_to_other_side(key, side, LIBRARY)
    return f"`{key}` is not a {side} setting of {LIBRARY}{did_you_mean(key, [*known, *SECTION])}"


_CHOICES = {  # the library takes any other protocol for PLAINTEXT
    "security_protocol": ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    "compression_type": ("gzip", "snappy", "lz4", "zstd"),
    "client_dns_lookup": ("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
}


def _check_value(key: str, value: Any, default: Any) -> str | None:
    if key in _CHOICES and value not in (*_CHOICES[key], default):
        return f"`{key}` is one of {', '.join(f'`{each}`' for each in _CHOICES[key])}, found {describe(value)}"
    if isinstance(default, bool):
        return None if isinstance(value, bool) else f"`{key}` is `true` or `false`, found {describe(value)}"
    return check_whole_number(key, value) if isinstance(default, int | float) else None


def _check_timeouts(
    consumer: Settings, producer: Settings, given: dict[str, Settings], wrong: set[str]
) -> list[Problem]:
    request = known_settings("consumer")["request_timeout_ms"]
    rules: list[Rule] = [
        *group_rules("heartbeat_interval_ms", "session_timeout_ms", "max_poll_interval_ms", "transaction_timeout_ms"),
        (("producer", "request_timeout_ms", 0 if "linger_ms" in wrong else producer["linger_ms"]),
         ("producer", "delivery_timeout_ms"),
         "or a record is given up before its first attempt has ended"),
        (("consumer", "fetch_max_wait_ms", 0), ("consumer", "request_timeout_ms"),
         "or a fetch is given up while the broker waits for records"),
    ]  # fmt: skip
    defaults = {"heartbeat_interval_ms": 3_000, "fetch_max_wait_ms": 500, "request_timeout_ms": request}
    problems = check_order(rules, {"consumer": defaults | consumer, "producer": producer}, given, wrong)
    if "transaction_timeout_ms" not in wrong and not producer["transaction_timeout_ms"]:
        problems.append(("producer", "transaction_timeout_ms", "`transaction_timeout_ms` must be above 0"))
    return problems
