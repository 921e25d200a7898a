"""Builds the steps of a learner from their names and parameters, and says at each place what is wrong with it."""

import copy
import importlib
import inspect
from typing import Any

from connectors.config.classes import NOT_FOR_FILES, find_class, known_classes, nearest_class
from connectors.config.yaml_file import Path
from connectors.suggest import describe, did_you_mean
from river_margins.pipeline import STEPS_FOR_WORDS

# Parameters that list features, whose names in a record are texts.
FEATURE_LISTS = {"river.compose.Select": "keys", "river.compose.Discard": "keys", "OneHotEncoder": "features"}

# Parameters of River's steps that count, and may neither be 0 nor have decimals: River itself fails at each example.
COUNTS = {"river.preprocessing.FeatureHasher": "n_features"}

# Parameters of River's steps for words that take functions.
FUNCTIONS = {"preprocessor", "tokenizer"}

# Parameters that take a rule, a space or a kernel.
PARTS = {"rule", "space", "kernel"}

# Parameters that hold names of fields, or labels: one may be like the name of a class.
OF_RECORDS = {"on", "class_weight"}

# Tasks whose examples a record cannot carry, by the name of their class in `river.base`.
_REASONS_TO_USE_PYTHON = {
    "MultiLabelClassifier": "learns sets of labels, and a record has one label: use it in Python",
    "AnomalyDetector": "learns without labels, and a record teaches only with its label: use it in Python",
}


class LearnerBuilder:
    """Builds the steps of one file and collects the problems of all of them."""

    def __init__(self) -> None:
        self.problems: list[tuple[Path, str]] = []

    def report(self, path: Path, sentence: str) -> None:
        self.problems.append((path, sentence))

    def build_step(self, step: Any, path: Path) -> Any:
        """Return the estimator of a step, or None after a problem was reported."""
        from river import base

        from river_margins.snapshot import nodes

        named = self.split_step(step, path)
        if named is None:
            return None
        name, parameters, path = named
        kind = find_class(name)
        if kind is None:
            self.report_unknown_class(name, path, base.Estimator)
            return None
        if not issubclass(kind, base.Estimator):
            self.report(path, f"`{name}` is not a learner but a part of one: give it to a learner as a parameter")
            return None
        if not nodes.is_known(kind):  # no matter with which parameters, which need not be objects that a file can name
            which = "docs/configuration.md lists the transformers of River that they hold"
            self.report(path, f"`{name}` cannot be a step, because snapshots cannot hold it: {which}")
            return None
        estimator = self.build(name, kind, parameters, path)
        if estimator is not None:
            self.check_replay(name, estimator, path)
            self.check_input(name, estimator, path)
        return estimator

    def split_step(self, step: Any, path: Path) -> tuple[str, dict[str, Any], Path] | None:
        """Return the class name of a step, its parameters and the path of the name."""
        if isinstance(step, str):
            return step, {}, path
        if not isinstance(step, dict):
            self.report(path, f"a step is a class name or `Name: {{parameter: value}}`, found {describe(step)}")
            return None
        if len(step) != 1:
            names = ", ".join(f"`{key}`" for key in step)
            self.report(path, f"a step has one name, with its parameters indented below it; found {names}")
            return None
        ((name, parameters),) = step.items()
        if not isinstance(parameters, dict | None):
            sentence = f"the parameters of `{name}` must be a mapping, found {describe(parameters)}"
            if isinstance(name, str) and (kind := find_class(name)) is not None:  # such as `Calibrated: PAClassifier`
                sentence += f"; its parameters are {', '.join(_parameters_of(kind)) or 'none'}"
            self.report((*path, name), sentence)
            return None
        return name, parameters or {}, (*path, name)

    def report_unknown_class(self, name: str, path: Path, wanted: type = object) -> None:
        from river_margins import registered

        advice = "`river-margins learners` lists the learners"
        if name.partition(".")[0] not in (name, "river", "river_margins"):
            advice = "a class of another package must be registered by it, see docs/adding-a-learner.md"
        for known_name, reason in NOT_FOR_FILES.items():
            if name in (known_name, known_name.rpartition(".")[2]):
                self.report(path, f"`{name}` cannot be a step: {reason}")
                return
        try:
            registered.find_class(name)
        except ImportError as error:
            self.report(path, str(error))
            return
        known = [known_name for known_name, kind in known_classes().items() if issubclass(kind, wanted)]
        hint = nearest_class(name, [*known, *registered.names()])
        if not hint and name.startswith("river."):
            hint = " that a file may name: of River, these are transformers"
        if not hint.startswith(","):
            hint += f"; {advice}"
        self.report(path, f"there is no class `{name}`{hint}")

    def build(self, name: str, kind: type, parameters: dict[str, Any], path: Path) -> Any:
        """Return an object of a class with the parameters of the file, or None after a problem was reported."""
        accepted = _parameters_of(kind)
        before = len(self.problems)
        for key in parameters:
            if key not in accepted:
                hint = did_you_mean(key, accepted) or f"; its parameters are {', '.join(accepted) or 'none'}"
                reason = getattr(kind, f"_no_{key}", None) or f"has no parameter `{key}`{hint}"
                self.report((*path, key), f"`{name}` {reason}")
            elif FEATURE_LISTS.get(name) == key and (said := _why_no_names(parameters[key])):
                self.report((*path, key), f"`{key}` of `{name}` must be a list of names, found {said}")
            elif name == "Interactions" and key == "pairs" and (said := _why_no_pairs(parameters[key])):
                self.report((*path, key), f"`{key}` of `{name}` must be pairs of names, found {said}")
            elif name.rpartition(".")[2] in STEPS_FOR_WORDS and key == "on" and (said := _why_no_name(parameters[key])):
                self.report((*path, key), f"`{key}` of `{name}` must be a name, found {said}")
            elif COUNTS.get(name) == key and not _is_count(parameters[key]):
                found = describe(parameters[key])
                self.report((*path, key), f"`{key}` of `{name}` must be a whole number of at least 1, found {found}")
            elif isinstance(parameters[key], str) and (wanted := _wanted_for_text(kind, key, accepted[key])):
                self.report((*path, key), f"`{key}` of `{name}` must be {wanted}, found {describe(parameters[key])}")
        for key, parameter in accepted.items():
            variadic = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            if parameter.default is parameter.empty and not variadic and key not in parameters:
                self.report(path, f"`{name}` needs the parameter `{key}`")
        values: dict[str, Any] = {}
        refused = {place for place, _ in self.problems[before:]}
        for key, value in parameters.items():
            if (*path, key) in refused:
                continue
            so_far = len(self.problems)
            built = self.build_value(kind, key, value, (*path, key))
            if key in accepted and len(self.problems) == so_far:
                values[key] = built
        estimator = self.construct(name, kind, values, path, is_complete=len(self.problems) == before)
        return estimator if len(self.problems) == before else None

    def build_value(self, kind: type, key: str, value: Any, path: Path) -> Any:
        """Return the value of a parameter, which may name a part (`rule: {PA1: {C: 0.1}}`) or be a list of steps."""
        if key == "transformers":
            if isinstance(value, list):
                return [self.build_branch(item, (*path, index)) for index, item in enumerate(value)]
            self.report(path, f"`transformers` must be a list of steps, found {describe(value)}")
            return None
        if key == "portfolio" and isinstance(value, list):
            return [self.build_step(item, (*path, index)) for index, item in enumerate(value)]
        if key == "imputers" and isinstance(value, list):
            return [self.build_imputer(item, (*path, index)) for index, item in enumerate(value)]
        if key in OF_RECORDS:
            return copy.deepcopy(value)
        name = next(iter(value)) if isinstance(value, dict) and len(value) == 1 else value
        is_rivers = kind.__module__.split(".")[0] == "river"
        if is_rivers and key == "dtype" and isinstance(value, str):  # a file names a type
            from river_margins.snapshot import river_steps

            return river_steps.NUMBERS.get(value, value)
        part = find_class(name) if isinstance(name, str) and not is_rivers else None
        if part is None and isinstance(name, str) and key in PARTS and not is_rivers:
            from river_margins.core.recipe import Recipe

            self.report_unknown_class(name, path, Recipe)
            return None
        if part is None:
            return copy.deepcopy(value)
        named = self.split_step(value, path)
        return named and self.build(named[0], part, named[1], named[2])

    def build_branch(self, item: Any, path: Path) -> Any:
        """Return a transformer within a union, or for a list of them their pipeline; None after a problem."""
        from river import base

        from river_margins.pipeline import Pipeline

        places = {(*path, index): step for index, step in enumerate(item)} if isinstance(item, list) else {path: item}
        before = len(self.problems)
        built = {place: self.build_step(step, place) for place, step in places.items()}
        if not built:
            self.report(path, "a list of steps is empty")
        for place, step in built.items():
            if step is not None and not isinstance(step, base.Transformer):
                self.report(place, f"`{type(step).__name__}` predicts, so it must be the last step of `learner`")
        if len(self.problems) > before:
            return None
        steps = list(built.values())
        try:
            return Pipeline(*steps) if len(steps) > 1 else steps[0]
        except ValueError as error:  # steps that fit no pipeline in this order
            self.report(path, str(error))
            return None

    def build_imputer(self, item: Any, path: Path) -> Any:
        """Return a feature with the statistic or the constant that a StatImputer fills in for it."""
        from river_margins.snapshot import river_steps

        if not isinstance(item, list) or len(item) != 2:
            sentence = f"an imputer is `[feature, statistic or constant]`, found {describe(item)}"
            self.report(path, sentence)
            return None
        feature, value = item
        if said := _why_no_name(feature):
            self.report((*path, 0), f"the feature of an imputer must be a name, found {said}")
            return None
        name = next(iter(value)) if isinstance(value, dict) and len(value) == 1 else value
        if not isinstance(name, str) or not name.startswith("river.stats."):
            return feature, value
        if name not in river_steps.IMPUTERS:
            known = ", ".join(f"`{each}`" for each in river_steps.IMPUTERS)
            self.report((*path, 1), f"a snapshot cannot hold `{name}`: use one of {known}, or a constant")
            return None
        named = self.split_step(value, (*path, 1))
        kind = getattr(importlib.import_module("river.stats"), name.rpartition(".")[2])
        return named and (feature, self.build(named[0], kind, named[1], named[2]))

    def construct(self, name: str, kind: type, values: dict[str, Any], path: Path, is_complete: bool) -> Any:
        """Call the constructor; report its error at the parameter that causes it.

        If values are missing because they are wrong, only an error that a single parameter causes is reported.
        """
        try:
            estimator = _call(kind, values)
            if name == "river.compose.Select":
                # River keeps the keys in a set, whose order differs between processes. The order of the features
                # changes the sums of a learner, so the order of the file is kept instead.
                estimator.keys = dict.fromkeys(values.get("keys", ()))
            return estimator
        except Exception as error:  # a constructor may raise anything about the values of the file
            blamed = [key for key in values if _works_without(kind, values, key)]
            if not is_complete and len(blamed) != 1:
                return None
            what = f"`{blamed[0]}`" if len(blamed) == 1 else "these parameters"
            self.report((*path, blamed[0]) if len(blamed) == 1 else path, f"`{name}` refuses {what}: {error}")
            return None

    def check_order(self, kinds: list[type | None]) -> None:
        """Report steps that predict before the last one, and a last one that does not. None is an unknown class."""
        from river import base

        *before, last = kinds
        for index, kind in enumerate(before):
            if kind is not None and issubclass(kind, base.Estimator) and not issubclass(kind, base.Transformer):
                sentence = f"`{kind.__name__}` predicts, so it must be the last step and the only one of its kind"
                self.report((index,), sentence)
        if last is None or not issubclass(last, base.Estimator):
            return
        if not issubclass(last, base.Classifier | base.Regressor):
            reasons = (why for task, why in _REASONS_TO_USE_PYTHON.items() if issubclass(last, getattr(base, task)))
            reason = next(reasons, "is neither")
            sentence = f"the last step must be a classifier or a regressor, `{last.__name__}` {reason}"
            self.report((len(before),), sentence)

    def check_replay(self, name: str, estimator: Any, path: Path) -> None:
        """Report a step that a restart could not bring back exactly: from a snapshot, or by the same random numbers."""
        from river_margins import river_internals, snapshot

        try:
            snapshot.check(estimator)
        except snapshot.SnapshotError as error:
            self.report(path, str(error))
            return
        if river_internals.draws_at_random(estimator):
            self.report(path, f"`{name}` draws at random, and each start must draw the same: give it a `seed`")

    def check_input(self, name: str, estimator: Any, path: Path) -> None:
        """Report a step whose examples are texts: those of a record are its features."""
        from river_margins import river_internals

        if river_internals.reads_texts(estimator):
            way = f"name the one with the text, `{name}: {{on: FIELD}}`"
            self.report(path, f"`{name}` reads texts, and a record has fields: {way}")


def _parameters_of(kind: type) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(kind).parameters)


def _why_no_names(value: Any) -> str | None:
    """Return what is found in place of names: a text would be a list of its letters, and a number is no name."""
    if not isinstance(value, list):
        return None if value is None else describe(value)
    wrong = [item for item in value if not isinstance(item, str)]
    return f"{describe(wrong[0])} in it, put it in quotes" if wrong else None


def _why_no_name(value: Any) -> str | None:
    return None if isinstance(value, str | None) else f"{describe(value)}, put it in quotes"


def _why_no_pairs(value: Any) -> str | None:
    pairs = value if isinstance(value, list) else []
    return next((said for pair in pairs if isinstance(pair, list) and (said := _why_no_names(pair))), None)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _wanted_for_text(kind: type, key: str, parameter: inspect.Parameter) -> str | None:
    """Return what a parameter needs that would take any text, and silently mean something else; None for others.

    YAML reads `no` and `off` as texts, and a text counts as true. The labels in a text would be its letters.
    """
    if isinstance(parameter.default, bool) or key == "intercept":
        return "`true` or `false`"
    # River's classes take any text as a number, and then fail at each record; ours look at it themselves.
    if kind.__module__.startswith("river.") and isinstance(parameter.default, int | float):
        return "a number"
    if key in FUNCTIONS:
        return "left out, because it is a function, and a file holds none"
    return {"classes": "a list of labels", "stop_words": "a list of words"}.get(key)


def _call(kind: type, values: dict[str, Any]) -> Any:
    variadic = [key for key, parameter in _parameters_of(kind).items() if parameter.kind is parameter.VAR_POSITIONAL]
    spread = [item for key in variadic for item in values.get(key, [])]
    return kind(*spread, **{key: value for key, value in values.items() if key not in variadic})


def _works_without(kind: type, values: dict[str, Any], key: str) -> bool:
    try:
        _call(kind, {name: value for name, value in values.items() if name != key})
    except Exception:  # another parameter is wrong as well, or this one is required
        return False
    return True
