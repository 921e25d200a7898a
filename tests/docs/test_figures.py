"""The figures of the documentation show what they say, and come out the same each time."""

import re

import numpy as np
import pytest

import river_margins as rm
from tests.docs.test_docs import PAGES
from tests.helpers.paths import ROOT
from tests.helpers.scripts import script

SCRIPT = ROOT / "docs" / "figures" / "make.py"


@pytest.fixture(scope="module")
def make():
    with script("docs/figures/make.py") as module:
        yield module


@pytest.fixture(scope="module")
def lectures():
    """Imported late: each process of the suite reads this file, and one of them needs matplotlib."""
    from docs.figures import lectures

    return lectures


def mistakes(X, y, step):
    """Mistakes up to each round of the learner that moves by `step(margin, squared length)`, written once more."""
    w, found = np.zeros(X.shape[1]), []
    for x, label in zip(X, y, strict=True):
        margin = label * (w @ x)
        found.append(margin <= 1e-12)  # ties, which another order of summation can miss by a rounding
        w = w + step(margin, x @ x) * label * x
    return np.cumsum(found)


@pytest.mark.parametrize(("name", "passes"), [("phishing", 1), ("zeros", 3)])
def test_curves(make, name, passes):
    stream = getattr(make, name)().first(400)
    perceptron, pa_i = make.curves(stream, passes, C=0.1)
    X, y = np.tile(stream.X, (passes, 1)), np.tile(stream.y, passes)
    assert perceptron.mistakes.tolist() == mistakes(X, y, lambda margin, q: float(margin <= 1e-12)).tolist()
    assert pa_i.mistakes.tolist() == mistakes(X, y, lambda margin, q: min(0.1, max(0.0, 1 - margin) / q)).tolist()
    for curve in (perceptron, pa_i):
        assert (curve.mistakes <= curve.bound).all()
        assert (np.diff(curve.bound) >= 0).all()


def test_bounds_by_hand(make):
    stream, u = make.Stream(np.array([[1.0], [1.0], [2.0]]), np.array([1, -1, 1])), np.array([1.0])
    # The losses of u are 0, 2 and 0, R² is 1, 1 and 4, and |u| = 1.
    assert make.perceptron_bound(u, stream) == pytest.approx([1.0, 2.5 + 2.25**0.5, 4 + 12**0.5])
    assert make.pa_i_bound(u, stream, C=0.5) == pytest.approx([2 * 1.0, 2 * 3.0, 4 * 3.0])


def test_a_separable_stream_has_a_comparator_of_margin_1(make):
    stream = make.zeros().first(400)
    assert any((stream.y * (stream.X @ u)).min() == pytest.approx(1) for u in make.comparators(stream))


def test_margins_are_those_before_learning(make):
    model = make.rm.PAClassifier(C=0.01, intercept=False)
    values = make.margins(model, 200)
    assert len(values) == 200
    assert (values <= 0).sum() == model.n_mistakes
    assert (values < 1).sum() == model.n_updates + 1  # the first example, scaled, is zero: a loss, but no move


@pytest.mark.parametrize("draw", ["draw_bounds", "draw_margins"])
def test_a_figure_comes_out_the_same(make, draw, tmp_path):
    for name in ("one.svg", "two.svg"):
        with make.plt.rc_context(make.STYLE):
            getattr(make, draw)(tmp_path / name, rounds=60)
    drawn = (tmp_path / "one.svg").read_bytes()
    assert drawn == (tmp_path / "two.svg").read_bytes()
    assert drawn.count(b"stroke: #1f6fb4") + drawn.count(b"stroke: #0f4a80") >= 2


SMALL = {
    "draw_bounds": {"norms": (5, 10), "dimensions": (2, 3), "fixed": (2, 10), "size": 100},
    "draw_cone": {"examples": 3},
    "draw_budgets": {"rounds": 40},
    "draw_sampling": {"rounds": 60, "window": 20},
    "draw_winnow": {"rounds": 40, "dimensions": (20, 40)},
}


def test_no_figure_of_the_lectures_is_left_out(lectures):
    assert {draw.__name__ for draw in lectures.FIGURES.values()} == SMALL.keys()


@pytest.mark.parametrize("draw", SMALL)
def test_a_figure_of_the_lectures_has_two_panels(lectures, draw, tmp_path):
    (found,) = (each for each in lectures.FIGURES.values() if each.__name__ == draw)
    with lectures.plt.rc_context(lectures.STYLE):
        found(tmp_path / "drawn.svg", **SMALL[draw])
    drawn = (tmp_path / "drawn.svg").read_text()
    assert re.findall(r'id="axes_(\d)"', drawn) == ["1", "2"]
    assert "dc:date" not in drawn and len(re.findall(r"stroke: #\w{6}; stroke-width: 1", drawn)) >= 3


def test_the_polygon_in_the_plane_is_the_version_space(lectures):
    draw, corners, space = np.random.default_rng(0), lectures.BOX, rm.VersionSpace(2)
    for _ in range(8):
        x = draw.normal(size=2)
        x *= np.sign(x @ [0.6, 0.8])
        space.add(x)
        corners = lectures.cut(corners, x)
        a, b = corners.T
        assert (corners @ x >= -1e-12).all()
        assert abs(a @ np.roll(b, -1) - b @ np.roll(a, -1)) / 2 == pytest.approx(space.volume, rel=1e-9)
    assert 0 < space.volume < 1


def test_cuts_through_the_centroid_leave_the_share_that_the_figure_says(lectures):
    found = np.diff(lectures.cone(3, 8, central=True))
    assert (found[1:] <= np.log(1 - 1 / np.e) + 1e-9).all() and len(found) == 8


def test_every_figure_is_shown_and_every_picture_is_there():
    shown = {
        (page.parent / picture).resolve()
        for page in PAGES
        for picture in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page.read_text())
    }
    assert shown == {figure.resolve() for kind in ("svg", "png") for figure in SCRIPT.parent.glob(f"*.{kind}")}
