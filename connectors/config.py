"""The YAML file of a processor: one schema that is parser, defaults, lint and documentation.

`load` reads a file or says everything that is wrong with it at once, each with line and column. The descriptions of the
fields below are the reference in `docs/configuration.md`, which `connectors.config_page` writes.
"""

import os
import pathlib
import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import ErrorDetails

from connectors.errors import ConfigError
from connectors.learners import assemble
from connectors.words import STARS, Settings, describe, did_you_mean, is_secret
from connectors.yaml_file import Document, Path, Problem, read

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


def _client(value: Any) -> Any:
    if value in ("confluent", "confluent-kafka"):
        raise ValueError(f"the client `{value}` is not available yet: use `kafka-python`, or leave `client` out")
    return value


def _seconds(value: Any) -> float:
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?(ms|s|m|h)", value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"a duration is a number with a unit, such as `500ms`, `1s` or `2m`; found {describe(value)}")
    seconds = float(match[1]) * UNITS[match[2]]
    if not 0.01 <= seconds <= 3600:
        raise ValueError(f"`{value}` is out of range: from `10ms` to `1h`")
    return seconds


def _folder(value: Any) -> Any:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"a folder is needed, found {describe(value or None)}")
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", value):
        raise ValueError(f"`{value}` is a URL, and snapshots can only lie in a folder so far: give a path")
    return pathlib.Path(value).expanduser().absolute()


Topic = Annotated[str, AfterValidator(_topic)]
Name = Annotated[str, AfterValidator(_name)]
ClientSettings = Annotated[dict[str, Any], AfterValidator(Settings)]


class Section(BaseModel):
    """Sections never change once read, and know every key they take."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Kafka(Section):
    """Every other key under `kafka` is a setting of the client, for its consumer and its producer."""

    model_config = ConfigDict(frozen=True, extra="allow")

    bootstrap_servers: Annotated[str, AfterValidator(_servers)] = Field(
        description="Brokers to ask first, `host:port`, several separated by commas."
    )
    client: Annotated[Literal["kafka-python"], BeforeValidator(_client)] = Field(
        default="kafka-python", description="The Kafka client. Only `kafka-python` so far."
    )
    consumer: ClientSettings = Field(default=Settings(), description="Settings of the client for its consumer only.")
    producer: ClientSettings = Field(default=Settings(), description="Settings of the client for its producer only.")

    @property
    def common(self) -> Settings:
        """The client settings for both sides."""
        return Settings(self.model_extra or {})

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
    every: Annotated[float, BeforeValidator(_seconds)] = Field(
        default=1.0,
        description="Time between two checkpoints, a duration from `10ms` to `1h`. Output is visible after one.",
    )


class Config(Section):
    """One file is one processor."""

    name: Name = Field(
        description="Consumer group, prefix of the transactional ids and folder of the snapshots: letters, digits,"
        " `.`, `_`, `-`, at most 100. Processes of the same name share the partitions."
    )
    kafka: Kafka = Field(description="How to reach Kafka.")
    instance: Name | None = Field(
        default=None,
        description="A stable transactional id, unique for each process of the group, such as the name of a pod."
        " Without it each start takes a fresh one.",
    )
    input: Input = Field(description="What to read.")
    record: Record = Field(default=Record(), description="What the fields of a record mean.")
    learner: list[Any] = Field(
        description="The steps of the learner, in order: a class name, or `Name: {parameter: value}`. Transformers"
        " first, one classifier or regressor last."
    )
    output: Output = Field(description="Where predictions go.")
    rejects: Rejects | None = Field(default=None, description="Where records go that cannot be processed.")
    checkpoint: Checkpoint = Field(default=Checkpoint(), description="When and how progress is made durable.")
    snapshots: Annotated[pathlib.Path, BeforeValidator(_folder)] = Field(
        default="./snapshots",
        validate_default=True,
        description="The folder of the snapshots, from the working directory; all hosts of a group must share it.",
    )

    @field_validator("output", "rejects")
    @classmethod
    def _topics_differ(cls, section: Output | Rejects | None, info: ValidationInfo) -> Any:
        for other in ("input", "output"):
            taken = info.data.get(other)
            if section is not None and taken is not None and section.topic == taken.topic:
                raise ValueError(f"`{section.topic}` is the {other} topic already, this must be another one")
        return section

    def build_learner(self) -> Any:
        """Returns a fresh, untrained learner: a `river.compose.Pipeline` when there is more than one step."""
        learner, problems = assemble(self.learner)
        if problems:
            raise ConfigError("\n".join(sentence for _, sentence in problems))
        return learner


def load(path: str | os.PathLike[str]) -> Config:
    """Reads the YAML file of a processor, with `${NAME}` filled in from the environment.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    ConfigError
        With every problem of the file, one a line, as `file:line:column: sentence`.
    """
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(f"`{path}` cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"`{path}` is not UTF-8 text (byte {error.start})") from error
    document = read(text, os.environ)
    config, problems = _validate(document)
    if config is None or problems:
        raise ConfigError("\n".join(_line(path, problem) for problem in problems))
    return config


def _line(path: str | os.PathLike[str], problem: Problem) -> str:
    """One problem is one line, whatever it quotes."""
    return f"{path}:{problem.place.line}:{problem.place.column}: {' '.join(problem.sentence.split())}"


def _validate(document: Document) -> tuple[Config | None, list[Problem]]:
    data = document.data
    if not isinstance(data, dict):
        if not document.problems:
            sentence = f"a processor's file is a mapping with the keys {_names(Config)}; found {describe(data)}"
            document.problems.append(Problem(document.value(()), sentence))
        return None, document.problems
    config = None
    found: list[tuple[Path, bool, str]] = []  # path, whether the key is to blame, sentence
    try:
        config = Config.model_validate(data)
    except ValidationError as error:
        found += [_explain(detail) for detail in error.errors()]
    if isinstance(data.get("learner"), list):
        for path, sentence in assemble(data["learner"])[1]:
            if not document.is_broken_below(("learner", *path[:1])):
                found.append((("learner", *path), True, sentence))
    if isinstance(data.get("kafka"), dict):
        found += [(path, True, sentence) for path, sentence in _check_client(data["kafka"])]
    if config is not None and not found:
        found += [(("checkpoint", "every"), False, sentence) for sentence in _check_interval(config)]
    problems = set(document.problems)
    for path, blames_key, sentence in found:
        if not document.is_broken(path):
            problems.add(Problem(document.key(path) if blames_key else document.value(path), sentence))
    return config, sorted(problems)


def _check_client(kafka: dict[str, Any]) -> list[tuple[Path, str]]:
    from connectors.kafka.kafka_python import check_settings

    sides = {side: kafka[side] if isinstance(kafka.get(side), dict) else {} for side in ("consumer", "producer")}
    common = {key: value for key, value in kafka.items() if key not in Kafka.model_fields}
    problems: dict[Path, str] = {}
    for side, key, sentence in check_settings(common | sides["consumer"], common | sides["producer"]):
        path: Path = ("kafka", side, key) if key in sides[side] else ("kafka", key)
        # of a common key that is refused on one side and unknown on the other, the refusal says more
        if path not in problems or "cannot be set" in sentence:
            problems[path] = sentence
    return list(problems.items())


def _check_interval(config: Config) -> list[str]:
    from connectors.kafka.kafka_python import timeouts

    consumer, producer = (config.kafka.common | side for side in (config.kafka.consumer, config.kafka.producer))
    longest, every = timeouts(consumer, producer)[0], config.checkpoint.every
    if config.checkpoint.guarantee == "at_least_once" or every < longest:
        return []
    reason = f"`transaction_timeout_ms` ({longest:g}s), as one transaction lasts from one checkpoint to the next"
    return [f"`checkpoint.every` ({every:g}s) must be below {reason}"]


def _explain(detail: ErrorDetails) -> tuple[Path, bool, str]:
    """Turns one of pydantic's errors into a path, whether its key is to blame, and a sentence for a user."""
    path, kind, value = detail["loc"], detail["type"], detail["input"]
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    if kind == "missing":
        where = f" in `{name.rpartition('.')[0]}`" if len(path) > 1 else ""
        return path[:-1], True, f"`{path[-1]}` is missing{where}"
    if kind == "extra_forbidden":
        known = _section(path[:-1]).model_fields
        hint = did_you_mean(str(path[-1]), known) or f"; known are {_names(_section(path[:-1]))}"
        return path, True, f"unknown key `{name}`{hint}"
    if kind == "value_error":
        return path, False, f"`{name}`: {detail['ctx']['error']}"
    if kind == "literal_error":
        expected = detail["ctx"]["expected"].replace("'", "`")
        return path, False, f"`{name}` must be {expected}, found {describe(value)}"
    expected = {"string_type": "text", "list_type": "a list", "too_short": "a list of at least one field"}
    quotes = ", put it in quotes" if kind == "string_type" and isinstance(value, bool | int | float) else ""
    found = "an empty list" if value == [] else describe(value)
    return path, False, f"`{name}` must be {expected.get(kind, 'a mapping')}, found {found}{quotes}"


def _section(path: Path) -> type[BaseModel]:
    section: Any = Config
    for part in path:
        section = section_of(section.model_fields[part].annotation)
    return section


def section_of(annotation: Any) -> type[BaseModel] | None:
    """The section that a field of this type holds, or None for a plain value."""
    candidates = getattr(annotation, "__args__", (annotation,))
    return next((kind for kind in candidates if isinstance(kind, type) and issubclass(kind, BaseModel)), None)


def _names(section: type[BaseModel]) -> str:
    return ", ".join(f"`{name}`" for name in section.model_fields)
