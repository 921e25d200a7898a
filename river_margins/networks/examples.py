"""Examples as arrays: named features, and the weights that grow with them."""

import hashlib
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from river_margins.core.checks import abridged
from river_margins.core.feature_hash import stable_name
from river_margins.tasks.labels import check_text, is_missing, plain, same_kind

Array: TypeAlias = NDArray[np.float64]


def normal(size: int, *key: Any) -> Array:
    """Return standard normal numbers that depend on the key only, and are the same in every process."""
    digest = hashlib.blake2b(repr(stable_name(key)).encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest)).standard_normal(size)


class Rows:
    """A matrix with a row for each name, in the order in which the names were added."""

    def __init__(self, width: int) -> None:
        self.places: dict[Any, int] = {}
        self.width = width
        self._buffer = np.zeros((4, width))

    @property
    def values(self) -> Array:
        """The rows; writing to them changes the matrix."""
        return self._buffer[: len(self.places)]

    def known(self, x: Mapping[Any, float]) -> tuple[list[int], Array]:
        """Return the places of those features of x that have a row, in ascending order, and their values."""
        found = sorted((place, value) for name, value in x.items() if (place := self.places.get(name)) is not None)
        return [place for place, _ in found], np.array([value for _, value in found])

    def add(self, names: Iterable[Any], rows: Array) -> None:
        """Add new names with their rows."""
        start, size = len(self.places), len(self.places) + len(rows)
        if size > len(self._buffer):  # twice the room, so that each row is copied a few times at most
            self._buffer = np.vstack([self._buffer[:start], np.zeros((2 * size - start, self.width))])
        self._buffer[start:size] = rows
        for name in names:  # last: a thread that predicts must find the row of each name
            self.places[name] = len(self.places)

    def shrink(self, size: int) -> None:
        """Forget all names but the first ones."""
        if len(self.places) > size:
            self.places = {name: place for name, place in self.places.items() if place < size}

    def state(self) -> dict[str, Any]:
        """Return names and values, as plain data."""
        return {"names": list(self.places), "values": self.values.copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over names and values; raise ValueError if they do not fit together."""
        names, values = state["names"], checked(state["values"], (len(state["names"]), self.width))
        places = {name: place for place, name in enumerate(names)}
        if len(places) < len(names):
            raise ValueError("a feature occurs twice in the state")
        self.places = places
        self._buffer = np.vstack([values, np.zeros((4, self.width))])


def checked(values: Any, shape: tuple[int, ...]) -> Array:
    """Return a copy of an array of a state; raise ValueError if it has another shape or is not finite."""
    array = np.array(values, dtype=np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(f"the state has an array of the shape {array.shape} where finite numbers {shape} are needed")
    return array


class Labels:
    """The labels of a classifier, in the order of its outputs. False and True go together, and True comes first."""

    def __init__(self, classes: Iterable[Hashable] | None) -> None:
        self.known: list[Any] = []
        if classes is None:
            return
        labels = [plain(label) for label in classes]
        if len(labels) < 2 or len(set(labels)) < len(labels):
            raise ValueError(f"`classes` must name two classes or more, each once, not {classes!r}")
        for label in labels:
            self.check(label)
            self.known = self.including(label)

    @property
    def are_bools(self) -> bool:
        """Whether the labels are True and False."""
        return bool(self.known) and isinstance(self.known[0], bool)

    def check(self, y: Any) -> None:
        """Raise ValueError unless y can be a label beside the known ones."""
        label = plain(y)
        if is_missing(label) or not isinstance(label, Hashable):
            raise ValueError(
                f"label {abridged(y)}, of type {type(y).__name__}, is not a label: give a bool, a text or a number"
            )
        if self.known and not same_kind(self.known[0], label):
            raise ValueError(
                f"label {abridged(y)} does not fit the labels {self.known!r}: bools and other labels do not mix in one "
                "learner, and its first label decides"
            )
        check_text(label, self.known)

    def including(self, y: Any) -> list[Any]:
        """Return the labels with y, which is added at the end if it is new."""
        label = plain(y)
        if label in self.known:
            return self.known
        return [True, False] if isinstance(label, bool) else [*self.known, label]

    def scores(self, values: Array) -> Any:
        """Return the lead of True if the labels are bools, else {label: score}; {} before the first label."""
        if self.are_bools:
            return float(values[0] - values[1])
        return dict(zip(self.known, values.tolist(), strict=True))

    def probabilities(self, shares: Array) -> dict[Any, float]:
        """Return {label: probability}; before the first label, one half each for True and False."""
        return dict(zip(self.known, shares.tolist(), strict=True)) if self.known else {True: 0.5, False: 0.5}

    def best(self, values: Array) -> Any:
        """Return the label with the largest value, the first of equal ones; None before the first label."""
        return self.known[int(np.argmax(values))] if self.known else None


def finite(learner: object, compute: Callable[[], Array]) -> Array:
    """Return computed scores or shares; raise OverflowError if one is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = compute()
    if not np.isfinite(found).all():
        raise OverflowError(
            f"`{type(learner).__name__}`: the score of this example is beyond floating point: scale its features"
        )
    return found


def softmax(scores: Array) -> Array:
    """Return exp(scores) in proportion to their sum."""
    if not len(scores):
        return scores
    shares = np.exp(scores - scores.max())
    return np.asarray(shares / shares.sum())
