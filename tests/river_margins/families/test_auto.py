"""Automatic learners: the bound for the best sequence of experts, as good as the best of a portfolio, and drifts."""

import math

import numpy as np
import pytest
from river import base, datasets, linear_model
from river.datasets import synth
from sklearn.datasets import make_regression

import river_margins as rm
from river_margins import snapshot

EXPERTS = 4


class Scripted(base.Classifier):
    """Predicts what it is told to, and learns nothing."""

    def __init__(self, number):
        self.number = number

    def predict_one(self, x):
        return x[self.number]

    def learn_one(self, x, y):
        pass


def scripted(eta, share):
    return rm.AutoClassifier([Scripted(number) for number in range(EXPERTS)], eta=eta, share=share)


def weights_by_number(model):
    return np.array([weight for weight, _ in sorted(model.experts, key=lambda pair: pair[1].number)])


def cheapest(losses, eta, share):
    """The least right-hand side over all sequences of experts, by dynamic programming."""
    count = losses.shape[1]
    stay, change = -math.log1p(-share), -math.log(share / count) if share else math.inf
    cost = eta * losses[0]
    for row in losses[1:]:
        cost = eta * row + np.minimum(cost + stay, cost.min() + change)
    return (cost.min() + math.log(count)) / -math.expm1(-eta)


def fates(kind, rounds, random):
    """Who is right in each round: by chance, one better than the rest, or another one after half of the rounds."""
    right = random.random((rounds, EXPERTS)) < (0.5 if kind == "chance" else 0.4)
    if kind != "chance":
        best = np.where(np.arange(rounds) < rounds // 2, 0, 2 if kind == "drift" else 0)
        right[np.arange(rounds), best] = random.random(rounds) < 0.95
    return right


@pytest.mark.parametrize("kind", ["chance", "one is better", "drift", "adversary"])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.1])
@pytest.mark.parametrize("eta", [0.1, 0.5, 3.0])
def test_the_bound_holds_for_the_best_sequence_of_experts(eta, share, kind):
    """Herbster & Warmuth 1998; an adversary gives the label against which there is most weight."""
    random, model, rounds = np.random.default_rng(1), scripted(eta, share), 400
    right = fates("chance" if kind == "adversary" else kind, rounds, random)
    paid, mistakes, losses = 0.0, 0, []
    for row in right:
        if kind == "adversary" and weights_by_number(model) @ row > 0.5:
            row = ~row
        weights = weights_by_number(model)
        x = dict(enumerate(row.tolist()))  # the label is always True
        mistakes += model.predict_one(x) is False
        model.learn_one(x, True)
        paid += weights @ ~row
        losses.append(~row)
    limit = cheapest(np.array(losses, dtype=float), eta, share)
    assert paid <= limit * (1 + 1e-12)
    assert mistakes <= 2 * limit
    if kind == "drift" and share == 0.001 and eta < 1:
        assert paid > 0.5 * limit  # so that a bound half as large would not hold


@pytest.mark.parametrize("fault", ["no loss counts", "nothing is shared"])
def test_the_bound_finds_who_does_not_keep_to_it(fault):
    model = scripted(0.5, 0.0 if fault == "nothing is shared" else 0.01)
    random, paid, losses = np.random.default_rng(1), 0.0, []
    for row in fates("drift", 2000, random):
        paid += weights_by_number(model) @ ~row
        model.learn_one(dict(enumerate(row.tolist())), True)
        if fault == "no loss counts":
            model._experts.weights = [1 / EXPERTS] * EXPERTS
        losses.append(~row)
    assert paid > cheapest(np.array(losses, dtype=float), 0.5, 0.01)


def test_weights_by_hand():
    """exp(-eta) = 1/2, and two share a fifth: 1/2 and 1/4 become 2/3 and 1/3, then 0.8·2/3 + 0.1 and 0.8/3 + 0.1."""
    model = rm.AutoClassifier([Scripted(0), Scripted(1)], eta=math.log(2), share=0.2)
    model.learn_one({0: True, 1: False}, True)
    (first, right), (second, wrong) = model.experts
    assert (right.number, wrong.number) == (0, 1)
    assert (first, second) == (pytest.approx(0.8 * 2 / 3 + 0.1), pytest.approx(0.8 / 3 + 0.1))
    assert model.predict_proba_one({0: False, 1: True}) == {True: second, False: first}
    assert model.score_one({0: False, 1: True}) == pytest.approx(second - first)


def flipped(rounds, turn=None):
    """A hyperplane in 10 dimensions with a tenth of the labels flipped, which may turn round."""
    random = np.random.default_rng(0)
    u = random.normal(size=10)
    for t, x in enumerate(random.normal(size=(rounds, 10))):
        sign = -1 if turn is not None and t >= turn else 1
        yield dict(enumerate(x.tolist())), bool((sign * (x @ u) > 0) ^ (random.random() < 0.1))


STREAMS = {
    "Phishing": datasets.Phishing,
    "ImageSegments": datasets.ImageSegments,
    "flipped labels": lambda: flipped(2000),
}


def accuracies(stream, model):
    """The accuracy of the model and those of its experts, each alone."""
    scaler, experts, right, rounds = rm.StandardScaler(), [expert.clone() for _, expert in model.experts], [], 0
    right = np.zeros(1 + len(experts))
    for x, y in stream:
        z = scaler.transform_one(x)
        scaler.learn_one(x)
        right += [model.predict_one(z) == y, *(expert.predict_learn_one(z, y) == y for expert in experts)]
        model.learn_one(z, y)
        rounds += 1
    return right[0] / rounds, right[1:] / rounds


@pytest.mark.parametrize("name", STREAMS)
def test_no_expert_is_much_better_in_hindsight(name):
    ours, theirs = accuracies(STREAMS[name](), rm.AutoClassifier())
    assert ours >= theirs.max() - 0.005


def test_under_drift_it_is_better_than_every_expert():
    ours, theirs = accuracies(flipped(3000, turn=1500), rm.AutoClassifier())
    assert ours > theirs.max()


REGRESSIONS = {
    "TrumpApproval": datasets.TrumpApproval,
    "Friedman": lambda: synth.Friedman(seed=1).take(1500),
    "far from 0": lambda: ((dict(enumerate(x)), y) for x, y in zip(*_regression(), strict=True)),
}


def _regression():
    X, y = make_regression(1000, 10, noise=5.0, bias=1000.0, random_state=0)
    return X.tolist(), y.tolist()


@pytest.mark.parametrize("name", REGRESSIONS)
def test_a_regressor_beats_the_mean_and_rivers_linear_regression(name):
    ours, rivers, scaler = rm.AutoRegressor(), linear_model.LinearRegression(), rm.StandardScaler()
    errors, total = [], 0.0
    for t, (x, y) in enumerate(REGRESSIONS[name]()):
        z = scaler.transform_one(x)
        scaler.learn_one(x)
        errors.append([abs(y - each) for each in (ours.predict_one(z), rivers.predict_one(z), total / max(t, 1))])
        ours.learn_one(z, y)
        rivers.learn_one(z, y)
        total += y
    found, linear, mean = np.mean(errors, axis=0)
    assert found < min(linear, mean / 1.5)


def test_experts_of_river_and_of_a_mixed_portfolio():
    model = rm.AutoClassifier([linear_model.LogisticRegression(), rm.PAClassifier()])
    right = 0
    for x, y in flipped(1000):
        right += model.predict_one(x) == y
        model.learn_one(x, y)
    assert right > 800


def test_an_expert_that_refuses_an_example_is_wrong_and_the_others_learn():
    model = rm.AutoClassifier([rm.Winnow(2.0), rm.PAClassifier()], eta=math.log(2), share=0.0)
    model.learn_one({"a": 1.0}, True)  # both are wrong, which have seen no label
    model.learn_one({"b": -1.0}, True)
    assert [(weight, type(expert)) for weight, expert in model.experts] == [
        (pytest.approx(2 / 3), rm.PAClassifier), (pytest.approx(1 / 3), rm.Winnow)
    ]  # fmt: skip
    assert model.experts[0][1].n_seen == 2 and model.experts[1][1].n_seen == 1


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_with_any_eta_the_weights_add_up_to_1(share):
    """exp(-1000) is 0: the weights follow who is less wrong than the others."""
    model = scripted(1000.0, share)
    for right in ([0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 1, 1], [0, 0, 0, 0]):
        model.learn_one(dict(enumerate(map(bool, right))), True)
        assert weights_by_number(model).sum() == pytest.approx(1.0)
    # The first is alone in being wrong in the third round, so it keeps a share of that round, and one of the last.
    expected = (1.0 - share) * share / EXPERTS + share / EXPERTS if share else 1.0
    assert weights_by_number(model)[0] == pytest.approx(expected)


class Weighed(Scripted):
    """Remembers the sample weights it is given."""

    weights: tuple[float, ...] = ()

    def learn_one(self, x, y, w=1.0):
        self.weights += (w,)


def test_a_sample_weight_goes_to_the_experts_and_counts_as_so_many_mistakes():
    heavy = rm.AutoClassifier([Weighed(0), Weighed(1)], eta=0.25, share=0.0)
    heavy.learn_one({0: True, 1: False}, True, w=3.0)
    heavy.learn_one({0: True, 1: False}, True)
    heavy.learn_one({0: False, 1: True}, True, w=0.0)
    (right, first), (wrong, second) = heavy.experts
    assert (first.number, first.weights, second.weights) == (0, (3.0, 1.0, 0.0), (3.0, 1.0, 0.0))
    assert wrong / right == pytest.approx(math.exp(-0.25 * 4))


def test_a_weight_of_2_is_the_same_label_twice_for_the_scale_of_a_regressor():
    once, twice = (rm.AutoRegressor([rm.PARegressor(C=1e-12)]) for _ in range(2))
    for y in (3.0, 5.0, 10.0):
        once.learn_one({}, y, w=2.0)
        twice.learn_one({}, y)
        twice.learn_one({}, y)
    assert once.predict_one({}) == pytest.approx(6.0)  # the mean
    assert once._unit == pytest.approx(twice._unit) == pytest.approx(np.std([3.0, 5.0, 10.0]))


@pytest.mark.parametrize("expert", [rm.CWClassifier(), Scripted(0)])
def test_a_weight_that_an_expert_cannot_take_is_refused_and_nobody_learns(expert):
    model = rm.AutoClassifier([rm.PAClassifier(), expert])
    with pytest.raises(ValueError, match=r"sample weight"):
        model.learn_one({0: 1.0}, True, w=2.0)
    with pytest.raises(ValueError, match=r"`w` must be a finite number of at least 0, not -1"):
        model.learn_one({0: 1.0}, True, w=-1.0)
    assert all(other.n_seen == 0 for _, other in model.experts if hasattr(other, "n_seen"))


class Diverging(base.Regressor):
    """Predicts what is no number."""

    def predict_one(self, x):
        return math.nan

    def learn_one(self, x, y):
        pass


def test_an_expert_that_predicts_no_number_has_no_say():
    alone, beside = rm.AutoRegressor([rm.PARegressor()]), rm.AutoRegressor([Diverging(), rm.PARegressor()])
    for x, y in flipped(50):
        assert beside.predict_one(x) == pytest.approx(alone.predict_one(x))
        alone.learn_one(x, float(y))
        beside.learn_one(x, float(y))
    (trusted, expert), _ = beside.experts
    assert type(expert) is rm.PARegressor and trusted > 0.9


@pytest.mark.parametrize("make", [rm.AutoClassifier, rm.AutoRegressor])
def test_what_all_refuse_changes_nothing(make):
    model = make()
    for n, (x, y) in enumerate(flipped(50)):
        model.learn_one(x, y if make is rm.AutoClassifier else float(n))
    before = snapshot.dumps(model)
    for x, y in (({"a": math.nan}, True), ({"a": "red"}, True), ({"a": 1.0}, None)):
        with pytest.raises(ValueError, match=r"feature 'a'|label None"):
            model.learn_one(x, y)
    assert snapshot.dumps(model) == before


@pytest.mark.parametrize(
    "make",
    [rm.AutoClassifier, rm.AutoRegressor, lambda: rm.AutoClassifier([rm.PAClassifier(), rm.AROWClassifier(r=2.0)])],
    ids=["classifier", "regressor", "portfolio"],
)
def test_a_snapshot_goes_on(make):
    model = make()
    rows = [(x, y if isinstance(model, base.Classifier) else float(y) + x[0]) for x, y in flipped(120)]
    for x, y in rows[:60]:
        model.learn_one(x, y)
    twin = snapshot.loads(snapshot.dumps(model))
    for x, y in rows[60:]:
        assert twin.predict_one(x) == model.predict_one(x)
        model.learn_one(x, y)
        twin.learn_one(x, y)
    assert snapshot.dumps(twin) == snapshot.dumps(model)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: rm.AutoClassifier([]), TypeError, "`portfolio` must be a list of River classifiers"),
        (lambda: rm.AutoClassifier(rm.PAClassifier()), TypeError, "a list of River classifiers, not a PAClassifier"),
        (lambda: rm.AutoClassifier([rm.PARegressor()]), TypeError, "must hold River classifiers, not a PARegressor"),
        (lambda: rm.AutoClassifier([rm.PAClassifier]), TypeError, r"PAClassifier'>: write PAClassifier\(\)"),
        (lambda: rm.AutoRegressor(eta=0.0), ValueError, "`eta` must be a finite number above 0"),
        (lambda: rm.AutoClassifier(share=1.0), ValueError, "`share` must be a number of at least 0 and below 1"),
    ],
)
def test_parameters_are_checked(make, error, words):
    with pytest.raises(error, match=words):
        make()
