"""River's own steps as plain values: which are known, and which of their attributes are all they have learned.

A step with an attribute that is not listed here, say one of a newer River, is refused rather than half written.
"""

import collections
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from river import base, compose, preprocessing, stats, utils

from river_margins.pipeline import Pipeline
from river_margins.snapshot.codec import SnapshotError


class _Attributes(NamedTuple):
    parameters: tuple[str, ...] = ()
    learned: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()  # made again by the constructor or on first use

    def check(self, thing: Any) -> None:
        written = {*self.parameters, *self.learned}
        there = vars(thing).keys()
        if missing := written - there:
            raise SnapshotError(f"lacks the attribute `{min(missing)}` that River 0.26 gives it")
        if unknown := there - written - {*self.derived}:
            raise SnapshotError(f"has the attribute `{min(unknown)}`, of which snapshots know nothing")


_PLAN = ("_plan", "_inference_transformers", "_last_step_cached", "_last_step_params")

STEPS: dict[type, _Attributes] = {
    compose.Pipeline: _Attributes(("steps",), derived=_PLAN),
    Pipeline: _Attributes(("steps",), derived=_PLAN),
    compose.TransformerUnion: _Attributes(("transformers",)),
    compose.TransformerProduct: _Attributes(("transformers",)),
    compose.Select: _Attributes(("keys",)),
    compose.Discard: _Attributes(("keys",)),
    compose.Prefixer: _Attributes(("prefix",)),
    compose.Suffixer: _Attributes(("suffix",)),
    compose.Renamer: _Attributes(("mapping",)),
    preprocessing.StandardScaler: _Attributes(("with_std", "window_size"), ("counts", "means", "vars")),
    preprocessing.MinMaxScaler: _Attributes(("window_size",), ("min", "max")),
    preprocessing.MaxAbsScaler: _Attributes(("window_size",), ("abs_max",)),
    preprocessing.Normalizer: _Attributes(("order",)),
    preprocessing.OneHotEncoder: _Attributes(("categories", "drop_zeros", "drop_first"), ("values", "_zero_dict")),
    preprocessing.FeatureHasher: _Attributes(("n_features", "seed", "alternate_sign"), ("_seed",)),
    preprocessing.PreviousImputer: _Attributes((), ("_latest",)),
}

_STATISTICS: dict[type, _Attributes] = {
    stats.Min: _Attributes((), ("min",)),
    stats.Max: _Attributes((), ("max",)),
    stats.AbsMax: _Attributes((), ("abs_max",)),
    stats.RollingMin: _Attributes((), ("window",)),
    stats.RollingMax: _Attributes((), ("window",)),
    stats.RollingAbsMax: _Attributes((), ("window",)),
    utils.SortedWindow: _Attributes((), ("data", "unsorted_window")),
    utils.Rolling: _Attributes((), ("obj", "window"), ("_window_size",)),
    stats.Mean: _Attributes((), ("n", "_mean")),
    stats.Var: _Attributes((), ("mean", "_S"), ("ddof",)),
}


def contents(step: Any) -> dict[str, Any] | None:
    """The steps of a pipeline or the transformers of a union, by name; None for all else."""
    if isinstance(step, compose.Pipeline):
        return dict(step.steps)
    return dict(step.transformers) if isinstance(step, compose.TransformerUnion) else None


def word(step: Any) -> str:
    """What to call one of its contents."""
    return "step" if isinstance(step, compose.Pipeline) else "branch"


def take_apart(step: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and what was learned, of a step whose class is in `STEPS`."""
    kind = type(step)
    known = STEPS[kind]
    known.check(step)
    if kind is compose.Select:
        # Features leave a Select in the order of this set, which no other process repeats, and sums depend on order.
        return {"keys": list(step.keys)}, {}
    inner = contents(step)
    parameters = {name: getattr(step, name) if inner is None else inner for name in known.parameters}
    return parameters, {name: _plain(getattr(step, name)) for name in known.learned}


def put_together(kind: type, parameters: dict[str, Any], learned: dict[str, Any]) -> Any:
    """The step of which `take_apart` returned this; raises whatever River raises where it does not fit."""
    step: Any
    if kind is compose.Select:
        step = kind()
        step.keys = dict.fromkeys(parameters["keys"])  # a set that keeps its order
    elif kind is compose.Discard:
        step = kind(*parameters["keys"])
    elif issubclass(kind, compose.Pipeline | compose.TransformerUnion):
        ((name, inner),) = parameters.items()
        if not all(isinstance(part, base.Base) for part in inner.values()):
            raise SnapshotError("something in it is no step")
        step = kind()
        getattr(step, name).update(inner)  # through the constructor, a union would copy them
    else:
        step = kind(**parameters)
    for name in STEPS[kind].learned:
        _restore(step, name, learned[name])
    return step


def _example(table: dict[Any, Any]) -> Any:
    # What a new feature starts with, which tells the type of all values.
    factory = getattr(table, "default_factory", None)
    return factory() if factory else 0 if isinstance(table, collections.Counter) else None


def _plain(attribute: Any) -> Any:
    if not isinstance(attribute, dict):
        return attribute
    example = _example(attribute)
    if type(example) in _STATISTICS:
        return {"keys": list(attribute), "values": _columns(example, list(attribute.values()))}
    return dict(attribute)


def _columns(example: Any, statistics: list[Any]) -> dict[str, Any]:
    # One list for each attribute, over all features: quicker and smaller than one record for each feature.
    known = _STATISTICS[type(example)]
    known.check(example)
    if not set(map(type, statistics)) <= {type(example)}:
        raise SnapshotError(f"holds other statistics than `{type(example).__name__}`")
    columns: dict[str, Any] = {}
    for name in known.learned:
        inner, column = getattr(example, name), [getattr(statistic, name) for statistic in statistics]
        if type(inner) in _STATISTICS:
            columns[name] = _columns(inner, column)
        else:
            columns[name] = list(map(list, column)) if isinstance(inner, list | collections.deque) else column
    return columns


def _restore(step: Any, name: str, saved: Any) -> None:
    attribute = getattr(step, name)
    if not isinstance(attribute, dict):
        _check_types(attribute, [saved])
        setattr(step, name, saved)
        return
    example = _example(attribute)
    if type(example) in _STATISTICS:
        statistics = [attribute.default_factory() for _ in saved["keys"]]  # type: ignore[attr-defined]
        _fill(example, statistics, saved["values"])
        attribute.update(zip(saved["keys"], statistics, strict=True))
        return
    _check_types(example, saved.values())
    attribute.clear()
    dict.update(attribute, saved)  # a Counter's own update adds


def _fill(example: Any, statistics: list[Any], columns: dict[str, Any]) -> None:
    for name in _STATISTICS[type(example)].learned:
        inner, column = getattr(example, name), columns[name]
        if type(inner) in _STATISTICS:
            _fill(inner, [getattr(statistic, name) for statistic in statistics], column)
        elif isinstance(inner, list | collections.deque):
            for statistic, items in zip(statistics, column, strict=True):
                getattr(statistic, name).extend(items)
        else:
            _check_types(inner, column)
            for statistic, value in zip(statistics, column, strict=True):
                setattr(statistic, name, value)


def _check_types(example: Any, values: Iterable[Any]) -> None:
    allowed = (int, float, np.number, np.bool_) if isinstance(example, int | float) else type(example)
    if example is not None and not all(issubclass(kind, allowed) for kind in set(map(type, values))):
        raise SnapshotError(f"holds something else where it needs `{type(example).__name__}`")
