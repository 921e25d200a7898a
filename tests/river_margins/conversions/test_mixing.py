"""The mean of models: by hand, by exact fractions, and the bound of perceptrons that mix."""

import copy
import functools
import itertools
import operator
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import datasets, preprocessing

import river_margins as rm
from river_margins import snapshot
from river_margins.conversions import mix, why_no_mean
from river_margins.snapshot import nodes


def learned(model, examples):
    for x, y in examples:
        model.learn_one(x, y)
    return model


def stream(seed, count, names, label):
    draw = random.Random(seed)
    for _ in range(count):
        x = {name: draw.gauss(0, 1) for name in draw.sample(names, 3)}
        yield x, label(x, draw)


def two_classes(x, draw):
    return sum(x.values()) > 0


def three_classes(x, draw):
    return draw.choice("abc")


def number(x, draw):
    return sum(x.values()) + draw.gauss(0, 1)


def labels(x, draw):
    return {"up": sum(x.values()) > 0, "odd": draw.random() < 0.5}


LINEAR = {
    "two classes": (lambda: rm.PAClassifier(C=0.1), two_classes),
    "without an intercept": (lambda: rm.Perceptron(intercept=False), two_classes),
    "a scale": (lambda: rm.PegasosClassifier(lam=0.1), two_classes),
    "hashed": (lambda: rm.PAClassifier(max_features=4), two_classes),
    "three classes": (lambda: rm.PAClassifier(C=0.1), three_classes),
    "a number": (lambda: rm.PARegressor(), number),
    "label sets": (lambda: rm.PAMultiLabelClassifier(), labels),
    "one class": (lambda: rm.PAOneClass(), None),
}
GAUSSIAN = {
    "two classes": (lambda: rm.AROWClassifier(), two_classes),
    "another start": (lambda: rm.CWClassifier(a=0.25), two_classes),
    "confidence": (lambda: rm.SCWClassifier(mode=2), two_classes),
    "three classes": (lambda: rm.NHERDClassifier(), three_classes),
    "a number": (lambda: rm.AROWRegressor(), number),
}
NAMES = list("abcdefgh")


def apart(make, label, count=3):
    """Models that have learned different examples of different features."""
    models = []
    for seed in range(count):
        model = make()
        for x, y in stream(seed, 40 * seed + 5, NAMES[seed : seed + 5], label or (lambda x, draw: None)):
            model.learn_one(x) if label is None else model.learn_one(x, y)
        models.append(model)
    return models


def flat(weights):
    """Weights by (label, feature), or by feature."""
    pairs = {}
    for key, value in dict(weights).items():
        pairs |= {(key, name): each for name, each in dict(value).items()} if hasattr(value, "items") else {key: value}
    return pairs


@pytest.mark.parametrize("case", LINEAR)
def test_plain_weights_are_averaged(case):
    models = apart(*LINEAR[case])
    found = [flat(model.weights) for model in models]
    shares = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    mixed = flat(mix(models, shares=[3, 2, 1]).weights)
    assert set(mixed) == set().union(*found) and mixed
    for key, value in mixed.items():
        exact = sum(share * Fraction(each.get(key, 0.0)) for share, each in zip(shares, found, strict=True))
        assert value == pytest.approx(float(exact), rel=1e-12, abs=1e-15), key


def gaussians(model):
    """Weight and variance by label and feature."""
    space, state = model.__getstate__()["space"], model.__getstate__()
    rows = ["intercept", *space["features"]]
    variances = space["variances"]
    blocks = state["labels"] if state["labels"] and not state["one_vector"] else [None]
    return {
        (label, name): (space["means"][block][row], variances[block][row])
        for (block, label), (row, name) in itertools.product(enumerate(blocks), enumerate(rows))
    }


@pytest.mark.parametrize("case", GAUSSIAN)
def test_gaussians_are_weighed_by_their_precision(case):
    models = apart(*GAUSSIAN[case])
    found, mixed = [gaussians(model) for model in models], gaussians(mix(models))
    assert set(mixed) == set().union(*found) and mixed
    for key, (weight, variance) in mixed.items():
        pairs = [each.get(key, (0.0, models[0].a)) for each in found]
        precision = sum(1 / Fraction(v) for _, v in pairs) / len(pairs)
        pull = sum(Fraction(w) / Fraction(v) for w, v in pairs) / len(pairs)
        assert variance == pytest.approx(float(1 / precision), rel=1e-12), key
        assert weight == pytest.approx(float(pull / precision), rel=1e-12, abs=1e-15), key


@pytest.mark.parametrize("count", [6, 7, 10])
def test_what_no_model_has_moved_keeps_its_first_variance(count):
    """As often as this, 1/count adds up to less than 1, and the variance would become larger than it can be."""
    models = [learned(rm.AROWClassifier(), [({"a": 1.0, "never": 0.0}, True)]) for _ in range(count)]
    weight, variance = gaussians(mix(models))[None, "never"]
    assert (weight, variance) == (0.0, 1.0) and functools.reduce(operator.add, [1 / count] * count) < 1


def test_a_rule_that_looks_ahead_is_averaged_as_the_others():
    """The second-order perceptron keeps Σ⁻¹w, not w: its score with x in Σ⁻¹ is θ'(Σ⁻¹ + xx')⁻¹x."""
    models = apart(lambda: rm.SecondOrderPerceptron(covariance="diagonal", intercept=False), two_classes)
    thetas, inverses = [], []
    for model in models:
        space = model.__getstate__()["space"]
        at = [space["features"].index(name) if name in space["features"] else None for name in NAMES]
        thetas.append([0.0 if place is None else space["means"][0][place] for place in at])
        inverses.append([1 / models[0].a if place is None else 1 / space["variances"][0][place] for place in at])
    x = {name: 0.1 * place - 0.3 for place, name in enumerate(NAMES[:7])}
    row = np.array([x.get(name, 0.0) for name in NAMES])
    theta, inverse = np.mean(thetas, axis=0), np.mean(inverses, axis=0)
    assert mix(models).score_one(x) == pytest.approx(float((theta / (inverse + row**2)) @ row), rel=1e-9)


@pytest.mark.parametrize("case", [*LINEAR, *GAUSSIAN])
def test_a_model_alone_stays_what_it_is(case):
    (make, label) = LINEAR.get(case) or GAUSSIAN[case]
    model = apart(make, label)[2]
    alone = mix([model, make()], shares=[1, 0])
    for x, _ in stream(9, 20, NAMES, two_classes):
        assert alone.score_one(x) == pytest.approx(model.score_one(x), rel=1e-12, abs=1e-15)


def test_the_models_stay_as_they_are_and_the_mean_learns_on():
    models = apart(lambda: rm.StandardScaler() | rm.PAClassifier(), two_classes)
    before = [snapshot.dumps(model) for model in models]
    mixed = mix(models)
    learned(mixed, stream(5, 100, NAMES, two_classes))
    assert [snapshot.dumps(model) for model in models] == before
    assert snapshot.dumps(snapshot.loads(snapshot.dumps(mixed))) == snapshot.dumps(mixed)


def test_the_same_models_give_the_same_bits():
    models = apart(lambda: rm.StandardScaler() | rm.AROWClassifier(), two_classes)
    assert snapshot.dumps(mix(models)) == snapshot.dumps(mix(copy.deepcopy(models)))


def test_a_scaler_has_seen_what_all_have_seen():
    models = apart(lambda: rm.StandardScaler() | rm.PAClassifier(), two_classes)
    mixed, whole = mix(models)["StandardScaler"].__getstate__(), preprocessing.StandardScaler()
    for seed in range(3):
        for x, _ in stream(seed, 40 * seed + 5, NAMES[seed : seed + 5], two_classes):
            whole.learn_one(x)
    for name, (count, mean, variance) in zip(mixed["features"], mixed["moments"], strict=True):
        assert count == pytest.approx(whole.counts[name] / 3)
        assert mean == pytest.approx(whole.means[name])
        assert variance == pytest.approx(whole.vars[name])


def test_four_parts_of_a_real_stream_are_nearly_as_good_as_the_whole():
    """Accuracy on the last 250 examples of Phishing, of which each part has seen a quarter of the first 1,000."""
    examples = list(datasets.Phishing())

    def accuracy(model):
        return sum(model.predict_one(x) == y for x, y in examples[1000:]) / 250

    parts = [learned(rm.StandardScaler() | rm.AROWClassifier(), examples[n:1000:4]) for n in range(4)]
    whole = learned(rm.StandardScaler() | rm.AROWClassifier(), examples[:1000])
    assert accuracy(mix(parts)) > accuracy(whole) - 0.02


# ------------------------------------------------------------------------------------------------------- the bound


def separable(draw, u, margin, features):
    """An example of length 1 at most, whose label u gives with this margin."""
    while True:
        x = np.array([draw.gauss(0, 1) for _ in range(features)])
        x /= np.linalg.norm(x)
        if abs(x @ u) >= margin:
            return {str(place): float(value) for place, value in enumerate(x)}, bool(x @ u > 0)


def play(draw, margin, count, rounds, choose_shares, find_mean=mix):
    """Perceptrons that mix now and then; returns c of each at its largest, and all mistakes."""
    features = 6
    u = np.array([draw.gauss(0, 1) for _ in range(features)])
    u /= np.linalg.norm(u)
    models = [rm.Perceptron(intercept=False, classes=[False, True]) for _ in range(count)]
    c, largest, mistakes = np.zeros(count), 0.0, 0
    for _ in range(rounds):
        for number, model in enumerate(models):
            # the worst of some examples: the one with the least margin
            x, y = min(
                (separable(draw, u, margin, features) for _ in range(5)),
                key=lambda example: model.score_one(example[0]) * (1 if example[1] else -1),
            )
            before = model.n_mistakes
            model.learn_one(x, y)
            mistaken = model.n_mistakes > before
            c[number] += mistaken
            mistakes += mistaken
        largest = max(largest, c.max())
        shares = choose_shares(draw, count)
        if shares is not None:
            models = [find_mean(models, row) for row in shares]
            c = np.array([np.array(row) @ c / sum(row) for row in shares])
    return largest, mistakes


def any_shares(draw, count):
    """Each model mixes with others as it likes, or not at all."""
    if draw.random() < 0.5:
        return None
    rows = [[draw.random() * draw.choice([0, 1]) for _ in range(count)] for _ in range(count)]
    for number, row in enumerate(rows):
        row[number] += 0.1
    return rows


def equal_shares(draw, count):
    return [[1.0] * count] * count


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32), margin=st.sampled_from([0.05, 0.1, 0.3]), count=st.integers(2, 4))
def test_the_mistakes_of_perceptrons_that_mix_are_bounded(seed, margin, count):
    largest, _ = play(random.Random(seed), margin, count, 40, any_shares)
    assert largest <= 1 / margin**2
    _, mistakes = play(random.Random(seed), margin, count, 40, equal_shares)
    assert mistakes <= count / margin**2


def test_the_bound_is_nearly_reached():
    """One perceptron on orthonormal examples makes a mistake on each: n of them, with |u| = 1 and margin 1/√n."""
    models = [rm.Perceptron(intercept=False, classes=[False, True]) for _ in range(3)]
    n, c = 25, np.zeros(3)
    for place in range(n):
        for number, model in enumerate(models):
            model.learn_one({str(place): 1.0}, True)
            c[number] += 1
        models, c = [mix(models) for _ in models], np.full(3, c.mean())
    assert c.tolist() == [n, n, n], "R²/g² = n"


def test_a_sum_in_place_of_the_mean_breaks_the_bound():
    """Two perceptrons whose sum is too long to be turned: each mistake moves it by 1, and each mixing doubles it."""

    def total(models, shares):
        mixed = mix(models, shares)
        state = mixed.__getstate__()
        state["space"] |= {"weights": state["space"]["weights"] * 2, "size": state["space"]["size"] * 4}
        mixed.__setstate__(state)
        return mixed

    broken = [play(random.Random(seed), 0.3, 2, 150, equal_shares, total)[1] > 2 / 0.3**2 for seed in range(5)]
    assert any(broken)


# --------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("models", "shares", "part"),
    [
        ([], None, "`models` is empty"),
        ([rm.PAClassifier()], [1, 2], "`shares` has 2 numbers for 1 models"),
        ([rm.PAClassifier()], [-1.0], "`shares` must be finite, at least 0 and not all 0"),
        ([rm.PAClassifier(), rm.PAClassifier()], [0, 0], "`shares` must be finite, at least 0 and not all 0"),
        ([rm.PAClassifier(C=1.0), rm.PAClassifier(C=0.5)], None, "model 2 learns in another way .* C 1.0 -> 0.5"),
        ([rm.PAClassifier(), rm.Perceptron()], None, "model 2 learns in another way"),
        ([rm.StandardScaler() | rm.PAClassifier(), rm.PAClassifier()], None, "model 2 learns in another way"),
    ],
)  # fmt: skip
def test_refused(models, shares, part):
    with pytest.raises(ValueError, match=part):
        mix(models, shares)


WITHOUT_MEAN = [
    rm.AveragedPerceptron(), rm.KernelPAClassifier(), rm.BalancedWinnow(), rm.AROWClassifier(covariance="full"),
    rm.AROWClassifier(half_life=100), rm.FTRLProximalClassifier(), rm.AutoClassifier(),
    rm.IELLIPClassifier(),
    preprocessing.StandardScaler() | rm.PAClassifier(),
]  # fmt: skip


@pytest.mark.parametrize("model", WITHOUT_MEAN, ids=str)
def test_what_has_no_mean_is_refused_by_name(model):
    others = [learned(copy.deepcopy(model), stream(seed, 20, NAMES, two_classes)) for seed in range(2)]
    name = next(nodes.name_of(type(step)) for step in (model.steps.values() if hasattr(model, "steps") else [model]))
    with pytest.raises(ValueError, match=f"`{name}` has no mean"):
        mix(others)


def test_other_labels_are_refused():
    one = learned(rm.PAClassifier(), [({"a": 1.0}, True)])
    other = learned(rm.PAClassifier(), [({"a": 1.0}, "spam")])
    with pytest.raises(
        ValueError, match=r"one model has learned the labels \[False, True\], and another one \['spam'\]"
    ):
        mix([one, other])


@pytest.mark.parametrize("model", [rm.FOGDClassifier(gamma=0.1), rm.FOGDClassifier(gamma=0.1, classes=["a", "b", "c"])])
def test_random_features_have_no_mean(model):
    assert why_no_mean(model).startswith("`FOGDClassifier` has no mean")


@pytest.mark.parametrize("case", [*LINEAR, *GAUSSIAN])
def test_what_mixes_has_no_reason_against_it(case):
    make, _ = LINEAR.get(case) or GAUSSIAN[case]
    assert why_no_mean(make()) is None


@pytest.mark.parametrize("count", [2, 3, 5, 6, 7])
@pytest.mark.parametrize("value", [0.1, 0.3, 0.7, 1.1, 5.7])
def test_a_feature_that_never_varied_has_no_variance(value, count):
    models = [rm.StandardScaler() | rm.PAClassifier() for _ in range(count)]
    for n, model in enumerate(models):
        for k in range(5 + n):
            model["StandardScaler"].learn_one({"b": float(k)} | ({"a": value} if n else {}))
    mixed = mix(models)["StandardScaler"]
    assert (mixed.means["a"], mixed.vars["a"]) == (value, 0.0)
    assert mixed.transform_one({"a": 1.001 * value})["a"] == 0.0
