"""The sections of a processor's YAML file: names, kinds, defaults and descriptions of all keys.

`Config` is a processor between topics; `AnyConfig` is what it has in common with one between files, whose keys are in
`connectors.config.files_schema`.

The descriptions are the reference in `docs/configuration.md`, which `docs/generators/configuration.py` writes.
"""

import pathlib
import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from connectors.config.learner import assemble
from connectors.errors import ConfigError
from connectors.kafka import client
from connectors.suggest import STARS, Settings, describe, is_secret
from river_margins import snapshot

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def _topic(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", text) or text in (".", ".."):
        raise ValueError(f"`{text}` cannot be a topic: use 1 to 249 letters, digits, `.`, `_` or `-`")
    return text


def _name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", text):
        rule = "use 1 to 100 letters, digits, `.`, `_` or `-`, with a letter or a digit first"
        raise ValueError(f"`{text}` cannot be a group, a transactional id and a folder at once: {rule}")
    return text


def _servers(text: str) -> str:
    for server in text.split(","):
        host, _, port = server.strip().rpartition(":")
        if not host or not port.isdecimal() or not 1 <= int(port) <= 65535:
            raise ValueError(f"`{server.strip()}` is no broker address: write `host:port`, several separated by commas")
    return text


def _client(name: str) -> str:
    client(name)
    return name


def _seconds(value: Any) -> float:
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?(ms|s|m|h)", value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"a duration is a number with a unit, such as `500ms`, `1s` or `2m`; found {describe(value)}")
    seconds = float(match[1]) * UNITS[match[2]]
    if not 0.01 <= seconds <= 3600:
        raise ValueError(f"`{value}` is out of range: from `10ms` to `1h`")
    return seconds


def _location(value: Any) -> Any:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"a folder or a URL is needed, found {describe(value or None)}")
    scheme, separator, rest = value.partition("://")
    if not separator:
        return str(pathlib.Path(value).expanduser().absolute())
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme) or not rest:
        raise ValueError(f"`{value}` is no URL: write `protocol://bucket/folder`, such as `s3://models/phishing`")
    if re.match(r"[^/@]*:[^/@]*@", rest):
        raise ValueError("a URL must not hold a password: credentials come from the environment")
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"a whole number of at least 0 is needed, found {describe(value)}")
    return value


def _port(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 65535:
        raise ValueError(f"a port is a whole number from 1 to 65535, found {describe(value)}")
    return value


def path_of(value: Any) -> Any:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"the path of a file is needed, found {describe(value or None)}")
    return pathlib.Path(value).expanduser().absolute()


Topic = Annotated[str, AfterValidator(_topic)]
Name = Annotated[str, AfterValidator(_name)]
Every = Annotated[float, BeforeValidator(_seconds)]
Count = Annotated[int, BeforeValidator(_count)]
ClientSettings = Annotated[dict[str, Any], AfterValidator(lambda given: Settings(given))]


class Section(BaseModel):
    """Sections never change once read, and know every key they take."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Kafka(Section):
    """Every other key under `kafka` is a setting of the client, for its consumer and its producer."""

    model_config = ConfigDict(frozen=True, extra="allow")

    bootstrap_servers: Annotated[str, AfterValidator(_servers)] = Field(
        description="Brokers to ask first, `host:port`, several separated by commas."
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
        """The seconds of a transaction, of the wait for pending offsets, and of a commit."""
        return client(self.client).timeouts(self.consumer_settings, self.producer_settings)

    def __repr_args__(self) -> Any:
        return [(key, STARS if key and is_secret(key) else value) for key, value in super().__repr_args__()]


class Input(Section):
    topic: Topic = Field(
        description="The topic to read. It must exist; each of its partitions has a learner of its own."
    )
    start: Literal["earliest", "latest"] = Field(
        default="earliest", description="Where a group begins that has never committed: `earliest` or `latest`."
    )


class Record(Section):
    """A record is a JSON object."""

    id: str | None = Field(
        default=None, description="The field that names a record in the output. Without it: `topic-partition-offset`."
    )
    label: str | None = Field(
        default=None,
        description="The field with the label. A record without it, or with null, is predicted and not learned.",
    )
    features: list[str] | None = Field(
        default=None, min_length=1, description="The fields to learn from. Without it: all but `id` and `label`."
    )

    @field_validator("label")
    @classmethod
    def _label_is_not_the_id(cls, label: str | None, info: ValidationInfo) -> str | None:
        if label is not None and label == info.data.get("id"):
            raise ValueError(f"`{label}` is the id already, a label is another field")
        return label

    @field_validator("features")
    @classmethod
    def _features_are_other_fields(cls, features: list[str] | None, info: ValidationInfo) -> list[str] | None:
        taken = {info.data.get("id"): "the id", info.data.get("label"): "the label"}
        for index, feature in enumerate(features or []):
            if feature in taken:
                raise ValueError(f"`{feature}` is {taken[feature]}, and cannot be a feature as well")
            if feature in (features or [])[:index]:
                raise ValueError(f"`{feature}` stands here twice")
        return features


class Output(Section):
    topic: Topic = Field(description="The topic of the predictions. It must exist.")


class Rejects(Section):
    topic: Topic = Field(
        description="The topic for records that cannot be processed: the original bytes, with reason and position in"
        " headers. It must exist. Without `rejects` they are logged and counted."
    )


class Checkpoint(Section):
    guarantee: Literal["exactly_once", "at_least_once"] = Field(
        default="exactly_once",
        description="`exactly_once`: output, offsets and model move in one transaction. `at_least_once`: the model is"
        " still exact, but outputs may repeat after a crash.",
    )
    every: Every = Field(
        default=1.0,
        description="Time between two checkpoints, a duration from `10ms` to `1h`. Output is visible after one.",
    )


class Keep(Section):
    """What is neither kept here nor named by a committed offset is deleted, a minute after it was superseded."""

    last: Count = Field(default=3, description="The newest ones of each partition.")
    hourly: Count = Field(default=0, description="The newest one of each hour, for so many hours that have one.")
    daily: Count = Field(default=0, description="The newest one of each day, for so many days that have one.")


class Snapshots(Section):
    """`snapshots: ./folder` is short for `snapshots: {folder: ./folder}`."""

    folder: Annotated[str, BeforeValidator(_location)] = Field(
        default="./snapshots",
        validate_default=True,
        description="A folder, from the working directory, or a URL for fsspec, such as `s3://bucket/folder` (with the"
        " extra `stores` and the package of the protocol). All hosts of a group must share it.",
    )
    every: Annotated[float | None, BeforeValidator(_seconds)] = Field(
        default=None,
        description="For large models: time between two snapshots of a model, a duration from `10ms` to `1h`. Inputs"
        " since the last one are read again when a model is loaded, so the topic must retain them and not be compacted."
        " Without it, each checkpoint has a snapshot.",
    )
    keep: Keep = Field(
        default=Keep(), description="Which snapshots outlive their successors; one that an offset names always does."
    )

    @model_validator(mode="before")
    @classmethod
    def _folder_alone(cls, value: Any) -> Any:
        return {"folder": value} if isinstance(value, str | None) else value


class MetricsAddress(Section):
    port: Annotated[int, BeforeValidator(_port)] = Field(
        description="The port, from 1 to 65535; 9464 is usual. Each process on a host needs one of its own."
    )
    host: str = Field(
        default="127.0.0.1", description="The address to listen on; `0.0.0.0` is for all who can reach the host."
    )


class AnyConfig(Section):
    """One file is one processor."""

    name: Name = Field(
        description="Folder of the snapshots; with topics also consumer group, whose processes share the partitions,"
        " and prefix of the transactional ids. Letters, digits, `.`, `_`, `-`, at most 100."
    )
    record: Record = Field(default=Record(), description="What the fields of a record mean.")
    learner: list[Any] = Field(
        description="The steps of the learner, in order: a class name, or `Name: {parameter: value}`. Transformers"
        " first, one classifier or regressor last."
    )
    start_from: Annotated[pathlib.Path | None, BeforeValidator(path_of)] = Field(
        default=None,
        description="A snapshot of this learner, such as `river-margins evaluate --save` writes: what each model begins"
        " as, instead of an empty one. No effect on a model that has begun.",
    )
    metrics: MetricsAddress | None = Field(
        default=None,
        description="Where to answer `/metrics` for Prometheus, `/live` and `/ready`. Default: nowhere.",
    )

    def build_learner(self) -> Any:
        """Returns a fresh, untrained learner: a `river.compose.Pipeline` when there is more than one step."""
        learner, problems = assemble(self.learner)
        if problems:
            raise ConfigError("\n".join(sentence for _, sentence in problems))
        return learner

    def first_learner(self) -> Any:
        """Returns what a model begins as: the learner in the snapshot `start_from`, or an untrained one."""
        learner = self.build_learner()
        if self.start_from is None:
            return learner
        try:
            data = self.start_from.read_bytes()
            changes = snapshot.difference(data, learner)
            if not changes:
                return snapshot.loads(data)
        except OSError as error:
            raise ConfigError(f"the snapshot `{self.start_from}` cannot be read: {error.strerror}") from error
        except snapshot.SnapshotError as error:
            raise ConfigError(f"`{self.start_from}`: {error}") from error
        raise ConfigError(
            f"the learner is not the one of the snapshot `{self.start_from}`: {'; '.join(changes)}; "
            f"make `learner` that one, or leave `start_from` out"
        )


class Config(AnyConfig):
    """A processor between topics of Kafka."""

    kafka: Kafka = Field(description="How to reach Kafka.")
    instance: Name | None = Field(
        default=None,
        description="A stable transactional id, unique for each process of the group, such as the name of a pod."
        " Without it each start takes a fresh one.",
    )
    input: Input = Field(description="What to read.")
    output: Output = Field(description="Where predictions go.")
    rejects: Rejects | None = Field(default=None, description="Where records go that cannot be processed.")
    checkpoint: Checkpoint = Field(default=Checkpoint(), description="When and how progress is made durable.")
    snapshots: Snapshots = Field(
        default={},
        validate_default=True,
        description="Where the models of a checkpoint lie: a folder or a URL, or the keys below.",
    )

    @field_validator("output", "rejects")
    @classmethod
    def _topics_differ(cls, section: Output | Rejects | None, info: ValidationInfo) -> Any:
        for other in ("input", "output"):
            taken = info.data.get(other)
            if section is not None and taken is not None and section.topic == taken.topic:
                raise ValueError(f"`{section.topic}` is the {other} topic already, this must be another one")
        return section
