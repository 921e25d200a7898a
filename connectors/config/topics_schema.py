"""The schema of a processor between topics of Kafka."""

import contextlib
import difflib
import os
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    model_validator,
)

from connectors.config.learner import assemble
from connectors.config.schema import (
    EXPLAIN,
    SCORE,
    TELLS_CHALLENGERS,
    AnyConfig,
    AnyLabels,
    AnyQueries,
    Keep,
    Section,
    sections_with,
)
from connectors.config.valid_values import PathProblem, ValidValues
from connectors.config.value_types import (
    DURATION,
    Count,
    Every,
    Format,
    Name,
    OutputScore,
    Truth,
    absolute,
    refuse_shell_variable,
    seconds_of,
)
from connectors.config.yaml_file import Path
from connectors.formats.codecs import JSON
from connectors.kafka import CLIENTS, ClientModule, client
from connectors.secrets import STARS, Settings, is_secret
from connectors.suggest import describe
from river_margins.conversions import why_no_mean


def _topic(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", text) or text in (".", ".."):
        raise ValueError(f"`{text}` cannot be a topic: use 1 to 249 letters, digits, `.`, `_` or `-`")
    return text


def _servers(text: str) -> str:
    refuse_shell_variable(text)
    for server in text.split(","):
        host, _, port = server.strip().rpartition(":")
        is_url = host.lower().startswith(("http://", "https://"))
        if not host or is_url or re.search(r"\s", host) or not port.isdecimal() or not 1 <= int(port) <= 65535:
            raise ValueError(f"`{server.strip()}` is not an address: write `host:port`, several separated by commas")
    return text


def _client(name: str) -> str:
    client(name)
    return name


def _location(value: Any) -> Any:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"a folder or a URL is needed, found {describe(value or None)}")
    scheme, separator, rest = value.partition("://")
    if not separator:
        return str(absolute(value))
    refuse_shell_variable(value)
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme) or not rest:
        raise ValueError(f"`{value}` is not a URL: write `protocol://bucket/folder`, such as `s3://models/phishing`")
    if scheme == "memory":
        raise ValueError(
            "a store in memory is lost when the process ends, but the offsets stay: give a folder or a bucket"
        )
    if re.match(r"[^/]*?:(?![0-9]*/)[^@]*@", rest):  # and not only a port
        raise ValueError("a URL must not hold a password: credentials come from the environment")
    return value


TOPICS = ("input", "labels", "output", "rejects", "outcomes", "queries", "mixing")
Topic = Annotated[str, AfterValidator(_topic)]
# settings of both clients that name a file, by the path from the home folder if it begins with `~`
FILE_SETTINGS = frozenset({
    "ssl_cafile", "ssl_certfile", "ssl_keyfile", "ssl_crlfile", "ssl.ca.location", "ssl.certificate.location",
    "ssl.key.location", "ssl.crl.location", "ssl.keystore.location", "sasl.kerberos.keytab",
})  # fmt: skip
ClientSettings = Annotated[dict[str, Any], AfterValidator(lambda given: Settings(given))]


class Kafka(Section):
    """The connection to Kafka. Every other key is a setting of the client, for its consumer and its producer."""

    model_config = ConfigDict(frozen=True, extra="allow")

    @model_validator(mode="before")
    @classmethod
    def _hide_secrets(cls, given: Any) -> Any:
        return Settings(given) if isinstance(given, dict) else given

    bootstrap_servers: Annotated[str, AfterValidator(_servers)] = Field(
        description="The brokers to contact first, `host:port`, several separated by commas."
    )
    client: Annotated[Literal["kafka-python", "confluent"], AfterValidator(_client)] = Field(
        default="kafka-python",
        description="The Kafka client: `kafka-python`, or `confluent`"
        " (needs `pip install 'river-margins[confluent]'`).",
    )
    consumer: ClientSettings = Field(default=Settings(), description="Settings of the client for its consumer only.")
    producer: ClientSettings = Field(default=Settings(), description="Settings of the client for its producer only.")

    @property
    def common(self) -> Settings:
        """The client settings for both sides."""
        return Settings(self.model_extra or {})

    @property
    def consumer_settings(self) -> Settings:
        """The settings of the client for a consumer, with the addresses of the brokers."""
        return self._merged(self.consumer)

    @property
    def producer_settings(self) -> Settings:
        """The settings of the client for a producer, with the addresses of the brokers."""
        return self._merged(self.producer)

    def _merged(self, side: dict[str, Any]) -> Settings:
        found = Settings({"bootstrap_servers": self.bootstrap_servers} | self.common | side)
        for key in FILE_SETTINGS & found.keys():
            if isinstance(found[key], str):
                found[key] = os.path.expanduser(found[key])
        return found

    @property
    def timeouts(self) -> tuple[float, float, float]:
        """The seconds a transaction, the wait for pending offsets and a commit may take."""
        return client(self.client).timeouts(self.consumer_settings, self.producer_settings)

    def __repr_args__(self) -> Any:
        return [(key, STARS if key and is_secret(key) else value) for key, value in super().__repr_args__()]


class Input(Section):
    topic: Topic = Field(
        description="The topic to read. It must exist; each of its partitions has a learner of its own."
    )
    start: Literal["earliest", "latest"] = Field(
        default="earliest", description="Where a group starts that has never committed: `earliest` or `latest`."
    )
    new_partitions: Literal["start", "refuse"] = Field(
        default="start",
        description="What to do when the topic gets more partitions. `start`: each new one is read from its beginning,"
        " with a new model; the models of the others stay, although some keys go to other partitions from then on."
        " `refuse`: the processor ends with exit code 4, and commits nothing.",
    )


class Output(Section):
    topic: Topic = Field(description="The topic of the predictions. It must exist.")
    timestamp: Literal["input", "now"] = Field(
        default="input",
        description="The timestamp of outputs and rejects. `input`: that of their input. `now`: the time at which they"
        " are written.",
    )
    format: Format = Field(
        default=JSON, description="The format of the outputs, as `record.format`. Outcomes and queries are JSON."
    )
    score: OutputScore = Field(default="learner", description=SCORE)
    explain: Count = Field(default=0, description=EXPLAIN)
    challengers: Truth = Field(default=False, description=TELLS_CHALLENGERS)


class Rejects(Section):
    topic: Topic = Field(
        description="The topic for records that cannot be processed: the original bytes and headers, then reason"
        " and position in headers of their own. It must exist. Without `rejects` they are logged and counted."
    )


class Labels(AnyLabels):
    topic: Topic = Field(
        description="The topic of the labels. It has as many partitions as the input, and a label has the key of its"
        " record, so that both are in the same partition."
    )
    format: Format = Field(default=JSON, description="The format of the labels, as `record.format`.")
    wait: Every = Field(
        default=1.0,
        description="How long the next record waits for labels while their topic has nothing to read, and how long the"
        " next label waits for records while the input has nothing to read: a duration from `10ms` to `1h`.",
    )


class Outcomes(Section):
    topic: Topic = Field(
        description="The topic of the outcomes. When the label of a record comes, its outcome is"
        ' `{"id", "prediction", "score", "label", "delay"}`, with the delay in milliseconds. The topic must exist.'
    )


class Queries(AnyQueries):
    topic: Topic = Field(
        description='The topic for records whose label is asked for: `{"id", "prediction", "score", "record"}`, with'
        " the key of the record, which its label must have, too. It must exist."
    )


class Mixing(Section):
    topic: Topic = Field(
        description="The topic through which the partitions tell each other which snapshots to mix: compacted, with one"
        " partition. It must exist; `river-margins topics create` creates it."
    )
    every: Every = Field(
        default=30.0, description="Time between two mixings of a partition, a duration from `10ms` to `1h`."
    )


class Checkpoint(Section):
    guarantee: Literal["exactly_once", "at_least_once"] = Field(
        default="exactly_once",
        description="`exactly_once`: output, offsets and model move in one transaction. `at_least_once`: the model is"
        " still exact, but outputs may repeat after a crash.",
    )
    every: Every = Field(
        default=1.0,
        description="Time between two checkpoints, a duration from `10ms` to `1h`. A checkpoint makes output visible.",
    )


class Snapshots(Section):
    """`snapshots: ./folder` is short for `snapshots: {folder: ./folder}`."""

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": ["string", "null"]}, handler(schema)]}

    folder: Annotated[str, BeforeValidator(_location)] = Field(
        default="./snapshots",
        validate_default=True,
        description="A folder, from the working directory, or a URL for fsspec, such as `s3://bucket/folder` (with the"
        " extra `stores` and the package of the protocol). All hosts of a group must share it.",
    )
    every: Annotated[float | None, BeforeValidator(seconds_of), DURATION] = Field(
        default=None,
        description="For large models: time between two snapshots of a model, a duration from `10ms` to `1h`. Inputs"
        " since the last one are read again when a model is loaded, so the topic must retain them and not be compacted."
        " Without it, each checkpoint has a snapshot.",
    )
    keep: Keep = Field(
        default=Keep(),
        description="Which snapshots to keep after newer ones were written. One that an offset names is always kept.",
    )

    @model_validator(mode="before")
    @classmethod
    def _folder_alone(cls, value: Any) -> Any:
        return {"folder": value} if isinstance(value, str | None) else value


class Config(AnyConfig):
    """A processor between topics of Kafka."""

    kafka: Kafka = Field(description="The connection to Kafka.")
    instance: Name | None = Field(
        default=None,
        description="A name that stays with one process of the group over its restarts, such as the name of a pod. It"
        " makes the process a static member: a restart finds its partitions again at once. Without it, each start is"
        " a new member.",
    )
    input: Input = Field(description="The input.")
    output: Output = Field(description="The output for predictions.")
    rejects: Rejects | None = Field(default=None, description="The output for records that cannot be processed.")
    labels: Labels | None = Field(
        default=None, description="Labels that come later than their records, see [Late labels](late-labels.md)."
    )
    outcomes: Outcomes | None = Field(default=None, description="The output for records whose label came later.")
    queries: Queries | None = Field(
        default=None, description="Asks for labels, see [Late labels](late-labels.md#asking-for-labels)."
    )
    mixing: Mixing | None = Field(
        default=None,
        description="Replaces the model of each partition, at intervals, by the mean of the models of all partitions,"
        " see [Mixing](mixing.md).",
    )
    checkpoint: Checkpoint = Field(default=Checkpoint(), description="When and how progress is made durable.")
    snapshots: Snapshots = Field(
        default={},
        validate_default=True,
        description="Where the models of a checkpoint are stored: a folder or a URL, or the keys below.",
    )

    on_bad_state: Literal["pause", "stop"] = Field(
        default="pause",
        description="What to do when the snapshot of one partition is missing or corrupt, or its offset is out of"
        " range. `pause`: this partition is not read, is named in the log, the metrics and `/ready`, and the others go"
        " on. `stop`: the processor ends with exit code 4.",
    )

    @property
    def transactional_id_prefix(self) -> str:
        """What the transactional ids of this group begin with, and those of no other group: names have no colon."""
        return f"{self.name}:"

    @property
    def topics(self) -> dict[str, str]:
        """The topics of the file by their role, as far as it names them."""
        sections = {role: getattr(self, role) for role in TOPICS}
        return {role: section.topic for role, section in sections.items() if section is not None}

    @classmethod
    def check_mixture(cls, data: dict[str, Any]) -> list[PathProblem]:
        """A topic and a file cannot be written in one transaction, so no guarantee would hold for both."""
        return [
            PathProblem(
                (name, "file"),
                f"what is read from a topic cannot go to a file exactly once: write `{name}: {{topic: ...}}` "
                "and let a reader of committed records write the file",
            )
            for name in sections_with("file", "topic", data)
        ]

    @classmethod
    def check_values(cls, values: ValidValues, data: dict[str, Any]) -> list[PathProblem]:
        """Find problems of values that are valid by themselves, contradict each other, or are refused by the client."""
        kafka = data.get("kafka")
        found = [
            *_check_topics(values),
            *_check_replay(values),
            *_check_mixing(values),
            *super().check_values(values, data),
        ]
        if isinstance(kafka, dict):
            # several clients are possible if the file does not name one that exists: what none of them takes is wrong
            problems = [_check_client(name, module, kafka, values) for name, module in _possible_clients(kafka).items()]
            first, *others = problems or [{}]
            found += [problem for path, problem in first.items() if all(path in other for other in others)]
        return found


def _check_topics(values: ValidValues) -> Iterator[PathProblem]:
    topics = {name: values.get(name, "topic") for name in TOPICS}
    for name in TOPICS:
        others = TOPICS[: TOPICS.index(name)]
        taken = next((other for other in others if topics[name] is not None and topics[name] == topics[other]), None)
        if taken:
            sentence = f"`{name}`: `{topics[name]}` is the {taken} topic already, this must be another one"
            yield PathProblem((name,), sentence, blames_key=False)


def _check_replay(values: ValidValues) -> Iterator[PathProblem]:
    if values.get("snapshots", "every") is None:
        return
    if values.get("challengers"):
        sentence = (
            "`snapshots.every`: a challenger that fails in the middle of a record is built again from the last snapshot"
            " and the records since, which is done in memory: leave it out, so that each checkpoint has a snapshot"
        )
        yield PathProblem(("snapshots", "every"), sentence, blames_key=False)
    if values.get("labels") is not None:
        sentence = (
            "`snapshots.every`: it needs inputs that are read again in the same order, and the order in which records "
            "and labels were taken is not recorded: leave it out, so that each checkpoint has a snapshot"
        )
        yield PathProblem(("snapshots", "every"), sentence, blames_key=False)


def _check_mixing(values: ValidValues) -> Iterator[PathProblem]:
    if values.get("mixing") is None:
        return
    refused = []
    if values.get("checkpoint", "guarantee") == "at_least_once":
        refused.append("other partitions would learn from a snapshot that was never committed: take `exactly_once`")
    if values.get("labels") is not None:
        refused.append("it is not built for labels that come later: leave out one of the two")
    if values.get("challengers"):
        refused.append("it is not built for several models of a partition: leave out `challengers`")
    if values.get("drift") is not None:
        refused.append("a model that begins anew would get back what it forgot: leave out `drift`")
    learner, problems = assemble(values.get("learner", "steps"))
    if not problems and (why := why_no_mean(learner)):
        refused.append(why)
    for sentence in refused:
        yield PathProblem(("mixing",), f"`mixing`: {sentence}", blames_key=False)


def _possible_clients(kafka: dict[str, Any]) -> dict[str, ClientModule]:
    """Return the client that a file names. For one that does not exist: the one it seems to mean, or else all."""
    given = kafka.get("client", Kafka.model_fields["client"].default)
    meant = [given] if given in CLIENTS else difflib.get_close_matches(str(given), CLIENTS, n=1)
    found = {}
    for name in meant or CLIENTS:
        with contextlib.suppress(ValueError):  # a package is missing: the schema reports that
            found[name] = client(name)
    return found


def _check_client(
    name: str, module: ClientModule, kafka: dict[str, Any], values: ValidValues
) -> dict[Path, PathProblem]:
    """Return what is wrong with the settings of a client, and with the interval of checkpoints under them, by path."""
    sides = {side: kafka[side] if isinstance(kafka.get(side), dict) else {} for side in ("consumer", "producer")}
    common = {key: value for key, value in kafka.items() if key not in Kafka.model_fields}
    problems: dict[Path, str] = {}
    for side, key, sentence in module.check_settings(common | sides["consumer"], common | sides["producer"]):
        path = ("kafka", side, key) if key in sides[side] else ("kafka", key)
        # a common key may be refused on one side and unknown on the other: the refusal says more
        if path not in problems or "cannot be set" in sentence:
            problems[path] = sentence
    found = [PathProblem(path, sentence) for path, sentence in problems.items()]
    found += _check_interval(name, module, common | sides["producer"], values)
    return {problem.path: problem for problem in found}


def _check_interval(
    name: str, module: ClientModule, settings: dict[str, Any], values: ValidValues
) -> Iterator[PathProblem]:
    every = values.get("checkpoint", "every")
    if values.get("checkpoint", "guarantee") != "exactly_once" or every is None:
        return
    try:
        longest = module.timeouts({}, settings)[0]
    except TypeError:  # the time-out is not a number
        return
    if 0 < longest <= every:
        setting = "transaction.timeout.ms" if name == "confluent" else "transaction_timeout_ms"
        reason = f"`{setting}` ({longest:g}s), as one transaction lasts from one checkpoint to the next"
        sentence = f"`checkpoint.every` ({every:g}s) must be below {reason}"
        yield PathProblem(("checkpoint", "every"), sentence, blames_key=False)
