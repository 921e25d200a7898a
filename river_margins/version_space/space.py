"""The version space of linear classifiers: all weight vectors that are consistent with the examples."""

import math
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from river import base

from river_margins.core.checks import one_of, whole
from river_margins.core.described import Described
from river_margins.core.estimator import Estimator
from river_margins.version_space import geometry
from river_margins.version_space.geometry import Array

__all__ = ["VersionSpace"]

MOST_EXACT = 6  # dimensions
STEPS = 5  # of hit-and-run for each new point, times the dimension
PHASES = 8  # of d steps each, in which points that start in one place find the shape of the space
LEAST_SURVIVING = 0.1
LARGEST_LOG = 709.7  # math.exp of more overflows

Method = Literal["auto", "sampled"]


class VersionSpace(Described, Estimator, base.Estimator):
    """The weight vectors w in the box [-1, 1]^d that are consistent with all examples: y⟨w, x⟩ > 0 for each.

    Parameters
    ----------
    dimension
        The number of coordinates, at least 1.
    method
        "auto" (default) computes volume and centroid exactly, by a triangulation, in up to 6 dimensions, and estimates
        them by hit-and-run beyond. "sampled" always estimates them.
    samples
        The number of random points for each dimension, at least 10; 200 by default.
    seed
        The seed of the random points, at least 0; 0 by default.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    Each example cuts the space by a half-space through the origin. A cut through the centroid leaves at most 1 - 1/e of
    the volume. For examples of length 1 that some u separates with margin 1, the space contains a ball of radius
    1/(1 + |u|), so that its volume cannot fall below that of this ball.

    A space without interior is empty. Then `is_empty` is True, the volume is 0, further examples change nothing, and
    the centroid stays the last one. A sliver whose largest ball is below 1e-7 of the extent of the space before counts
    as empty.

    This is not a River estimator of any kind: it takes vectors, and predicts nothing. `CenterOfGravityClassifier` does.

    Examples
    --------
    >>> import river_margins as rm
    >>> space = rm.VersionSpace(2)
    >>> space.volume
    4.0
    >>> space.add([1.0, 0.0])       # x = (1, 0), labelled +1
    >>> space.add([0.0, 1.0], -1)   # x = (0, 1), labelled -1
    >>> round(space.volume, 9), space.centroid.round(9).tolist()
    (1.0, [0.5, -0.5])
    >>> space.contains([2.0, -0.1]), space.contains([-0.1, -2.0])
    (True, False)
    >>> space.add([-1.0, 0.5])
    >>> space.is_empty
    True

    References
    ----------
    Newman, D., 1965. Location of the maximum on unimodal surfaces. Journal of the ACM 12.
    Bertsimas, D. and Vempala, S., 2004. Solving convex programs by random walks. Journal of the ACM 51.
    """

    round_cost = "A triangulation in up to 6 dimensions, else 5·d steps of hit-and-run for the points cut off."
    guarantee = "A cut through the centroid leaves at most 1 - 1/e of the volume."
    advice = "Use it to see which weights the examples still allow, and whether there are any."

    dimension: int
    method: Method
    samples: int
    seed: int
    _body: dict[str, Any]

    def __init__(self, dimension: int, *, method: Method = "auto", samples: int = 200, seed: int = 0) -> None:
        one_of("method", method, ("auto", "sampled"))
        vars(self).update(
            dimension=whole("dimension", dimension, 1),
            method=method,
            samples=whole("samples", samples, 10),
            seed=whole("seed", seed),
            _body={
                "cuts": np.empty((0, dimension)),
                "centroid": np.zeros(dimension),
                "shape": np.eye(dimension) / math.sqrt(3.0),
                "log_volume": dimension * math.log(2.0),
                "points": np.empty((0, dimension)),
                "n_added": 0,
                "is_empty": False,
            },
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return set()

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"dimension": 2}
        yield {"dimension": 3, "method": "sampled", "samples": 50}

    @property
    def n_added(self) -> int:
        """The number of examples that were added."""
        return int(self._body["n_added"])

    @property
    def is_empty(self) -> bool:
        """Whether no weight vector is consistent with all examples."""
        return bool(self._body["is_empty"])

    @property
    def centroid(self) -> Array:
        """The centroid; of an empty space, the last one before."""
        return np.array(self._body["centroid"])

    @property
    def covariance(self) -> Array:
        """The covariance matrix of the uniform distribution on the space."""
        return np.asarray(self._body["shape"] @ self._body["shape"].T)

    @property
    def log_volume(self) -> float:
        """The logarithm of the volume; -inf if the space is empty."""
        return -math.inf if self.is_empty else float(self._body["log_volume"])

    @property
    def volume(self) -> float:
        """The volume; 0 if the space is empty, infinite if it is beyond floating point, as from 1024 dimensions on."""
        return math.exp(self.log_volume) if self.log_volume < LARGEST_LOG else math.inf

    @property
    def cuts(self) -> Array:
        """The vectors y·x of the examples, of length 1, one a row. The exact form has those that bound the space."""
        return np.array(self._body["cuts"])

    def contains(self, w: ArrayLike) -> bool:
        """Tell whether a weight vector, of any length, is consistent with all examples."""
        return not self.is_empty and bool((self._body["cuts"] @ self._vector("w", w) > 0.0).all())

    def chebyshev(self) -> tuple[Array, float]:
        """Return the centre and the radius of the largest ball in the space; the radius is 0 if the space is empty."""
        d = len(self._body["centroid"])
        centre, radius = geometry.chebyshev(self._body["cuts"], np.zeros(d), np.eye(d))
        return centre, 0.0 if self.is_empty else max(radius, 0.0)

    def add(self, x: ArrayLike, y: float = 1.0) -> None:
        """Keep the weight vectors with y⟨w, x⟩ > 0.

        Parameters
        ----------
        x
            A vector of finite numbers. The zero vector changes nothing.
        y
            The label: 1 (default) or -1.

        Raises
        ------
        ValueError
            If x or y is something else. The space is unchanged.
        """
        if y not in (1, -1):
            raise ValueError(f"`y` must be 1 or -1, not {y!r}")
        cut = y * self._vector("x", x)
        if self.is_empty or not cut.any():
            return
        cut /= np.abs(cut).max()  # before the norm, which might overflow
        cuts = np.vstack([self._body["cuts"], cut / np.linalg.norm(cut)])
        try:
            found = self._exact(cuts) if self._is_exact() else self._sampled(cuts)
        except np.linalg.LinAlgError:  # the space is thinner than floating point can tell
            found = None
        # All at once, also below: Ctrl-C in a notebook must not leave numbers that do not fit together.
        self._body.update(found or {"is_empty": True}, n_added=self.n_added + 1)

    def grow(self, count: int) -> None:
        """Append coordinates, on which no example so far depends; they add a box [-1, 1]^count."""
        old, points = len(self._body["centroid"]), self._body["points"]
        shape = np.pad(self._body["shape"], (0, count))
        shape[range(old, old + count), range(old, old + count)] = 1.0 / math.sqrt(3.0)
        draw = self._generator("grow", self.n_added)
        self._body.update(
            shape=shape,
            cuts=np.pad(self._body["cuts"], ((0, 0), (0, count))),
            centroid=np.pad(self._body["centroid"], (0, count)),
            points=np.hstack([points, draw.uniform(-1.0, 1.0, (len(points), count))]),
            log_volume=self._body["log_volume"] + count * math.log(2.0),
        )

    def _is_exact(self) -> bool:
        return self.method == "auto" and len(self._body["centroid"]) <= MOST_EXACT

    def _vector(self, name: str, values: ArrayLike) -> Array:
        vector, d = np.array(values, float), len(self._body["centroid"])
        if vector.shape != (d,) or not np.isfinite(vector).all():
            raise ValueError(f"`{name}` must be a vector of {d} finite numbers, not {values!r}")
        return vector

    def _generator(self, purpose: Literal["add", "grow"], number: int) -> np.random.Generator:
        # A generator for each call needs no state, and copies of the space draw the same.
        return np.random.default_rng([self.seed, number, ["add", "grow"].index(purpose)])

    def _exact(self, cuts: Array) -> dict[str, Any] | None:
        """Return what changes with the last of the cuts, or None if the space is empty."""
        moments = geometry.exact_moments(cuts, self._body["centroid"], self._body["shape"])
        return None if moments is None else moments._asdict()

    def _sampled(self, cuts: Array) -> dict[str, Any] | None:
        """The same by random points: those cut off are replaced by moving copies of the others."""
        draw, d = self._generator("add", self.n_added + 1), cuts.shape[1]
        points, wanted = self._body["points"], self.samples * d
        if len(points) < wanted:  # there are none before the first cut, or before the space had more than 6 dimensions
            points = self._rounded(cuts[:-1], wanted, draw)
        surviving = points[points @ cuts[-1] > 0.0]
        share = (len(surviving) + 0.5) / (len(points) + 1.0)
        if len(surviving) < max(LEAST_SURVIVING * wanted, 2 * d + 1):  # d points have no shape in d dimensions
            points = self._rounded(cuts, wanted, draw)
        else:
            copies = surviving[draw.integers(len(surviving), size=wanted - len(surviving))]
            shape = geometry.shape_of(surviving, self._body["shape"])
            points = np.vstack([surviving, geometry.hit_and_run(copies, cuts, shape, STEPS * d, draw)])
        if not len(points):
            return None
        return {
            "cuts": cuts,
            "points": points,
            "centroid": points.mean(axis=0),
            "shape": geometry.shape_of(points, self._body["shape"]),
            "log_volume": self._body["log_volume"] + math.log(share),
        }

    def _rounded(self, cuts: Array, wanted: int, draw: np.random.Generator) -> Array:
        """Return points of the body from a start at its Chebyshev centre; none if the body is empty."""
        d, centre = cuts.shape[1], self._body["centroid"]
        shape = self._body["shape"]
        inside, radius = geometry.chebyshev(cuts, centre, shape)
        if radius < geometry.EMPTY:
            return np.empty((0, d))
        points = np.tile(centre + shape @ inside, (wanted, 1))
        for _ in range(PHASES):
            points = geometry.hit_and_run(points, cuts, shape, d, draw)
            shape = geometry.shape_of(points, shape)
        return geometry.hit_and_run(points, cuts, shape, STEPS * d, draw)

    def __getstate__(self) -> dict[str, Any]:
        return dict(self._body)

    def __setstate__(self, state: dict[str, Any]) -> None:
        d = len(state["centroid"])
        shapes = {"cuts": (None, d), "points": (None, d), "shape": (d, d), "centroid": (d,)}
        arrays = {name: geometry.finite_array(name, state[name], shape) for name, shape in shapes.items()}
        self._body.update({name: state[name] for name in self._body} | arrays)
