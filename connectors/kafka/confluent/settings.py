"""The settings of librdkafka: our defaults, those that the guarantee owns, and what a user's settings contradict.

librdkafka itself is asked whether it knows a key and takes its value, so that each release is checked by its own rules.
"""

from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer

from connectors.kafka.confluent.errors import log
from connectors.kafka.timeouts import ALIVE, COMMITTED_MARGIN_MS, MOVED, SWEPT, Problem, Rule, check_order, seconds
from connectors.secrets import is_secret
from connectors.suggest import describe, did_you_mean

Settings = dict[str, Any]

# When no broker is left, `rebootstrap`, the library's default, forgets the coordinator of an open transaction: its
# commit then never ends, also when the brokers are back (seen with 2.16). Short back-offs let a processor go on soon
# after a broker is back, and a transaction soon after the last one. A batch stays well below the limit that topics have
# by default, or all its messages would be refused together.
COMMON: Settings = {
    "metadata.recovery.strategy": "none",
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
PRODUCER: Settings = COMMON | {
    "linger.ms": 20,
    "retry.backoff.ms": 20,
    "batch.size": 128 * 1024,
    "transaction.timeout.ms": 10_000,
    "request.timeout.ms": 5_000,
}
APART: Settings = {"batch.num.messages": 1}

_NAMED = {
    "bootstrap_servers": "bootstrap.servers",  # as the YAML file has it for every client
    "message.timeout.ms": "delivery.timeout.ms",
    "queue.buffering.max.ms": "linger.ms",
    "metadata.broker.list": "bootstrap.servers",
    "request.required.acks": "acks",
    "message.send.max.retries": "retries",
}
_CODE = "it is a piece of a program"
_OFFSETS = "offsets move with the model, in the checkpoint only"
_SERVERS = "it is `kafka.bootstrap_servers` for both sides"
_OWNED: dict[str, Settings] = {
    "consumer": {
        "bootstrap.servers": _SERVERS,
        "group.id": "it is the `name` of the processor",
        "group.instance.id": "a member that keeps its id after it left cannot be told from its successor",
        "group.protocol": "ownership of partitions is proven for the classic protocol",
        "group.remote.assignor": "ownership of partitions is proven for the classic protocol",
        "isolation.level": "only committed records may be learned, so it is `read_committed`",
        "enable.auto.commit": _OFFSETS,
        "auto.commit.enable": _OFFSETS,
        "auto.commit.interval.ms": _OFFSETS,
        "enable.auto.offset.store": _OFFSETS,
        "auto.offset.reset": "records must not be skipped or repeated silently; see `input.start`",
        "allow.auto.create.topics": "a mistyped topic must not be created",
        "partition.assignment.strategy": "ownership of partitions is proven for eager range assignment",
        "enable.partition.eof": "the end of a partition is where transaction markers are passed, so it is on",
    },
    "producer": {
        "bootstrap.servers": _SERVERS,
        "transactional.id": "it is made of `name` and `instance`",
        "enable.idempotence": "a retry must not write twice, so it is on",
        "acks": "a record counts as written when all in-sync replicas have it, so it is `all`",
        "retries": "`delivery.timeout.ms` says how long to try",
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


def merged(defaults: Settings, settings: Settings) -> Settings:
    """Adds a user's settings to our defaults, each under one of its names.

    >>> merged({"linger.ms": 20}, {"queue.buffering.max.ms": 5, "socket.keepalive.enable": True})
    {'linger.ms': 5, 'socket.keepalive.enable': 'true'}
    """
    plain = {key: str(value).lower() if isinstance(value, bool) else value for key, value in settings.items()}
    return defaults | {_NAMED.get(key, key): value for key, value in plain.items()}


def consumer_only() -> set[str]:
    """The settings that only a consumer has."""
    return _NAMES["consumer"] - _NAMES["producer"] - _NAMES[""]


def timeouts(consumer: Settings, producer: Settings) -> tuple[float, float, float]:
    """Returns the seconds of a transaction, of the wait for pending offsets, and of a commit."""
    return seconds(
        merged(PRODUCER, producer)["transaction.timeout.ms"], merged(CONSUMER, consumer)["max.poll.interval.ms"]
    )


def check_settings(consumer: Settings, producer: Settings) -> list[Problem]:
    """Finds what is wrong with a user's settings, each with side (`consumer` or `producer`), key and sentence.

    >>> check_settings({"session.timeout": 15000}, {})
    [('consumer', 'session.timeout', '`session.timeout` is no setting of librdkafka, \
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
    return problems or _check_timeouts(sides) or _check_together(sides)


def _check(side: str, key: str, value: Any) -> str | None:
    name = _NAMED.get(key, key)
    other = "producer" if side == "consumer" else "consumer"
    if name in _OWNED[side]:
        return f"`{key}` cannot be set: {_OWNED[side][name]}; leave it out"
    if key in _PROGRAM or key.endswith("_cb"):
        return f"`{key}` cannot be set: {_CODE}; leave it out"
    if key in _NAMES[other] - _NAMES[side]:
        return f"`{key}` is no {side} setting of librdkafka: put it under `kafka.{other}`"
    if value is None or isinstance(value, list | dict):
        return f"`{key}` is a text, a number, `true` or `false`, found {describe(value)}"
    if name in _NUMBERS and not (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return f"`{key}` is a whole number of at least 0, found {describe(value)}"
    return _ask_librdkafka(side, key, value)


def _ask_librdkafka(side: str, key: str, value: Any) -> str | None:
    """Asks about one setting; that others contradict it is not its fault."""
    said = _configure(side, merged({}, {key: value}))
    if said is None or said.startswith("Failed to create"):
        return None
    if "No such configuration property" in said:
        return f"`{key}` is no setting of librdkafka{did_you_mean(key, set().union(*_NAMES.values()))}"
    shown = "" if is_secret(key) else f": {said}"
    return f"`{key}` is refused by librdkafka{shown}"


def _configure(side: str, settings: Settings) -> str | None:
    """Configures a client, which connects to nothing, and returns what librdkafka has to say."""
    alone = settings | {"logger": log}
    try:
        Producer(alone) if side == "producer" else Consumer(alone | {"group.id": "lint"}).close()
    except KafkaException as error:
        return str(error.args[0].str().strip().replace('"', "`"))
    return None


def _check_together(given: dict[str, Settings]) -> list[Problem]:
    """Asks about all settings of a side at once, but for files and passwords, which another machine has."""
    problems = []
    for side, defaults in (("consumer", CONSUMER), ("producer", PRODUCER | {"transactional.id": "lint"})):
        known = {key: value for key, value in given[side].items() if not key.startswith(("ssl.", "sasl.", "security."))}
        said = known and _configure(side, merged(defaults, known))
        if said:
            blamed = next((key for key in known if key in said), next(iter(known)))
            problems.append((side, blamed, f"`{blamed}` is refused by librdkafka: {said}"))
    return problems


def _check_timeouts(given: dict[str, Settings]) -> list[Problem]:
    values = {
        "consumer": merged({"heartbeat.interval.ms": 3_000} | CONSUMER, given["consumer"]),
        "producer": merged(PRODUCER, given["producer"]),
    }
    rules: list[Rule] = [
        (("consumer", "heartbeat.interval.ms", 0), ("consumer", "session.timeout.ms"), ALIVE),
        (("producer", "transaction.timeout.ms", 0), ("consumer", "session.timeout.ms"), MOVED),
        (("producer", "transaction.timeout.ms", COMMITTED_MARGIN_MS), ("consumer", "max.poll.interval.ms"), SWEPT),
    ]  # fmt: skip
    problems = check_order(rules, values, {side: merged({}, settings) for side, settings in given.items()})
    transaction, delivery = (values["producer"].get(f"{name}.timeout.ms", 0) for name in ("transaction", "delivery"))
    if delivery > transaction:
        problems.append(
            ("producer", "delivery.timeout.ms", f"`delivery.timeout.ms` ({delivery}) must not be above "
             f"`transaction.timeout.ms` ({transaction}), or a record is still tried when its transaction has timed out")
        )  # fmt: skip
    return problems
