"""Checks of a processor against the brokers before it runs: topics, permissions, transactions, retention, and state.

The checks change nothing, except that those of an exactly-once processor leave a transactional id,
`<name>::check-broker`, and that the folder of the snapshots is made.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from connectors.config import Config
from connectors.config.value_types import spelled
from connectors.errors import AccessError, StartError
from connectors.kafka import ClientError, NotAccepted, NotPermitted, client
from connectors.kafka.facts import Facts, TopicFacts
from connectors.topics.check_state import Progress, check_state
from connectors.topics.findings import Finding
from connectors.topics.startup import BROKER_WAIT, check_registry, instead_of_missing, no_answer

SHORT_RETENTION = 3600.0  # seconds; repairing a broken host takes longer
SHORT_OFFSETS_RETENTION = 86_400.0
SHORT_MESSAGE = 5_000  # bytes that a short message may take, with a long key, and long headers of the input
READ = ("input", "labels")  # the roles of topics that are read; the others are written


def check(config: Config, progress: Progress | None = None) -> list[Finding]:
    """Return the problems that a processor would have with the brokers or its own state, and notes worth knowing.

    Parameters
    ----------
    config
        The processor's file.
    progress
        Called with the numbers of partitions whose state is checked, and of all.

    Raises
    ------
    StartError
        No broker answers.
    AccessError
        The brokers refuse the user.
    """
    kafka = config.kafka
    roles = config.topics
    ask, names = client(kafka.client).read_facts, list(config.topics.values())
    try:
        facts = written = ask(names, config.name, kafka.consumer_settings, BROKER_WAIT)
        if _user(kafka.consumer_settings) != _user(kafka.producer_settings):
            written = ask(names, config.name, kafka.producer_settings, BROKER_WAIT)
    except NotPermitted as error:
        raise AccessError(f"the broker at `{kafka.bootstrap_servers}` refuses: {error}") from error
    except ClientError as error:
        raise StartError(no_answer(kafka, BROKER_WAIT, error)) from error
    findings = [*_topics(roles, facts, written), *_partitions(roles, facts), *_group(config, facts, written)]
    findings += [*_producer(config), *_transactions(config), *_registry(config)]
    for role, name in roles.items():
        topic = facts.topics.get(name, TopicFacts())
        if role == "input" and config.snapshots.every is not None and name in facts.topics and not topic.configs:
            # with `snapshots.every`, a processor reads the settings of its input to see whether it is compacted
            said = f"grant `DescribeConfigs` on topic `{name}` (input) to this user: `snapshots.every` needs it"
            findings.append(Finding(said, AccessError))
        elif topic.partitions and not topic.configs:
            said = f"the settings of `{name}` cannot be checked: that needs `DescribeConfigs` on topic `{name}`"
            findings.append(Finding(said, None))
        findings += [*_cleanup(role, name, topic), *_replicas(role, name, topic), *_elections(role, name, topic)]
    findings += [*_retention(config, config.input.topic, facts)]
    if config.labels is not None:
        findings += _retention(config, config.labels.topic, facts)
    findings += [*_sizes(roles, facts), *_broker(config, facts)]
    if config.output.timestamp == "input":
        findings += _kept_shorter(roles, facts)
    findings += check_state(config, progress)
    return sorted(findings, key=lambda finding: finding.kind is None)


def exit_code(findings: list[Finding]) -> int:
    """Return the exit code of the first problem; 0 without one."""
    return next((finding.kind.exit_code for finding in findings if finding.kind), 0)


def _user(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of one side that say who it is."""
    return {key: value for key, value in settings.items() if key.startswith(("sasl", "ssl", "security"))}


def _topics(roles: dict[str, str], facts: Facts, written: Facts) -> Iterator[Finding]:
    for role, name in roles.items():
        topic = facts.topics.get(name)
        may = set(topic.operations) - {"WRITE"} if topic else set()
        may |= {"WRITE"} & set(written.topics.get(name, TopicFacts()).operations)
        needed = {"READ", "WRITE"} if role == "mixing" else {"READ" if role in READ else "WRITE"}
        if topic is None:
            hint = instead_of_missing(name, roles.values(), facts.names)
            yield Finding(f"topic `{name}` ({role}) does not exist{hint}", StartError)
        elif lacking := sorted(needed - may):
            grant = " and ".join(f"`{each.capitalize()}`" for each in lacking)
            said = f"grant {grant} on topic `{name}` ({role}) to this user, who may do "
            yield Finding(said + (", ".join(sorted(may)) or "nothing there"), AccessError)


def _partitions(roles: dict[str, str], facts: Facts) -> Iterator[Finding]:
    found = {name: facts.topics.get(name, TopicFacts()).partitions for name in roles.values()}
    reads, writes, labels = roles["input"], roles["output"], roles.get("labels")
    if labels is not None and found[reads] and found[labels] and found[reads] != found[labels]:
        yield Finding(
            f"the labels `{labels}` have {found[labels]} partitions and the input `{reads}` has {found[reads]}: a "
            f"record and its label have the same key, and must lie in partitions of the same number; add partitions to "
            f"the topic that has fewer",
            StartError,
        )
    if found[reads] and found[writes] and found[reads] != found[writes]:
        yield Finding(
            f"`{writes}` has {found[writes]} partitions and `{reads}` {found[reads]}: outputs go to a partition by "
            f"their key, and those without one anywhere; to keep the order of the input, "
            + ("add partitions" if found[writes] < found[reads] else "write to another topic with as many"),
            None,
        )


def _group(config: Config, facts: Facts, written: Facts) -> Iterator[Finding]:
    # With `exactly_once`, the producer sends the offsets, too.
    asked = [facts, written] if config.checkpoint.guarantee == "exactly_once" else [facts]
    if any("READ" not in each.group_operations for each in asked):
        yield Finding(f"grant `Read` on group `{config.name}` to this user", AccessError)


def _registry(config: Config) -> Iterator[Finding]:
    """Ask the schema registry of the file as the processor does at its start."""
    try:
        away = check_registry(config)
    except (AccessError, StartError) as error:
        yield Finding(str(error), type(error))
    else:
        if away is not None:  # the processor starts without it
            yield Finding(away, None)


def _producer(config: Config) -> Iterator[Finding]:
    """Start a producer without transactions, which checks that all packages are there."""
    try:
        client(config.kafka.client).Producer(None, config.kafka.producer_settings).close()
    except (StartError, ClientError) as error:
        yield Finding(str(error), StartError)


def _transactions(config: Config) -> Iterator[Finding]:
    """Start a transactional producer as the processor does, which checks permission, time-out and coordinator."""
    if config.checkpoint.guarantee != "exactly_once":
        return
    kafka, module = config.kafka, client(config.kafka.client)
    try:
        module.Producer(f"{config.transactional_id_prefix}:check-broker", kafka.producer_settings).close()
    except StartError:
        return  # found by `_producer`
    except NotPermitted:
        who = f"transactional ids with the prefix `{config.transactional_id_prefix}`"
        yield Finding(f"grant `Write` on {who} to this user, or take `guarantee: at_least_once`", AccessError)
    except NotAccepted as error:
        yield Finding(
            f"the broker does not take the transactions of the processor, of up to {kafka.timeouts[0]:g} s: lower the "
            f"transaction time-out in `kafka.producer`, or raise `transaction.max.timeout.ms` of the brokers ({error})",
            StartError,
        )
    except ClientError as error:
        said = "transactions are not available: do the brokers form their topic `__transaction_state`, which needs "
        yield Finding(f"{said}`transaction.state.log.replication.factor` brokers? ({error})", StartError)


def _cleanup(role: str, name: str, topic: TopicFacts) -> Iterator[Finding]:
    policy = topic.configs.get("cleanup.policy")
    if role == "mixing":
        if policy is not None and policy != "compact":
            said = "what a quiet partition has published disappears; set `cleanup.policy=compact`"
            yield Finding(f"`{name}` (mixing) has `cleanup.policy={policy}`: {said}", StartError)
        return
    if policy is None or "compact" not in policy:
        return
    if role in READ:
        said = "records of a key disappear when a newer one comes, also before they are read"
        yield Finding(f"`{name}` is compacted: {said}; set `cleanup.policy=delete`", StartError)
    else:
        said = "only the newest message of a key stays, and one without a key is refused and stops the processor"
        yield Finding(f"`{name}` ({role}) is compacted: {said}; set `cleanup.policy=delete`", StartError)


def _replicas(role: str, name: str, topic: TopicFacts) -> Iterator[Finding]:
    least = int(topic.configs.get("min.insync.replicas", 1))
    needed = 1 if role in READ else min(least, topic.replicas)  # since 3.7, Kafka asks for no more than there are
    if topic.partitions and topic.in_sync < needed:
        what = "nothing can be read from it" if role in READ else f"it takes no message with fewer than {needed}"
        said = f"a partition of `{name}` ({role}) has {topic.in_sync} replicas in sync: {what}"
        yield Finding(f"{said}; look which brokers are away", StartError)
    elif role not in READ and 1 < topic.replicas <= least:
        said = f"`min.insync.replicas` of `{name}` is {least}, and it has {topic.replicas} replicas"
        yield Finding(f"{said}: it takes no message while one broker is away; lower the one or add replicas", None)
    if topic.replicas and least > topic.replicas:
        said = f"`min.insync.replicas` of `{name}` is {least}, and it has {topic.replicas} replicas"
        yield Finding(f"{said}: Kafka before 3.7 takes no record for it; lower the one or add replicas", None)
    if topic.replicas == 1:
        yield Finding(f"`{name}` has one replica: what is in it is gone with its broker; three are usual", None)


def _elections(role: str, name: str, topic: TopicFacts) -> Iterator[Finding]:
    if role in READ and topic.replicas > 1 and topic.configs.get("unclean.leader.election.enable") == "true":
        yield Finding(
            f"a replica that lacks records may come to lead `{name}` ({role}), and new records then get the offsets of "
            f"those that are lost: a partition whose model has learned them is paused, and one whose last record "
            f"ended a transaction skips new records; set `unclean.leader.election.enable=false`",
            None,
        )


def _retention(config: Config, name: str, facts: Facts) -> Iterator[Finding]:
    configs = facts.topics.get(name, TopicFacts()).configs
    kept = float(configs.get("retention.ms", -1)) / 1000
    snapshots_every = getattr(config.snapshots, "every", None) or 0.0
    least = max(SHORT_RETENTION, 10 * snapshots_every)
    if 0 <= kept < least:
        yield Finding(
            f"`{name}` keeps records for {kept:g} s: a processor that stands still for longer loses some and then "
            f"refuses to go on (exit code 4); set `retention.ms` to at least {least * 1000:.0f}",
            StartError,
        )
    size = int(configs.get("retention.bytes", -1))
    if size >= 0:
        said = "measure how long that is; a processor that stands still for longer refuses to go on (exit code 4)"
        yield Finding(f"`{name}` keeps {size:,} bytes a partition, however new: {said}", None)


def _kept_shorter(roles: dict[str, str], facts: Facts) -> Iterator[Finding]:
    """Yield a note for each topic that loses records sooner than the input, whose timestamps they have."""
    kept = {name: float(topic.configs.get("retention.ms", "nan")) for name, topic in facts.topics.items()}
    reads = kept.get(roles["input"], math.nan)
    for role in ("output", "rejects"):
        writes = kept.get(roles.get(role, ""), math.nan)
        if 0 <= writes < (math.inf if reads < 0 else reads):
            yield Finding(
                f"`{roles[role]}` ({role}) keeps records for {spelled(writes / 1000)} from the timestamp of their "
                f"input, and `{roles['input']}` keeps them for {'ever' if reads < 0 else spelled(reads / 1000)}: what "
                f"comes of an old record may be deleted within minutes; set `retention.ms` as in the input, or "
                f"`output.timestamp: now`",
                None,
            )


def _sizes(roles: dict[str, str], facts: Facts) -> Iterator[Finding]:
    sizes = {name: int(topic.configs.get("max.message.bytes", -1)) for name, topic in facts.topics.items()}
    reads, rejects = roles["input"], roles.get("rejects")
    if rejects is not None and 0 <= sizes.get(rejects, -1) < sizes.get(reads, -1):
        yield Finding(
            f"`{rejects}` takes messages of {sizes[rejects]:,} bytes and `{reads}` of {sizes[reads]:,}: a larger "
            f"reject is replaced by a short one without its bytes; raise `max.message.bytes` of `{rejects}`",
            None,
        )
    for role, name in roles.items():
        if role not in READ and 0 <= sizes.get(name, -1) < SHORT_MESSAGE:
            yield Finding(
                f"`{name}` ({role}) takes messages of {sizes[name]:,} bytes: the short message in place of one that is "
                f"too large may take {SHORT_MESSAGE:,}; raise `max.message.bytes` of this topic",
                None,
            )


def _broker(config: Config, facts: Facts) -> Iterator[Finding]:
    if not facts.broker:
        yield Finding("the brokers' settings cannot be checked: that needs `DescribeConfigs` on the cluster", None)
        return
    minutes = float(facts.broker.get("offsets.retention.minutes", 10_080))
    if minutes * 60 < SHORT_OFFSETS_RETENTION:
        yield Finding(
            f"the brokers forget the offsets of group `{config.name}` {minutes:g} minutes after its last process "
            f"ended, and then it refuses to go on (exit code 4); set `offsets.retention.minutes` to 1440 or more",
            StartError,
        )
    seconds = config.kafka.timeouts[0]
    longest = float(facts.broker.get("transaction.max.timeout.ms", 900_000)) / 1000
    if config.checkpoint.guarantee == "exactly_once" and seconds > longest:
        said = f"a transaction may last {seconds:g} s here and {longest:g} s at the broker"
        yield Finding(f"{said} (`transaction.max.timeout.ms`): lower the time-out in `kafka.producer`", StartError)
