"""River's own steps as plain values: the steps a snapshot can hold, and the attributes that are all they have learned.

A step with an attribute that is not listed here, as a newer River may add one, is refused rather than written in part.

The tables name River's classes instead of importing them: `river.preprocessing` imports pandas, SciPy and scikit-learn,
which a model without a step of it does not need.
"""

import collections
import importlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from river import base, compose

from river_margins.pipeline import Pipeline
from river_margins.snapshot.codec import SnapshotError


class Attributes(NamedTuple):
    """The names of all attributes that the objects of a class have."""

    parameters: tuple[str, ...] = ()
    learned: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()  # made again by the constructor or on first use

    def check(self, thing: Any) -> None:
        """Raise SnapshotError if an object lacks one of these attributes or has another one."""
        written = {*self.parameters, *self.learned}
        present = vars(thing).keys()
        if missing := written - present:
            raise SnapshotError(f"lacks the attribute `{min(missing)}` that River 0.26 gives it")
        if unknown := present - written - {*self.derived}:
            raise SnapshotError(f"has the attribute `{min(unknown)}`, of which snapshots know nothing")


_PLAN = ("_plan", "_inference_transformers", "_last_step_cached", "_last_step_params")

_OF_TEXT = (
    "on", "strip_accents", "lowercase", "preprocessor", "stop_words", "tokenizer_pattern", "tokenizer", "ngram_range",
)  # fmt: skip

STEPS = {
    "river.compose.Pipeline": Attributes(("steps",), derived=_PLAN),
    "river.compose.TransformerUnion": Attributes(("transformers",)),
    "river.compose.TransformerProduct": Attributes(("transformers",)),
    "river.compose.Select": Attributes(("keys",)),
    "river.compose.Discard": Attributes(("keys",)),
    "river.compose.Prefixer": Attributes(("prefix",)),
    "river.compose.Suffixer": Attributes(("suffix",)),
    "river.compose.Renamer": Attributes(("mapping",)),
    "river.preprocessing.StandardScaler": Attributes(("with_std", "window_size"), ("counts", "means", "vars")),
    "river.preprocessing.MinMaxScaler": Attributes(("window_size",), ("min", "max")),
    "river.preprocessing.MaxAbsScaler": Attributes(("window_size",), ("abs_max",)),
    "river.preprocessing.Normalizer": Attributes(("order",)),
    "river.preprocessing.OneHotEncoder": Attributes(
        ("categories", "drop_zeros", "drop_first"), ("values", "_zero_dict")
    ),
    "river.preprocessing.FeatureHasher": Attributes(("n_features", "seed", "alternate_sign"), ("_seed",)),
    "river.preprocessing.PreviousImputer": Attributes((), ("_latest",)),
    "river.preprocessing.StatImputer": Attributes(("imputers",), ("stats",)),
    "river.preprocessing.Binarizer": Attributes(("threshold", "dtype")),
    "river.preprocessing.OrdinalEncoder": Attributes(
        ("categories", "unknown_value", "none_value"), ("values",), ("_reserved_category_codes",)
    ),
    "river.feature_extraction.PolynomialExtender": Attributes(
        ("degree", "interaction_only", "include_bias", "bias_name")
    ),
    "river.feature_extraction.BagOfWords": Attributes(_OF_TEXT, (), ("processing_steps",)),
    "river.feature_extraction.TFIDF": Attributes(("normalize", *_OF_TEXT), ("dfs", "n"), ("processing_steps",)),
    "river.feature_selection.VarianceThreshold": Attributes(("threshold", "min_samples"), ("variances",)),
}

_STATISTICS = {
    "river.stats.Min": Attributes((), ("min",)),
    "river.stats.Max": Attributes((), ("max",)),
    "river.stats.AbsMax": Attributes((), ("abs_max",)),
    "river.stats.RollingMin": Attributes((), ("window",)),
    "river.stats.RollingMax": Attributes((), ("window",)),
    "river.stats.RollingAbsMax": Attributes((), ("window",)),
    "river.utils.SortedWindow": Attributes((), ("data", "unsorted_window")),
    "river.utils.Rolling": Attributes((), ("obj", "window"), ("_window_size",)),
    "river.stats.Mean": Attributes((), ("n", "_mean")),
    "river.stats.Var": Attributes((), ("mean", "_S"), ("ddof",)),
}

# What a StatImputer may fill in. River's quantiles keep their state in compiled objects that show nothing of it.
IMPUTERS = {
    "river.stats.Mean": Attributes((), ("n", "_mean")),
    "river.stats.Mode": Attributes(("k",), ("counts",)),
    "river.stats.Min": Attributes((), ("min",)),
    "river.stats.Max": Attributes((), ("max",)),
}
NUMBERS = {kind.__name__: kind for kind in (bool, int, float)}


def public_name(kind: type) -> str:
    """Return the name by which a class is imported; our Pipeline goes by the name of River's.

    The two pipelines hold the same steps in the same order. One that is read is ours.
    """
    if kind is Pipeline:
        return "river.compose.Pipeline"
    # River's classes are imported from the package around the module that defines them.
    module = kind.__module__.rpartition(".")[0] if kind.__module__.startswith("river.") else kind.__module__
    return f"{module}.{kind.__qualname__}"


def class_of(name: str) -> type:
    """Import the class of a name in `STEPS`."""
    if name == "river.compose.Pipeline":
        return Pipeline
    return _import(name)


def is_step(kind: type) -> bool:
    """Tell whether snapshots hold objects of exactly this class of River, or of our Pipeline."""
    return _find(STEPS, kind) is not None


def _import(name: str) -> type:
    package, _, short = name.rpartition(".")
    found: type = getattr(importlib.import_module(package), short)
    return found


def _find(table: Mapping[str, Attributes], kind: type) -> Attributes | None:
    name = public_name(kind)
    if name not in table:
        return None
    # A class of another package may carry the name of a River class.
    return table[name] if kind is Pipeline or _import(name) is kind else None


def contents(step: Any) -> dict[str, Any] | None:
    """Return the steps of a pipeline or the transformers of a union, by name; None for any other step."""
    if isinstance(step, compose.Pipeline):
        return dict(step.steps)
    return dict(step.transformers) if isinstance(step, compose.TransformerUnion) else None


def word(step: Any) -> str:
    """Return the word for one part of a pipeline or of a union."""
    return "step" if isinstance(step, compose.Pipeline) else "branch"


def take_apart(step: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters and the learned attributes of a step for whose class `is_step` holds."""
    kind = type(step)
    name_of_class = public_name(kind)
    known = STEPS[name_of_class]
    known.check(step)
    if kind is compose.Select:
        # A Select emits features in the order of this set. Another process may have another order, and a learner's
        # sums depend on it, so the order is written.
        return {"keys": list(step.keys)}, {}
    if name_of_class == "river.preprocessing.StatImputer":
        return _take_imputers_apart(step)
    if name_of_class == "river.preprocessing.Binarizer":
        if step.dtype not in NUMBERS.values():
            named = getattr(step.dtype, "__name__", step.dtype)
            raise SnapshotError(f"turns features into `{named}`, which is none of {', '.join(NUMBERS)}")
        return {"threshold": step.threshold, "dtype": step.dtype.__name__}, {}
    inner = contents(step)
    parameters = {name: getattr(step, name) if inner is None else inner for name in known.parameters}
    return parameters, {name: _plain(getattr(step, name)) for name in known.learned}


def put_together(kind: type, parameters: dict[str, Any], learned: dict[str, Any]) -> Any:
    """Rebuild a step from the parameters and attributes that `take_apart` returned; raise what River raises."""
    step: Any
    if kind is compose.Select:
        step = kind()
        step.keys = dict.fromkeys(parameters["keys"])  # a set that keeps its order
    elif kind is compose.Discard:
        step = kind(*parameters["keys"])
    elif public_name(kind) == "river.preprocessing.StatImputer":
        return _put_imputers_together(kind, parameters["imputers"], learned["stats"])
    elif public_name(kind) == "river.preprocessing.Binarizer":
        step = kind(parameters["threshold"], NUMBERS[parameters["dtype"]])
    elif issubclass(kind, compose.Pipeline | compose.TransformerUnion):
        ((name, inner),) = parameters.items()
        if not all(isinstance(part, base.Base) for part in inner.values()):
            raise SnapshotError("one of its parts is not a River estimator")
        step = kind()
        getattr(step, name).update(inner)  # the constructor of a union would copy its parts
    else:
        step = kind(**parameters)
    for name in STEPS[public_name(kind)].learned:
        _restore(step, name, learned[name])
    return step


def _take_imputers_apart(step: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return for each imputed feature its statistic by name, or its constant; and what the statistics have learned."""
    imputers, learned = [], []
    for feature, imputer in step.imputers:
        known = _find(IMPUTERS, type(imputer))
        if known is None:
            if isinstance(imputer, base.Base):
                raise SnapshotError(f"fills in `{public_name(type(imputer))}`, which is none of {', '.join(IMPUTERS)}")
            imputers.append([feature, None, imputer])
            continue
        known.check(imputer)
        parameters = {name: getattr(imputer, name) for name in known.parameters}
        imputers.append([feature, public_name(type(imputer)), parameters])
        statistic = step.stats[feature]
        learned.append([_plain(getattr(statistic, name)) for name in known.learned])
    return {"imputers": imputers}, {"stats": learned}


def _put_imputers_together(kind: Any, imputers: list[Any], learned: list[Any]) -> Any:
    pairs, left = [], list(learned)
    for feature, name, given in imputers:
        if name is None:
            pairs.append((feature, given))
            continue
        if name not in IMPUTERS:
            raise SnapshotError(f"fills in `{name}`, which is none of {', '.join(IMPUTERS)}")
        statistic: Any = _import(name)(**given)
        for attribute, saved in zip(IMPUTERS[name].learned, left.pop(0), strict=True):
            _restore(statistic, attribute, saved)
        pairs.append((feature, statistic))
    return kind(*pairs)


def _example(table: dict[Any, Any]) -> Any:
    # Return the value of a new feature: all values of the table have its type.
    factory = getattr(table, "default_factory", None)
    return factory() if factory else 0 if isinstance(table, collections.Counter) else None


def _plain(attribute: Any) -> Any:
    if not isinstance(attribute, dict):
        return attribute
    example = _example(attribute)
    if _find(_STATISTICS, type(example)):
        return {"keys": list(attribute), "values": _columns(example, list(attribute.values()))}
    return dict(attribute)


def _columns(example: Any, statistics: list[Any]) -> dict[str, Any]:
    # One list for each attribute, over all features, is quicker and smaller than one record for each feature.
    known = _STATISTICS[public_name(type(example))]
    known.check(example)
    if not set(map(type, statistics)) <= {type(example)}:
        raise SnapshotError(f"holds statistics of another class than `{type(example).__name__}`")
    columns: dict[str, Any] = {}
    for name in known.learned:
        inner, column = getattr(example, name), [getattr(statistic, name) for statistic in statistics]
        if _find(_STATISTICS, type(inner)):
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
    if _find(_STATISTICS, type(example)):
        statistics = [attribute.default_factory() for _ in saved["keys"]]  # type: ignore[attr-defined]
        _fill(example, statistics, saved["values"])
        attribute.update(zip(saved["keys"], statistics, strict=True))
        return
    _check_types(example, saved.values())
    attribute.clear()
    dict.update(attribute, saved)  # a Counter's own update adds


def _fill(example: Any, statistics: list[Any], columns: dict[str, Any]) -> None:
    for name in _STATISTICS[public_name(type(example))].learned:
        inner, column = getattr(example, name), columns[name]
        if _find(_STATISTICS, type(inner)):
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
        raise SnapshotError(f"holds a value of another type than `{type(example).__name__}`")
