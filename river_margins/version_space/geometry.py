"""Geometry of a cone cut by a box: the set of all w in [-1, 1]^d with ⟨a, w⟩ >= 0 for each row a of `cuts`."""

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

EMPTY = 1e-7  # the tolerance of the solver: a largest ball that is smaller, in units of the shape, is not a ball


class Moments(NamedTuple):
    """The volume of a body, as a logarithm, its centroid, its shape, and the cuts that are facets of it.

    The shape is the lower triangular S with the covariance S·S'. Of a thin body it is far more accurate.
    """

    log_volume: float
    centroid: Array
    shape: Array
    cuts: Array


def inequalities(cuts: Array) -> tuple[Array, Array]:
    """Return A and b of A·w >= b: the rows of the box, then the cuts."""
    d = cuts.shape[1]
    return np.vstack([np.eye(d), -np.eye(d), cuts]), np.concatenate([np.full(2 * d, -1.0), np.zeros(len(cuts))])


def chebyshev(cuts: Array, centre: Array, shape: Array) -> tuple[Array, float]:
    """Return the centre and the radius of the largest ball in the body, in coordinates z with w = centre + shape·z.

    The radius is at most 0 if the body has no interior. Thin bodies need coordinates in which they are round.
    """
    from scipy.optimize import linprog  # slow to import, and no list of learners needs it

    A, b = inequalities(cuts)
    G, h = _in_coordinates(A, b, centre, shape)
    d = cuts.shape[1]
    found = linprog(
        [*[0.0] * d, -1.0], np.column_stack([-G, np.ones(len(G))]), -h, bounds=[(None, None)] * d + [(-1.0, None)]
    )
    return (found.x[:d], float(found.x[d])) if found.success else (np.zeros(d), -1.0)


def _in_coordinates(A: Array, b: Array, centre: Array, shape: Array) -> tuple[Array, Array]:
    """Return the inequalities in z with w = centre + shape·z, with rows of length 1."""
    G, h = A @ shape, b - A @ centre
    length = np.linalg.norm(G, axis=1)
    return G / length[:, None], h / length


def _triangulated(G: Array, h: Array, inside: Array) -> tuple[NDArray[np.intp], Array]:
    """Return which inequalities are facets, and the corners of each simplex of the surface.

    Raise LinAlgError if the body is thinner than floating point can tell.
    """
    from scipy.spatial import HalfspaceIntersection, QhullError

    try:
        body = HalfspaceIntersection(np.column_stack([-G, h]), inside)
        simplices = _surface(body.intersections)
    except QhullError as error:
        raise np.linalg.LinAlgError("the body is too thin to be triangulated") from error
    return np.unique(np.concatenate(body.dual_facets)), body.intersections[simplices]


def _surface(corners: Array) -> NDArray[np.intp]:
    """Return the simplices of the surface of the hull of these corners, as positions."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.asarray(ConvexHull(corners, qhull_options="Qt").simplices)
    except QhullError:
        # Many corners in one facet up to rounding can make Qhull give up. Moved by about 1e-9, they are in none.
        return np.asarray(ConvexHull(corners, qhull_options="QJ").simplices)


def exact_moments(cuts: Array, centre: Array, shape: Array) -> Moments | None:
    """Return the moments by a triangulation, or None if the body has no interior.

    Parameters
    ----------
    cuts
        The rows a of ⟨a, w⟩ >= 0.
    centre, shape
        Those of a body that is about the same: the geometry is computed in coordinates in which this body is round.
    """
    inside, radius = chebyshev(cuts, centre, shape)
    if radius < EMPTY:
        return None
    d = len(centre)
    G, h = _in_coordinates(*inequalities(cuts), centre, shape)
    if d == 1:  # Qhull needs two dimensions
        ends = np.array([[np.max(h[G[:, 0] > 0])], [-np.max(h[G[:, 0] < 0])]])
        simplices, facets = ends[None], np.arange(len(h))
    else:
        facets, corners = _triangulated(G, h, inside)
        apex = np.broadcast_to(inside, (len(corners), 1, d))
        simplices = np.concatenate([apex, corners], axis=1)  # each facet and the inner point
    edges = simplices[:, 1:] - simplices[:, :1]
    volumes = np.abs(np.linalg.det(edges)) / math.factorial(d)
    shares, sums = volumes / volumes.sum(), simplices.sum(axis=1)
    mean = shares @ sums / (d + 1)
    # E[zz'] over a simplex with the vertices v_i and their sum s is (Σ v_i v_i' + ss')/((d + 1)(d + 2)).
    second = np.einsum("n,nvi,nvj->ij", shares, simplices, simplices) + np.einsum("n,ni,nj->ij", shares, sums, sums)
    spread = second / ((d + 1) * (d + 2)) - np.outer(mean, mean)
    log_volume = math.log(volumes.sum()) + float(np.log(np.diag(shape)).sum())
    left = cuts[facets[facets >= 2 * d] - 2 * d]
    return Moments(log_volume, centre + shape @ mean, shape @ np.linalg.cholesky(spread), left)


def shape_of(points: Array, shape: Array) -> Array:
    """Return the shape of a set of points; `shape` is that of a body that is about the same."""
    inside = np.linalg.solve(shape, (points - points.mean(axis=0)).T)
    return np.asarray(shape @ np.linalg.cholesky(inside @ inside.T / len(points)))


def hit_and_run(points: Array, cuts: Array, shape: Array, steps: int, draw: np.random.Generator) -> Array:
    """Move each point of the body by so many steps of hit-and-run; the limit is uniform on the body.

    A step goes to a uniform point of the chord in a direction with the covariance shape·shape'.
    """
    A, b = inequalities(cuts)
    slacks = points @ A.T - b
    for _ in range(steps):
        directions = draw.normal(size=points.shape) @ shape.T
        rates = directions @ A.T
        # A slack is used up after the time -slack/rate; the box bounds all times on both sides.
        speeds = rates / np.maximum(slacks, np.finfo(float).tiny)
        least, most = -1.0 / speeds.max(axis=1), -1.0 / speeds.min(axis=1)
        times = least + (most - least) * draw.random(len(points))
        points = points + times[:, None] * directions
        slacks += times[:, None] * rates
    return np.asarray(points)


def finite_array(name: str, values: Any, shape: tuple[int | None, ...]) -> Array:
    """Return a copy of an array of a state; raise ValueError if it has another shape or numbers that are not finite.

    None in the shape stands for any length.
    """
    array = np.array(values, float)
    fits = array.ndim == len(shape) and all(each in (None, n) for each, n in zip(shape, array.shape, strict=True))
    if not (fits and np.isfinite(array).all()):
        raise ValueError(f"`{name}` of the state has the shape {array.shape}, or numbers that are not finite")
    return array
