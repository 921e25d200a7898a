"""The version space: exact and sampled volumes and centroids, emptiness, the cone, and the contract of copies."""

import copy
import math
import pickle

import numpy as np
import pytest
from river import checks
from scipy.optimize import linprog

import river_margins as rm
from river_margins import snapshot
from river_margins.version_space.geometry import hit_and_run
from tests.helpers.cases import case
from tests.river_margins.version_space.streams import log_ball, separable


def cut(space, seed, count, U=20.0):
    X, y, u = separable(seed, len(space.centroid), U, count)
    for x, label in zip(X, y, strict=True):
        space.add(x, label)
    return X, y, u


@pytest.mark.parametrize("d", range(1, 7))
def test_orthants_of_the_box(d):
    """k of d coordinates keep one sign: volume 2^(d - k), centroid 1/2 there and 0 elsewhere."""
    space = rm.VersionSpace(d)
    for k in range(d):
        space.add(np.eye(d)[k] * 7.0, -1)
        assert space.volume == pytest.approx(2.0 ** (d - k - 1), rel=1e-9)
        expected = [-0.5] * (k + 1) + [0.0] * (d - k - 1)
        assert space.centroid == pytest.approx(np.array(expected), abs=1e-9)
        variances = [1 / 12] * (k + 1) + [1 / 3] * (d - k - 1)
        assert space.covariance == pytest.approx(np.diag(variances), abs=1e-9)
        assert len(space.cuts) == k + 1


def test_a_triangle_by_hand():
    """x >= y >= 0 in the square: a triangle with the corners (0, 0), (1, 0), (1, 1)."""
    space = rm.VersionSpace(2)
    space.add([1.0, -1.0])
    space.add([0.0, 1.0])
    assert space.volume == pytest.approx(0.5)
    assert space.centroid == pytest.approx(np.array([2 / 3, 1 / 3]))
    assert space.covariance == pytest.approx(np.array([[1 / 18, 1 / 36], [1 / 36, 1 / 18]]))
    centre, radius = space.chebyshev()
    assert radius == pytest.approx(1 / (2 + math.sqrt(2)))  # the area 1/2 over half of the perimeter
    assert centre == pytest.approx(np.array([1 - radius, radius]))
    space.add([1.0, 0.0])  # says nothing new
    assert len(space.cuts) == 2


@pytest.mark.parametrize("d", [2, 4, 5])
def test_the_exact_moments_are_those_of_many_points(d):
    space = rm.VersionSpace(d)
    X, y, _ = cut(space, d, 6, U=5.0)
    points = np.random.default_rng(0).uniform(-1, 1, (200_000, d))
    inside = points[(points @ (X * y[:, None]).T > 0).all(axis=1)]
    share = len(inside) / len(points)
    assert space.volume / 2**d == pytest.approx(share, abs=5 * math.sqrt(share / len(points)))
    error = 5 / math.sqrt(len(inside))
    assert space.centroid == pytest.approx(inside.mean(axis=0), abs=error)
    assert space.covariance == pytest.approx(np.cov(inside.T), abs=error)


@pytest.mark.parametrize(("d", "method"), [(3, "sampled"), (5, "sampled"), (8, "auto")])
def test_random_points_estimate_the_same(d, method):
    """In 8 dimensions with cuts in 3 of them: the product of a space that is exact and a box."""
    space, exact = rm.VersionSpace(d, method=method, samples=100), rm.VersionSpace(min(d, 5))
    X, y, _ = separable(d, min(d, 5), 10.0, 9)
    X = np.where(np.arange(X.shape[1]) < 3, X, 0.0) if d == 8 else X
    for x, label in zip(X, y, strict=True):
        exact.add(x, label)
        space.add(np.pad(x, (0, d - len(x))), label)
    assert not space.is_empty
    error = 6 / math.sqrt(100 * d)
    assert space.log_volume - (d - len(X[0])) * math.log(2) == pytest.approx(exact.log_volume, abs=9 * error)
    deviations = np.sqrt(np.diag(space.covariance))
    assert (space.centroid - np.pad(exact.centroid, (0, d - len(X[0])))) / deviations == pytest.approx(
        np.zeros(d), abs=error
    )
    covariance = np.diag([1 / 3] * d)
    covariance[: len(X[0]), : len(X[0])] = exact.covariance
    assert space.covariance / np.outer(deviations, deviations) == pytest.approx(
        covariance / np.outer(deviations, deviations), abs=2 * error
    )


def test_hit_and_run_ends_uniform_wherever_it_starts():
    """In a triangle of the square, from near a corner: the moments are those worked out above."""
    cuts = np.array([[1.0, -1.0], [0.0, 1.0]]) / np.array([[math.sqrt(2.0)], [1.0]])
    start = np.tile([0.01, 0.005], (4000, 1))
    points = hit_and_run(start, cuts, np.eye(2), 40, np.random.default_rng(0))
    assert points.mean(axis=0) == pytest.approx(np.array([2 / 3, 1 / 3]), abs=0.02)  # five standard errors
    assert np.cov(points.T) == pytest.approx(np.array([[1 / 18, 1 / 36], [1 / 36, 1 / 18]]), abs=0.006)


def test_a_deep_cut_leaves_points_in_a_sliver():
    """Of 600 points about one is left; those drawn anew have the exact moments of the sliver."""
    exact, space = rm.VersionSpace(3), rm.VersionSpace(3, method="sampled")
    for each in (exact, space):
        each.add([1.0, 0.0, 0.0])
        each.add([-1.0, 0.005, 0.002])
    assert exact.volume < 0.02
    root = np.linalg.cholesky(exact.covariance)
    assert np.linalg.solve(root, space.centroid - exact.centroid) == pytest.approx(np.zeros(3), abs=0.25)
    ratio = np.linalg.solve(root, np.linalg.cholesky(space.covariance))
    assert ratio == pytest.approx(np.eye(3), abs=0.25)


def test_the_points_are_in_the_space():
    space = rm.VersionSpace(7, samples=40)
    X, y, _ = cut(space, 1, 12)
    points = space.__getstate__()["points"]
    assert len(points) == 280 and np.abs(points).max() <= 1.0
    assert ((points @ (X * y[:, None]).T) > -1e-12).all()


@pytest.mark.lecture("version-space")
@pytest.mark.parametrize("d", [2, 3, 4])
def test_each_example_shrinks_the_space_to_a_ball_at_least(d):
    """The ball around U/(1 + U)·u of radius 1/(1 + U) is in it (7.2)."""
    U, space = 50.0, rm.VersionSpace(d)
    X, y, u = separable(d, d, U, 40)
    centre, radius = u * U / (1 + U), 1 / (1 + U)
    assert ((y * (X @ centre)) >= radius * (1 - 1e-9)).all() and np.linalg.norm(centre) + radius <= 1 + 1e-9
    last = space.log_volume
    for x, label in zip(X, y, strict=True):
        space.add(x, label)
        assert log_ball(d, radius) <= space.log_volume <= last + 1e-9
        last = space.log_volume
    assert space.chebyshev()[1] >= radius * (1 - 1e-9)
    assert space.contains(u) and space.contains(1e9 * u) and not space.contains(-u)
    assert last < 0.0


@pytest.mark.lecture("gravity")
@pytest.mark.parametrize("d", range(1, 6))
def test_a_cut_through_the_centroid_leaves_at_most_1_less_1_over_e(d):
    """Grünbaum's inequality, also for the slivers after 20 cuts."""
    draw, space = np.random.default_rng(d), rm.VersionSpace(d)
    for _ in range(25 if d > 1 else 1):
        c, x = space.centroid, draw.normal(size=d)
        x -= (x @ c) / max(c @ c, 1e-300) * c
        before = space.log_volume
        space.add(x)
        share = math.exp(space.log_volume - before)
        assert 1 / math.e - 1e-6 <= share <= 1 - 1 / math.e + 1e-6
    assert not space.is_empty


def feasible(X, y):
    """Whether some w has y⟨w, x⟩ >= 1 for all rows: a linear program that knows no box."""
    found = linprog(np.zeros(X.shape[1]), -X * y[:, None], -np.ones(len(X)), bounds=(None, None))
    return found.status == 0


@pytest.mark.parametrize("method", ["auto", "sampled"])
def test_it_is_empty_where_no_hyperplane_separates(method):
    for seed in range(4):
        draw, space = np.random.default_rng(seed), rm.VersionSpace(3, method=method, samples=50)
        X, y = draw.normal(size=(30, 3)), draw.choice([-1.0, 1.0], size=30)
        for t, (x, label) in enumerate(zip(X, y, strict=True), 1):
            space.add(x, label)
            assert space.is_empty != feasible(X[:t], y[:t])
            if space.is_empty:
                break
        assert space.is_empty and (space.volume, space.log_volume) == (0.0, -math.inf)
        assert space.chebyshev()[1] == 0.0 and not space.contains(space.centroid)
        before = space.centroid
        space.add(X[0])
        assert (space.centroid == before).all() and space.n_added == t


def test_new_coordinates_are_free():
    for method in ("auto", "sampled"):
        space = rm.VersionSpace(2, method=method)
        cut(space, 0, 3)
        volume, centroid = space.log_volume, space.centroid
        space.grow(2)
        assert space.log_volume == pytest.approx(volume + 2 * math.log(2))
        assert space.centroid == pytest.approx(np.append(centroid, [0.0, 0.0]))
        space.add([0.0, 0.0, 1.0, 0.0])
        assert space.log_volume == pytest.approx(volume + math.log(2), abs=0.3 if method == "sampled" else 1e-9)


def test_what_is_refused():
    for make in (
        lambda: rm.VersionSpace(0),
        lambda: rm.VersionSpace(2, method="exact"),
        lambda: rm.VersionSpace(2, samples=1),
        lambda: rm.VersionSpace(2, seed=-1),
    ):
        with pytest.raises(ValueError, match=r"`(dimension|method|samples|seed)` must be"):
            make()
    space = rm.VersionSpace(2)
    for x in ([1.0], [1.0, math.nan], [1.0, math.inf], [[1.0, 2.0]]):
        with case(x), pytest.raises(ValueError, match="`x` must be a vector of 2 finite numbers"):
            space.add(x)
    with pytest.raises(ValueError, match="`y` must be 1 or -1, not 0"):
        space.add([1.0, 0.0], 0)
    space.add([0.0, 0.0])
    assert (space.n_added, space.volume) == (0, 4.0)
    space.add([1e308, -1e308])
    assert space.volume == pytest.approx(2.0)


@pytest.mark.parametrize("parameters", [{"dimension": 3}, {"dimension": 3, "method": "sampled", "samples": 30}])
def test_copies_go_on_alike(parameters):
    for check in checks.yield_checks(rm.VersionSpace(**parameters)):
        check(rm.VersionSpace(**parameters))
    space = rm.VersionSpace(**parameters)
    cut(space, 0, 4)
    twins = {
        "deepcopy": copy.deepcopy(space),
        "pickle": pickle.loads(pickle.dumps(space)),
        "clone": space.clone(include_attributes=True),
        "snapshot": snapshot.loads(snapshot.dumps(space)),
    }
    assert space.clone().n_added == 0
    cut(space, 0, 8)
    for name, twin in twins.items():
        with case(name):
            cut(twin, 0, 8)
            assert snapshot.dumps(twin) == snapshot.dumps(space)
    with pytest.raises(ValueError, match="`cuts` of the state"):
        space.__setstate__(space.__getstate__() | {"cuts": np.ones((1, 2))})


def test_few_points_that_survive_do_not_make_a_space_empty():
    for seed in range(60):
        space = rm.VersionSpace(2, method="sampled", samples=10, seed=seed)
        space.add([1.0, 0.0])
        space.add([-1.0, 0.4])
        assert not space.is_empty, seed


def test_a_volume_beyond_floating_point_is_infinite():
    assert rm.VersionSpace(1023).volume == pytest.approx(2.0**1023)
    assert rm.VersionSpace(1024).volume == math.inf
