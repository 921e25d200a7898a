"""The layers of a network: forwards, and the gradients backwards.

A layer is a matrix with a row for the constant input 1, and then a row for each input; its columns are its units.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from river_margins.core.feature_hash import stable_name
from river_margins.networks.examples import Array, Rows, normal

Activation = Literal["tanh", "relu", "logistic", "linear"]


class Function(NamedTuple):
    """An activation function; its slope is a function of its value."""

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    gain: float  # of the variance of the first weights


def _logistic(z: Array) -> Array:
    return np.asarray(0.5 + 0.5 * np.tanh(z / 2))  # which does not overflow


FUNCTIONS: dict[str, Function] = {
    "tanh": Function(np.tanh, lambda s: 1 - s**2, 1.0),
    "relu": Function(lambda z: np.maximum(z, 0.0), lambda s: (s > 0).astype(float), 2.0),
    "logistic": Function(_logistic, lambda s: s * (1 - s), 1.0),
    "linear": Function(lambda z: z, np.ones_like, 1.0),
}

LATE = 0.3  # of the first weights, for features that come late
CONSTANT = None, "constant"  # the name of the constant input among the features


def new_layer(inputs: int, units: int, gain: float, *key: Any) -> Array:
    """Return a layer with weights drawn from N(0, gain/inputs), by a key, and constants of 0."""
    return np.vstack([np.zeros(units), [normal_row(inputs, units, gain, *key, i) for i in range(inputs)]])


def normal_row(inputs: int, units: int, gain: float, *key: Any) -> Array:
    """Return the weights of one of so many inputs."""
    return np.asarray(math.sqrt(gain / inputs) * normal(units, *key))


def apply(layer: Array, inputs: Array) -> Array:
    """Return the weighted sums of the units of a layer."""
    return np.asarray(layer[0] + inputs @ layer[1:])


def gradient(inputs: Array, delta: Array) -> Array:
    """Return the gradient of a layer, given its inputs and the derivatives of the loss by its weighted sums."""
    return np.outer(np.concatenate([[1.0], inputs]), delta)


def input_layer(units: int) -> Rows:
    """Return a first layer that knows the constant input only."""
    rows = Rows(units)
    rows.add([CONSTANT], np.zeros((1, units)))
    return rows


def add_features(rows: Rows, x: Mapping[Any, float], gain: float, seed: int) -> None:
    """Give the new features of x a row of random weights.

    Zeros would not do, also for features that come late: all units would move along one line, and remain one unit. Nor
    would large weights: where new features come all the time, such as words, they are noise.
    """
    # In an order of their own, so that the order of features in x does not matter, not even by rounding.
    new = sorted((name for name in x if name not in rows.places), key=lambda name: repr(stable_name(name)))
    if new:
        inputs = len(rows.places) + len(new) - 1  # without the constant
        part = LATE if len(rows.places) > 1 else 1.0
        made = np.array([normal_row(inputs, rows.width, gain, seed, "feature", name) for name in new])
        rows.add(new, part * made)


def with_constant(x: Mapping[Any, float]) -> dict[Any, float]:
    """Return the example with the constant input."""
    return {CONSTANT: 1.0, **x}


def sum_in_order(inputs: Array, rows: Array) -> Array:
    """Return `inputs @ rows`, added row by row: so a row of zeros changes no bit.

    `@` adds in an order that depends on the shape and the processor, and `einsum` does so for one column.
    """
    if rows.shape[1] == 1:
        return np.cumsum(inputs * rows[:, 0])[-1:]
    return np.asarray(np.einsum("i,ij->j", inputs, rows))


def hidden_values(
    first: Array, places: Sequence[int], inputs: Array, layers: Sequence[Array], function: Function
) -> list[Array]:
    """Return the values of all hidden layers, given the first layer and the inputs that have a row at some place."""
    found = [function.value(sum_in_order(inputs, first[places]))]
    for layer in layers:
        found.append(function.value(apply(layer, found[-1])))
    return found


def moved(name: str, arrays: Sequence[Array], gradients: Sequence[Array], rate: float) -> list[Array]:
    """Return the arrays after a gradient step; raise OverflowError if a number is not finite."""
    found = [np.asarray(array - rate * gradient) for array, gradient in zip(arrays, gradients, strict=True)]
    if not all(np.isfinite(array).all() for array in found):
        raise OverflowError(
            f"a weight of `{name}` would become infinite; nothing was learned: scale the features, as StandardScaler() "
            "does, or take a smaller `lr`"
        )
    return found
