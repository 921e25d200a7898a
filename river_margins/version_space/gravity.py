"""The centre of gravity as a classifier: the mean of all weights that are consistent with the mistakes."""

from collections.abc import Iterator, Mapping
from typing import Any

from river_margins.core.checks import whole
from river_margins.families.parameter_types import Classes
from river_margins.version_space.classifier import CentreClassifier
from river_margins.version_space.geometry import Array
from river_margins.version_space.space import Method, VersionSpace

__all__ = ["CenterOfGravityClassifier"]


class Gravity:
    """A version space of as many dimensions as there are features, and its centroid."""

    def __init__(self, method: Method, samples: int, seed: int) -> None:
        self.space = VersionSpace(1, method=method, samples=samples, seed=seed)
        self.dimension = 0  # a space has one coordinate at least, also before the first feature

    @property
    def centre(self) -> Array:
        return self.space.centroid[: self.dimension]

    @property
    def inconsistent(self) -> bool:
        return self.space.is_empty

    @property
    def ended(self) -> bool:
        return self.space.is_empty

    def grow(self, count: int) -> None:
        missing = self.dimension + count - len(self.space.centroid)
        if missing:
            self.space.grow(missing)
        self.dimension += count

    def cut(self, direction: Array) -> bool:
        self.space.add(direction)
        return not self.space.is_empty

    def state(self) -> dict[str, Any]:
        return {"dimension": self.dimension, "space": self.space.__getstate__()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.space.__setstate__(state["space"])
        self.dimension = whole("dimension", state["dimension"])
        if self.dimension > len(self.space.centroid):
            raise ValueError(f"a space of {len(self.space.centroid)} coordinates has no {self.dimension} features")


class CenterOfGravityClassifier(CentreClassifier):
    """The centre of gravity: predict with the mean of all weights in a box that are consistent with the mistakes.

    The weights w are those of [-1, 1]^d with y⟨w, x⟩ >= 0 for all examples on which a mistake was made. The score is
    ⟨c, x⟩ for their centroid c. This is the halving algorithm for hyperplanes, and a Bayes point machine.

    Parameters
    ----------
    method
        "auto" (default) computes the centroid exactly in up to 6 dimensions, with the intercept, and by hit-and-run
        beyond. "sampled" always draws random points.
    samples
        The number of random points for each dimension, at least 10; 200 by default.
    seed
        The seed of the random points, at least 0; 0 by default.
    classes
        [negative, positive] for labels that are not bools; the learner is for two classes.
    intercept
        Whether to add a constant feature of value 1, named `INTERCEPT` in `weights`; True by default.
    max_dimension
        The most features, at least 1; 100 by default. A mistake costs about the cube of their number times `samples`.

    Raises
    ------
    ValueError
        If a parameter is outside its range; in `learn_one`, if there are more features than `max_dimension`.

    Notes
    -----
    If some u separates the examples, divided by their lengths, with margin 1, the exact form makes at most
    (d·ln 2 - ln V_d + d·ln(1 + |u|))/0.4587 mistakes, where V_d is the volume of the unit ball in d dimensions: each
    mistake leaves at most 1 - 1/e of the volume. The bound counts the constant feature. Features may join at any time:
    the weights are the same as if all had been known.

    If no hyperplane separates the stream, no weights are left sooner or later. Then `inconsistent` is True, and the
    weights stay. Use `AROWClassifier` on streams with noise. For more than two classes, use
    `river.multiclass.OneVsRestClassifier`.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.CenterOfGravityClassifier(intercept=False)
    >>> model.learn_one({"a": 1.0, "b": 0.0}, False)
    >>> {name: round(weight, 6) for name, weight in model.weights.items()}
    {'a': -0.5}
    >>> model.learn_one({"a": -1.0, "b": 1.0}, False)
    >>> {name: round(weight, 6) for name, weight in model.weights.items()}
    {'a': -0.333333, 'b': -0.666667}

    References
    ----------
    Gilad-Bachrach, R., Navot, A. and Tishby, N., 2004. Bayes and Tukey meet at the center point. COLT.
    Grünbaum, B., 1960. Partitions of mass-distributions and of convex bodies by hyperplanes. Pacific Journal of
    Mathematics 10.
    """

    round_cost = "The number of features in x; in a mistake, that of a triangulation or of hit-and-run."
    guarantee = "About 2.2·d·ln(1+|u|) mistakes at most if u separates examples of length 1 with margin 1 (exact form)."
    advice = "Use it for as few mistakes as possible on streams without noise, in few dimensions."

    method: Method
    samples: int
    seed: int
    _body: Gravity

    def __init__(
        self,
        method: Method = "auto",
        *,
        samples: int = 200,
        seed: int = 0,
        classes: Classes = None,
        intercept: bool = True,
        max_dimension: int = 100,
    ) -> None:
        vars(self).update(method=method, samples=samples, seed=seed)
        self._open_body(Gravity(method, samples, seed), classes, intercept, max_dimension)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"samples": 10}

    @property
    def log_volume(self) -> float:
        """The logarithm of the volume of the weights that are left; -inf if the labels are inconsistent."""
        return self._body.space.log_volume
