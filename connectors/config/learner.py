"""The learner of a YAML file: built from its steps, or that of a snapshot, and what its last step can do."""

import inspect
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

from connectors.config.classes import find_class, our_classes
from connectors.config.steps import LearnerBuilder
from connectors.config.yaml_file import Path
from connectors.errors import ConfigError
from connectors.suggest import describe, did_you_mean
from river_margins import INTERCEPT, StandardScaler, snapshot
from river_margins.pipeline import STEPS_FOR_WORDS


def texts_of(steps: Any) -> Iterator[str]:
    """Yield the features in which a step of a file, or one within it, looks for words.

    >>> list(texts_of(["StandardScaler", {"TFIDF": {"on": "body"}}]))
    ['body']
    """
    for name, parameters in _with_parameters(steps):
        if name.rpartition(".")[2] in STEPS_FOR_WORDS and isinstance(parameters.get("on"), str):
            yield parameters["on"]


def imputed_of(steps: Any) -> Iterator[str]:
    """Yield the features that a StatImputer of a file, or one within a step, fills in.

    >>> list(imputed_of([{"river.preprocessing.StatImputer": {"imputers": [["age", 0], ["city", "none"]]}}]))
    ['age', 'city']
    """
    for name, parameters in _with_parameters(steps):
        if name == "river.preprocessing.StatImputer":
            yield from (feature for feature, _ in parameters.get("imputers", ()))


def _with_parameters(steps: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the names of the steps that have parameters, and these; also of the steps within others."""
    if isinstance(steps, list | tuple):
        for step in steps:
            yield from _with_parameters(step)
    elif isinstance(steps, Mapping):
        for name, parameters in steps.items():
            if isinstance(parameters, Mapping):
                yield str(name), parameters
            yield from _with_parameters(parameters)


def assemble(steps: Any, key: str = "learner") -> tuple[Any, list[tuple[Path, str]]]:
    """Build a fresh learner from the `learner:` list of a file.

    Parameters
    ----------
    steps
        The list as YAML gives it: class names, or mappings of one class name to its parameters. Every step but the
        last is a transformer; the last is a classifier or a regressor.
    key
        The key of the list, for messages.

    Returns
    -------
    The learner (a `river.compose.Pipeline` when there is more than one step) or None, and all problems, as pairs of a
    path within the list and a sentence.

    >>> assemble(["PAClasifier"])
    (None, [((0,), 'there is no class `PAClasifier`, did you mean `PAClassifier`?')])
    >>> assemble(["StandardScaler", {"PAClassifier": {"C": 0.1}}])[0]["PAClassifier"].C
    0.1
    """
    if not isinstance(steps, list) or not steps:
        found = "an empty list" if steps == [] else describe(steps)
        return None, [((), f"`{key}` must be a list of steps, found {found}")]
    builder = LearnerBuilder()
    built = [builder.build_step(step, (index,)) for index, step in enumerate(steps)]
    builder.check_order([_class_of(step) for step in steps])
    if builder.problems:
        return None, builder.problems
    if len(built) == 1:
        return built[0], []
    from river_margins.pipeline import Pipeline

    try:
        return Pipeline(*built), []
    except ValueError as error:  # steps that fit no pipeline in this order
        return None, [((), f"`{key}`: {error}")]


def assemble_sampler(step: Any, learner: Any) -> tuple[Any, list[tuple[Path, str]]]:
    """Build the sampler of the section `queries`, which decides about the labels of a learner.

    Parameters
    ----------
    step
        A class name, or a mapping of one class name to its parameters, without the classifier.
    learner
        The learner of the file. The sampler gets a copy of its last step, as its classifier.

    Returns
    -------
    The sampler or None, and all problems, as pairs of a path within the step and a sentence.

    >>> sampler, problems = assemble_sampler({"SelectiveSampler": {"c": 0.5}}, assemble(["PAClassifier"])[0])
    >>> sampler.c, problems
    (0.5, [])
    """
    builder, last = LearnerBuilder(), last_step(learner)
    named = builder.split_step(step, ())
    if named is None:
        return None, builder.problems
    name, parameters, path = named
    kind = find_class(name)
    if kind is None or not is_sampler(kind):
        samplers = [each for each, found in our_classes().items() if is_sampler(found)]
        hint = did_you_mean(name, samplers) or f": known are {', '.join(f'`{each}`' for each in sorted(samplers))}"
        return None, [(path, f"there is no sampler `{name}`{hint}")]
    if "classifier" in parameters:
        said = f"`{name}` asks about the learner of the file, so it has no `classifier` of its own: leave it out"
        return None, [((*path, "classifier"), said)]
    if is_sampler(type(last)):
        said = f"`{type(last).__name__}` is the last step of `learner` and learns only what it asks for itself"
        return None, [(path, f"{said}: make its classifier the last step")]
    from river import base

    if not (isinstance(last, base.Classifier) and hasattr(last, "score_one")):
        said = f"it asks by the score of a classifier, and `learner` ends with `{type(last).__name__}`"
        return None, [(path, f"{said}: end it with a classifier that has scores, such as `PAClassifier`")]
    sampler = builder.build(name, kind, parameters | {"classifier": last}, path)
    if sampler is not None:
        builder.check_replay(name, sampler, path)
    return sampler, builder.problems


def is_sampler(kind: type) -> bool:
    """Tell whether a class asks for labels itself."""
    return hasattr(kind, "query_scored")


def last_step(learner: Any) -> Any:
    """Return the step of a learner that predicts."""
    return list(learner.steps.values())[-1] if hasattr(learner, "steps") else learner


def first_imputers(learner: Any) -> Iterator[Any]:
    """Yield the steps at the beginning of a learner that fill in nulls."""
    for step in getattr(learner, "steps", {}).values():
        if type(step).__name__ not in ("StatImputer", "PreviousImputer"):
            return
        yield step


def why_no_weights(learner: Any) -> str | None:
    """Return why a learner takes no sample weights, and which ones do; None if it takes them."""
    from river import base

    last = last_step(learner)
    rule = getattr(last, "rule", None)
    if hasattr(last, "classifier"):  # a learner around another one
        return why_no_weights(last.classifier)
    if "w" in inspect.signature(last.learn_one).parameters and getattr(rule, "weighted", True):
        # a wrapper, or many experts, which hand the weight on
        inner = [last.learner] if hasattr(last, "learner") else getattr(last, "portfolio", None) or []
        return next(filter(None, map(why_no_weights, inner)), None)
    is_regressor = isinstance(last, base.Regressor)
    others = "`PARegressor` or `AROWRegressor`" if is_regressor else "`PAClassifier` or `AROWClassifier`"
    which = f"with the rule `{rule!r}` " if rule is not None else ""
    return f"`{type(last).__name__}` {which}takes no sample weights: use a learner that does, such as {others}"


def _class_of(step: Any) -> type | None:
    name = next(iter(step), None) if isinstance(step, dict) and len(step) == 1 else step
    return find_class(name) if isinstance(name, str) else None


def build(steps: list[Any]) -> Any:
    """Return a fresh, untrained learner of these steps. Raise ConfigError."""
    learner, problems = assemble(steps)
    if problems:
        raise ConfigError("\n".join(sentence for _, sentence in problems))
    return learner


def first_learner(learner: Any, start_from: pathlib.Path | None) -> Any:
    """Return the learner that a new model starts with: `learner`, or the one of a snapshot. Raise ConfigError."""
    if start_from is None:
        return learner
    try:
        data = start_from.read_bytes()
        changes = snapshot.changes(data, learner)
        if not changes.refused:
            model = snapshot.loads(data)
            changes.apply(model)
            return _with_names_of_records(model, start_from)
    except OSError as error:
        raise ConfigError(f"the snapshot `{start_from}` cannot be read: {error.strerror}") from error
    except snapshot.SnapshotError as error:
        raise ConfigError(f"`{start_from}`: {error}") from error
    raise ConfigError(
        f"the learner is not the one of the snapshot `{start_from}`: {'; '.join(changes.refused)}; "
        f"take the learner of the snapshot, or leave `start_from` out"
    )


def first_changes(learner: Any, start_from: pathlib.Path | None) -> list[str]:
    """Return a phrase for each parameter that `first_learner` changes in the model of a snapshot."""
    try:
        return [] if start_from is None else snapshot.changes(start_from.read_bytes(), learner).made
    except (OSError, snapshot.SnapshotError):  # as `first_learner` tells
        return []


def _with_names_of_records(model: Any, path: pathlib.Path) -> Any:
    """Return a model. Raise ConfigError if its features have numbers as names, which no record has."""
    *before, last = model.steps.values() if hasattr(model, "steps") else [model]
    weights = getattr(last, "weights", None)
    if not isinstance(weights, Mapping) or getattr(last, "max_features", None) is not None:
        return model
    if any(type(step) is not StandardScaler for step in before):  # others may make names of their own
        return model
    try:
        vectors = [each for each in weights.values() if isinstance(each, Mapping)] or [weights]
        names = (name for vector in vectors for name in vector if name is not INTERCEPT)
        first = next(names, None)
    except ValueError:  # of a kernel, or of random features, which have no weights by feature
        return model
    if isinstance(first, int) and all(isinstance(name, int) for name in names):
        raise ConfigError(
            f"`{path}`: its features have numbers as names, such as {first}, as by `learn_csr`, and the names "
            f'in records are texts, such as "{first}": its weights would have no effect; make the model by '
            "`river-margins evaluate --save`"
        )
    return model
