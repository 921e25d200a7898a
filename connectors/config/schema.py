"""The schema that the files of all processors share: its sections, the types of their values, and `AnyConfig`.

`connectors.config.topics_schema` and `connectors.config.files_schema` add the sections of either kind of processor. The
descriptions of the keys are the reference in `docs/configuration.md`, which `docs/generators/configuration.py` writes.
"""

import pathlib
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    PrivateAttr,
    WithJsonSchema,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError
from river import base

from connectors.config.detector import assemble_detector
from connectors.config.learner import assemble, assemble_sampler, last_step, why_no_weights
from connectors.config.valid_values import ValidValues
from connectors.config.yaml_file import Path
from connectors.drift.watch import PROMOTE, RESET, WARN, Plan
from connectors.errors import ConfigError
from connectors.formats.codecs import JSON, REGISTERED_SCHEMAS, check_format
from connectors.model.field_paths import FEATURES, FieldPath, named
from connectors.secrets import STARS, Secret
from connectors.suggest import describe, did_you_mean
from river_margins import snapshot

MOST_QUERIES = 10_000  # each snapshot names the records that `queries.at_most` still counts
UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
LONGEST = 3660  # days that a record may wait for its label


def _name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", text):
        rule = "use 1 to 100 letters, digits, `.`, `_` or `-`, with a letter or a digit first"
        raise ValueError(f"`{text}` cannot be a group, a transactional id and a folder at once: {rule}")
    return text


def seconds_of(value: Any) -> float:
    """Read a duration; raise ValueError for anything else and for less than `10ms` or more than `1h`.

    >>> seconds_of("1.5 s"), seconds_of("2m")
    (1.5, 120.0)
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?(ms|s|m|h)", value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"a duration is a number with a unit, such as `500ms`, `1s` or `2m`; found {describe(value)}")
    return _in_range(match, 3600, "1h")


def long_seconds_of(value: Any) -> float:
    """Read a duration that may be days; raise ValueError for anything else and for one out of range.

    >>> long_seconds_of("30d")
    2592000.0
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?(ms|s|m|h|d)", value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"a duration is a number with a unit, such as `30s`, `12h` or `30d`; found {describe(value)}")
    return _in_range(match, LONGEST * UNITS["d"], f"{LONGEST}d")


def _in_range(match: re.Match[str], most: float, longest: str) -> float:
    seconds = float(match[1]) * UNITS[match[2]]
    if not 0.01 <= seconds <= most:
        raise ValueError(f"`{match[0]}` is out of range: from `10ms` to `{longest}`")
    return seconds


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"a whole number of at least 0 is needed, found {describe(value)}")
    return value


def _positive(value: Any) -> int:
    if _count(value) == 0:
        raise ValueError("a whole number of at least 1 is needed, found `0`")
    return int(value)


def _at_most(value: Any) -> tuple[int, int]:
    match = re.fullmatch(r"([0-9]{1,12}) per ([0-9]{1,12})", value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(
            f"a bound is a number of labels per a number of records, `100 per 10000`; found {describe(value)}"
        )
    most, records = int(match[1]), int(match[2])
    if not 1 <= most <= records:
        raise ValueError(f"`{value}` bounds nothing: at least 1 label, and at most as many as records")
    if most > MOST_QUERIES:
        raise ValueError(f"`{value}` is too long: at most {MOST_QUERIES} labels, among fewer records")
    return most, records


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"`true` or `false` is needed, found {describe(value)}")
    return value


def _then(value: Any) -> tuple[str, str]:
    if value in (WARN, RESET):
        return value, ""
    if isinstance(value, dict) and value.keys() == {PROMOTE} and isinstance(value[PROMOTE], str):
        return PROMOTE, value[PROMOTE]
    raise ValueError(f"`warn`, `reset` or `{{promote: NAME}}` is needed, found {describe(value)}")


def _otherwise(value: Any) -> Any:
    if isinstance(value, list | dict):
        raise ValueError(f"a label is needed, or `none`; found {describe(value)}")
    return None if value == "none" else value


def _port(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 65535:
        raise ValueError(f"a port is a whole number from 1 to 65535, found {describe(value)}")
    return value


def path_of(value: Any) -> pathlib.Path:
    """Read the path of a file or a folder, from the working directory; raise ValueError if there is none."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"the path of a file is needed, found {describe(value or None)}")
    return pathlib.Path(value).expanduser().absolute()


def _path(text: str) -> str:
    FieldPath.parse(text)
    return text


def _feature(value: Any) -> Any:
    if isinstance(value, str):
        return _path(value)
    if not isinstance(value, dict):
        raise PydanticCustomError("string_type", "text is needed")
    if len(value) != 1 or not isinstance(next(iter(value.values())), str):
        raise ValueError(f"a feature is a path, or one `name: path`; found {describe(value)}")
    ((name, text),) = value.items()
    if not name.strip():
        raise ValueError("a feature needs a name")
    return {name: _path(text)}


def _url(text: str) -> str:
    match = re.fullmatch(r"https?://([^/?#]+)([^?#]*)", text)
    if match is None:
        raise ValueError(
            f"`{STARS if '@' in text else text}` is no URL: write `https://host:port`, perhaps with a path"
        )
    if "@" in match[1]:
        raise ValueError("a URL must not hold a password: write `{url: ..., username: ..., password: ${PASSWORD}}`")
    return text


def _secret(text: str | None) -> str | None:
    return None if text is None else Secret(text)


Name = Annotated[str, AfterValidator(_name)]
Format = Annotated[str, AfterValidator(check_format)]
PathText = Annotated[str, AfterValidator(_path)]
_RENAMED = {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1, "maxProperties": 1}
Feature = Annotated[
    FEATURES,
    WrapValidator(lambda value, _: _feature(value)),
    WithJsonSchema({"anyOf": [{"type": "string"}, _RENAMED]}),
]
DURATION = WithJsonSchema({"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? ?(ms|s|m|h)$"})
LONG = WithJsonSchema({"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? ?(ms|s|m|h|d)$"})
Within = Annotated[float, BeforeValidator(long_seconds_of), LONG]
Every = Annotated[float, BeforeValidator(seconds_of), DURATION]
Count = Annotated[int, BeforeValidator(_count)]
AtMost = Annotated[
    tuple[int, int],
    WrapValidator(lambda value, _: _at_most(value)),
    WithJsonSchema({"type": "string", "pattern": "^[0-9]{1,12} per [0-9]{1,12}$"}),
]
_ONE_NAME = {"type": "object", "minProperties": 1, "maxProperties": 1}
SamplerStep = Annotated[Any, WithJsonSchema({"anyOf": [{"type": "string"}, _ONE_NAME]})]
Then = Annotated[
    tuple[str, str],
    WrapValidator(lambda value, _: _then(value)),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": [WARN, RESET]},
                {
                    "type": "object",
                    "properties": {PROMOTE: {"type": "string"}},
                    "required": [PROMOTE],
                    "additionalProperties": False,
                },
            ]
        }
    ),
]
Truth = Annotated[bool, BeforeValidator(_truth)]
Otherwise = Annotated[
    Any, BeforeValidator(_otherwise), WithJsonSchema({"type": ["boolean", "integer", "number", "string", "null"]})
]


class PathProblem(NamedTuple):
    """A problem at a path of the data; `blames_key` is False if the value is to blame and not its key."""

    path: Path
    sentence: str
    blames_key: bool = True


class Section(BaseModel):
    """A mapping of a YAML file: read-only, and without keys that the schema does not list."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class RegistryAddress(Section):
    """`registry: URL` is short for `registry: {url: URL}`."""

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, handler(schema)]}

    url: Annotated[str, AfterValidator(_url)] = Field(
        description="The address of the schema registry, such as `https://registry.example.org`."
    )
    username: str | None = Field(default=None, description="The user, if the registry wants one.")
    password: Annotated[str | None, AfterValidator(_secret)] = Field(default=None, description="The password.")

    @model_validator(mode="before")
    @classmethod
    def _url_alone(cls, value: Any) -> Any:
        return {"url": value} if isinstance(value, str) else value


class Record(Section):
    """The meaning of the fields of a record, which is a JSON object."""

    id: PathText | None = Field(
        default=None, description="The field that names a record in the output. Without it: `topic-partition-offset`."
    )
    label: PathText | None = Field(
        default=None,
        description="The field with the label. A record without it, or with null, is predicted and not learned.",
    )
    weight: PathText | None = Field(
        default=None,
        description="The field with the sample weight of learning, a number of at least 0: how much a loss on this"
        " record costs. A record without it, or with null, has the weight 1. For learners that take sample weights.",
    )
    features: list[Feature] | None = Field(
        default=None,
        min_length=1,
        description="The fields to learn from, each a name or a path such as `card.country` or `items[0].price`, or"
        " `{name: path}` to give the feature another name. Without it: all but `id`, `label`, `weight` and `time`.",
    )
    nulls: Literal["absent", "reject"] | None = Field(
        default=None,
        description="What a null feature is: `absent`, like a field that is not there, or `reject`, which rejects the"
        " record. Without it the learner gets the null: an imputer fills it in, other steps reject the record.",
    )

    time: PathText | None = Field(
        default=None,
        description="The field with the time of a record, by which it is ordered among the `labels`: milliseconds since"
        " 1970, or text such as `2024-05-01T12:30:00Z` (UTC if no zone is given). It is no feature. Between topics:"
        " without it, the timestamp of the record; between files with `labels` it is needed.",
    )

    format: Format = Field(
        default=JSON,
        description="The format of the records in a topic: `json`, `avro` and `json_schema` (which need `registry`),"
        " or the name of a codec that an installed package registers, see [Formats](formats.md#formats-of-topics).",
    )
    registry: RegistryAddress | None = Field(
        default=None,
        description="The schema registry of records, labels and outputs whose format is `avro` or `json_schema`: its"
        " URL, or the keys below.",
    )

    @property
    def shape(self) -> dict[str, Any]:
        """What decides on features, label and weight of a record. Two sections with the same shape teach the same."""
        given = self.model_dump(mode="json", exclude_defaults=True)
        given.pop("registry", None)
        if self.features is not None:  # then id and time are not taken out of the features
            given.pop("id", None)
            given.pop("time", None)
        return given


EXPLAIN = (
    "How many features each output names that weighed most in its score, as `explanation`: `{feature: contribution}`,"
    " the largest first. With several classes it explains the score of the predicted one. 0: none. Learners with a"
    " kernel have no such answer."
)


TELLS_CHALLENGERS = (
    "Whether each output, and each outcome, also tells what the challengers said:"
    ' `"challengers": {"arow": {"prediction", "score"}}`, with null for one that refused the features.'
)


class Steps(Section):
    """A list of steps is short for `{steps: [...]}`."""

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "array"}, handler(schema)]}

    steps: list[Any] = Field(
        description="The steps, in order: a class name, or `Name: {parameter: value}`. Transformers first, one"
        " classifier or regressor last."
    )

    @model_validator(mode="before")
    @classmethod
    def _steps_alone(cls, value: Any) -> Any:
        if isinstance(value, list):
            return {"steps": value}
        if not isinstance(value, dict) or not value.keys() & cls.model_fields.keys():
            raise PydanticCustomError("list_type", "a list is needed")
        return value


class Learner(Steps):
    name: Name | None = Field(
        default=None,
        description="The name of the model beside its challengers. Letters, digits, `.`, `_`, `-`, at most 100.",
    )


class Challenger(Steps):
    start_from: Annotated[pathlib.Path | None, BeforeValidator(path_of)] = Field(
        default=None, description="A snapshot of this learner, with which a new challenger starts."
    )


class AnyLabels(Section):
    """Labels that come later than their records."""

    id: PathText | None = Field(
        default=None, description="The field that names the record of a label. Without it: the key of the label."
    )
    label: PathText = Field(description="The field with the label.")
    time: PathText | None = Field(
        default=None, description="The field with the time of a label, as `record.time`. Without it: its timestamp."
    )
    within: Within = Field(
        description="How long a record waits for its label, and a label for its record, in event time: a duration from"
        f" `10ms` to `{LONGEST}d`, such as `30m`, `12h` or `30d`."
    )
    pending: Annotated[int, BeforeValidator(_positive)] = Field(
        default=1_000_000,
        description="At most so many records of a partition wait; the oldest give way. The same for labels that wait.",
    )
    otherwise: Otherwise = Field(
        default=None,
        description="What becomes of a record whose label did not come in time: `none`, it is not learned, or the label"
        " with which it is learned then, such as `false`.",
    )

    @property
    def within_ms(self) -> int:
        """How long a record waits, in milliseconds."""
        return round(self.within * 1000)


class AnyQueries(Section):
    """Which labels to ask for."""

    sampler: SamplerStep = Field(
        description="What decides for which records, as a class name or `Name: {parameter: value}`:"
        " `SelectiveSampler`, `RandomizedSelectiveSampler`, `MarginSampler` or `ShareSampler`, without the classifier,"
        " which is the last step of the learner."
    )
    at_most: AtMost = Field(
        description="At most so many labels for so many records in a row of a partition, such as `100 per 10000`. Only"
        " records count that could be asked for; time does not."
    )
    waits: Literal["all", "asked"] = Field(
        default="all",
        description="Which records wait for a label. `all`: labels that nobody asked for are learned, too. `asked`:"
        " only those that were asked for, which takes far less memory; other labels are rejected as `unknown_id`.",
    )

    @property
    def all_wait(self) -> bool:
        """Whether records wait that were not asked for."""
        return self.waits == "all"


class Drift(Section):
    """What watches the loss of the learner, and what a rise leads to."""

    detector: SamplerStep = Field(
        description="A drift detector of River, as a class name or `Name: {parameter: value}`: `ADWIN`, `KSWIN` (with a"
        " `seed`), `PageHinkley`; for classes also `DDM`, `EDDM`, `FHDDM`, `HDDMA`, `HDDMW`."
    )
    then: Then = Field(
        default="warn",
        validate_default=True,
        description="What a drift leads to, beside a line in the log and a metric. `warn`: nothing else. `reset`: the"
        " learner begins anew, untrained. `promote: NAME`: that challenger and the learner exchange their roles.",
    )


class Keep(Section):
    """The snapshots to keep. One that is not kept and that no committed offset names is deleted after a minute."""

    last: Count = Field(default=3, description="The newest ones of each partition.")
    hourly: Count = Field(default=0, description="The newest one of each hour, for this many hours with snapshots.")
    daily: Count = Field(default=0, description="The newest one of each day, for this many days with snapshots.")


class MetricsAddress(Section):
    port: Annotated[int, BeforeValidator(_port)] = Field(
        description="The port, from 1 to 65535; 9464 is usual. Each process on a host needs one of its own."
    )
    host: str = Field(
        default="127.0.0.1", description="The address to listen on; `0.0.0.0` is for all who can reach the host."
    )
    page: bool | None = Field(
        default=None,
        description="Whether to serve the [page](operating.md#the-page), which shows weights and the reasons of"
        " rejects. Left out: on loopback only.",
    )


class AnyConfig(Section):
    """The keys of every processor's file. One file is one processor."""

    name: Name = Field(
        description="The folder of the snapshots; with topics also the consumer group, whose processes share the"
        " partitions, and the prefix of the transactional ids. Letters, digits, `.`, `_`, `-`, at most 100."
    )
    record: Record = Field(default=Record(), description="The meaning of the fields of a record.")
    learner: Learner = Field(
        description="The steps of the learner, in order: a class name, or `Name: {parameter: value}`. Transformers"
        " first, one classifier or regressor last. Or the keys below."
    )
    challengers: dict[str, Challenger] = Field(
        default={},
        description="Other learners, by name, each a list of steps or the keys `steps` and `start_from`, a snapshot"
        " with which a new one starts. All predict and learn every record; the prediction of `learner` is the output."
        " See [Challengers](challengers.md).",
    )
    drift: Drift | None = Field(
        default=None,
        description="Watches the loss of the learner on each judged record, see [Drift](drift.md).",
    )
    start_from: Annotated[pathlib.Path | None, BeforeValidator(path_of)] = Field(
        default=None,
        description="A snapshot of this learner, such as `river-margins evaluate --save` writes: each new"
        " model starts as this one instead of an untrained one. Models that exist already stay as they are.",
    )
    metrics: MetricsAddress | None = Field(
        default=None,
        description="The address of a page at `/`, `/metrics` for Prometheus, `/live` and `/ready`. Default: none.",
    )

    _path: pathlib.Path | None = PrivateAttr(default=None)

    @property
    def path(self) -> pathlib.Path | None:
        """The file that this config was read from."""
        return self._path

    def build_learner(self) -> Any:
        """Return a fresh, untrained learner: a `river.compose.Pipeline` when there is more than one step."""
        return _built(self.learner)

    def build_sampler(self) -> Any:
        """Return a fresh sampler for the learner, or None without `queries`."""
        queries = getattr(self, "queries", None)
        if queries is None:
            return None
        sampler, problems = assemble_sampler(queries.sampler, self.build_learner())
        if problems:
            raise ConfigError("\n".join(sentence for _, sentence in problems))
        return sampler

    def first_learner(self) -> Any:
        """Return the learner a new model starts with: the one in the snapshot `start_from`, or an untrained one."""
        return _first_learner(self.build_learner(), self.start_from)

    @property
    def champion(self) -> str:
        """The name of the learner whose prediction is the output; empty if it has none."""
        return self.learner.name or ""

    def build_learners(self) -> dict[str, Any]:
        """Return fresh, untrained learners by name, that of `learner` first."""
        return {self.champion: self.build_learner()} | {name: _built(each) for name, each in self.challengers.items()}

    def first_learners(self) -> dict[str, Any]:
        """Return the learners new models start with, by name, that of `learner` first."""
        return {self.champion: self.first_learner()} | {
            name: _first_learner(_built(each), each.start_from) for name, each in self.challengers.items()
        }

    @property
    def drift_plan(self) -> Plan | None:
        """What watches the loss of the champion; None without `drift`."""
        if self.drift is None:
            return None
        is_regressor = isinstance(last_step(self.build_learner()), base.Regressor)
        detector, problems = assemble_detector(self.drift.detector, is_regressor)
        if detector is None:
            raise ConfigError("\n".join(sentence for _, sentence in problems))
        return Plan(detector.name, detector.parameters, *self.drift.then)

    @classmethod
    def check_mixture(cls, data: dict[str, Any]) -> list[PathProblem]:
        """Find sections that belong to the other kind of processor; their other problems are not reported."""
        raise NotImplementedError

    @classmethod
    def check_values(cls, values: ValidValues, data: dict[str, Any]) -> list[PathProblem]:
        """Find problems of values that are valid by themselves and contradict each other.

        Parameters
        ----------
        values
            The valid values. Others are not compared, because their own problems are reported already.
        data
            The data of the file, for settings that the schema passes on to a library.
        """
        checks = (
            _check_fields, _check_weight, _check_start_from, _check_explain, _check_labels, _check_otherwise,
            _check_queries, _check_names, _check_challengers, _check_drift, _check_formats,
        )  # fmt: skip
        return [problem for check in checks for problem in check(values)]


def _check_fields(values: ValidValues) -> Iterator[PathProblem]:
    taken: dict[FieldPath, str] = {}
    for key in ("id", "label", "weight", "time"):
        text = values.get("record", key)
        if text is None:
            continue
        first = taken.setdefault(FieldPath.parse(text), f"the {key}")
        if first != f"the {key}":
            sentence = f"`record.{key}`: `{text}` is {first} already, the {key} must be another field"
            yield PathProblem(("record", key), sentence, blames_key=False)
    names = set()
    for name, path in named(values.get("record", "features") or []):
        if path in taken:
            said = f"`{path.name}` is {taken[path]}, and cannot be a feature as well"
        elif name in names:
            said = f"`{name}` appears twice"
        else:
            names.add(name)
            continue
        yield PathProblem(("record", "features"), f"`record.features`: {said}", blames_key=False)


def _check_formats(values: ValidValues) -> Iterator[PathProblem]:
    names = {key: values.get(key, "format") for key in ("record", "labels", "output")}
    users = [key for key, name in names.items() if name in REGISTERED_SCHEMAS]
    if not values.has("record", "registry"):
        return
    if users and values.get("record", "registry") is None:
        key = users[0]
        sentence = (
            f"`{key}.format`: the schemas of `{names[key]}` are in a registry: write its URL as `record.registry`"
        )
        yield PathProblem((key, "format"), sentence, blames_key=False)
    if not users and values.get("record", "registry") is not None:
        sentence = "`record.registry`: no format needs it: add `format: avro`, or leave it out"
        yield PathProblem(("record", "registry"), sentence, blames_key=False)


def _check_weight(values: ValidValues) -> Iterator[PathProblem]:
    if values.get("record", "weight") is None:
        return
    learner, problems = assemble(values.get("learner", "steps"))
    if problems:
        return
    said: str | None
    if values.get("record", "label") is None and values.has("record", "label") and not _has_labels(values):
        said = "a weight is of learning, and there is no label to learn: name its field as `record.label`"
    else:
        said = why_no_weights(learner)
    if said:
        yield PathProblem(("record", "weight"), f"`record.weight`: {said}", blames_key=False)


def _has_labels(values: ValidValues) -> bool:
    return not values.has("labels") or values.get("labels") is not None


def _check_labels(values: ValidValues) -> Iterator[PathProblem]:
    if not _has_labels(values):
        if values.get("outcomes") is not None:
            sentence = "`outcomes`: there are none without labels that come later: add `labels`, or leave this out"
            yield PathProblem(("outcomes",), sentence, blames_key=False)
        if values.get("record", "time") is not None:
            sentence = (
                "`record.time`: records are ordered by it among labels that come later, and there are no `labels`"
            )
            yield PathProblem(("record", "time"), f"{sentence}: leave it out", blames_key=False)
        return
    taken: dict[FieldPath, str] = {}
    for key in ("id", "label", "time"):
        text = values.get("labels", key)
        if text is not None:
            first = taken.setdefault(FieldPath.parse(text), key)
            if first != key:
                sentence = f"`labels.{key}`: `{text}` is the {first} already, the {key} must be another field"
                yield PathProblem(("labels", key), sentence, blames_key=False)


def _check_otherwise(values: ValidValues) -> Iterator[PathProblem]:
    label = values.get("labels", "otherwise")
    learner, problems = assemble(values.get("learner", "steps"))
    check = None if label is None or problems else getattr(last_step(learner), "check_label", None)
    if check is not None:
        try:
            check(label)
        except ValueError as error:
            yield PathProblem(("labels", "otherwise"), f"`labels.otherwise`: {error}", blames_key=False)


def _check_queries(values: ValidValues) -> Iterator[PathProblem]:
    if values.has("queries") and values.get("queries") is None:
        return
    if not _has_labels(values) and values.get("queries") is not None:
        sentence = "`queries`: the labels that are asked for come back through `labels`: add that section"
        yield PathProblem(("queries",), sentence, blames_key=False)
    step = values.get("queries", "sampler")
    learner, problems = assemble(values.get("learner", "steps"))
    if step is None or problems:
        return
    for path, sentence in assemble_sampler(step, learner)[1]:
        yield PathProblem(("queries", "sampler", *path), f"`queries.sampler`: {sentence}")


def _check_start_from(values: ValidValues) -> Iterator[PathProblem]:
    learner, problems = assemble(values.get("learner", "steps"))
    if problems:
        return
    try:
        _first_learner(learner, values.get("start_from"))
    except ConfigError as error:
        yield PathProblem(("start_from",), f"`start_from`: {error}", blames_key=False)


def _check_explain(values: ValidValues) -> Iterator[PathProblem]:
    if not values.get("output", "explain"):
        return
    learner, problems = assemble(values.get("learner", "steps"))
    if problems:
        return
    try:
        last_step(learner).explain_one({})
    except TypeError as error:
        yield PathProblem(("output", "explain"), f"`output.explain`: {error}", blames_key=False)


def _built(section: Steps) -> Any:
    learner, problems = assemble(section.steps)
    if problems:
        raise ConfigError("\n".join(sentence for _, sentence in problems))
    return learner


def _check_names(values: ValidValues) -> Iterator[PathProblem]:
    challengers, champion = values.get("challengers") or {}, values.get("learner", "name")
    if challengers and champion is None and values.has("learner", "name"):
        sentence = "`learner` needs a name beside `challengers`: write `learner: {name: ..., steps: [...]}`"
        yield PathProblem(("learner",), sentence)
    for name in challengers:
        try:
            _name(name)
        except ValueError:
            sentence = f"`challengers`: `{name}` cannot be a name: use 1 to 100 letters, digits, `.`, `_` or `-`"
            yield PathProblem(("challengers", name), sentence)
        if name == champion:
            sentence = f"`challengers.{name}`: `{name}` is the name of `learner` already, give it another one"
            yield PathProblem(("challengers", name), sentence)
    if values.has("challengers") and not challengers and values.get("output", "challengers"):
        sentence = "`output.challengers`: there are none: add `challengers`, or leave this out"
        yield PathProblem(("output", "challengers"), sentence, blames_key=False)


def _check_challengers(values: ValidValues) -> Iterator[PathProblem]:
    """Find what a challenger cannot do that its champion does."""
    champion, problems = assemble(values.get("learner", "steps"))
    weight, otherwise = values.get("record", "weight"), values.get("labels", "otherwise")
    for name, section in (values.get("challengers") or {}).items():
        learner, wrong = assemble(section.steps)
        if wrong:
            continue
        for said in _why_no_challenger(learner, champion if not problems else None, weight, otherwise):
            yield PathProblem(("challengers", name), f"`challengers.{name}`: {said}", blames_key=False)
        try:
            _first_learner(learner, section.start_from)
        except ConfigError as error:
            yield PathProblem(("challengers", name), f"`challengers.{name}.start_from`: {error}", blames_key=False)


def _why_no_challenger(learner: Any, champion: Any, weight: str | None, otherwise: Any) -> Iterator[str]:
    last = last_step(learner)
    is_regressor = isinstance(last, base.Regressor)
    if champion is not None and is_regressor != isinstance(last_step(champion), base.Regressor):
        kinds = ("predicts classes", "predicts numbers")
        yield f"it {kinds[is_regressor]} and `learner` {kinds[not is_regressor]}: all must predict the same"
    if weight is not None and (why := why_no_weights(learner)):
        yield f"{why}, because there is `record.weight`"
    check = getattr(last, "check_label", None)
    if otherwise is not None and check is not None:
        try:
            check(otherwise)
        except ValueError as error:
            yield f"it cannot learn `labels.otherwise`: {error}"


def _check_drift(values: ValidValues) -> Iterator[PathProblem]:
    if values.has("drift") and values.get("drift") is None:
        return
    learner, problems = assemble(values.get("learner", "steps"))
    step, then = values.get("drift", "detector"), values.get("drift", "then")
    if step is not None and not problems:
        for path, said in assemble_detector(step, isinstance(last_step(learner), base.Regressor))[1]:
            yield PathProblem(("drift", "detector", *path), f"`drift.detector`: {said}")
    if values.has("record", "label") and values.get("record", "label") is None and not _has_labels(values):
        sentence = "`drift`: a loss needs labels, and there are none: name their field as `record.label`"
        yield PathProblem(("drift",), sentence)
    if isinstance(then, tuple) and then[0] == PROMOTE and values.has("challengers"):
        for said in _why_no_promotion(values, then[1]):
            yield PathProblem(("drift", "then"), f"`drift.then`: {said}", blames_key=False)


def _why_no_promotion(values: ValidValues, name: str) -> Iterator[str]:
    challengers = values.get("challengers") or {}
    if name not in challengers:
        yield f"`{name}` is none of the `challengers`{did_you_mean(name, challengers)}"
        return
    learner, problems = assemble(challengers[name].steps)
    if not problems and values.get("output", "explain"):
        try:
            last_step(learner).explain_one({})
        except TypeError as error:
            yield f"`{name}` would have to explain its predictions, because of `output.explain`: {error}"


def _first_learner(learner: Any, start_from: pathlib.Path | None) -> Any:
    if start_from is None:
        return learner
    try:
        data = start_from.read_bytes()
        changes = snapshot.difference(data, learner)
        if not changes:
            return snapshot.loads(data)
    except OSError as error:
        raise ConfigError(f"the snapshot `{start_from}` cannot be read: {error.strerror}") from error
    except snapshot.SnapshotError as error:
        raise ConfigError(f"`{start_from}`: {error}") from error
    raise ConfigError(
        f"the learner is not the one of the snapshot `{start_from}`: {'; '.join(changes)}; "
        f"make `learner` that one, or leave `start_from` out"
    )


def sections_with(key: str, instead_of: str, data: dict[str, Any]) -> list[str]:
    """Return the names of the sections beside `input` that hold one key instead of another.

    >>> sections_with("topic", "file", {"output": {"topic": "a"}, "rejects": {"file": "a.jsonl"}})
    ['output']
    """
    sections = {name: data.get(name) for name in ("labels", "output", "outcomes", "queries", "rejects")}
    return [
        name for name, given in sections.items() if isinstance(given, dict) and key in given and instead_of not in given
    ]
