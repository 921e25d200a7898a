"""What `docs/learners.md` advises beats a predictor that ignores the features; what it warns of happens."""

import random
import re

import pytest
from river import (
    datasets,
    dummy,
    ensemble,
    imblearn,
    linear_model,
    metrics,
    multiclass,
    multioutput,
    stats,
    time_series,
)
from sklearn.datasets import load_iris
from sklearn.metrics import roc_auc_score

import river_margins as rm
from tests.helpers.paths import ROOT


def numbers(rounds, level, spread):
    draw = random.Random(1)
    for _ in range(rounds):
        x = {name: draw.gauss(0, 1) for name in "abc"}
        yield x, level + spread * (x["a"] - 0.5 * x["b"] + 0.3 * draw.gauss(0, 1))


def error(model, stream, skip=1000):
    model, found = rm.StandardScaler() | model, metrics.MAE()
    for t, (x, y) in enumerate(stream):
        if t >= skip:
            found.update(y, model.predict_one(x))
        model.learn_one(x, y)
    return found.get()


def rare(rounds, share):
    draw = random.Random(3)
    for _ in range(rounds):
        y = draw.random() < share
        yield {name: draw.gauss(1.0 if y else 0.0, 1.0) for name in "abcdef"}, y


@pytest.mark.parametrize(("level", "spread"), [(0.03, 0.01), (1013.0, 10.0), (1e6, 3.0), (0.0, 1e5)])
@pytest.mark.parametrize(
    "expert",
    [rm.OGDRegressor(loss="absolute"), rm.PARegressor(), rm.CoinBettingRegressor()],
    ids=lambda expert: type(expert).__name__,
)
def test_a_portfolio_of_one_learns_labels_of_any_size(expert, level, spread):
    mean = error(dummy.StatisticRegressor(stats.Mean()), numbers(3000, level, spread))
    assert error(rm.AutoRegressor([expert]), numbers(3000, level, spread)) < 0.5 * mean


@pytest.mark.parametrize("kind", [rm.PARegressor, rm.AROWRegressor, rm.KernelPARegressor])
def test_small_labels_are_learned_unless_eps_is_larger(kind):
    mean = error(dummy.StatisticRegressor(stats.Mean()), numbers(2000, 0.03, 0.01))
    assert error(kind(), numbers(2000, 0.03, 0.01)) < 0.5 * mean
    assert error(kind(eps=0.1), numbers(2000, 0.03, 0.01)) > 2 * mean


@pytest.mark.parametrize("C", [1.0, 0.1, 0.02])
def test_what_noise_of_numbers_costs(C):
    """With the share m of each step and noise of variance 1, E(x'd)² = m/(2 - m) for the error d of the weights.

    For features of +1 and -1, q is 5 in every round. d' = d - m·(x'd + noise)·x/q, so |d|² stays where 2m·E(x'd)² =
    m²·(E(x'd)² + 1).
    """
    draw, model, errors = random.Random(1), rm.PARegressor(C=C, intercept=False), []
    for t in range(20_000):
        x = {name: draw.choice([-1.0, 1.0]) for name in "abcde"}
        y = x["a"] - x["b"] + draw.gauss(0, 1)
        if t >= 1000:
            errors.append((y - model.predict_one(x)) ** 2)
        model.learn_one(x, y)
    share = 5 / (5 + 1 / (2 * C))
    assert sum(errors) / len(errors) == pytest.approx(2 / (2 - share), rel=0.03)


def test_a_first_label_next_to_0_needs_standardised_labels():
    errors = {}
    for model in (rm.CoinBettingRegressor(), rm.AutoRegressor([rm.CoinBettingRegressor()])):
        model.learn_one({name: 1.0 for name in "abc"}, 0.1 + 0.2 - 0.3)
        kind, errors[type(model)] = type(model), 0.0
        for t, (x, y) in enumerate(numbers(2000, 0.0, 1.0)):
            errors[kind] += (t >= 1500) * abs(model.predict_one(x) - y) / 500
            model.learn_one(x, y)
    assert errors[rm.AutoRegressor] < 0.4 < 0.8 < errors[rm.CoinBettingRegressor]


def test_calibrated_probabilities_rank_rare_labels():
    def measured(model):
        loss, ranks, model = metrics.LogLoss(), metrics.ROCAUC(200), rm.StandardScaler() | model
        for t, (x, y) in enumerate(rare(5000, 0.05)):
            if t >= 1000:
                loss.update(y, model.predict_proba_one(x))
                ranks.update(y, model.predict_proba_one(x))
            model.learn_one(x, y)
        return loss.get(), ranks.get()

    loss, ranks = measured(rm.Calibrated(rm.AROWClassifier()))
    loss_of_river, ranks_of_river = measured(linear_model.LogisticRegression())
    assert loss < loss_of_river
    assert ranks > ranks_of_river - 0.01
    assert measured(rm.Calibrated(rm.AutoClassifier()))[1] < 0.9


def test_calibrated_probabilities_of_two_in_a_thousand_need_a_class_weight():
    page = (ROOT / "docs" / "learners.md").read_text()
    (advised,) = re.findall(r"`(Calibrated\(AROWClassifier\(class_weight=.*\))`", page)

    def measured(model):
        loss, labels, chances, model = metrics.LogLoss(), [], [], rm.StandardScaler() | model
        for t, (x, y) in enumerate(rare(14_000, 0.002)):
            if t >= 4000:
                p = model.predict_proba_one(x)
                loss.update(y, p)
                labels.append(y)
                chances.append(p[True])
            model.learn_one(x, y)
        return loss.get(), roc_auc_score(labels, chances)

    loss, ranks = measured(eval(advised, vars(rm)))
    loss_without, ranks_without = measured(rm.Calibrated(rm.AROWClassifier()))
    assert loss < 0.8 * loss_without
    assert ranks > 0.9 > 0.8 > ranks_without


def test_pegasos_finds_a_tenth_with_less_regularisation():
    def recall(model):
        found, model = metrics.Recall(), rm.StandardScaler() | model
        for t, (x, y) in enumerate(rare(10_000, 0.1)):
            if t >= 5000:
                found.update(y, model.predict_one(x))
            model.learn_one(x, y)
        return found.get()

    assert recall(rm.PegasosClassifier()) == 0.0
    assert recall(rm.PegasosClassifier(lam=0.01)) > 0.5


@pytest.mark.parametrize(
    ("make", "is_followed"),
    [
        (rm.PAClassifier, True),
        (rm.AutoClassifier, True),
        (rm.OGDClassifier, False),
        (rm.CoinBettingClassifier, False),
        (rm.PegasosClassifier, False),
    ],
)
def test_how_soon_a_late_change_is_followed(make, is_followed, change=40_000):
    draw, model, right = random.Random(1), make(), 0
    for t in range(change + 2000):
        x = {name: draw.gauss(0, 1) for name in "abcdefghij"}
        y = (x["a"] + x["b"] - x["c"] if t < change else x["d"] + x["e"] - x["a"]) > 0
        right += model.predict_learn_one(x, y != (draw.random() < 0.1)) == y and t >= change + 1000
    assert (right > 850) == is_followed, right


@pytest.mark.parametrize(
    ("make", "goes_on"),
    [
        *((kind, True) for kind in (rm.PAClassifier, rm.AveragedPAClassifier, rm.MIRAClassifier, rm.ROMMAClassifier)),
        *((kind, True) for kind in (rm.ALMAClassifier, rm.IELLIPClassifier, rm.SCWClassifier, rm.AdalineClassifier)),
        (rm.PegasosClassifier, True),
        *((kind, False) for kind in (rm.AROWClassifier, rm.NAROWClassifier, rm.NHERDClassifier, rm.Perceptron)),
        *((kind, False) for kind in (rm.FTRLProximalClassifier, rm.AdaGradRDAClassifier, rm.CoinBettingClassifier)),
        *((kind, False) for kind in (rm.OGDClassifier, rm.FOBOSClassifier)),
    ],
)
def test_what_one_huge_value_leaves(make, goes_on):
    draw, model, right = random.Random(1), make(), 0
    for t in range(4000):
        x = {name: draw.gauss(0, 1) for name in "abc"}
        y = x["a"] + 0.5 * x["b"] > 0
        if t == 20:
            x, y = x | {"a": 1e6}, False
        right += t >= 3000 and model.predict_one(x) == y
        model.learn_one(x, y)
    assert (right > 930) == goes_on, right


def test_products_of_texts_need_larger_steps():
    draw, right = random.Random(1), {}
    good = {(user, item): draw.gauss(0, 1) > 0 for user in range(20) for item in range(20)}
    learners = {"small": rm.PAClassifier(), "large": rm.PAClassifier(C=1), "AROW": rm.AROWClassifier()}
    models = {name: rm.Interactions(pairs=[("user", "item")]) | each for name, each in learners.items()}
    for t in range(4000):
        user, item = draw.randrange(20), draw.randrange(20)
        for name, model in models.items():
            y = model.predict_learn_one({"user": f"u{user}", "item": f"i{item}"}, good[user, item])
            right[name] = right.get(name, 0) + (t >= 2000 and y == good[user, item])
    assert right["small"] + 200 < min(right["large"], right["AROW"])


def test_votes_need_a_smaller_margin():
    asked = {}
    for margin in (1.0, 0.5):
        draw, sampler = random.Random(1), rm.MarginSampler(rm.AutoClassifier(), margin=margin)
        for _ in range(1000):
            x = {name: draw.gauss(0, 1) for name in "abc"}
            if sampler.query_one(x):
                sampler.learn_one(x, x["a"] > x["b"])
        asked[margin] = sampler.n_queries
    assert asked[1.0] == 1000 and 0 < asked[0.5] < 500


@pytest.mark.parametrize("budget", [1000, 300])
def test_a_budget_that_is_full_still_learns_targets_far_from_0(budget):
    model = rm.KernelPARegressor(budget=budget)
    mean = error(dummy.StatisticRegressor(stats.Mean()), numbers(5000, 1013.0, 10.0), skip=4000)
    assert error(model, numbers(5000, 1013.0, 10.0), skip=4000) < mean


@pytest.mark.parametrize(("level", "size"), [(300.0, 1e4), (10_000.0, 1e5), (0.0, 1e5)])
def test_rare_outliers_are_not_followed(level, size):
    def broken(rounds):
        draw = random.Random(5)
        for x, y in numbers(rounds, level, 40.0):
            yield x, size if draw.random() < 0.002 else y

    mean = error(dummy.StatisticRegressor(stats.Mean()), numbers(4000, level, 40.0))
    model, found = rm.StandardScaler() | rm.AutoRegressor([rm.CoinBettingRegressor()]), metrics.MAE()
    for t, ((x, learned), (_, y)) in enumerate(zip(broken(4000), numbers(4000, level, 40.0), strict=True)):
        if t >= 1000:
            found.update(y, model.predict_one(x))
        model.learn_one(x, learned)
    assert found.get() < mean


@pytest.mark.parametrize("huge", [1, 1000], ids=["one target", "many"])
def test_a_kernel_regressor_gets_over_huge_targets_as_advised(huge):
    models = {
        "default": rm.KernelPARegressor(budget=100),
        "mode 1": rm.KernelPARegressor(budget=100, mode=1),
        "random": rm.KernelPARegressor(budget=rm.RandomRemoval(100)),
    }
    errors = dict.fromkeys(models, 0.0)
    for t, (x, y) in enumerate(numbers(7000 + huge, 0.0, 1.0)):
        for name, model in models.items():
            errors[name] += (t >= 6500) * abs(model.predict_one(x) - y) / (500 + huge)
            model.learn_one(x, y if t < 50 or t >= 50 + huge else y + 1e6 if huge == 1 else 1000.0 * y)
    assert max(errors["mode 1"], errors["random"]) < 3 < errors["default"]


def test_rows_sorted_by_label_are_to_be_shuffled():
    examples, labels = load_iris(return_X_y=True)
    scaled = (examples - examples.mean(axis=0)) / examples.std(axis=0)
    rows = [(dict(zip("abcd", x, strict=True)), y) for x, y in zip(scaled.tolist(), labels.tolist(), strict=True)]
    right = {}
    for name, order in (("sorted", rows), ("shuffled", random.Random(0).sample(rows, len(rows)))):
        model = rm.AutoClassifier()
        for x, y in order:
            model.learn_one(x, y)
        right[name] = sum(model.predict_one(x) == y for x, y in rows) / len(rows)
    assert right["sorted"] == pytest.approx(0.34, abs=0.01)
    assert right["shuffled"] == pytest.approx(0.96, abs=0.01)


def test_a_chain_tells_which_labels_hold_and_a_ranking_does_not():
    draw, right = random.Random(1), [0, 0]
    models = (rm.PAMultiLabelClassifier(), multioutput.ClassifierChain(rm.PAClassifier(), order=["u", "v"]))
    for _ in range(1500):
        x = {name: draw.gauss(0, 1) for name in "ab"}
        y = {"u": x["a"] > 0, "v": x["a"] + x["b"] > 0}
        for n, model in enumerate(models):
            right[n] += model.predict_one(x) == y
            model.learn_one(x, y)
    assert right[0] < 500 < 1200 < right[1]
    assert "ClassifierChain(PAClassifier())" in rm.PAMultiLabelClassifier.advice


@pytest.mark.parametrize("noise", [1.0, 0.1])
def test_a_portfolio_follows_less_noise_than_steps_to_the_label(noise):
    def stream():
        draw = random.Random(2)
        for _ in range(4000):
            x = {name: draw.gauss(0, 1) for name in "abcd"}
            yield x, x["a"] - x["b"] + noise * draw.gauss(0, 1)

    assert error(rm.AutoRegressor(), stream()) < 0.9 * error(rm.PARegressor(), stream())


def test_many_features_need_small_steps_for_probabilities():
    def log_loss(**parameters):
        draw, found = random.Random(1), metrics.LogLoss()
        model = rm.StandardScaler() | rm.LogLinearClassifier(classes=[False, True], **parameters)
        for _ in range(1500):
            x = {n: draw.gauss(0, 1) for n in range(200)}
            y = x[0] - x[1] + draw.gauss(0, 1) > 0
            found.update(y, model.predict_proba_one(x))
            model.learn_one(x, y)
        return found.get()

    assert log_loss(lr=0.003) < 0.69 < log_loss()  # a coin has 0.69


def noisy(rounds):
    draw = random.Random(1)
    for _ in range(rounds):
        x = {name: draw.gauss(0, 1) for name in "abcde"}
        yield x, x["a"] - x["b"] + draw.gauss(0, 2)


@pytest.mark.parametrize(
    "wrapper",
    [
        lambda model: ensemble.BaggingRegressor(model, n_models=5, seed=1),
        lambda model: ensemble.SRPRegressor(model, n_models=5, seed=1),
        imblearn.ChebyshevOverSampler,
    ],
    ids=["bagging", "patches", "oversampler"],
)
def test_a_portfolio_in_a_wrapper_that_repeats_examples_follows_the_noise(wrapper):
    mean = error(dummy.StatisticRegressor(stats.Mean()), noisy(3000))
    assert error(rm.AutoRegressor(), noisy(3000)) < 0.85 * mean < mean < error(wrapper(rm.AutoRegressor()), noisy(3000))
    assert error(wrapper(rm.AROWRegressor()), noisy(3000)) < 0.85 * mean


@pytest.mark.parametrize(
    "kind", [rm.AutoClassifier, lambda: rm.Hedge([rm.PAClassifier(C=1.0), rm.AROWClassifier()], eta=0.5)]
)
@pytest.mark.parametrize("wrapper", [ensemble.LeveragingBaggingClassifier, ensemble.AdaBoostClassifier])
def test_votes_in_a_wrapper_that_repeats_examples_follow_wrong_labels(kind, wrapper):
    def right(model):
        found = metrics.Accuracy()
        for x, y in noisy(2000):
            found.update(y > 0, model.predict_one(x))
            model.learn_one(x, y > 0)
        return found.get()

    one_learner = right(wrapper(rm.AROWClassifier(), n_models=5, seed=1))
    assert right(kind()) > one_learner - 0.02
    assert right(wrapper(kind(), n_models=5, seed=1)) < one_learner - 0.06


@pytest.mark.parametrize(
    "wrapper",
    [
        lambda model: imblearn.RandomSampler(model, {True: 0.5, False: 0.5}, sampling_rate=1.0, seed=1),
        lambda model: ensemble.ADWINBoostingClassifier(model, n_models=5, seed=1),
    ],
    ids=["sampler", "boosting"],
)
def test_a_vote_in_a_sampler_or_a_boosting_follows_wrong_labels(wrapper):
    assert accuracy(wrapper(rm.AutoClassifier())) < accuracy(wrapper(rm.AROWClassifier())) - 0.04


def test_a_vote_in_an_over_sampler_follows_wrong_labels():
    def found(model):
        model = imblearn.RandomOverSampler(model, {True: 0.5, False: 0.5}, seed=1)
        return accuracy(model, cut=2.5, metric=metrics.BalancedAccuracy())  # a sixth of the labels are True

    assert found(rm.AutoClassifier()) < found(rm.AROWClassifier()) - 0.1


def accuracy(model, cut=0.0, metric=None):
    metric = metric or metrics.Accuracy()
    for x, y in noisy(3000):
        metric.update(y > cut, model.predict_one(x))
        model.learn_one(x, y > cut)
    return metric.get()


def test_output_codes_have_one_vector_for_the_classes_0_and_1():
    ours = rm.OGDClassifier(lr=0.01, loss="logistic", schedule="constant", classes=[0, 1])
    models = [multiclass.OutputCodeClassifier(each, 8, seed=1) for each in (ours, linear_model.LogisticRegression())]
    for i, (x, y) in enumerate(noisy(300)):
        label = "low" if y < -1 else "high" if y > 1 else "middle"
        if i > 50:  # before, both scores of a bit may be equal
            assert models[0].predict_one(x) == models[1].predict_one(x)
        for model in models:
            model.learn_one(x, label)
    with pytest.raises(ValueError, match="write classes="):
        multiclass.OutputCodeClassifier(rm.BalancedWinnow(), 8, seed=1).learn_one({"a": 1.0}, "low")


def ratings(level, rounds=8000):
    draw = random.Random(1)
    users, items = ([draw.gauss(0, 0.6) for _ in range(count)] for count in (900, 1600))
    for _ in range(rounds):
        u, i = int(900 * draw.random() ** 2), int(1600 * draw.random() ** 2)
        yield {"user": str(u), "item": str(i)}, level + users[u] + items[i] + draw.gauss(0, 0.8)


def test_shared_weights_cost_much_if_labels_are_far_from_0():
    def late(model, level):
        model, found = rm.OneHotEncoder() | model, metrics.MAE()
        for t, (x, y) in enumerate(ratings(level)):
            if t >= 5000:
                found.update(y, model.predict_one(x))
            model.learn_one(x, y)
        return found.get()

    mean = late(dummy.StatisticRegressor(stats.Mean()), 3.5)
    assert (
        late(rm.AROWRegressor(max_features=2**12), 0.0)
        < 0.95 * mean
        < mean
        < late(rm.AROWRegressor(max_features=2**12), 3.5)
    )
    for level in (3.5, 20.0):
        assert late(rm.AutoRegressor([rm.AROWRegressor(a=1, max_features=2**12)]), level) < 0.87 * mean
    assert late(rm.PARegressor(C=0.02, max_features=2**12), 3.5) < 0.95 * mean


@pytest.mark.parametrize(
    ("model", "error"),
    [
        (rm.AROWRegressor(), 591),
        (rm.AutoRegressor(), 11.4),
        (rm.AROWRegressor(covariance="full"), 12.3),
        (rm.AROWRegressor(a=1), 13.1),
    ],
    ids=["AROW", "Auto", "full", "a=1"],
)
def test_lags_join_one_after_another(model, error):
    """The errors that docs/learners.md names."""
    lagged = time_series.SNARIMAX(p=12, d=1, q=0, regressor=rm.StandardScaler() | model)
    found = metrics.MAE()
    for month, (_, y) in enumerate(datasets.AirlinePassengers()):
        if month > 24:
            found.update(y, lagged.forecast(1)[0])
        lagged.learn_one(y)
    assert found.get() == pytest.approx(error, rel=0.01)
