"""The schema of a processor between topics of Kafka."""

import pathlib
import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ValidationInfo,
    field_validator,
    model_validator,
)

from connectors.config.schema import (
    DURATION,
    AnyConfig,
    Every,
    Keep,
    Name,
    PathProblem,
    Section,
    seconds_of,
    sections_with,
)
from connectors.kafka import client
from connectors.secrets import STARS, Settings, is_secret
from connectors.suggest import describe


def _topic(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", text) or text in (".", ".."):
        raise ValueError(f"`{text}` cannot be a topic: use 1 to 249 letters, digits, `.`, `_` or `-`")
    return text


def _servers(text: str) -> str:
    for server in text.split(","):
        host, _, port = server.strip().rpartition(":")
        if not host or not port.isdecimal() or not 1 <= int(port) <= 65535:
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
        return str(pathlib.Path(value).expanduser().absolute())
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme) or not rest:
        raise ValueError(f"`{value}` is not a URL: write `protocol://bucket/folder`, such as `s3://models/phishing`")
    if re.match(r"[^/@]*:[^/@]*@", rest):
        raise ValueError("a URL must not hold a password: credentials come from the environment")
    return value


Topic = Annotated[str, AfterValidator(_topic)]
ClientSettings = Annotated[dict[str, Any], AfterValidator(lambda given: Settings(given))]


class Kafka(Section):
    """The connection to Kafka. Every other key is a setting of the client, for its consumer and its producer."""

    model_config = ConfigDict(frozen=True, extra="allow")

    bootstrap_servers: Annotated[str, AfterValidator(_servers)] = Field(
        description="The brokers to contact first, `host:port`, several separated by commas."
    )
    client: Annotated[Literal["kafka-python", "confluent"], AfterValidator(_client)] = Field(
        default="kafka-python",
        description="The Kafka client: `kafka-python`, or `confluent` (needs `pip install river-margins[confluent]`).",
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
        return Settings({"bootstrap_servers": self.bootstrap_servers} | self.common | side)

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


class Output(Section):
    topic: Topic = Field(description="The topic of the predictions. It must exist.")
    timestamp: Literal["input", "now"] = Field(
        default="input",
        description="The timestamp of outputs and rejects: that of their input, or the time at which they are written.",
    )


class Rejects(Section):
    topic: Topic = Field(
        description="The topic for records that cannot be processed: the original bytes and headers, then reason"
        " and position in headers of their own. It must exist. Without `rejects` they are logged and counted."
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
        description="A stable transactional id, unique for each process of the group, such as the name of a pod."
        " Without it, each start makes a new one.",
    )
    input: Input = Field(description="The input.")
    output: Output = Field(description="The output for predictions.")
    rejects: Rejects | None = Field(default=None, description="The output for records that cannot be processed.")
    checkpoint: Checkpoint = Field(default=Checkpoint(), description="When and how progress is made durable.")
    snapshots: Snapshots = Field(
        default={},
        validate_default=True,
        description="Where the models of a checkpoint are stored: a folder or a URL, or the keys below.",
    )

    @field_validator("output", "rejects")
    @classmethod
    def _topics_differ(cls, section: Output | Rejects | None, info: ValidationInfo) -> Any:
        for other in ("input", "output"):
            taken = info.data.get(other)
            if section is not None and taken is not None and section.topic == taken.topic:
                raise ValueError(f"`{section.topic}` is the {other} topic already, this must be another one")
        return section

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
    def check_settings(cls, data: dict[str, Any]) -> list[PathProblem]:
        """Find problems of the settings of the Kafka client."""
        kafka = data.get("kafka")
        if not isinstance(kafka, dict):
            return []
        try:
            check_client_settings = client(kafka.get("client", Kafka.model_fields["client"].default)).check_settings
        except ValueError:  # the schema reports an unknown client, and its settings are unknown too
            return []
        sides = {side: kafka[side] if isinstance(kafka.get(side), dict) else {} for side in ("consumer", "producer")}
        common = {key: value for key, value in kafka.items() if key not in Kafka.model_fields}
        problems: dict[tuple[str, ...], str] = {}
        for side, key, sentence in check_client_settings(common | sides["consumer"], common | sides["producer"]):
            path = ("kafka", side, key) if key in sides[side] else ("kafka", key)
            # a common key may be refused on one side and unknown on the other: the refusal says more
            if path not in problems or "cannot be set" in sentence:
                problems[path] = sentence
        return [PathProblem(path, sentence) for path, sentence in problems.items()]

    def check_whole(self) -> list[PathProblem]:
        """Find problems of a config whose sections are all right by themselves."""
        return self._check_interval() + super().check_whole()

    def _check_interval(self) -> list[PathProblem]:
        longest, every = self.kafka.timeouts[0], self.checkpoint.every
        if self.checkpoint.guarantee == "at_least_once" or every < longest:
            return []
        name = "transaction.timeout.ms" if self.kafka.client == "confluent" else "transaction_timeout_ms"
        reason = f"`{name}` ({longest:g}s), as one transaction lasts from one checkpoint to the next"
        sentence = f"`checkpoint.every` ({every:g}s) must be below {reason}"
        return [PathProblem(("checkpoint", "every"), sentence, blames_key=False)]
