"""Builds a learner from the step names and parameters of a YAML file.

Only names of a fixed list can be given: the public classes of `river_margins` by bare name, River's preprocessing and
compose classes by full name. A file can therefore choose among learners, but never run code of its own.
"""

import copy
import importlib
import inspect
from typing import Any

from connectors.config.yaml_file import Path
from connectors.suggest import describe, did_you_mean

RIVER_MODULES = ("river.preprocessing", "river.compose")
_ELSEWHERE = {
    "MultiLabelClassifier": "learns sets of labels, and a record has one label: use it in Python",
    "AnomalyDetector": "learns without labels, and a record teaches only with its label: use it in Python",
}


def known_names() -> dict[str, type]:
    """Every class that a file may name, by the name it goes by there."""
    import river_margins

    names = {name: getattr(river_margins, name) for name in river_margins.__all__}
    for module_name in RIVER_MODULES:
        module = importlib.import_module(module_name)
        names |= {f"{module_name}.{name}": getattr(module, name, None) for name in module.__all__}
    del names["river.compose.Pipeline"]  # the list of steps is one
    return {name: thing for name, thing in names.items() if isinstance(thing, type)}


def assemble(steps: Any) -> tuple[Any, list[tuple[Path, str]]]:
    """Builds a fresh learner from the `learner:` list of a file.

    Parameters
    ----------
    steps
        The list as YAML gives it: class names, or mappings of one class name to its parameters. Every step but the
        last is a transformer; the last is a classifier or a regressor.

    Returns
    -------
    The learner (a `river.compose.Pipeline` when there is more than one step) or None, and all that is wrong, as pairs
    of a path within the list and a sentence.

    >>> assemble(["PAClasifier"])
    (None, [((0,), 'there is no class `PAClasifier`, did you mean `PAClassifier`?')])
    >>> assemble(["StandardScaler", {"PAClassifier": {"C": 0.1}}])[0]["PAClassifier"].C
    0.1
    """
    if not isinstance(steps, list) or not steps:
        found = "an empty list" if steps == [] else describe(steps)
        return None, [((), f"`learner` must be a list of steps, found {found}")]
    builder = _Builder()
    built = [builder.step(step, (index,)) for index, step in enumerate(steps)]
    builder.check_order(built, steps)
    if builder.problems:
        return None, builder.problems
    if len(built) == 1:
        return built[0], []
    from river_margins.pipeline import Pipeline

    return Pipeline(*built), []


class _Builder:
    def __init__(self) -> None:
        self.known = known_names()
        self.problems: list[tuple[Path, str]] = []

    def report(self, path: Path, sentence: str) -> None:
        self.problems.append((path, sentence))

    def step(self, step: Any, path: Path) -> Any:
        from river import base

        named = self.split(step, path)
        if named is None:
            return None
        name, parameters, path = named
        kind = self.find(name, path)
        if kind is None:
            return None
        if not issubclass(kind, base.Estimator):
            self.report(path, f"`{name}` is no learner, it is a part to be given to one as a parameter")
            return None
        estimator = self.build(name, kind, parameters, path)
        if estimator is not None:
            self.check_replay(name, estimator, path)
        return estimator

    def split(self, step: Any, path: Path) -> tuple[str, dict[str, Any], Path] | None:
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
            self.report((*path, name), sentence)
            return None
        return name, parameters or {}, (*path, name)

    def find(self, name: str, path: Path) -> type | None:
        if name in self.known:
            return self.known[name]
        elsewhere = [known for known in self.known if known.rpartition(".")[2] == name.rpartition(".")[2]]
        hint = f", did you mean `{elsewhere[0]}`?" if elsewhere else did_you_mean(name, self.known)
        self.report(path, f"there is no class `{name}`{hint}")
        return None

    def build(self, name: str, kind: type, parameters: dict[str, Any], path: Path) -> Any:
        accepted = _parameters(kind)
        before = len(self.problems)
        for key in parameters:
            if key not in accepted:
                hint = did_you_mean(key, accepted) or f"; its parameters are {', '.join(accepted) or 'none'}"
                self.report((*path, key), f"`{name}` has no parameter `{key}`{hint}")
        for key, parameter in accepted.items():
            variadic = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            if parameter.default is parameter.empty and not variadic and key not in parameters:
                self.report(path, f"`{name}` needs the parameter `{key}`")
        values = {key: self.value(kind, key, value, (*path, key)) for key, value in parameters.items()}
        if len(self.problems) > before:
            return None
        return self.construct(name, kind, values, path)

    def value(self, kind: type, key: str, value: Any, path: Path) -> Any:
        """A parameter may name a part of ours (`rule: {PA1: {C: 0.1}}`), and River's unions take transformers."""
        if key == "transformers" and isinstance(value, list):
            return [self.step(item, (*path, index)) for index, item in enumerate(value)]
        name = next(iter(value)) if isinstance(value, dict) and len(value) == 1 else value
        ours = kind.__module__.split(".")[0] == "river_margins"
        if not (ours and isinstance(name, str) and name in self.known):
            return copy.deepcopy(value)
        named = self.split(value, path)
        return named and self.build(named[0], self.known[named[0]], named[1], named[2])

    def construct(self, name: str, kind: type, values: dict[str, Any], path: Path) -> Any:
        try:
            estimator = _call(kind, values)
            if name == "river.compose.Select":
                # River keeps a set, whose order differs from process to process, and with it the sums of a learner.
                estimator.keys = dict.fromkeys(values.get("keys", ()))
            return estimator
        except Exception as error:  # whatever a constructor raises is about what the file gave it
            blamed = [key for key in values if _works_without(kind, values, key)]
            what = f"`{blamed[0]}`" if len(blamed) == 1 else "these parameters"
            self.report((*path, blamed[0]) if len(blamed) == 1 else path, f"`{name}` refuses {what}: {error}")
            return None

    def check_order(self, built: list[Any], steps: list[Any]) -> None:
        from river import base

        *before, last = built
        for index, estimator in enumerate(before):
            if estimator is not None and not isinstance(estimator, base.Transformer):
                name = type(estimator).__name__
                self.report((index,), f"`{name}` predicts, so it must be the last step and the only one of its kind")
        if last is not None and not isinstance(last, base.Classifier | base.Regressor):
            name = type(last).__name__
            reason = next((why for kind, why in _ELSEWHERE.items() if isinstance(last, getattr(base, kind))), "is none")
            sentence = f"the last step must be a classifier or a regressor, `{name}` {reason}"
            self.report((len(steps) - 1,), sentence)

    def check_replay(self, name: str, estimator: Any, path: Path) -> None:
        from river_margins import river_internals, snapshot

        try:
            snapshot.check(estimator)
        except snapshot.SnapshotError as error:
            self.report(path, str(error))
            return
        if river_internals.draws_at_random(estimator):
            self.report(path, f"`{name}` draws at random, and each start must draw the same: give it a `seed`")


def _parameters(kind: type) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(kind).parameters)
    except ValueError:  # compiled rules and spaces have no signature, but know their names
        names = getattr(kind, "_parameter_names", ())
        return {name: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in names}


def _call(kind: type, values: dict[str, Any]) -> Any:
    variadic = [key for key, parameter in _parameters(kind).items() if parameter.kind is parameter.VAR_POSITIONAL]
    spread = [item for key in variadic for item in values.get(key, [])]
    return kind(*spread, **{key: value for key, value in values.items() if key not in variadic})


def _works_without(kind: type, values: dict[str, Any], key: str) -> bool:
    try:
        _call(kind, {name: value for name, value in values.items() if name != key})
    except Exception:  # then another parameter is wrong as well, or this one is required
        return False
    return True
