"""Checks of values that are valid by themselves and contradict each other, for all kinds of files."""

from collections.abc import Iterator
from typing import Any

from river import base

from connectors.config.detector import assemble_detector
from connectors.config.learner import (
    assemble,
    assemble_sampler,
    first_imputers,
    first_learner,
    is_sampler,
    last_step,
    why_no_weights,
)
from connectors.config.valid_values import PathProblem, ValidValues
from connectors.config.value_types import PROBABILITY, name_of
from connectors.drift.watch import PROMOTE
from connectors.errors import ConfigError
from connectors.formats.codecs import REGISTERED_SCHEMAS
from connectors.model.field_paths import FieldPath, named
from connectors.model.records import is_infinite
from connectors.suggest import did_you_mean
from river_margins.core.explain import explanation
from river_margins.families.delegating import innermost

# Texts that are truth values to other readers of YAML, in capitals or not, or without their quotes.
TRUTHS = {"yes": "true", "on": "true", "true": "true", "no": "false", "off": "false", "false": "false"}


def contradictions(values: ValidValues) -> Iterator[PathProblem]:
    """Find values that contradict each other. Those that are wrong by themselves are reported already."""
    for check in (
        _check_fields, _check_nulls, _check_weight, _check_start_from, _check_explain, _check_score, _check_labels,
        _check_otherwise, _check_queries, _check_names, _check_challengers, _check_drift, _check_formats,
    ):  # fmt: skip
        yield from check(values)


def _learners(values: ValidValues) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the learner and the challengers, as far as they can be built, with the path of each."""
    lists: dict[tuple[str, ...], Any] = {("learner",): values.get("learner", "steps")}
    lists |= {("challengers", name): each.steps for name, each in (values.get("challengers") or {}).items()}
    for path, steps in lists.items():
        learner, problems = assemble(steps)
        if not problems:
            yield path, learner


def _check_fields(values: ValidValues) -> Iterator[PathProblem]:
    taken: dict[tuple[str | int, ...], str] = {}  # `a.b` is also `a["b"]`
    for key in ("id", "label", "weight", "time"):
        text = values.get("record", key)
        if text is None:
            continue
        first = taken.setdefault(FieldPath.parse(text).keys, f"the {key}")
        if first != f"the {key}":
            sentence = f"`record.{key}`: `{text}` is {first} already, the {key} must be another field"
            yield PathProblem(("record", key), sentence, blames_key=False)
    names = set()
    for name, path in named(values.get("record", "features") or []):
        if path.keys in taken:
            said = f"`{path.name}` is {taken[path.keys]}, and cannot be a feature as well"
        elif name in names:
            said = f"`{name}` appears twice"
        else:
            names.add(name)
            continue
        yield PathProblem(("record", "features"), f"`record.features`: {said}", blames_key=False)


def _check_nulls(values: ValidValues) -> Iterator[PathProblem]:
    nulls, features = values.get("record", "nulls"), values.get("record", "features")
    if nulls is None and features is None:
        return
    for path, learner in _learners(values):
        for imputer in first_imputers(learner):
            name = f"river.preprocessing.{type(imputer).__name__}"
            if nulls is not None:
                sentence = f"`record.nulls`: `{nulls}` leaves `{name}` no null to fill in: leave `nulls` out"
                yield PathProblem(("record", "nulls"), sentence, blames_key=False)
            for feature in getattr(imputer, "stats", ()):
                if features is not None and feature not in (names := [each for each, _ in named(features)]):
                    sentence = f"`{name}`: `{feature}` is none of `record.features`{did_you_mean(str(feature), names)}"
                    yield PathProblem(path, sentence)


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
    if not users and all(map(values.has, names)) and values.get("record", "registry") is not None:
        sentence = "`record.registry`: no format needs it: add `format: avro`, or leave it out"
        yield PathProblem(("record", "registry"), sentence, blames_key=False)
    if values.get("record", "registry", "password") and values.get("record", "registry", "username") is None:
        sentence = "`record.registry.password`: it is used with a `username` only: add one, or leave the password out"
        yield PathProblem(("record", "registry", "password"), sentence, blames_key=False)
    url = values.get("record", "registry", "url") or ""
    if values.get("record", "registry", "ssl_cafile") and url.startswith("http:"):
        sentence = "`record.registry.ssl_cafile`: the `url` begins with `http:`, which has no TLS: write `https:`"
        yield PathProblem(("record", "registry", "ssl_cafile"), sentence, blames_key=False)


def _check_weight(values: ValidValues) -> Iterator[PathProblem]:
    if values.get("record", "weight") is None:
        return
    learner, problems = assemble(values.get("learner", "steps"))
    if problems:
        return
    said: str | None
    if values.get("record", "label") is None and values.has("record", "label") and not _has_labels(values):
        said = "a sample weight needs a label to learn: name the field with the label as `record.label`"
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
    taken: dict[tuple[str | int, ...], str] = {}  # `a.b` is also `a["b"]`
    for key in ("id", "label", "time"):
        text = values.get("labels", key)
        if text is not None:
            first = taken.setdefault(FieldPath.parse(text).keys, key)
            if first != key:
                sentence = f"`labels.{key}`: `{text}` is the {first} already, the {key} must be another field"
                yield PathProblem(("labels", key), sentence, blames_key=False)


def _check_otherwise(values: ValidValues) -> Iterator[PathProblem]:
    label = values.get("labels", "otherwise")
    learner, problems = assemble(values.get("learner", "steps"))
    last = None if label is None or problems else last_step(learner)
    # A learner without the parameter `classes` cannot say that its labels are texts.
    told = TRUTHS.get(label.lower()) if isinstance(label, str) else None
    if told and getattr(innermost(last), "classes", True) is None:
        sentence = (
            f"`labels.otherwise`: `{label}` is text here, and not a boolean: write `{told}`, without quotes; if the "
            "labels are texts, list them as the `classes` of the learner"
        )
        yield PathProblem(("labels", "otherwise"), sentence, blames_key=False)
    if isinstance(label, bool) and isinstance(last, base.Regressor):
        sentence = (
            f"`labels.otherwise`: `{str(label).lower()}` would teach the number {int(label)}: write a number, or leave "
            "it out, so that a record without a label is not learned"
        )
        yield PathProblem(("labels", "otherwise"), sentence, blames_key=False)
    if is_infinite(label) and isinstance(last, base.Classifier):  # to the classifier, it is a class like any other
        sentence = f"`labels.otherwise`: the label is the number {label}, and no record is learned with it"
        yield PathProblem(("labels", "otherwise"), sentence, blames_key=False)
    check = getattr(last, "check_label", None)
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
        first_learner(learner, values.get("start_from"))
    except ConfigError as error:
        yield PathProblem(("start_from",), f"`start_from`: {error}", blames_key=False)


def _check_explain(values: ValidValues) -> Iterator[PathProblem]:
    if not values.get("output", "explain"):
        return
    learner, problems = assemble(values.get("learner", "steps"))
    if problems:
        return
    try:
        explanation(last_step(learner), {})
    except TypeError as error:
        yield PathProblem(("output", "explain"), f"`output.explain`: {error}", blames_key=False)


def _check_score(values: ValidValues) -> Iterator[PathProblem]:
    if values.get("output", "score") != PROBABILITY:
        return
    path = ("output", "score")
    if values.get("queries"):
        sentence = "`output.score`: `queries` ask by the score of the learner: write `learner`, or leave out `queries`"
        yield PathProblem(path, sentence, blames_key=False)
    for _, learner in _learners(values):
        last = last_step(learner)
        if not _has_probabilities(last):
            yield PathProblem(path, f"`output.score`: `{type(last).__name__}` has no probabilities", blames_key=False)


def _has_probabilities(classifier: Any) -> bool:
    try:
        classifier.predict_proba_one({})
    except (AttributeError, NotImplementedError):
        return False
    return True


def _check_names(values: ValidValues) -> Iterator[PathProblem]:
    challengers, champion = values.get("challengers") or {}, values.get("learner", "name")
    if challengers and champion is None and values.has("learner", "name"):
        sentence = "`learner` needs a name beside `challengers`: write `learner: {name: ..., steps: [...]}`"
        yield PathProblem(("learner",), sentence)
    for name in challengers:
        try:
            name_of(name)
        except ValueError as error:
            yield PathProblem(("challengers", name), f"`challengers`: {error}")
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
            first_learner(learner, section.snapshot)
        except ConfigError as error:
            path = ("challengers", name, "start_from")
            yield PathProblem(path, f"`challengers.{name}.start_from`: {error}", blames_key=False)
        if section.reads_input and (why := _why_not_from_input(values)):
            sentence = (
                f"`challengers.{name}.start_from`: {why}: let `river-margins evaluate --save` train it on recorded"
                " data, as `learner` of a file of its own, and name the snapshot that this writes"
            )
            yield PathProblem(("challengers", name, "start_from"), sentence, blames_key=False)


def _why_not_from_input(values: ValidValues) -> str | None:
    if values.get("input", "file") is not None:
        return "`input` is for topics, a processor of files reads them once"
    if values.get("labels") is not None:
        return "`input` cannot be joined again with `labels` that came later"
    return None


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
    step = values.get("queries", "sampler")
    kind = type(last_step(learner))
    if not problems and step is not None and is_sampler(kind):
        yield f"`{name}` would learn only what its `{kind.__name__}` asks for itself, and not what `queries` ask for"
    if not problems and values.get("output", "explain"):
        try:
            explanation(last_step(learner), {})
        except TypeError as error:
            yield f"`{name}` would have to explain its predictions, because of `output.explain`: {error}"
