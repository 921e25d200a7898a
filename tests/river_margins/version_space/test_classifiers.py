"""The classifiers that predict with a centre of the version space: bounds, growth, noise, features that join."""

import json
import math
import re

import numpy as np
import pytest
from river import multiclass
from scipy.optimize import minimize

import river_margins as rm
from benchmarks.lectures import pool
from river_margins.core.reader import INTERCEPT
from river_margins.version_space.ellipsoid import Ellipsoid
from river_margins.version_space.volumetric import Polytope
from tests.helpers.cases import case
from tests.helpers.paths import ROOT
from tests.helpers.rounds import assert_a_snapshot_goes_on, stream
from tests.river_margins.version_space.streams import (
    log_ball,
    named,
    separable,
    shallowest_mistakes,
    weights,
)

(GOLDEN,) = json.loads((ROOT / "tests/golden/version_space.json").read_text())
ALL = {
    "ellipsoid": rm.EllipsoidClassifier,
    "volumetric": rm.VolumetricCenterClassifier,
    "gravity": lambda **given: rm.CenterOfGravityClassifier(samples=30, **given),
}
every = pytest.mark.parametrize("make", ALL.values(), ids=ALL)


@pytest.mark.lecture("ellipsoid")
def test_every_round_is_as_worked_out():
    model = rm.EllipsoidClassifier(2, cut="central", intercept=False)
    for expected in GOLDEN["rounds"]:
        y, updates = expected["y"] > 0, model.n_updates
        assert model.score_one(expected["x"]) == pytest.approx(expected["score"], abs=1e-9)
        assert model.predict_one(expected["x"]) == (expected["predict"] > 0)
        model.learn_one(expected["x"], y)
        assert (model.n_updates > updates) == expected["updated"]
        centre = {name: model.weights.get(name, 0.0) for name in "ab"}
        assert centre == pytest.approx(expected["after"]["c"], abs=1e-9)
        assert model._body.matrix == pytest.approx(np.array(expected["after"]["P"]), abs=1e-9)


# ------------------------------------------------------------------------------------------------------- bounds


def ellipsoid_bound(d, U):
    return 2 * d * (d + 1) * math.log(1 + U)


def gravity_bound(d, U):
    return (d * math.log(2) - log_ball(d) + d * math.log(1 + U)) / -math.log(1 - 1 / math.e)


BOUNDED = {
    "central": (lambda d: rm.EllipsoidClassifier(d, cut="central", intercept=False), ellipsoid_bound),
    "deep": (lambda d: rm.EllipsoidClassifier(d, intercept=False), ellipsoid_bound),
    "gravity": (lambda d: rm.CenterOfGravityClassifier(intercept=False), gravity_bound),
}


def mistakes_on(model, seed, d, U):
    """The mistakes against the adversary, then in random order; the comparator is 1/(the smallest margin)·u."""
    X, y, u = separable(seed, d, U, 2000)
    for _ in shallowest_mistakes(model, X, y, 3000):
        pass
    for i in np.random.default_rng(seed).permutation(len(X))[:100]:
        model.learn_one(named(X[i]), bool(y[i] > 0))
    return model.n_mistakes, 1 / np.min(y * (X @ u))


@pytest.mark.lecture("ellipsoid", "gravity")
@pytest.mark.parametrize(("make", "bound"), BOUNDED.values(), ids=BOUNDED)
def test_mistakes_on_separable_streams_are_bounded(make, bound):
    for d, U in ((1, 10.0), (2, 1000.0), (3, 100.0), (4, 30.0)):
        model = make(d)
        mistakes, norm = mistakes_on(model, d, d, U)
        assert mistakes <= bound(d, norm) and not model.inconsistent, (d, U)
        assert mistakes >= (0.5 * d * math.log(U) if d > 1 else 0)


class Frozen(Ellipsoid):
    """Keeps its centre."""

    def cut(self, direction):
        centre = self.centre
        done = super().cut(direction)
        self.centre = centre
        return done


class Random(Ellipsoid):
    """Cuts in any direction."""

    def cut(self, direction):
        return super().cut(np.random.default_rng(len(str(self.matrix))).normal(size=len(direction)))


class Halved(Ellipsoid):
    """Cuts where it should not: half of the radius in front of the centre. So it loses consistent weights."""

    def cut(self, direction):
        width = direction @ self.matrix @ direction  # rounding can make it negative after many wrong cuts
        self.centre = self.centre - 0.5 * direction * max(width, 0.0) ** 0.5
        return super().cut(direction)


@pytest.mark.parametrize("fault", [Frozen, Random, Halved])
def test_learners_with_faults_exceed_the_bounds(fault):
    d, U = 3, 30.0
    X, y, _ = separable(0, d, U, 2000)
    model = rm.EllipsoidClassifier(d, cut="central", intercept=False)
    vars(model).update(_body=fault(d, 1.0, False, 0.0))
    for _ in shallowest_mistakes(model, X, y, 200):
        pass
    growth = max(most * d**power * math.log(U) for _, power, _, most in GROWTH.values())
    assert model.n_mistakes > max(ellipsoid_bound(d, U), gravity_bound(d, U), growth)


def test_corners_in_one_facet_up_to_rounding_leave_a_space():
    """After 8 mistakes on this pool Qhull gives up with a "precision error", although the target is consistent."""
    model, (X, y) = rm.CenterOfGravityClassifier(intercept=False), pool(2000, 6, 300)
    volumes = [model.log_volume for _ in shallowest_mistakes(model, X, y, 10)]
    assert model.n_updates == 10 and not model.inconsistent
    shrinkage = np.diff(volumes)
    assert (shrinkage <= math.log(1 - 1 / math.e) + 1e-6).all() and shrinkage.min() > -1.5


@pytest.mark.lecture("gravity")
def test_the_volume_falls_with_each_mistake():
    d = 4
    X, y, _ = separable(1, d, 30.0, 1000)
    for cut in ("central", "deep"):
        model = rm.EllipsoidClassifier(d, cut=cut, intercept=False)
        volumes = [model.log_volume, *(model.log_volume for _ in shallowest_mistakes(model, X, y, 60))]
        assert volumes[0] == pytest.approx(log_ball(d))
        assert np.diff(volumes).max() <= -1 / (2 * (d + 1))
        if cut == "central":  # the exact factor, by the determinant of the update
            factor = d / 2 * math.log(d * d / (d * d - 1)) + math.log(1 - 2 / (d + 1)) / 2
            assert np.diff(volumes) == pytest.approx(np.full(len(volumes) - 1, factor))
    model = rm.CenterOfGravityClassifier(intercept=False)
    volumes = [model.log_volume for _ in shallowest_mistakes(model, X, y, 60)]
    assert np.diff([d * math.log(2), *volumes]).max() <= math.log(1 - 1 / math.e) + 1e-9


GROWTH = {
    "ellipsoid": (lambda d: rm.EllipsoidClassifier(d, intercept=False), 2, 0.3, 1.0),
    "volumetric": (lambda d: rm.VolumetricCenterClassifier(intercept=False), 1, 1.0, 8.0),
    "gravity": (lambda d: rm.CenterOfGravityClassifier(intercept=False), 1, 0.5, 1.4),
}


@pytest.mark.lecture("volumetric", "gravity")
@pytest.mark.parametrize(("make", "power", "least", "most"), GROWTH.values(), ids=GROWTH)
def test_mistakes_grow_with_the_dimension_and_the_logarithm_of_the_norm(make, power, least, most):
    """Against the adversary: like d²·ln U for the ellipsoid, like d·ln U for the others (7.3 to 7.5)."""
    for d, U in ((2, 1e4), (2, 1e6), (4, 1e4)):
        X, y, _ = separable(10 * d + 2, d, U, 4000)
        mistakes = sum(1 for _ in shallowest_mistakes(make(d), X, y, 2000))
        assert least <= mistakes / (d**power * math.log(U)) <= most, (d, U)


# ------------------------------------------------------------------------------------------------- the ellipsoid


@pytest.mark.parametrize("depth", [0.0, 0.4, 0.9])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_cut_is_the_smallest_ellipsoid_around_what_is_left(d, depth):
    """It contains all points of the cap; and it touches the cap so that none with less volume does."""
    draw = np.random.default_rng(d)
    body = Ellipsoid(d, 1.0, True, 0.0)
    factor = draw.normal(size=(d, d))
    body.matrix, body.centre = factor @ factor.T, np.zeros(d)
    direction = draw.normal(size=d)
    body.centre = -depth * body.matrix @ direction / (direction @ body.matrix @ direction) ** 0.5
    points = draw.normal(size=(20_000, d))
    points /= np.linalg.norm(points, axis=1)[:, None]
    points *= draw.random((len(points), 1)) ** (0.2 / d)
    points = body.centre + points @ factor.T
    left = points[points @ direction >= 0.0]
    assert body.cut(direction)
    distances = np.einsum("ni,ij,nj->n", left - body.centre, np.linalg.inv(body.matrix), left - body.centre)
    assert len(left) > 50 and distances.max() <= 1.0 + 1e-9
    assert distances.max() > 0.9


def test_a_deep_cut_has_the_volume_of_the_optimum():
    """Against a numerical minimum over ellipsoids around the cap z >= s of the unit ball, which has its symmetry."""
    for d in (2, 3, 5):
        for depth in (0.0, 0.3, 0.7):
            body = Ellipsoid(d, 1.0, True, 0.0)
            body.centre = -depth * np.eye(d)[0]
            assert body.cut(np.eye(d)[0])
            corner = math.sqrt(1 - depth * depth)

            def log_volume(z, d=d, depth=depth, corner=corner):
                # The ellipsoid (w1 - z)²/a² + |rest|²/b² <= 1 through the pole (1, 0) and the rim (depth, corner).
                a = 1.0 - z
                b = corner / math.sqrt(1 - ((depth - z) / a) ** 2)
                return math.log(a) + (d - 1) * math.log(b)

            best = minimize(
                lambda z, f=log_volume: f(z[0]), [(1 + depth) / 2 - 0.3 * (1 - depth)], method="Nelder-Mead"
            )
            assert body.log_volume - log_ball(d) == pytest.approx(best.fun, abs=1e-6)


def test_new_coordinates_keep_all_consistent_weights():
    """The old ellipsoid times a ball is inside, and no ellipsoid of this form is smaller."""
    draw, body = np.random.default_rng(0), Ellipsoid(3, 2.0, True, 0.0)
    body.cut(np.array([0.6, 0.8, 0.0]))
    old = body.centre, np.linalg.cholesky(body.matrix)
    body.grow(2)
    sphere, ball = (draw.normal(size=(5000, n)) for n in (3, 2))
    sphere, ball = (each / np.linalg.norm(each, axis=1)[:, None] for each in (sphere, ball))
    points = np.hstack([old[0] + sphere @ old[1].T, 2.0 * ball]) - body.centre
    distances = np.einsum("ni,ij,nj->n", points, np.linalg.inv(body.matrix), points)
    assert distances == pytest.approx(np.ones(len(points)))  # the product of the boundaries is on the new boundary
    log_factors = [3 * math.log(s) + 2 * math.log(s / (s - 1)) for s in np.linspace(1.05, 9.0, 2000)]
    assert 3 * math.log(5 / 3) + 2 * math.log(5 / 2) <= min(log_factors) + 1e-12


def test_a_known_margin_cuts_deeper():
    X, y, u = separable(2, 4, 5.0, 1000)
    counts = []
    for margin in (0.0, 0.19):
        model = rm.EllipsoidClassifier(4, margin=margin, intercept=False)
        counts.append(sum(1 for _ in shallowest_mistakes(model, X, y, 500)))
        inside = u - model._body.centre
        assert inside @ np.linalg.solve(model._body.matrix, inside) <= 1.0  # u has this margin, and is not lost
    assert counts[1] < counts[0]


# ------------------------------------------------------------------------------------------- the volumetric centre


@pytest.mark.lecture("volumetric")
def test_the_volumetric_centre_has_no_slope():
    """F(w) = ½ ln det H(w) by its definition; its gradient at the centre is 0, and it is less nowhere near."""
    draw, body = np.random.default_rng(0), Polytope(0.25, 0.01)
    body.grow(3)
    for direction in draw.normal(size=(8, 3)):
        assert body.cut(direction / np.linalg.norm(direction) * -np.sign(direction @ body.centre or 1.0))
    rows = np.vstack([np.eye(3), -np.eye(3), body.cuts])
    offsets = np.concatenate([-np.ones(6), body.offsets])

    def F(w):
        H = sum(np.outer(a, a) / (a @ w - b) ** 2 for a, b in zip(rows, offsets, strict=True))
        return 0.5 * math.log(np.linalg.det(H))

    least = F(body.centre)
    for step in np.vstack([np.eye(3), draw.normal(size=(5, 3))]):
        slope = (F(body.centre + 1e-5 * step) - F(body.centre - 1e-5 * step)) / 2e-5
        assert slope == pytest.approx(0.0, abs=1e-4)
        assert F(body.centre + 0.05 * step) > least
    assert (rows @ body.centre > offsets).all()


def test_a_cut_lies_behind_the_centre_by_kappa_and_cuts_of_no_influence_go():
    body = Polytope(0.25, 0.01)
    body.grow(2)
    assert body.cut(np.array([0.0, 1.0]))
    # In the box H = diag(2, 2) at 0, so that the depth is sqrt((1/2)/kappa) = sqrt(2).
    assert body.offsets == pytest.approx(np.array([-math.sqrt(2.0)]))
    X, y, u = separable(0, 4, 100.0, 2000)
    model = rm.VolumetricCenterClassifier(intercept=False)
    for _ in shallowest_mistakes(model, X, y, 400):
        assert (model._body.cuts @ (u / np.abs(u).max()) > model._body.offsets).all()
    assert model.n_updates > 60 and len(model._body.cuts) < 18 * 4
    assert (y * (X @ weights(model, 4)) > 0).all()


# ------------------------------------------------------------------------------------------------------ all three


@every
def test_streams_that_no_hyperplane_separates_are_flagged_and_survived(make):
    model, draw = make(), np.random.default_rng(0)
    while not model.inconsistent:
        assert model.n_seen < 1000
        x = named(draw.normal(size=1))
        model.learn_one(x, bool(draw.random() < 0.5))
        assert math.isfinite(model.score_one(x))
    before = model.weights
    for x in draw.normal(size=(50, 1)):
        model.learn_one(named(x), bool(draw.random() < 0.5))
    assert model.inconsistent and all(map(math.isfinite, model.weights.values()))
    assert model.weights == before or isinstance(model, rm.EllipsoidClassifier)
    model.learn_one({"new": 1.0}, False)
    assert model.predict_proba_one({"f0": 1.0}).keys() == {True, False}


@every
def test_features_join_and_the_scale_of_examples_does_not_matter(make):
    X, _, u = separable(5, 4, 20.0, 150)
    plain, scaled = make(intercept=False), make(intercept=False)
    for t, x in enumerate(X):
        x = x * (np.arange(4) <= t // 20)
        plain.learn_one(named(x), bool(x @ u > 0))
        scaled.learn_one(named(x * 2.0 ** (t % 7 - 3)), bool(x @ u > 0))
    assert scaled.weights == plain.weights
    assert set(plain.weights) == {"f0", "f1", "f2", "f3"}


@every
def test_examples_without_features_are_skipped_or_learned_by_the_intercept(make):
    model = make(intercept=False)
    model.learn_one({}, False)
    model.learn_one({"a": 0.0}, False)
    assert (model.n_seen, model.n_mistakes, model.n_updates, model.weights) == (2, 2, 0, {})
    model = make()
    model.learn_one({}, False)
    assert model.predict_one({}) is False and set(model.weights) == {INTERCEPT}


@every
def test_huge_and_tiny_values(make):
    model = make()
    for x in ({"a": 1e308, "b": -1e308}, {"a": 5e-324}, {"a": 1e308, "b": 1e308}):
        model.learn_one(x, False)
        assert not math.isnan(model.score_one({"a": 1.7e308, "b": -1.7e308}))
    assert all(map(math.isfinite, model.weights.values()))


@every
def test_labels_and_dimensions(make):
    model = make(classes=["ham", "spam"], max_dimension=3)
    model.learn_one({"a": 1.0, "b": 1.0}, "ham")
    assert model.predict_one({"a": 1.0, "b": 1.0}) == "ham"
    with pytest.raises(ValueError, match="neither 'ham' nor 'spam'"):
        model.learn_one({"a": 1.0}, True)
    before = model.__getstate__()["n_seen"], model.weights
    with pytest.raises(ValueError, match="would have 5 features, more than `max_dimension` = 3"):
        model.learn_one({"c": -1.0, "d": 1.0}, "ham" if model.predict_one({"c": -1.0, "d": 1.0}) == "spam" else "spam")
    assert (model.n_seen, model.weights) == before
    with pytest.raises(ValueError, match="feature 'a' is nan"):
        model.learn_one({"a": math.nan}, "ham")
    several = multiclass.OneVsRestClassifier(make())
    for name, x in {"x": 1.0, "y": -1.0, "z": 0.0}.items() | {("y", -2.0)}:
        several.learn_one({"a": x, "b": x * x}, name)
    assert several.predict_one({"a": -1.0, "b": 1.0}) in "xyz"


@every
def test_contributions_add_up_to_the_score(make):
    model = make()
    for x, y in stream(rounds=30):
        model.learn_one(x, y)
        explained = model.explain_one(x | {"new": 2.0})
        assert math.fsum(explained.values()) == pytest.approx(model.score_one(x), abs=1e-12)
        assert explained.keys() == {*x, "new", INTERCEPT}
        assert [*map(abs, explained.values())] == sorted(map(abs, explained.values()), reverse=True)
    table = (rm.StandardScaler() | model).debug_one(x)
    assert "Contribution" in table and "INTERCEPT" in table


@every
def test_a_snapshot_goes_on(make):
    model = make()
    assert_a_snapshot_goes_on(model)
    state = model.__getstate__()
    with pytest.raises(ValueError, match="coordinates of the features"):
        model.__setstate__(state | {"places": [7] * len(state["places"])})


def test_parameters_out_of_range():
    for make, words in (
        (lambda: rm.EllipsoidClassifier(0), "`dimension`"),
        (lambda: rm.EllipsoidClassifier(9, max_dimension=8), "`dimension` must be at most `max_dimension` = 8"),
        (lambda: rm.EllipsoidClassifier(cut="flat"), "`cut`"),
        (lambda: rm.EllipsoidClassifier(margin=1.0), "`margin` must be below `radius` = 1.0, not 1.0"),
        (lambda: rm.EllipsoidClassifier(margin=0.5, radius=0.25), "`margin` must be below `radius` = 0.25"),
        (lambda: rm.EllipsoidClassifier(radius=1e155), "`radius`"),
        (lambda: rm.EllipsoidClassifier(radius=1e-170), "`radius`"),
        (lambda: rm.EllipsoidClassifier(cut="central", margin=0.1), "`margin` = 0.1 needs deep cuts"),
        (lambda: rm.EllipsoidClassifier(margin=-1.0), "`margin`"),
        (lambda: rm.EllipsoidClassifier(radius=0.0), "`radius`"),
        (lambda: rm.VolumetricCenterClassifier(1.0), "`kappa`"),
        (lambda: rm.VolumetricCenterClassifier(eps=0.0), "`eps`"),
        (lambda: rm.CenterOfGravityClassifier("exact"), "`method`"),
        (lambda: rm.CenterOfGravityClassifier(samples=9), "`samples`"),
        (lambda: rm.CenterOfGravityClassifier(max_dimension=0), "`max_dimension`"),
    ):
        with case(words), pytest.raises(ValueError, match=words):
            make()


def test_sampled_centres_are_as_good_as_exact_ones():
    X, y, _ = separable(3, 4, 100.0, 2000)
    counts = []
    for method in ("auto", "sampled"):
        model = rm.CenterOfGravityClassifier(method, samples=100, intercept=False)
        counts.append(sum(1 for _ in shallowest_mistakes(model, X, y, 300)))
        assert not model.inconsistent
    assert counts[1] <= 1.5 * counts[0]


def test_a_variance_that_rounding_makes_negative_ends_the_polytope():
    body = Polytope(0.25, 0.01)
    body.grow(2)
    body._measure = lambda: (-1e-17 * np.eye(2), np.ones(4))
    assert not body.cut(np.array([0.6, 0.8])) and body.inconsistent


@pytest.mark.parametrize("cut", ["central", "deep"])
@pytest.mark.parametrize("margin", [1e-7, 1e-9, 1e-11])
def test_the_bound_holds_for_tiny_margins(margin, cut):
    """The examples are nearly along the error of the centre, at this distance from the plane of a fixed u."""
    d, draw = 3, np.random.default_rng(0)
    u = draw.normal(size=d)
    u /= np.linalg.norm(u)
    model = rm.EllipsoidClassifier(d, cut=cut, intercept=False)
    for _ in range(400):
        y = 1.0 if draw.random() < 0.5 else -1.0
        centre = model._body.centre
        along = -y * centre if centre.any() else draw.normal(size=d)
        for _ in range(2):  # the second time takes away what rounding has left of u
            along = along - (along @ u) * u
            along /= np.linalg.norm(along)
        model.learn_one(dict(enumerate((along + y * margin * u).tolist())), y > 0)
    assert not model.inconsistent
    assert np.linalg.eigvalsh(model._body.matrix)[0] > -1e-12 * np.linalg.eigvalsh(model._body.matrix)[-1]
    assert 10 < model.n_mistakes <= ellipsoid_bound(d, 1 / margin)


@every
@pytest.mark.parametrize("intercept", [True, False])
def test_the_advised_hasher_bounds_the_features(make, intercept):
    stream = [({f"f{i}": 1.0, f"f{i + 1}": -0.5}, i % 2 == 0) for i in range(20)]
    with pytest.raises(ValueError, match="more than `max_dimension` = 4") as refused:
        alone = make(max_dimension=4, intercept=intercept)
        for x, y in stream:
            alone.learn_one(x, y)
    buckets = int(re.search(r"FeatureHasher\((\d+)\)", str(refused.value))[1])
    model = rm.FeatureHasher(buckets) | make(max_dimension=4, intercept=intercept)
    for x, y in stream:
        model.learn_one(x, y)


@pytest.mark.parametrize("least", [3.0, 0.0, -1e-17])
def test_a_snapshot_with_the_matrix_itself_is_read(least):
    body = Ellipsoid(3, 1.0, True, 0.0)
    body.restore({"centre": np.zeros(3), "matrix": np.diag([1.0, 2.0, least]), "inconsistent": False})
    assert body.matrix == pytest.approx(np.diag([1.0, 2.0, least]), abs=1e-15)
