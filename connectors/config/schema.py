"""The schema that the files of all processors share: its sections, the types of their values, and `AnyConfig`.

`connectors.config.topics_schema` and `connectors.config.files_schema` add the sections of either kind of processor. The
descriptions of the keys are the reference in `docs/configuration.md`, which `docs/generators/configuration.py` writes.
"""

import pathlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    PrivateAttr,
    model_validator,
)
from pydantic_core import PydanticCustomError
from river import base

from connectors.config.checks import contradictions
from connectors.config.learner import (
    assemble_sampler,
    build,
    first_changes,
    first_learner,
    imputed_of,
    last_step,
    texts_of,
)
from connectors.config.steps import LearnerBuilder
from connectors.config.valid_values import PathProblem, ValidValues
from connectors.config.value_types import (
    INPUT,
    LONGEST,
    AtMost,
    Count,
    Feature,
    Format,
    Host,
    Name,
    Otherwise,
    PathText,
    Port,
    Positive,
    SamplerStep,
    SecretText,
    Then,
    TruthOrNone,
    Url,
    Within,
    path_of,
    start_of,
)
from connectors.drift.watch import Plan
from connectors.errors import ConfigError
from connectors.formats.codecs import JSON
from connectors.model.field_paths import named
from connectors.suggest import did_you_mean


class Section(BaseModel):
    """A mapping of a YAML file: read-only, and without keys that the schema does not list."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class RegistryAddress(Section):
    """`registry: URL` is short for `registry: {url: URL}`."""

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, handler(schema)]}

    url: Url = Field(description="The address of the schema registry, such as `https://registry.example.org`.")
    username: str | None = Field(default=None, description="The user, if the registry wants one (HTTP basic).")
    password: SecretText = Field(default=None, description="The password.")
    ssl_cafile: Annotated[pathlib.Path | None, BeforeValidator(path_of)] = Field(
        default=None,
        description="A file of certificates in PEM, for a registry whose certificate is signed by an authority of your"
        " own. Without it, the public authorities are trusted.",
    )

    @model_validator(mode="before")
    @classmethod
    def _url_alone(cls, value: Any) -> Any:
        return {"url": value} if isinstance(value, str) else value


class Record(Section):
    """The meaning of the fields of a record, which is a JSON object."""

    id: PathText | None = Field(
        default=None,
        description="The field with the id of a record, which its output repeats. Without it, the id is the position:"
        " `topic-partition-offset`, or `file:line`. With `labels`, a label names its record by this id: between topics,"
        " the id is then by default the key of the record; between files, this field is needed.",
    )
    label: PathText | None = Field(
        default=None,
        description="The field with the label. A record without it, or with null, is predicted and not learned. A"
        " regressor learns numbers. A classifier learns either `true` and `false`, or texts and numbers, and rejects"
        " labels of the other kind. The first label of a model decides which kind, unless the learner lists its"
        " `classes`, such as `[false, true]`.",
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
        description="What to do with a feature that is null. `absent`: treat it like a field that is not there."
        " `reject`: reject the record. Without this key, the learner gets the null: an imputer fills it in, other steps"
        " reject the record.",
    )

    time: PathText | None = Field(
        default=None,
        description="The field with the time of a record, which decides its place among the `labels`: milliseconds"
        " since 1970, or text such as `2024-05-01T12:30:00Z` (UTC if no zone is given). It is not a feature. Between"
        " topics: without it, the timestamp of the record; between files with `labels` it is needed.",
    )

    format: Format = Field(
        default=JSON,
        description="The format of the records in a topic: `json`; `avro`, `json_schema` or `protobuf`, which need"
        " `registry`; or the name of a codec that an installed package registers, see"
        " [Formats](formats.md#formats-of-topics).",
    )
    registry: RegistryAddress | None = Field(
        default=None,
        description="The schema registry of records, labels and outputs whose format is `avro`, `json_schema` or"
        " `protobuf`: its URL, or the keys below.",
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
    "How many features each output names as `explanation`, those that contributed most to its score: `{feature:"
    " contribution}`, the largest first. With several classes it explains the score of the predicted one. 0: none."
    " Only for learners whose score is a sum over features; others, such as learners with a kernel, `AutoClassifier`,"
    " `Hedge` and networks, are refused."
)


SCORE = (
    "What the `score` of an output is. `learner`: the score of the learner. `probability`: where that score is a"
    " number, the probability of `true`, or of the second of two `classes`; else that of each class. Those of"
    " `Calibrated` hold for costs and thresholds."
)


TELLS_CHALLENGERS = (
    "Whether each output, and each outcome, also has the predictions of the challengers:"
    ' `"challengers": {"arow": {"prediction", "score"}}`, with null for a challenger that refused the'
    " features."
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
        known = cls.model_fields
        if isinstance(value, dict) and any(name in known or did_you_mean(str(name), known) for name in value):
            return value
        raise PydanticCustomError("steps_type", "a list of steps is needed")


class Learner(Steps):
    name: Name | None = Field(
        default=None,
        description="The name of the model, which distinguishes it from its challengers; needed with `challengers`. At"
        " most 100 letters, digits, `.`, `_`, `-`; a letter or a digit first.",
    )


class Challenger(Steps):
    start_from: Annotated[pathlib.Path | Literal["input"] | None, BeforeValidator(start_of)] = Field(
        default=None,
        description="What a new challenger starts from: a snapshot of this learner, or `input`. With `input`, the"
        " challenger first reads the input from its beginning, while the champion goes on, and then takes part. Without"
        " this key, it starts untrained.",
    )

    @property
    def reads_input(self) -> bool:
        """Whether a new challenger reads the input from its beginning."""
        return self.start_from == INPUT

    @property
    def snapshot(self) -> pathlib.Path | None:
        """The snapshot that a new challenger starts from, or None."""
        return self.start_from if isinstance(self.start_from, pathlib.Path) else None


class AnyLabels(Section):
    """Labels that come later than their records."""

    id: PathText | None = Field(
        default=None,
        description="The field that names the record of a label. Without this key, the key of the message names the"
        " record; between files, this key is needed.",
    )
    label: PathText = Field(description="The field with the label.")
    time: PathText | None = Field(
        default=None,
        description="The field with the time of a label, as `record.time`. Without this key, the time is the timestamp"
        " of the message; between files, this key is needed.",
    )
    within: Within = Field(
        description="How long a record waits for its label, and a label for its record, in event time: a duration from"
        f" `10ms` to `{LONGEST}d`, such as `30m`, `12h` or `30d`."
    )
    pending: Positive = Field(
        default=1_000_000,
        description="The largest number of records of a partition that wait for their label; beyond it, the oldest are"
        " evicted. Labels that wait for their record have the same bound.",
    )
    otherwise: Otherwise = Field(
        default=None,
        description="What becomes of a record whose label did not come in time. `none`: it is not learned. Any other"
        " value, such as `false`, is the label with which the record is then learned.",
    )

    @property
    def within_ms(self) -> int:
        """How long a record waits, in milliseconds."""
        return round(self.within * 1000)


class AnyQueries(Section):
    """Which labels to ask for."""

    sampler: SamplerStep = Field(
        description="The sampler that decides for which records to ask, as a class name or `Name: {parameter: value}`:"
        " `SelectiveSampler`, `RandomizedSelectiveSampler`, `MarginSampler` or `ShareSampler`, without the classifier,"
        " which is the last step of the learner."
    )
    at_most: AtMost = Field(
        description="How many labels to ask for at most in a number of consecutive records of a partition, such as"
        " `100 per 10000`. Only records whose label could be asked for are counted; time plays no part."
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
    port: Port = Field(
        description="The port, from 1 to 65535; 9464 is usual. Each process on a host needs one of its own."
    )
    host: Host = Field(
        default="127.0.0.1", description="The address to listen on; `0.0.0.0` is for all who can reach the host."
    )
    page: TruthOrNone = Field(
        default=None,
        description="Whether to serve the [page](operating.md#the-page), which shows weights and the reasons of"
        " rejects. Left out: on loopback only.",
    )


class AnyConfig(Section):
    """The keys of every processor's file. One file is one processor."""

    name: Name = Field(
        description="The folder of the snapshots; with topics also the consumer group, whose processes share the"
        " partitions, and the prefix of the transactional ids. At most 100 letters, digits, `.`, `_`, `-`; a letter or"
        " a digit first."
    )
    record: Record = Field(default=Record(), description="The meaning of the fields of a record.")
    learner: Learner = Field(
        description="The steps of the learner, in order: a class name, or `Name: {parameter: value}`. Transformers"
        " first, one classifier or regressor last. Or the keys below."
    )
    challengers: dict[str, Challenger] = Field(
        default={},
        description="Other learners, by name. Each is a list of steps, or has the keys `steps` and `start_from` below."
        " All predict and learn every record; the prediction of `learner` is the output. See"
        " [Challengers](challengers.md).",
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
        description="The address of a page at `/`, `/metrics` for Prometheus, `/live` and `/ready`.",
    )

    _path: pathlib.Path | None = PrivateAttr(default=None)

    @property
    def path(self) -> pathlib.Path | None:
        """The file that this config was read from."""
        return self._path

    def build_learner(self) -> Any:
        """Return a fresh, untrained learner: a `river.compose.Pipeline` when there is more than one step."""
        return build(self.learner.steps)

    @property
    def text_fields(self) -> list[str]:
        """The fields with a text that a step of `learner`, such as `BagOfWords`, reads: a text also if like a number.

        Not those of a challenger: with them, `learner` would get texts for numbers, and predict as it does not alone.
        """
        return self._fields_of(texts_of, [self.learner.steps])

    @property
    def imputed_fields(self) -> list[str]:
        """The fields whose nulls a `StatImputer` of `learner` fills in, which needs them also where a cell is empty.

        Not those of a challenger: with its nulls, `learner` would refuse records that it predicts without them.
        """
        return self._fields_of(imputed_of, [self.learner.steps])

    def _fields_of(self, features_of: Callable[[Any], Iterator[str]], steps: Sequence[Any]) -> list[str]:
        paths = {name: path.name for name, path in named(self.record.features or ())}
        return [paths.get(name, name) for name in features_of(steps)]

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
        return first_learner(self.build_learner(), self.start_from)

    @property
    def champion(self) -> str:
        """The name of the learner whose prediction is the output; empty if it has none."""
        return self.learner.name or ""

    def build_learners(self) -> dict[str, Any]:
        """Return fresh, untrained learners by name, that of `learner` first."""
        return {self.champion: self.build_learner()} | {
            name: build(each.steps) for name, each in self.challengers.items()
        }

    def first_learners(self) -> dict[str, Any]:
        """Return the learners new models start with, by name, that of `learner` first."""
        return {self.champion: self.first_learner()} | {
            name: first_learner(build(each.steps), each.snapshot) for name, each in self.challengers.items()
        }

    def first_changes(self, names: Iterable[str] | None = None) -> str:
        """Return what differs between learners of the file and the models that they start from; empty if nothing does.

        `names` are those of the learners that begin; without it, all do.
        """
        paths = {self.champion: self.start_from} | {name: each.snapshot for name, each in self.challengers.items()}
        begins = {name: path for name, path in paths.items() if path and (names is None or name in names)}
        learners = self.build_learners() if begins else {}
        changed = [(path, first_changes(learners[name], path)) for name, path in begins.items()]
        return "; ".join(
            f"the model of `{path}` goes on with other parameters: {', '.join(made)}" for path, made in changed if made
        )

    @property
    def is_regressor(self) -> bool:
        """Whether the models predict numbers."""
        return isinstance(last_step(self.build_learner()), base.Regressor)

    @property
    def drift_plan(self) -> Plan | None:
        """What watches the loss of the champion; None without `drift`."""
        if self.drift is None:
            return None
        named = LearnerBuilder().split_step(self.drift.detector, ())
        assert named is not None  # it was built and tried when the file was loaded
        return Plan(*named[:2], *self.drift.then)

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
        return list(contradictions(values))


def sections_with(key: str, instead_of: str, data: dict[str, Any]) -> list[str]:
    """Return the names of the sections beside `input` that hold one key instead of another.

    >>> sections_with("topic", "file", {"output": {"topic": "a"}, "rejects": {"file": "a.jsonl"}})
    ['output']
    """
    sections = {name: data.get(name) for name in ("labels", "output", "outcomes", "queries", "rejects")}
    return [
        name for name, given in sections.items() if isinstance(given, dict) and key in given and instead_of not in given
    ]
