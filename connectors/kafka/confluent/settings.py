"""The settings of librdkafka: our defaults, those that the guarantee owns, and what a user's settings contradict.

librdkafka itself checks whether it knows a key and takes its value, so that each release follows its own rules.
"""

import logging
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer

from connectors.kafka.confluent import internals
from connectors.kafka.settings import (
    CODE,
    OWNED,
    SECTION,
    Problem,
    Settings,
    belongs_to_other_side,
    cannot_be_set,
    check_order,
    check_whole_number,
    group_rules,
    other_side,
    timeouts_in_seconds,
)
from connectors.secrets import is_secret
from connectors.suggest import describe, did_you_mean

LIBRARY = "librdkafka"
# Of a client that tries one setting: it warns that others are missing, which the client that connects has.
_SILENT = logging.getLogger("connectors.kafka.librdkafka.trial")
_SILENT.disabled = True

# Short back-offs let a processor go on soon after a broker is back, and a transaction soon after the last one. A batch
# stays well below the limit that topics have by default, because the broker refuses all messages of a batch together.
COMMON: Settings = {
    "reconnect.backoff.max.ms": 1_000,
    "topic.metadata.refresh.interval.ms": 30_000,
    "log.connection.close": False,
    "enable.metrics.push": False,
}
CONSUMER: Settings = COMMON | {
    "session.timeout.ms": 15_000,
    "max.poll.interval.ms": 30_000,
    "fetch.queue.backoff.ms": 20,
    "fetch.error.backoff.ms": 100,
}
# With `rebootstrap`, the library's default, a producer that has lost all brokers forgets the coordinator of its open
# transaction: the commit then never ends, also when the brokers are back. A consumer needs it: a broker that was frozen
# may tell once of no brokers, after which a consumer without it never connects again. Both were seen with 2.16.
PRODUCER: Settings = COMMON | {
    "metadata.recovery.strategy": "none",
    "linger.ms": 20,
    "retry.backoff.ms": 20,
    "batch.size": 128 * 1024,
    "transaction.timeout.ms": 10_000,
    "request.timeout.ms": 5_000,
}
ONE_MESSAGE_PER_BATCH: Settings = {"batch.num.messages": 1}
FETCH_KEYS = "fetch.min.bytes", "fetch.wait.max.ms"

_SYNONYMS = {
    "bootstrap_servers": "bootstrap.servers",  # the name in the YAML file, for every client
    "message.timeout.ms": "delivery.timeout.ms",
    "queue.buffering.max.ms": "linger.ms",
    "metadata.broker.list": "bootstrap.servers",
    "request.required.acks": "acks",
    "message.send.max.retries": "retries",
}
_CLASSIC_PROTOCOL = "ownership of partitions is proven for the classic protocol"
_OWNED: dict[str, Settings] = {
    "consumer": {
        "bootstrap.servers": OWNED["servers"],
        "group.id": OWNED["group"],
        "group.instance.id": OWNED["instance"],
        "group.protocol": _CLASSIC_PROTOCOL,
        "group.remote.assignor": _CLASSIC_PROTOCOL,
        "isolation.level": OWNED["isolation"],
        "enable.auto.commit": OWNED["offsets"],
        "auto.commit.enable": OWNED["offsets"],
        "auto.commit.interval.ms": OWNED["offsets"],
        "enable.auto.offset.store": OWNED["offsets"],
        "auto.offset.reset": OWNED["reset"],
        "allow.auto.create.topics": OWNED["creation"],
        "partition.assignment.strategy": OWNED["assignment"],
        "enable.partition.eof": "the end of a partition is where transaction markers are passed, so it is on",
    },
    "producer": {
        "bootstrap.servers": OWNED["servers"],
        "transactional.id": OWNED["transactional_id"],
        "enable.idempotence": OWNED["idempotence"],
        "acks": OWNED["acks"],
        "retries": "`delivery.timeout.ms` says how long to try",
        "allow.auto.create.topics": OWNED["creation"],
        "partitioner": "keys go where the Java client puts them, so it is `murmur2_random`",
        "delivery.report.only.error": "only failures are reported, so it is on",
        "batch.num.messages": "`batch.size` says how much goes together",
    },
}
_PROGRAM = {"logger", "on_delivery", "on_commit", "opaque", "interceptors", "plugin.library.paths", "log.queue",
            "default.topic.config", "enabled_events"}  # fmt: skip
_TEXTS = {
    "consumer": """auto.offset.reset check.crcs client.rack coordinator.query.interval.ms enable.auto.commit
        fetch.error.backoff.ms fetch.max.bytes fetch.message.max.bytes fetch.min.bytes fetch.queue.backoff.ms
        fetch.wait.max.ms group.id group.instance.id group.protocol heartbeat.interval.ms isolation.level
        max.partition.fetch.bytes max.poll.interval.ms partition.assignment.strategy queued.max.messages.kbytes
        queued.min.messages session.timeout.ms""",
    "producer": """acks batch.num.messages batch.size compression.codec compression.level compression.type
        delivery.timeout.ms enable.gapless.guarantee enable.idempotence linger.ms message.send.max.retries
        message.timeout.ms partitioner queue.buffering.backpressure.threshold queue.buffering.max.kbytes
        queue.buffering.max.messages queue.buffering.max.ms request.required.acks request.timeout.ms retries
        retry.backoff.max.ms retry.backoff.ms sticky.partitioning.linger.ms transaction.timeout.ms transactional.id""",
    "": """api.version.request broker.address.family broker.address.ttl client.dns.lookup client.id
        connections.max.idle.ms debug enable.metrics.push enable.random.seed enable.sasl.oauthbearer.unsecure.jwt
        enable.ssl.certificate.verification log.connection.close log_level max.in.flight
        max.in.flight.requests.per.connection message.copy.max.bytes message.max.bytes metadata.max.age.ms
        metadata.recovery.strategy receive.message.max.bytes reconnect.backoff.max.ms reconnect.backoff.ms
        sasl.kerberos.keytab sasl.kerberos.principal sasl.kerberos.service.name sasl.mechanism sasl.mechanisms
        sasl.oauthbearer.client.id sasl.oauthbearer.client.secret sasl.oauthbearer.config sasl.oauthbearer.method
        sasl.oauthbearer.scope sasl.oauthbearer.token.endpoint.url sasl.password sasl.username security.protocol
        socket.connection.setup.timeout.ms socket.keepalive.enable socket.max.fails socket.nagle.disable
        socket.receive.buffer.bytes socket.send.buffer.bytes socket.timeout.ms ssl.ca.location ssl.ca.pem
        ssl.certificate.location ssl.certificate.pem ssl.cipher.suites ssl.crl.location ssl.curves.list
        ssl.endpoint.identification.algorithm ssl.key.location ssl.key.password ssl.key.pem ssl.keystore.location
        ssl.keystore.password ssl.sigalgs.list statistics.interval.ms topic.metadata.refresh.interval.ms""",
}  # for hints, and to tell the two sides apart
_NAMES = {side: set(text.split()) for side, text in _TEXTS.items()}
_NUMBERS = {"transaction.timeout.ms", "session.timeout.ms", "max.poll.interval.ms", "heartbeat.interval.ms",
            "delivery.timeout.ms", "request.timeout.ms"}  # fmt: skip
_REFRESH = "topic.metadata.refresh.interval.ms"


def merged(defaults: Settings, settings: Mapping[str, Any]) -> Settings:
    """Return our defaults overridden by a user's settings, each under one of its names.

    >>> merged({"linger.ms": 20}, {"queue.buffering.max.ms": 5, "socket.keepalive.enable": True})
    {'linger.ms': 5, 'socket.keepalive.enable': 'true'}
    """
    plain = {key: str(value).lower() if isinstance(value, bool) else value for key, value in settings.items()}
    return defaults | {_SYNONYMS.get(key, key): value for key, value in plain.items()}


def admin_settings(settings: Mapping[str, Any]) -> Settings:
    """Return the settings of a consumer that a client for administration has as well."""
    consumer_only = _NAMES["consumer"] - _NAMES["producer"] - _NAMES[""]
    return merged(COMMON, {key: value for key, value in settings.items() if key not in consumer_only})


def timeouts(consumer: Settings, producer: Settings) -> tuple[float, float, float]:
    """Return the seconds of a transaction, of the wait for pending offsets, and of a commit."""
    return timeouts_in_seconds(
        merged(PRODUCER, producer)["transaction.timeout.ms"], merged(CONSUMER, consumer)["max.poll.interval.ms"]
    )


def seconds_between_refreshes(consumer: Settings) -> float:
    """Return how often a consumer looks for new partitions; negative for never."""
    seconds: float = merged(CONSUMER, consumer)[_REFRESH] / 1000
    return seconds


def check_settings(consumer: Settings, producer: Settings) -> list[Problem]:
    """Return what is wrong with a user's settings, each with side (`consumer` or `producer`), key and sentence.

    >>> check_settings({"session.timeout": 15000}, {})
    [('consumer', 'session.timeout', '`session.timeout` is not a setting of librdkafka, \
did you mean `session.timeout.ms`?')]
    >>> check_settings({}, {"acks": 1})
    [('producer', 'acks', '`acks` cannot be set: a record counts as written when all in-sync replicas have it, \
so it is `all`; leave it out')]
    """
    sides = {"consumer": consumer, "producer": producer}
    problems = [
        (side, key, sentence)
        for side, settings in sides.items()
        for key, value in settings.items()
        if (sentence := _check(side, key, value))
    ]
    wrong = {_SYNONYMS.get(key, key) for _, key, _ in problems}
    found = _check_timeouts(sides, wrong)
    return problems + (found or _check_together(sides, wrong))


def _check(side: str, key: str, value: Any) -> str | None:
    name = _SYNONYMS.get(key, key)
    if name in _OWNED[side]:
        return cannot_be_set(key, _OWNED[side][name])
    if key in _PROGRAM or key.endswith("_cb"):
        return cannot_be_set(key, CODE)
    if key in _NAMES[other_side(side)] - _NAMES[side]:
        return belongs_to_other_side(key, side, LIBRARY)
    if value is None or isinstance(value, list | dict):
        return f"`{key}` is a text, a number, `true` or `false`, found {describe(value)}{did_you_mean(key, SECTION)}"
    if name in _NUMBERS and (problem := check_whole_number(key, value)):
        return problem
    if name == _REFRESH and value != -1 and (problem := check_whole_number(key, value)):
        return f"{problem}; -1 is never"
    return _check_with_librdkafka(side, key, value)


def _check_with_librdkafka(side: str, key: str, value: Any) -> str | None:
    """Return why librdkafka refuses one setting; None also where only others contradict it."""
    refusal = _refusal(side, merged({}, {key: value}))
    if refusal is None or internals.is_contradiction(refusal):
        return None
    if internals.is_unknown_setting(refusal):
        return f"`{key}` is not a setting of {LIBRARY}{did_you_mean(key, set(SECTION).union(*_NAMES.values()))}"
    shown = "" if is_secret(key) else f": {refusal}"
    return f"`{key}` is refused by {LIBRARY}{shown}"


def _refusal(side: str, settings: Settings) -> str | None:
    """Return why librdkafka refuses settings, by making a client that connects to nothing."""
    alone = settings | {"logger": _SILENT}
    try:
        Producer(alone) if side == "producer" else Consumer(alone | {"group.id": "lint"}).close()
    except KafkaException as error:
        return str(error.args[0].str().strip().replace('"', "`"))
    return None


def _check_together(given: dict[str, Settings], wrong: set[str]) -> list[Problem]:
    """Check all settings of a side together, without files and passwords, which another machine may have.

    Settings that are `wrong` by themselves are left out, and so is what librdkafka says about them.
    """
    problems = []
    for side, defaults in (("consumer", CONSUMER), ("producer", PRODUCER | {"transactional.id": "lint"})):
        known = {
            key: value
            for key, value in given[side].items()
            if _SYNONYMS.get(key, key) not in wrong and not key.startswith(("ssl.", "sasl.", "security."))
        }
        refusal = known and _refusal(side, merged(defaults, known))
        if refusal and not any(f"`{key}`" in refusal for key in wrong):
            blamed = next((key for key in known if key in refusal), next(iter(known)))
            problems.append((side, blamed, f"`{blamed}` is refused by {LIBRARY}: {refusal}"))
    return problems


def _check_timeouts(given: dict[str, Settings], wrong: set[str]) -> list[Problem]:
    values = {
        "consumer": merged({"heartbeat.interval.ms": 3_000} | CONSUMER, given["consumer"]),
        "producer": merged(PRODUCER, given["producer"]),
    }
    rules = group_rules("heartbeat.interval.ms", "session.timeout.ms", "max.poll.interval.ms", "transaction.timeout.ms")
    problems = check_order(rules, values, {side: merged({}, settings) for side, settings in given.items()}, wrong)
    transaction, delivery = (values["producer"].get(f"{name}.timeout.ms", 0) for name in ("transaction", "delivery"))
    if not wrong & {"transaction.timeout.ms", "delivery.timeout.ms"} and delivery > transaction:
        problems.append(
            ("producer", "delivery.timeout.ms", f"`delivery.timeout.ms` ({delivery}) must not be above "
             f"`transaction.timeout.ms` ({transaction}), or a record is still tried when its transaction has timed out")
        )  # fmt: skip
    return problems
