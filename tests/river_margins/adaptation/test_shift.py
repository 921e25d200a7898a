"""What adapting gains: n-best lists whose users change, and two ways to adapt a classifier."""

import numpy as np
import pytest

import river_margins as rm
from river_margins.adaptation import comparison

FEATURES = ["translation", "language", "length", "rules"]


def n_best_lists(rounds, users, seed=0, size=10):
    """Lists of candidates with four features, and the qualities that users give them, with noise."""
    draw = np.random.default_rng(seed)
    for _ in range(rounds):
        H = draw.normal(size=(size, len(FEATURES)))
        yield [dict(zip(FEATURES, row, strict=True)) for row in H.tolist()], H @ users + 0.3 * draw.normal(size=size)


HOME, AWAY = np.array([1.0, 0.5, 0.0, 0.2]), np.array([-0.2, 0.5, 1.0, 0.0])


class Reranker(rm.LogLinearClassifier):
    """The log-linear model as a reranker: its label is the number of the best candidate."""

    def __init__(self):
        super().__init__(0.1, phi=lambda x, k: x[k], classes=range(10))

    def learn_one(self, x, y, w=1.0):
        super().learn_one(x, int(np.argmax(y)), w)


def lost(model, rounds, adapting=True):
    """The mean quality that the chosen candidate falls short of the best one."""
    short = []
    for x, y in rounds:
        short.append(y.max() - y[model.predict_one(x)])
        if adapting:
            model.learn_one(x, y.tolist())
    return np.mean(short)


@pytest.mark.parametrize(
    "make",
    [rm.DiscriminativeRidge, lambda: rm.DiscriminativeRidge(recursive=True, forgetting=0.95), Reranker],
    ids=["ridge", "recursive ridge", "log-linear"],
)
def test_adapting_to_users_who_change_gains_most_of_what_the_change_cost(make):
    model = make()
    lost(model, n_best_lists(300, HOME))
    at_home = lost(model, n_best_lists(100, HOME, seed=1), adapting=False)
    unadapted = lost(model, n_best_lists(300, AWAY, seed=2), adapting=False)
    adapted = lost(model, n_best_lists(300, AWAY, seed=2))
    assert at_home < 0.25
    assert unadapted > 1.0
    assert adapted < at_home + 0.3 * (unadapted - at_home)


def switches(rounds, chances, copies=1, seed=0):
    """Features that are on with a chance for each of two classes, each of them so many times under other names."""
    draw = np.random.default_rng(seed)
    for _ in range(rounds):
        y = "ab"[draw.integers(2)]
        on = draw.random(len(chances[y])) < chances[y]
        yield {(i, copy): 1.0 for i in np.flatnonzero(on).tolist() for copy in range(copies if i < 1 else 1)}, y


def errors(rounds_of, names, **parameters):
    found = [comparison.progressive_errors(rounds_of(seed), names, ["a", "b"], **parameters) for seed in range(3)]
    return np.mean([each.generative for each in found], 0), np.mean([each.discriminative for each in found], 0)


@pytest.mark.lecture("generative")
def test_independent_features_are_learned_from_fewer_examples_by_the_generative_model():
    chances = {"a": np.linspace(0.1, 0.6, 30), "b": np.linspace(0.1, 0.6, 30)[::-1]}
    names = [(i, 0) for i in range(30)]
    generative, discriminative = errors(lambda seed: switches(60, chances, seed=seed), names, lr=0.1, kappa=1.0)
    assert generative[5:].mean() < discriminative[5:].mean() - 0.02


def test_features_that_repeat_each_other_mislead_the_generative_model_only():
    """One weak feature under 20 names outvotes four better ones if it is counted 20 times."""
    chances = {"a": np.array([0.6, 0.75, 0.75, 0.75, 0.75]), "b": np.array([0.4, 0.25, 0.25, 0.25, 0.25])}
    names = [(0, copy) for copy in range(20)] + [(i, 0) for i in range(1, 5)]
    rounds = lambda seed: switches(300, chances, copies=20, seed=seed)  # noqa: E731
    generative, discriminative = errors(rounds, names, lr=0.05, kappa=1.0)
    assert generative[150:].mean() > discriminative[150:].mean() + 0.05


@pytest.mark.lecture("generative")
def test_counts_of_all_rounds_adapt_slowly_to_a_shift():
    """Plain counts (kappa = 1) need as many examples as they have seen before; stepwise ones and gradients do not."""
    one, other = np.linspace(0.2, 0.8, 6), np.linspace(0.2, 0.8, 6)[::-1]
    before, after = {"a": one, "b": other}, {"a": other, "b": one}
    names = [(i, 0) for i in range(6)]

    def rounds(seed):
        return [*switches(150, before, seed=seed), *switches(150, after, seed=seed + 100)]

    counts, gradients = errors(rounds, names, kappa=1.0)
    stepwise, _ = errors(rounds, names, kappa=0.6)
    assert counts[100:150].mean() < stepwise[100:150].mean() + 0.02
    assert stepwise[150:].mean() < counts[150:].mean() - 0.2
    assert gradients[150:].mean() < counts[150:].mean() - 0.2


def test_kappa_out_of_range_is_named():
    for kappa in (0.5, 1.5, -1.0):
        with pytest.raises(ValueError, match="`kappa`"):
            comparison.progressive_errors([], ["a"], ["a", "b"], kappa=kappa)
