"""What the papers prove, on every stream: no learner may exceed its bound, whatever it is fed."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bounds.guarantees import BOUNDS
from tests.bounds.runs import LABELS, Stream, play
from tests.bounds.streams import comparators, demands, leads, parameters, shortest, streams
from tests.learners import FORMS, SEVERAL
from tests.river_margins.rules.test_problems import minimum

PAIRS = [pytest.param(form, name, id=f"{form}-{name}") for form in FORMS for name in form.bounds]
# What Zinkevich and Pegasos prove holds for the worst of all sequences; orthonormal examples are far from that.
REACHED = [pair for pair in PAIRS if not BOUNDS[pair.values[1]].ball and pair.values[0].task != "one-class"]
PRECISION = 1e-9


@pytest.mark.parametrize(("form", "name"), PAIRS)
@settings(derandomize=True, deadline=None, max_examples=50)
@given(data=st.data())
def test_a_bound_holds(form, name, data):
    bound = BOUNDS[name]
    tube = 10.0 ** data.draw(st.floats(-3, 0)) if "eps" in form.learner.free else 0.0
    stream = data.draw(streams(form.task, bound, tube))
    given = data.draw(parameters(form.learner, stream.length, but=["eps"]))
    run = play(form, stream, **given, **({"eps": tube} if "eps" in form.learner.free else {}))
    for u in comparators(run, stream, bound):
        for left, right in bound.check(run, u):
            assert np.all(left <= right + PRECISION * np.abs(right)), (left, right)


@pytest.mark.parametrize(("form", "name"), REACHED)
def test_a_bound_is_nearly_reached_on_orthonormal_examples(form, name):
    """Each example is new, so nothing that was learned helps; several passes, so that small steps add up."""
    count, passes = 8, 10
    classes = np.arange(count) % 3
    labels = np.where(classes, 1.0, -1.0)
    separator = labels
    if form.task in SEVERAL:
        labels, separator = 2**classes if form.task == "multilabel" else classes, np.eye(3)[:, classes].ravel()
    stream = Stream(np.tile(np.eye(count), (passes, 1)), np.tile(labels, passes), separator)
    given = {
        "C": 1.0,
        "lr": 0.25,
        "margin": 0.25,
        "alpha": 1.0,
        "r": 1.0,
        "a": 1.0,
        "b": 1.0,
        "beta": 1.0,
        "delta": 1.0,
        "lam": 0.01,
        "l1": 0.01,
        "l2": 0.01,
    }
    given = {parameter: given[parameter] for parameter in form.learner.free if parameter in given}
    tube = {"eps": 0.5} if "eps" in form.learner.free else {}
    run = play(form, stream, **given, **tube)
    for left, right in BOUNDS[name].check(run, shortest(run, separator)):
        assert np.max(left / np.maximum(right, 1e-300)) > 0.3


IMPOSTORS = {
    "does not move": lambda run: np.zeros_like(run.weights),
    "moves half as far": lambda run: run.weights / 2,
    "moves the wrong way": lambda run: -run.weights,
    "moves anywhere": lambda run: np.random.default_rng(0).choice([-1, 1], size=run.weights.shape) * run.weights,
}


@pytest.mark.parametrize("impostor", IMPOSTORS)
@pytest.mark.parametrize(("form", "name"), [pair for pair in PAIRS if "regret" in pair.values[1]])
def test_a_regret_bound_finds_who_does_not_learn(form, name, impostor):
    """Small steps towards one example that comes again and again, where the bounds are nearly reached."""
    rounds, given = (
        400,
        {"lr": 0.025, "alpha": 0.025, "radius": 1.0, "lam": 0.1, "l1": 1e-3, "l2": 1e-3, "eps": 0.1, "quantile": 0.5},
    )
    separator = np.array([1.0, -0.5, -0.5]) if form.task in SEVERAL else np.ones(1)
    stream = Stream(np.ones((rounds, 1)), np.zeros(rounds) if form.task in SEVERAL else np.ones(rounds), separator)
    run = play(form, stream, **{parameter: given.get(parameter, 1.0) for parameter in form.learner.free})
    weights = IMPOSTORS[impostor](run)
    other = replace(run, weights=weights, scores=weights[:-1].reshape(rounds, -1))
    found = False
    for strength in np.linspace(0.1, 1.0, 10):
        genuine, false = (BOUNDS[name].check(each, strength * separator) for each in (run, other))
        for (left, right), (others, limit) in zip(genuine, false, strict=True):
            assert np.all(left <= right + PRECISION * np.abs(right))
            found |= bool(np.any(others > limit + PRECISION * np.abs(limit)))
    assert found


@pytest.mark.parametrize(("form", "name"), [pair for pair in PAIRS if pair.values[0].task == "one-class"])
def test_a_bound_is_nearly_reached_on_a_point_far_off(form, name):
    point, eps = np.array([3.0, 4.0]), 0.5
    stream = Stream(np.tile(point, (50, 1)), np.zeros(50), point * 0.9)
    run = play(form, stream, eps=eps, **({"C": 0.3} if "C" in form.learner.free else {}))
    for left, right in BOUNDS[name].check(run, stream.separator):
        assert np.max(left / np.maximum(right, 1e-300)) > 0.3


@pytest.mark.parametrize("form", [form for form in FORMS if "size" in form.make().__getstate__()["space"]], ids=str)
def test_the_tracked_length_is_the_length(form):
    """|w|², which the bounds above do not see, after more moves than it takes until it is counted anew."""
    random, model = np.random.default_rng(0), form.make()
    for row in random.normal(size=(1500, 4)).tolist():
        label = random.normal() if form.task == "regression" else random.choice(LABELS.get(form.task, [None]))
        model.learn_one(dict(enumerate(row)), label)
    state = model.__getstate__()["space"]
    if form.space == "kernel":
        assert state["size"] == pytest.approx(length_in_a_kernel_space(model.supports, model), rel=1e-9)
        return
    length = (np.abs(state["weights"] * state["scale"]) ** form.learner.norm).sum() ** (1 / form.learner.norm)
    assert state["size"] == pytest.approx(length**2, rel=1e-9)


def length_in_a_kernel_space(supports, model):
    """|w|² = Σ c_i f(v_i), all classes together."""
    pairs = [(coefficient, model.score_one(x)) for x, coefficient in supports]
    if isinstance(pairs[0][0], dict):
        return sum(c[label] * scores[label] for c, scores in pairs for label in c)
    return sum(c * score for c, score in pairs)


@pytest.mark.parametrize("form", [form for form in FORMS if form.learner.name == "PA"], ids=str)
def test_the_comparator_is_the_shortest_separator(form):
    """Another solver finds none shorter: the right-hand sides are as small as they can be."""
    for seed in range(10):
        random = np.random.default_rng(seed)
        X, separator = random.normal(size=(15, 4)), random.normal(size=12 if form.task == "multiclass" else 4)
        run = play(form, Stream(X, leads(form.task, X, separator)[0], separator))
        rows, targets = demands(run)
        other = minimum(lambda z: (z[:-1] ** 2).sum(), separator, np.c_[rows, np.zeros(len(rows))], targets)
        assert np.linalg.norm(shortest(run, separator)) == pytest.approx(np.linalg.norm(other), rel=1e-5)
