"""The weights of a learner as a mapping and as an array, and weights that a user sets."""

import math
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from river_margins.core.reader import INTERCEPT


class Weights(Mapping):
    """One weight vector: a read-only mapping from learned features to their present weights. A copy of it is a dict."""

    __slots__ = ("_block", "_space")

    def __init__(self, space, block):
        self._space = space
        self._block = block

    def __getitem__(self, feature):
        return self._space.weight(feature, self._block)

    def __iter__(self):
        return iter(self._space.features)

    def __len__(self):
        return len(self._space.features)

    def __repr__(self):
        return repr(dict(self))

    def __reduce__(self):  # the space is a view into the learner, whose copy would know no feature
        return dict, (dict(self),)

    def copy(self):
        """Return a dict with the weights as they are now."""
        return dict(self)


class WeightMatrix(NamedTuple):
    """Weights as an array with names.

    Attributes
    ----------
    values
        float64, with a row for each label and a column for each feature.
    labels
        The labels of the rows. Two labels that share a weight vector have one row, that of the positive label. The one
        row of a regressor has the label None.
    features
        The features of the columns; `INTERCEPT` is the constant feature of value 1.
    """

    values: np.ndarray
    labels: list[Any]
    features: list[Any]


def weight_table(vectors: Iterable[Mapping[Any, float]], intercept: bool, buckets: int) -> tuple[list[Any], np.ndarray]:
    """Return the features of weight vectors, and the weights as an array with a row for each feature.

    `intercept` says whether the learner has a constant feature, `buckets` how many buckets it hashes features into, or
    0.
    """
    places: dict[Any, int] = {INTERCEPT: 0} if intercept else {}
    vectors = list(vectors)
    for vector in vectors:
        for feature, weight in vector.items():
            _check_feature(feature, intercept, buckets)
            if not (isinstance(weight, Real) and math.isfinite(weight)):
                raise ValueError(f"the weight of feature {feature!r} must be a finite number, not {weight!r}")
            places.setdefault(feature, len(places))
    table = np.zeros((len(places), len(vectors)))
    for block, vector in enumerate(vectors):
        for feature, weight in vector.items():
            table[places[feature], block] = weight
    return list(places), table


def _check_feature(feature: Any, intercept: bool, buckets: int) -> None:
    if feature == INTERCEPT:
        if not intercept:
            raise ValueError(
                "`INTERCEPT` has a weight, but the learner has no constant feature: give it intercept=True"
            )
    elif buckets and not (type(feature) is int and 0 <= feature < buckets):
        raise ValueError(
            f"feature {feature!r} has a weight, but features are hashed into {buckets} buckets: give weights by the "
            "number of the bucket, as `weights` of such a learner has them"
        )
