"""JSON Schemas for editors and for readers of the output: `river-margins schema`."""

from typing import Any

from pydantic.json_schema import GenerateJsonSchema, models_json_schema
from river import base

from connectors.config import Config, FileConfig
from connectors.config.classes import our_classes
from connectors.config.learner import last_step
from river_margins import registered, river_internals

DRAFT = "https://json-schema.org/draft/2020-12/schema"
SCALAR = ["boolean", "integer", "number", "string"]
VARIABLE = {"type": "string", "pattern": r"\$\{", "description": "A value with a variable of the environment."}


class _Generator(GenerateJsonSchema):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.ignored_warning_kinds = {*self.ignored_warning_kinds, "non-serializable-default"}


def of_files() -> dict[str, Any]:
    """Return the schema of a processor's YAML file, of either kind: `input.file` tells which."""
    _, whole = models_json_schema([(Config, "validation"), (FileConfig, "validation")], schema_generator=_Generator)
    definitions = {name: _with_variables(_tidied(part)) for name, part in whole["$defs"].items()}
    for kind in ("Learner", "Challenger"):
        steps, section = definitions[kind]["anyOf"]
        for each in (steps, section["properties"]["steps"]):
            each |= {"items": _step(), "minItems": 1}
    is_file = {"properties": {"input": {"required": ["file"]}}, "required": ["input"]}
    return {
        "$schema": DRAFT,
        "title": "A processor of river-margins",
        "if": is_file,
        "then": {"$ref": "#/$defs/FileConfig"},
        "else": {"$ref": "#/$defs/Config"},
        "$defs": definitions,
    }


def _tidied(part: Any) -> Any:
    """Return a schema without the titles of pydantic, and with durations as they are written."""
    if isinstance(part, list):
        return [_tidied(item) for item in part]
    if not isinstance(part, dict):
        return part
    found = {key: _tidied(value) for key, value in part.items() if key != "title" or not isinstance(value, str)}
    default = found.get("default")
    if isinstance(default, dict):  # of a section: the defaults of its keys say the same
        del found["default"]
    elif isinstance(default, float):
        found["default"] = f"{default:g}s"
    return found


def _with_variables(part: Any) -> Any:
    """Return a schema whose numbers and words may also be `${NAME}`."""
    if isinstance(part, list):
        return [_with_variables(item) for item in part]
    if not isinstance(part, dict):
        return part
    found = {key: _with_variables(value) for key, value in part.items()}
    is_strict_text = part.get("type") == "string" and bool(part.keys() & {"enum", "pattern", "const"})
    if part.get("type") not in ("integer", "number", "boolean") and not is_strict_text:
        return found
    about = {key: found.pop(key) for key in ("description", "default") if key in found}
    return about | {"anyOf": [found, VARIABLE]}


def _step() -> dict[str, Any]:
    ours = sorted(name for name, kind in our_classes().items() if issubclass(kind, base.Estimator))
    names = {"anyOf": [{"enum": [*ours, *registered.names()]}, {"type": "string", "pattern": r"^river\.|\$\{"}]}
    parameters = {"type": ["object", "null"], "description": "Parameters of the step, by name."}
    step = {"type": "object", "propertyNames": names, "additionalProperties": parameters}
    return {"anyOf": [names, step | {"minProperties": 1, "maxProperties": 1}]}


def of_output(config: Config | FileConfig) -> dict[str, Any]:
    """Return the schema of the values that a processor writes to its output."""
    learners = config.first_learners()
    champions = [learners[name] for name in (config.champion, _promoted(config)) if name in learners]
    label, _ = _label_and_prediction(champions[0])
    prediction = _any_of([_label_and_prediction(learner)[1] for learner in champions])
    properties = {
        "id": {"description": f"The field `{config.record.id}` of the record, or its position."}
        if config.record.id
        else {"type": "string", "description": f"The {'key' if config.labels else 'position'} of the record."},
        "prediction": {"description": "The prediction, made before the label was learned."} | prediction,
        "score": _any_of([_score_of(learner).schema for learner in champions]),
        "explanation": {
            "description": "What the features that weighed most contributed to the score.",
            "type": "object",
            "additionalProperties": {"type": "number"},
            "maxProperties": config.output.explain,
        },
        "challengers": {
            "description": "What the challengers said; null for one that refused the features.",
            "type": "object",
            "properties": {name: _of_challenger(learner) for name, learner in _challengers(config).items()},
            "required": [  # one that reads the input first is in no output before it takes part
                name for name, each in config.challengers.items() if name != _promoted(config) and not each.reads_input
            ],
            "additionalProperties": False,
        },
        "label": {"description": "The label; missing if it is not known or cannot be learned."} | label,
    }
    required = ["id", "prediction", "score", "explanation", "challengers"]
    if not config.output.challengers:
        required.remove("challengers")
        del properties["challengers"]
    if not config.output.explain:
        required.remove("explanation")
        del properties["explanation"]
    output = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    head = {"$schema": DRAFT, "title": f"Output of the processor {config.name}"}
    if isinstance(config, FileConfig):
        return head | output
    return head | {"anyOf": [output, _TOO_LARGE]}


def _challengers(config: Config | FileConfig) -> dict[str, Any]:
    """Return the learners that an output may tell of; that of the champion only if a drift can make it a challenger."""
    is_fixed = not _promoted(config)
    found = config.first_learners().items()
    return {name: learner for name, learner in found if name != config.champion or not is_fixed}


def _any_of(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    first, *others = schemas
    return first if all(other == first for other in others) else {"anyOf": schemas}


def _promoted(config: Config | FileConfig) -> str:
    return config.drift.then[1] if config.drift else ""


def _of_challenger(learner: Any) -> dict[str, Any]:
    """Return the schema of what an output tells of a challenger."""
    _, prediction = _label_and_prediction(learner)
    score = {"description": "Its score."} | {k: v for k, v in _score_of(learner).schema.items() if k != "description"}
    said = {"prediction": {"description": "Its prediction."} | prediction, "score": score}
    return {"type": ["object", "null"], "properties": said, "required": list(said), "additionalProperties": False}


_TOO_LARGE = {
    "description": "In place of an output that is too large for the broker.",
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "too_large": {"const": True},
        "length": {"type": "integer"},
        "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "first_bytes": {"type": "string"},
    },
    "required": ["id", "too_large", "length", "sha256", "first_bytes"],
    "additionalProperties": False,
}


class Score:
    """What the score of a processor is.

    Attributes
    ----------
    kind
        `number`, `classes` for numbers by class, or `labels` if the labels decide which of the two.
    sentence
        The same for a user.
    schema
        The JSON Schema of a score.
    """

    def __init__(self, kind: str) -> None:
        number = {"type": "number"}
        by_class = {"type": "object", "additionalProperties": number}
        self.kind = kind
        kinds: dict[str, tuple[str, dict[str, Any]]] = {
            "number": ("`score` is a number, from the first record on.", number),
            "classes": ("`score` is an object with a number for each class, from the first record on.", by_class),
            "labels": (
                "`score` is a number if the labels are `true` and `false`, and an object with a number for each class "
                "if they are anything else. As long as no label is known, `score` is null, or `{}` if the record has a "
                "label other than `true` and `false`: list the `classes` of the learner, and it is never null or `{}`.",
                {"anyOf": [{"type": ["number", "null"]}, by_class]},
            ),
        }
        self.sentence, schema = kinds[kind]
        self.schema: dict[str, Any] = {"description": self.sentence.replace("`score` is a", "A", 1)} | schema


def score_of(config: Config | FileConfig) -> Score:
    """Return what the score of a processor is, as far as its file says."""
    return _score_of(config.first_learner())


def _score_of(learner: Any) -> Score:
    last = last_step(learner)
    if isinstance(last, base.Regressor):
        return Score("number")
    score = last.score_one({})
    if isinstance(score, dict):
        return Score("classes" if score else "labels")
    return Score("number")


def _label_and_prediction(learner: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    last = last_step(learner)
    if isinstance(last, base.Regressor):
        return {"type": ["number", "boolean"]}, {"type": "number"}
    classes = river_internals.parameters(last).get("classes")
    if classes is None:
        return {"type": SCALAR}, {"type": [*SCALAR, "null"]}
    return {"enum": list(classes)}, {"enum": [*classes, None]}
