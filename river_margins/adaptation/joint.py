"""Joint features of an example and its candidates, as arrays."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_margins.core.reader import read_features
from river_margins.networks.examples import Array, Rows
from river_margins.networks.layers import with_constant

JointFeatures = Callable[[Any, Any], Mapping[Any, float]]


class Joint(NamedTuple):
    """The joint features of all candidates: entry i has the value `values[i]` of `names[columns[i]]`.

    It belongs to the candidate with the number `candidates[i]`.
    """

    names: list[Any]
    size: int  # the number of candidates
    candidates: NDArray[np.intp]
    columns: NDArray[np.intp]
    values: Array

    def scores(self, weights: Array) -> Array:
        """Return the score of each candidate, given the weights of `names`."""
        products = self.values * weights[self.columns]
        # Summed in the order of their sizes, so that the order of features does not matter, not even by rounding.
        order = np.lexsort((products, self.candidates))
        return np.asarray(np.bincount(self.candidates[order], products[order], self.size), np.float64)

    def combine(self, shares: Array) -> Array:
        """Return the sum of the candidates' joint features, in these shares, as an array over `names`."""
        return np.asarray(np.bincount(self.columns, self.values * shares[self.candidates], len(self.names)), np.float64)


def joint_of(rows: Iterable[Mapping[Any, float]]) -> Joint:
    """Return the joint features of candidates, one mapping for each."""
    places: dict[Any, int] = {}
    candidates: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    size = 0
    for number, row in enumerate(rows):
        size = number + 1
        for name, value in row.items():
            candidates.append(number)
            columns.append(places.setdefault(name, len(places)))
            values.append(value)
    return Joint(list(places), size, np.array(candidates, np.intp), np.array(columns, np.intp), np.array(values))


def joint(phi: JointFeatures | None, intercept: bool, x: Any, labels: Sequence[Any]) -> Joint:
    """Return Φ(x, k) of all labels k: those of `phi`, or a copy of the features of x for each label."""
    if phi is not None:
        return joint_of([read_features(phi(x, label)) for label in labels])
    features = with_constant(read_features(x)) if intercept else read_features(x)
    count, total = len(features), len(features) * len(labels)
    names = [(name, label) for label in labels for name in features]
    values = np.tile(np.array(list(features.values())), len(labels))
    return Joint(names, len(labels), np.repeat(np.arange(len(labels)), count), np.arange(total), values)


def weights_of(rows: Rows, names: Sequence[Any]) -> Array:
    """Return the rows of the names; zeros for those without a row."""
    found = np.zeros((len(names), rows.width))
    places = [rows.places.get(name, -1) for name in names]
    known = [place >= 0 for place in places]
    found[known] = rows.values[[place for place in places if place >= 0]]
    return found


def put(rows: Rows, names: Sequence[Any], values: Array) -> None:
    """Write the rows of the names; those without a row are added."""
    places = [rows.places.get(name, -1) for name in names]
    old = [place >= 0 for place in places]
    rows.values[[place for place in places if place >= 0]] = values[old]
    new = [name for name, is_old in zip(names, old, strict=True) if not is_old]
    if new:
        rows.add(new, values[[not each for each in old]])
