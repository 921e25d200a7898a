"""Automatic learners: the bound for the best sequence of experts, as good as the best of a portfolio, and drifts."""

import copy
import itertools
import math
import pickle
import random

import numpy as np
import pytest
from river import base, compose, datasets, drift, dummy, linear_model, multioutput, stats
from river.datasets import synth
from sklearn.datasets import make_regression

import river_margins as rm
from river_margins import snapshot
from river_margins.families.auto import usual_classifiers, usual_regressors
from tests.helpers.python_rules import MarginPerceptron

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


class RefusingNumbers(base.Regressor):
    """A regressor that refuses to learn, and always predicts 0."""

    def predict_one(self, x):
        return 0.0

    def learn_one(self, x, y):
        raise ValueError("no")


def test_a_regressor_that_refuses_an_example_has_the_largest_loss():
    """exp(-ln 2) each time, from the third label on: the second error is the first scale. The other one loses less."""
    model = rm.AutoRegressor([RefusingNumbers(), rm.OGDRegressor(1e-9)], eta=math.log(2), share=0.0)
    for y in (1.0, -1.0, 1.0, -1.0, 1.0, -1.0):
        model.learn_one({"a": 1.0}, y)
    (_, first), (least, second) = model.experts
    assert (type(first), type(second)) == (rm.OGDRegressor, RefusingNumbers)
    assert least < 1 / 3


def test_the_scale_of_errors_follows_a_drift():
    """Errors of 1, and then of 10: after 1000 rounds with a weight of 1/1000 each, 10 - 9/e, where the mean is 4."""
    model = rm.AutoRegressor([rm.OGDRegressor(1e-9)])
    for t in range(3000):
        model.learn_one({}, (-1) ** t * (1.0 if t < 2000 else 10.0))
    assert model.__getstate__()["error"] == pytest.approx(10 - 9 / math.e, rel=0.05)


@pytest.mark.parametrize("y", [None, "red", [1]])
def test_a_label_is_checked_by_the_experts(y):
    model = rm.AutoClassifier()
    model.check_label(True)
    model.learn_one({"a": 1.0}, True)
    for check in (model.check_label, lambda label: model.learn_one({"a": 1.0}, label)):
        with pytest.raises(ValueError, match="label"):
            check(y)


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_with_any_eta_the_weights_add_up_to_1(share):
    """exp(-1000) is 0: the weights follow who is less wrong than the others."""
    model = scripted(1000.0, share)
    for right in ([0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 1, 1], [0, 0, 0, 0]):
        model.learn_one(dict(enumerate(map(bool, right))), True)
        assert weights_by_number(model).sum() == pytest.approx(1.0)
    # The first is alone in being wrong in the third round, so it keeps a share of that round, and one of the last.
    # Without a share all fall to the least weight. The others do so in the second round, which divides by a sum of 1/4.
    expected = (1.0 - share) * share / EXPERTS + share / EXPERTS if share else 1 / 13
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
    assert once._experts.unit == pytest.approx(twice._experts.unit) == pytest.approx(np.std([3.0, 5.0, 10.0]))


@pytest.mark.parametrize("expert", [rm.CWClassifier(), Scripted(0)])
def test_a_weight_that_an_expert_cannot_take_is_refused_and_nobody_learns(expert):
    model = rm.AutoClassifier([rm.PAClassifier(), expert])
    with pytest.raises(ValueError, match=r"sample weight"):
        model.learn_one({0: 1.0}, True, w=2.0)
    with pytest.raises(ValueError, match=r"`w` must be a finite number of at least 0 and at most 1e\+100, not -1"):
        model.learn_one({0: 1.0}, True, w=-1.0)
    assert all(other.n_seen == 0 for _, other in model.experts if hasattr(other, "n_seen"))


class Diverging(base.Regressor):
    """Predicts what is not a number."""

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


class Constant(base.Regressor):
    """Predicts a number of standard deviations, and learns nothing."""

    def __init__(self, number):
        self.number = number

    def predict_one(self, x):
        return self.number

    def learn_one(self, x, y, w=1.0):
        pass


@pytest.mark.parametrize(("number", "expected"), [(0.0, 5.0), (2.0, 15.0), (99.0, 20.0), (-2.0, -5.0), (-99.0, -10.0)])
def test_no_prediction_is_farther_from_the_labels_than_they_are_apart(number, expected):
    """Labels 0 and 10 have the mean 5 and the deviation 5, and permit what lies between -10 and 20."""
    model = rm.AutoRegressor([Constant(number)])
    for y, w in ((0.0, 1.0), (1000.0, 0.0), (10.0, 1.0)):  # the one that counts for nothing permits nothing
        model.learn_one({}, y, w=w)
    assert model.predict_one({}) == pytest.approx(expected)
    assert model.predict_learn_one({}, 7.0) == pytest.approx(expected)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_rare_huge_features_do_not_make_it_much_worse_than_the_mean(seed):
    """No linear function follows features that count up to 3 only; beyond, the best one on most examples is far off."""
    random, ours, scaler, mean = np.random.default_rng(seed), rm.AutoRegressor(), rm.StandardScaler(), 0.0
    X, u, errors = random.pareto(1.2, size=(4000, 6)), random.normal(size=6), []
    for t, (row, y) in enumerate(zip(X.tolist(), np.minimum(X, 3.0) @ u + random.normal(size=4000) / 2, strict=True)):
        x = dict(enumerate(row))
        errors.append([abs(ours.predict_one(scaler.transform_one(x)) - y), abs(mean - y)])
        scaler.learn_one(x)
        ours.learn_one(scaler.transform_one(x), y)
        mean += (y - mean) / (t + 1)
    found, of_mean = np.mean(errors, axis=0)
    assert found < 1.05 * of_mean


def test_a_state_of_an_earlier_version_permits_all_numbers():
    model, read = rm.AutoRegressor([Constant(99.0)]), rm.AutoRegressor([Constant(99.0)])
    for y in (0.0, 10.0):
        model.learn_one({}, y)
    state = model.__getstate__()
    del state["lowest"], state["highest"]
    read.__setstate__(state)
    read = copy.deepcopy(read)
    assert read.predict_one({}) == pytest.approx(5.0 + 99.0 * 5.0)


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


def by_themselves(experts, stream, eta, share):
    """Yield what experts that learn alone predicted in each round, and then their weights by the formula.

    An expert that refuses an example predicts None. A round that all refuse yields None.
    """
    weights = np.full(len(experts), 1.0 / len(experts))
    for x, y in stream:
        found, refused = [], 0
        for expert in experts:
            try:
                predicted = expert.predict_one(x)
                expert.learn_one(x, y)
            except (ValueError, OverflowError):
                predicted, refused = None, refused + 1
            found.append(predicted)
        if refused == len(experts):
            yield None, weights
            continue
        weights = weights * np.exp(-eta * np.array([predicted != y for predicted in found]))
        weights = (1.0 - share) * weights / weights.sum() + share / len(experts)
        yield found, weights


def odd(kind, rounds=45):
    """Streams on which experts learn their features in different rounds and orders."""
    random = np.random.default_rng(5)
    names = [f"feature {number}" for number in range(6)]
    for t, values in enumerate(random.normal(size=(rounds, 6)).tolist()):
        x, y = dict(zip(names, values, strict=True)), values[0] + values[1] > 0.0
        if kind == "come and go":
            x = {name: x[name] for name in random.permutation(names)[: random.integers(7)].tolist()}
        elif kind == "new names":
            x |= {f"new {t // 3}": 1.0, f"rare {t % 20}": -1.0}
        elif kind == "new classes":
            y = f"class {int(t**0.5) * y}"
        elif kind == "labels of numpy":
            y = np.bool_(y)
        elif kind == "classes of numpy":
            y = np.str_(y)
        elif kind == "huge":
            x |= {names[t % 6]: 1e200} if t % 9 == 8 else {}
        elif kind == "no numbers":
            x |= {names[t % 6]: (math.nan, "red")[t % 2]} if t % 9 > 6 else {}
        elif kind == "other labels":
            y = None if t % 9 == 8 else y
        elif kind == "equal keys":
            x = {(True, 1, 1.0)[t % 3] if name == names[0] else str(name): value for name, value in x.items()}
        yield x, y


def mixed():
    """Experts that read in different ways: with an intercept, without, with hashed features, and in Python."""
    return [
        rm.Perceptron(),  # which moves, and so learns a name, later than others
        rm.PAClassifier(intercept=False),
        rm.AROWClassifier(max_features=4),
        rm.PAClassifier(max_features=4, C=0.1),
        linear_model.Perceptron(),
        rm.MarginClassifier(MarginPerceptron()),
        rm.KernelPerceptron(rm.RBF(0.5)),
        rm.SCWClassifier(C=0.1),
        rm.AROWClassifier(max_features=3),
        rm.PAClassifier(C=0.1, intercept=False),
    ]


def copied(model, how):
    return {
        "itself": lambda: model,
        "copy": lambda: copy.deepcopy(model),
        "pickle": lambda: pickle.loads(pickle.dumps(model)),
        "clone": lambda: model.clone(include_attributes=True),
        "snapshot": lambda: snapshot.loads(snapshot.dumps(model)),
    }[how]()


def states(experts):
    return [pickle.dumps(expert) for expert in experts]


KINDS = ["every name", "come and go", "new names", "equal keys", "huge", "labels of numpy"]
HARDER = ["new classes", "classes of numpy", "no numbers", "other labels"]  # not for River's perceptron


@pytest.mark.parametrize(
    ("portfolio", "kind"), [*((usual_classifiers, kind) for kind in KINDS + HARDER), *((mixed, kind) for kind in KINDS)]
)
def test_experts_learn_together_what_each_learns_alone(portfolio, kind):
    model, alone, seen = rm.AutoClassifier(portfolio(), eta=0.3, share=0.01), portfolio(), []
    for (x, y), (found, weights) in zip(odd(kind), by_themselves(alone, odd(kind), 0.3, 0.01), strict=True):
        if found is None:
            with pytest.raises((ValueError, OverflowError)):
                model.learn_one(x, y)
        else:
            votes = dict.fromkeys(seen, 0.0)
            for weight, predicted in zip(model._experts.weights, found, strict=True):
                votes[predicted] = votes.get(predicted, 0.0) + weight
            if seen and None not in found:
                assert model.predict_one(x) == max(votes, key=votes.get)
                if set(votes) <= {True, False}:
                    votes = {True: 0.0, False: 0.0} | votes
                assert model.predict_proba_one(x) == pytest.approx(votes)
            model.learn_one(x, y)
            seen = [*dict.fromkeys([*seen, y])]
        assert states(model._experts.members) == states(alone)
        assert model._experts.weights == pytest.approx(weights, rel=1e-9)


@pytest.mark.parametrize(
    ("portfolio", "kind"), [*((usual_classifiers, kind) for kind in KINDS + HARDER), *((mixed, kind) for kind in KINDS)]
)
def test_one_call_is_both(portfolio, kind):
    once, twice, raised = rm.AutoClassifier(portfolio(), eta=0.3), rm.AutoClassifier(portfolio(), eta=0.3), 0
    for x, y in odd(kind):
        try:
            predicted = twice.predict_one(x)
            twice.learn_one(x, y)
        except (ValueError, OverflowError) as error:
            raised += 1
            with pytest.raises(type(error)):
                once.predict_learn_one(x, y)
        else:
            found = once.predict_learn_one(x, y)
            assert found == predicted and type(found) is type(predicted)
        assert states(once._experts.members) == states(twice._experts.members)
        assert once._experts.weights == twice._experts.weights
    assert bool(raised) == (kind in ("no numbers", "other labels") or (kind, portfolio) == ("huge", usual_classifiers))


class Stubborn(base.Classifier):
    """A classifier that refuses to learn, and always says the same."""

    def predict_one(self, x):
        return True

    def learn_one(self, x, y):
        raise ValueError("no")


def test_one_call_counts_the_votes_of_those_that_refuse_to_learn():
    """Two that cannot learn outvote the one that can, until their weights have fallen: 2·exp(-0.5) > 1 > 2·exp(-1)."""
    once, twice = (rm.AutoClassifier([Stubborn(), Stubborn(), rm.PAClassifier()]) for _ in range(2))
    said = []
    for _ in range(4):
        said.append(twice.predict_one({"a": 1.0}))
        twice.learn_one({"a": 1.0}, False)
        assert once.predict_learn_one({"a": 1.0}, False) is said[-1]
    assert said == [True, True, True, False]  # the third knows no label in the first round, and is wrong, too


@pytest.mark.parametrize("kind", ["every name", "come and go", "new names"])
def test_one_call_of_a_regressor_is_both(kind):
    once, twice = rm.AutoRegressor(), rm.AutoRegressor()
    for t, (x, _) in enumerate(odd(kind)):
        y = 100.0 + sum(x.values()) if t % 10 else 1e6
        predicted = twice.predict_one(x)
        twice.learn_one(x, y, w=1.0 + t % 2)
        assert once.predict_learn_one(x, y, w=1.0 + t % 2) == predicted
    assert pickle.dumps(once) == pickle.dumps(twice)


@pytest.mark.parametrize("how", ["itself", "copy", "pickle", "clone", "snapshot"])
@pytest.mark.parametrize("kind", ["every name", "come and go", "new names"])
def test_a_copy_goes_on_as_experts_alone(kind, how):
    rows, alone = list(odd(kind)), usual_classifiers()
    model = rm.AutoClassifier()
    for t, ((x, y), _) in enumerate(zip(rows, by_themselves(alone, rows, 0.5, 0.001), strict=True)):
        if t in (10, 35):
            model = copied(model, how)
        model.learn_one(x, y)
        assert states(model._experts.members) == states(alone)


@pytest.mark.parametrize("number", [0, 1])
def test_an_expert_may_get_other_weights_in_the_middle(number):
    """Then its features have another order than those of the others."""
    rows, experts = list(odd("every name")), [rm.PAClassifier(), rm.PAClassifier(C=0.1), rm.AROWClassifier()]
    model, alone = rm.AutoClassifier(experts), [expert.clone() for expert in experts]
    for t, ((x, y), _) in enumerate(zip(rows, by_themselves(alone, rows, 0.5, 0.001), strict=True)):
        model.learn_one(x, y)
        assert states(model._experts.members) == states(alone)
        if t in (5, 20):
            for expert in (model._experts.members[number], alone[number]):
                expert.weights = dict(reversed(dict(expert.weights).items()))


@pytest.mark.parametrize("kind", ["every name", "come and go", "new names"])
def test_a_regressor_follows_the_formulas(kind):
    """The mean, the standard deviation and the mean error of all labels so far, and weights by losses, in numpy."""
    model, experts = rm.AutoRegressor(eta=0.7, share=0.01), usual_regressors()
    weights, labels, error = np.full(len(experts), 1.0 / len(experts)), [], 0.0
    for x, _ in odd(kind):
        y = 7.0 + 3.0 * sum(x.values())
        mean, unit = (np.mean(labels), np.std(labels) or 1.0) if labels else (0.0, 1.0)
        found = mean + unit * np.array([expert.predict_one(x) for expert in experts])
        assert model.predict_one(x) == pytest.approx(weights @ found, rel=1e-6)
        labels.append(y)
        for expert in experts:
            expert.learn_one(x, (y - np.mean(labels)) / (np.std(labels) or 1.0))
        combined, losses = abs(weights @ found - y), np.abs(found - y)
        if error:
            weights = weights * np.exp(-0.7 * np.minimum(losses / (2.0 * error), 1.0))
            weights = 0.99 * weights / weights.sum() + 0.01 / len(experts)
        if len(labels) > 1:
            error += (combined - error) / len(labels)
        model.learn_one(x, y)
        assert model._experts.weights == pytest.approx(weights, rel=1e-5)


def test_experts_are_told_apart_however_far_the_labels_are_from_0():
    """The weights are those of the same labels around 0."""
    weights = []
    for distance in (0.0, 1e6):
        model = rm.AutoRegressor()
        for x, _ in odd("every name"):
            model.learn_one(x, distance + sum(x.values()))
        weights.append(model._experts.weights)
    assert max(weights[0]) > 2.0 / len(weights[0]) and weights[1] == pytest.approx(weights[0], abs=1e-3)


@pytest.mark.parametrize("x", [[1.0], None, "red", {"feature 0": object()}, {"feature 0": 1.0, "new": math.inf}])
@pytest.mark.parametrize("make", [rm.AutoClassifier, rm.AutoRegressor])
def test_what_is_no_example_changes_nothing(make, x):
    model = make()
    for row, y in odd("every name", 20):
        model.learn_one(row, y)
    before = snapshot.dumps(model)
    for call in (model.predict_one, lambda x: model.learn_one(x, True)):
        with pytest.raises((TypeError, ValueError), match=r"dict of features|feature '"):
            call(x)
    assert snapshot.dumps(model) == before


WAYS_TO_READ = [{"intercept": False}, {}, {"max_features": 2, "intercept": False}, {"max_features": 2}]


@pytest.mark.parametrize(("first", "second"), [*itertools.permutations(range(4), 2)])
def test_experts_that_read_in_different_ways_share_nothing(first, second):
    """The number of a bucket may also be a name, and an example without features is read before any name is known."""
    experts = [rm.PAClassifier(C=0.1, **WAYS_TO_READ[number]) for number in (first, second)]
    model, alone = rm.AutoClassifier(experts), [expert.clone() for expert in experts]
    rows = [({}, True), *(({0: 1.0, 1: float(t)}, t % 2 == 0) for t in range(5))]
    for (x, y), _ in zip(rows, by_themselves(alone, rows, 0.5, 0.001), strict=True):
        model.learn_one(x, y)
        assert states(model._experts.members) == states(alone)


def test_labels_that_stand_twice_in_a_state_count_once():
    model = rm.AutoClassifier()
    for x, y in odd("every name"):
        model.learn_one(x, y)
    votes = model.predict_proba_one(x)
    model.__setstate__(model.__getstate__() | {"labels": [False, True, True] * 100})
    assert model.predict_proba_one(x) == votes


def test_bools_of_numpy_are_bools():
    for make in (rm.AutoClassifier, rm.Hedge):
        plain, given = make(), make()
        for x, y in odd("every name", 20):
            plain.learn_one(x, bool(y))
            given.learn_one(x, np.bool_(y))
            assert given.score_one(x) == plain.score_one(x) and type(given.predict_one(x)) is bool
        assert snapshot.dumps(given) == snapshot.dumps(plain)


@pytest.mark.parametrize("y", [1e200, -1e200, 1e308])
def test_a_label_whose_square_overflows_is_refused_and_changes_nothing(y):
    model = rm.AutoRegressor()
    model.learn_one({"a": 1.0}, -1.0)
    before = snapshot.dumps(model)
    for learn in (model.learn_one, model.predict_learn_one):
        with pytest.raises(OverflowError, match="the variance of the labels"):
            learn({"a": 1.0}, y)
    assert snapshot.dumps(model) == before


@pytest.mark.parametrize("make", [rm.AutoRegressor, rm.OnlineMLPRegressor])
def test_labels_so_close_that_their_variance_vanishes_are_learned(make):
    model = make()
    for y in (0.0, 3e-162, 0.0, 0.0, 0.0, 0.0):
        model.learn_one({"a": 1.0}, y)
    assert math.isfinite(model.predict_one({"a": 1.0}))


def test_with_large_sample_weights_the_weights_stay_finite():
    model = rm.AutoClassifier([Weighed(0), Weighed(1)], eta=0.5, share=0.0)
    for right in (0, 1, 0):
        model.learn_one({0: right == 0, 1: right == 1}, True, w=1440.0)  # exp(-720) is subnormal
        assert sum(weight for weight, _ in model.experts) == pytest.approx(1.0)


@pytest.mark.parametrize("make", [rm.AutoClassifier, rm.Hedge, lambda: rm.Calibrated(rm.AutoClassifier())])
def test_before_the_first_label_true_and_false_are_equally_probable(make):
    assert make().predict_proba_one({"a": 1.0}) == {True: 0.5, False: 0.5}


def test_rivers_chain_takes_votes_of_two_labels():
    votes = rm.AutoClassifier([linear_model.LogisticRegression(), rm.PAClassifier()])
    chain = multioutput.ClassifierChain(votes, order=["a", "b"])
    for _ in range(3):
        chain.learn_one({"x": 1.0}, {"a": True, "b": False})
    assert chain.predict_one({"x": 1.0}) == {"a": True, "b": False}


def test_a_weight_goes_through_rivers_wrappers():
    wrapped = drift.DriftRetrainingClassifier(rm.PAClassifier(C=0.1, intercept=False), drift.binary.DDM())
    model = rm.AutoClassifier([rm.PAClassifier(), wrapped])
    model.learn_one({"a": 1.0}, True, w=2.0)
    (inner,) = [each for _, each in model.experts if isinstance(each, drift.DriftRetrainingClassifier)]
    assert dict(inner.model.weights) == {"a": 0.2}


@pytest.mark.parametrize("make", [rm.AutoClassifier, rm.Hedge])
def test_a_label_that_one_expert_takes_is_taken(make):
    model = make([rm.CenterOfGravityClassifier(), rm.PAClassifier()])
    model.check_label("spam")
    rm.SelectiveSampler(model).learn_one({"a": 1.0}, "spam")
    with pytest.raises(ValueError, match="label None"):
        model.check_label(None)


@pytest.mark.parametrize("before", [0, 20])
@pytest.mark.parametrize("make", [rm.AutoRegressor, rm.OnlineMLPRegressor])
def test_a_huge_label_is_refused_wherever_it_comes(make, before):
    model = make()
    for n in range(before):
        model.learn_one({"a": n % 3 - 1.0}, float(n % 5))
    kept = snapshot.dumps(model)
    for y in (1e200, -1e300):
        with pytest.raises(OverflowError, match="the variance of the labels"):
            model.learn_one({"a": 1.0}, y)
    assert snapshot.dumps(model) == kept
    model.learn_one({"a": 1.0}, 2.0)
    assert abs(model.predict_one({"a": 1.0})) < 100.0


def test_a_round_of_weight_0_shares_nothing():
    model = rm.AutoClassifier([Weighed(0), Weighed(1)], share=0.1)
    model.learn_one({0: True, 1: False}, True)
    before = model._experts.weights
    model.learn_one({0: False, 1: True}, True, w=0.0)
    assert model._experts.weights == before
    numbers = rm.AutoRegressor([rm.PARegressor(), rm.PARegressor(0.001, mode=1)], share=0.1)
    for n in range(20):
        numbers.learn_one({"a": 1.0}, float(n % 5))
    before = numbers._experts.weights
    numbers.learn_one({"a": 1.0}, 3.0, w=0.0)
    assert numbers._experts.weights == before


class RefusingTexts(base.Classifier):
    """Raises what River's linear models raise for a text."""

    def predict_one(self, x):
        return None

    def learn_one(self, x, y):
        raise TypeError("can't multiply sequence by non-int of type 'float'")


@pytest.mark.parametrize("make", [rm.AutoClassifier, rm.Hedge])
def test_a_type_error_of_one_expert_refuses_nothing(make):
    model = make([Scripted(0), RefusingTexts()])
    model.learn_one({0: True}, True)
    first, second = model._experts.weights
    assert first > second and model.predict_one({0: True}) is True


def test_an_expert_whose_prediction_is_beyond_floating_point_has_no_part():
    model = rm.AutoRegressor()
    for x, y in (({}, -2.0), ({"a": -1e76}, 0.0), ({}, 1e100)):
        model.learn_one(x, y)
    assert math.isfinite(model.predict_one({"a": 1e300}))


@pytest.mark.parametrize("make", [rm.AutoClassifier, rm.Hedge])
@pytest.mark.parametrize("order", [1, -1])
def test_a_label_that_only_a_pipeline_takes_is_taken(make, order):
    model = make([rm.BalancedWinnow(), rm.StandardScaler() | rm.PAClassifier()][::order])
    model.check_label("spam")
    rm.SelectiveSampler(model).learn_one({"a": 1.0}, "spam")
    model.learn_one({"a": 1.0}, "spam")
    assert model.predict_one({"a": 1.0}) == "spam"


@pytest.mark.parametrize("make", [rm.AutoClassifier, rm.Hedge])
def test_labels_of_numpy_are_plain_ones(make):
    plain, given = make(), make()
    for n, (x, _) in enumerate(odd("every name", 20)):
        plain.learn_one(x, n % 3)
        given.learn_one(x, np.int64(n % 3))
        assert type(given.predict_one(x)) is int and {*map(type, given.score_one(x))} == {int}
    assert snapshot.dumps(given) == snapshot.dumps(plain)


@pytest.mark.parametrize("make", [rm.AutoClassifier, rm.Hedge])
@pytest.mark.parametrize("order", [1, -1])
def test_a_label_that_no_expert_takes_is_refused_before_a_scaler_learns(make, order):
    model = make([rm.PAClassifier(), rm.StandardScaler() | rm.PAClassifier()][::order])
    model.learn_one({"a": 1.0}, True)
    with pytest.raises(ValueError, match="neither False nor True"):
        model.check_label("spam")


def test_the_unit_of_losses_follows_a_drift():
    model, draw, late = rm.AutoRegressor(), random.Random(1), []
    for t in range(6000):
        x = {"a": draw.gauss(0, 1)}
        y = x["a"] + (10.0 if t < 3000 else 0.1) * draw.gauss(0, 1)
        if t >= 5000:
            late.append(abs(model.predict_one(x) - y))
        model.learn_one(x, y)
    assert model.__getstate__()["error"] < 1.0  # the mean since the first label is 4
    assert "since the first label" not in " ".join(rm.AutoRegressor.__doc__.split())


class Divides(rm.Rule):
    def step(self, seen):
        return seen.loss / seen.gain


@pytest.mark.parametrize("kind", [rm.Hedge, rm.AutoClassifier])
def test_a_rule_that_divides_by_zero_refuses_the_example_for_its_own_expert(kind):
    model = kind([rm.PAClassifier(intercept=False), rm.MarginClassifier(Divides(), intercept=False)])
    model.learn_one({"a": 1.0}, True)
    model.learn_one({"a": 0.0}, False)
    assert model.predict_one({"a": 1.0}) is True


@pytest.mark.parametrize("eta", [0.5, 1.0, 3.0])
def test_without_a_share_an_expert_comes_back_from_a_weight_beyond_floating_point(eta):
    """The first is wrong in 2000 rounds and then always right: exp(-2000·eta) is 0 in floating point."""
    model, paid, losses = scripted(eta, 0.0), 0.0, []
    for t in range(6000):
        right = np.array([t >= 2000] + [t < 2000] * (EXPERTS - 1))
        paid += weights_by_number(model) @ ~right
        model.learn_one(dict(enumerate(right.tolist())), True)
        losses.append(~right)
    assert paid <= cheapest(np.array(losses, dtype=float), eta, 0.0)
    assert model.predict_one({0: True, 1: False, 2: False, 3: False}) is True


def test_an_expert_that_diverges_is_left_out():
    """River's LinearRegression without a scaler: the least weight, share/N, of 1e20 would be the whole mean."""
    mean = dummy.StatisticRegressor(stats.Mean())
    alone, best = rm.AutoRegressor([rm.PARegressor()]), rm.AutoRegressor([rm.PARegressor(), mean])
    beside = rm.AutoRegressor([linear_model.LinearRegression(), rm.PARegressor(), mean])
    errors = {alone: 0.0, best: 0.0, beside: 0.0}
    for x, y in datasets.TrumpApproval():
        for model in errors:
            errors[model] += abs(model.predict_one(x) - y)
            model.learn_one(x, y)
    assert errors[beside] < 1.05 * min(errors[alone], errors[best])
    (trusted, expert), *_ = beside.experts
    assert type(expert) is rm.PARegressor and trusted > 0.9


def test_an_expert_with_the_weight_0_of_an_older_snapshot_comes_back():
    model = scripted(1.0, 0.0)
    model._experts.weights = [0.0, 1.0, 0.0, 0.0]
    for _ in range(1000):
        model.learn_one({0: True, 1: False, 2: False, 3: False}, True)
    assert weights_by_number(model)[0] > 0.999


def test_experts_that_are_all_far_from_the_mean_are_not_left_out():
    """A label that was 0 for long, and then is 1: its mean and its deviation are still next to 0."""
    model = rm.AutoRegressor([rm.PARegressor(), rm.PARegressor()])
    for y in [0.0] * 15_000 + [1.0] * 3:
        model.learn_one({"a": 1.0}, y)
    assert model.predict_one({"a": 1.0}) > 0.5


@pytest.mark.parametrize("kind", [rm.Hedge, rm.AutoClassifier])
def test_a_pipeline_that_misses_a_feature_refuses_the_example_for_itself(kind):
    """Its KeyError refuses nothing for the others, of which some have learned by then."""
    picky = compose.FuncTransformer(lambda x: {"a": x["a"]}) | linear_model.LogisticRegression()
    model = kind([rm.PAClassifier(), picky, rm.AROWClassifier()])
    model.learn_one({"a": 1.0, "b": 1.0}, True)
    model.learn_one({"b": 1.0}, False)
    first, _, last = model._experts.members
    assert first.n_seen == last.n_seen == 2


@pytest.mark.parametrize(
    "expert",
    [
        rm.StandardScaler() | rm.CWClassifier(),
        rm.StandardScaler() | rm.EllipsoidClassifier(),
        rm.Calibrated(rm.CWClassifier()),
        rm.Calibrated(rm.EllipsoidClassifier()),
        rm.StandardScaler() | rm.Conservative(rm.PAClassifier(mode=0)),
        drift.DriftRetrainingClassifier(rm.CWClassifier()),
        rm.StandardScaler() | drift.DriftRetrainingClassifier(rm.Calibrated(rm.CWClassifier())),
    ],
    ids=str,
)
def test_a_weight_that_the_learner_in_an_expert_cannot_take_is_refused_and_nobody_learns(expert):
    model = rm.AutoClassifier([rm.PAClassifier(), expert])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=r"sample weight"):
        model.learn_one({0: 1.0}, True, w=2.0)
    assert pickle.dumps(model) == before
    taken = rm.AutoClassifier([rm.PAClassifier(), rm.StandardScaler() | rm.Calibrated(rm.PAClassifier())])
    taken.learn_one({0: 1.0}, True, w=2.0)
