"""One model from several that learned apart: the mean of their weights."""

import copy
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from river import base

from river_margins import snapshot
from river_margins.core.learner import Learner
from river_margins.preprocessing import FeatureHasher, Interactions, StandardScaler
from river_margins.snapshot import nodes
from river_margins.spaces import RandomFourier

__all__ = ["mix", "why_no_mean"]

LINEAR = {"features", "weights", "scale", "size", "moves"}
GAUSSIAN = {"features", "means", "variances", "units"}
Mean = Callable[[Sequence[Mapping[str, Any]], Sequence[float], Any], tuple[Any, Any]]


def mix(models: Sequence[Any], shares: Sequence[float] | None = None) -> Any:
    """Return the mean of models that have learned different examples.

    Parameters
    ----------
    models
        Learners, or pipelines, with the same parameters. The last step is a learner with plain weights, such as
        `PAClassifier`, or with weights and a variance each, such as `AROWClassifier`. Steps before it are
        `StandardScaler`, or have learned the same. The models stay as they are.
    shares
        The weight of each model in the mean, >= 0, divided by their sum; by default all are equal.

    Returns
    -------
    A copy of the first model with the mean in place of its weights. All else is that of the first model: counts of
    rounds, on which some learning rates depend, and class weights.

    Raises
    ------
    ValueError
        There is no model, the shares do not fit, the models differ in more than in what they have learned, or a step
        has no mean.

    Notes
    -----
    A feature or class that a model has not learned counts as in a new model: with weight 0, and the first variance.

    - **Plain weights**: w = Σ s_i·w_i.
    - **Variances**: 1/v = Σ s_i/v_i and w/v = Σ s_i·w_i/v_i, so a model that knows more of a feature counts more.
    - **StandardScaler**: the mean and the variance of all examples together, each counted with the share of its model.
      The count is the mean of the counts, so that what is mixed again and again does not count again and again. Weights
      were learned on features that each model scaled by what it had seen: the mean is good if the scalers are alike.

    Let perceptrons mix at any moments, and give each a number c: 0 at first, raised by 1 at each of its mistakes, and
    mixed with the same shares as the weights. On examples of length at most R that some u, |u| = 1, separates with
    margin g > 0, every c is at most R²/g². So n perceptrons that all mix with equal shares at the same moments make at
    most n·R²/g² mistakes together. A sum in place of the mean has no such bound.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river_margins.conversions import mix
    >>> one, other = rm.Perceptron(intercept=False), rm.Perceptron(intercept=False)
    >>> one.learn_one({"a": 1.0}, True)
    >>> other.learn_one({"a": 2.0, "b": 4.0}, False)
    >>> dict(mix([one, other]).weights)
    {'a': -0.5, 'b': -2.0}
    >>> dict(mix([one, other], shares=[3, 1]).weights)
    {'a': 0.25, 'b': -1.0}

    References
    ----------
    McDonald, R., Hall, K. and Mann, G., 2010. Distributed training strategies for the structured perceptron. NAACL,
    Theorem 3.
    """
    models = list(models)
    if not models:
        raise ValueError("`models` is empty: a mean needs one model at least")
    parts = normalized(shares, len(models))
    for number, model in enumerate(models[1:], 2):
        if differences := snapshot.difference(models[0], model):
            raise ValueError(f"model {number} learns in another way than the first one: {'; '.join(differences)}")
    means: dict[int, Any] = {}
    for first, *others in zip(*map(steps_of, models), strict=True):
        state = mean_state(first, others, parts)
        if state is not None:
            means[id(first)] = first.clone()
            means[id(first)].__setstate__(state)
    return copy.deepcopy(models[0], means)  # which copies what has no entry there


def why_no_mean(model: Any) -> str | None:
    """Return why `mix` refuses models like this one once they have learned, or None if it takes them.

    Parameters
    ----------
    model
        A learner, or a pipeline that ends with one. It stays as it is.

    Examples
    --------
    >>> import river_margins as rm
    >>> why_no_mean(rm.StandardScaler() | rm.AROWClassifier())
    >>> why_no_mean(rm.VotedPerceptron())[:30]
    '`VotedPerceptron` has no mean:'
    """
    *before, last = steps_of(model)
    others = [step for step in before if not isinstance(step, StandardScaler | FeatureHasher | Interactions)]
    if others:
        return (
            f"`{nodes.name_of(type(others[0]))}` has no mean: use `StandardScaler`, `FeatureHasher` or `Interactions`"
        )
    labels: Sequence[Any] = getattr(last, "classes", None) or (False, True)
    if isinstance(last, base.MultiLabelClassifier):
        labels = [{"some": True, "other": False}]
    elif isinstance(last, base.AnomalyDetector):
        labels = [None]
    learned = [copy.deepcopy(last), copy.deepcopy(last)]
    try:
        for n, learner in enumerate(learned):  # what a learner keeps shows after its first examples
            for label in labels:
                learner.learn_one({"a": 1.0, f"b{n}": 2.0}, label)
    except Exception as error:
        return f"`{type(last).__name__}` has no mean: it does not learn numbers as features ({error})"
    try:
        mix(learned)
    except ValueError as error:
        return str(error)
    return None


def normalized(shares: Sequence[float] | None, count: int) -> list[float]:
    """Return shares whose sum is 1."""
    found = [1.0] * count if shares is None else [float(share) for share in shares]
    if len(found) != count:
        raise ValueError(f"`shares` has {len(found)} numbers for {count} models")
    total = math.fsum(found)
    if not (all(0.0 <= share < math.inf for share in found) and 0.0 < total < math.inf):
        raise ValueError(f"`shares` must be finite, at least 0 and not all 0, found {found}")
    return [share / total for share in found]


def steps_of(model: Any) -> list[Any]:
    return list(model.steps.values()) if hasattr(model, "steps") else [model]


def mean_state(step: Any, others: Sequence[Any], shares: Sequence[float]) -> dict[str, Any] | None:
    """Return the state of a step that has learned what the same steps of all models have learned on average.

    None if all have learned the same.
    """
    steps = [step, *others]
    if isinstance(step, StandardScaler):
        return mean_of_moments([each.__getstate__() for each in steps], shares)
    states = [each.__getstate__() for each in steps] if isinstance(step, Learner) else []
    # Random features have a row of weights for each of them, and not for each feature of an example.
    has_rows = bool(states) and not isinstance(getattr(step, "space", None), RandomFourier)
    find_mean = mean_for(states) if has_rows else None
    if find_mean is not None:
        space, about = find_mean(states, shares, step)
        return {**states[0], **about, "space": space}
    if len({snapshot.dumps(each) for each in steps}) > 1:
        raise ValueError(
            f"`{nodes.name_of(type(step))}` has no mean: mix learners with plain weights or with a variance for each "
            "weight, after `StandardScaler` or steps that have learned the same"
        )
    return None


def mean_of_moments(states: Sequence[Mapping[str, Any]], shares: Sequence[float]) -> dict[str, Any]:
    """Return the state of a scaler that has seen what all have seen; `moments` are count, mean and variance."""
    features, rows = union(state["features"] for state in states)
    moments = np.zeros((len(states), len(features), 3))
    for found, own, state in zip(moments, rows, states, strict=True):
        found[own] = state["moments"]
    counts = moments[:, :, 0] * np.array(shares)[:, None]
    count = counts.sum(axis=0)
    weights = np.divide(counts, count, out=np.zeros_like(counts), where=count > 0.0)
    # As a distance from one of the means: the mean of equal ones is then exactly the same number, and a feature that
    # never varied gets no variance from rounding.
    origin = np.where(count > 0.0, moments[counts.argmax(axis=0), np.arange(len(features)), 1], 0.0)
    mean = origin + (weights * (moments[:, :, 1] - origin)).sum(axis=0)
    variance = (weights * (moments[:, :, 2] + (moments[:, :, 1] - mean) ** 2)).sum(axis=0)
    return {"features": features, "moments": np.column_stack([count, mean, variance])}


def mean_for(states: Sequence[Mapping[str, Any]]) -> Mean | None:
    """Return the function that finds the mean of learners with these states, or None if there is none."""
    keys = set(states[0]["space"])
    if keys == LINEAR:
        return mean_of_weights
    # IELLIP multiplies all variances by a factor, its unit, also those of features to come.
    has_mean = keys == GAUSSIAN and all(is_diagonal(state["space"]) for state in states)
    return mean_of_gaussians if has_mean else None


def is_diagonal(space: Mapping[str, Any]) -> bool:
    return space["variances"].ndim <= 2 and all(unit == 1.0 for unit in space["units"])


def union(lists: Iterable[Iterable[Any]]) -> tuple[list[Any], list[np.ndarray]]:
    """Return the members of all lists, each once, in the order of their first appearance; and where each list has them.

    >>> union([["a", "b"], ["b", "c", "a"]])
    (['a', 'b', 'c'], [array([0, 1]), array([1, 2, 0])])
    """
    places = defaultdict[Any, int](itertools.count().__next__)
    found = [np.fromiter(map(places.__getitem__, each), np.intp) for each in lists]
    return list(places), found


def labels_of(states: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return labels of the mean, and whether two of them share one weight vector."""
    known = [state for state in states if state["labels"]] or states[:1]
    labels, one_vector = known[0]["labels"], known[0]["one_vector"]
    if labels and not any(state["one_vector"] for state in known):
        labels, _ = union(state["labels"] for state in known)
    elif others := [state["labels"] for state in known if state["labels"] != labels]:
        raise ValueError(f"one model has learned the labels {labels}, and another one {others[0]}")
    return {"labels": labels, "one_vector": one_vector}


def spread(
    numbers: np.ndarray, start: float, state: Mapping[str, Any], count: int, rows: np.ndarray, about: Mapping[str, Any]
) -> np.ndarray:
    """Return numbers of a model, by feature and label, where the mean has them; `start` where the model has none.

    The mean has `count` features, and those of the model are in these `rows`. A first row that belongs to no feature is
    that of the intercept.
    """
    intercept = numbers.shape[0] - len(rows)
    places = np.concatenate([np.arange(intercept), rows + intercept])
    labels = about["labels"]
    if about["one_vector"] or not labels:
        columns, width = list(range(numbers.shape[1])), 1
    else:
        columns, width = [labels.index(label) for label in state["labels"] or []], len(labels)
    found = np.full((count + intercept, width), start)
    found[np.ix_(places, np.array(columns, np.intp))] = numbers
    return found


def mean_of_weights(states: Sequence[Mapping[str, Any]], shares: Sequence[float], step: Any) -> tuple[Any, Any]:
    """Return the space and the labels of the mean of plain weights."""
    about, (features, rows) = labels_of(states), union(state["space"]["features"] for state in states)
    spaces, count = [state["space"] for state in states], len(features)
    found = [
        share * spread(space["weights"] * space["scale"], 0.0, state, count, own, about)
        for share, space, state, own in zip(shares, spaces, states, rows, strict=True)
    ]
    total = np.sum(found, axis=0)
    return {"features": features, "weights": total, "scale": 1.0, "size": float((total**2).sum()), "moves": 0}, about


def mean_of_gaussians(states: Sequence[Mapping[str, Any]], shares: Sequence[float], step: Any) -> tuple[Any, Any]:
    """Return the space and the labels of the mean of weights with variances."""
    about, (features, rows) = labels_of(states), union(state["space"]["features"] for state in states)
    precisions, pulls, count = [], [], len(features)
    for share, state, own in zip(shares, states, rows, strict=True):
        space = state["space"]
        variances = np.reshape(space["variances"], space["means"].shape)  # without a block it has another shape
        precision = spread(1.0 / variances.T, 1.0 / step.space.a, state, count, own, about)
        mean = spread(space["means"].T, 0.0, state, count, own, about)
        precisions.append(share * precision)
        pulls.append(
            share * (mean if step.rule.looks_ahead else mean * precision)
        )  # such a rule keeps w/v instead of w
    precision, pull = np.sum(precisions, axis=0), np.sum(pulls, axis=0)
    means = pull if step.rule.looks_ahead else pull / precision
    units = [1.0] * means.shape[1]
    variances = np.minimum(1.0 / precision, step.space.a)  # a sum of rounded shares may be less than 1
    return {"features": features, "means": means.T, "variances": variances.T, "units": units}, about
