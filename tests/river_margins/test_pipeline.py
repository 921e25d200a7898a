"""The compiled pipeline does what River's does, to the last bit."""

import copy
import functools
import math
import pickle

import pandas
import polars
import pytest
from river import anomaly, compose, datasets, feature_selection, linear_model, multiclass, preprocessing, stats, utils

import river_margins as rm
from river_margins.pipeline import Pipeline
from tests.helpers.rounds import state


def learner():
    return rm.PAClassifier(C=0.01)


class Contrary(rm.PAClassifier):
    """One that says the opposite, and wants to see a dict."""

    def predict_one(self, x):
        assert type(x) is dict
        return not super().predict_one(x)


class Shifted(rm.StandardScaler):
    def transform_one(self, x):
        return {name: value + 1.0 for name, value in super().transform_one(x).items()}


STEPS = {
    "a scaler": lambda: (rm.StandardScaler(), learner()),
    "a scaler that only centres": lambda: (rm.StandardScaler(with_std=False), learner()),
    "two scalers": lambda: (rm.StandardScaler(), rm.StandardScaler(), learner()),
    "an intercept": lambda: (rm.StandardScaler(), rm.PAClassifier(C=0.01, intercept=True)),
    "buckets": lambda: (rm.StandardScaler(), rm.PAClassifier(C=0.01, max_features=4)),
    "products": lambda: (rm.Interactions(), learner()),
    "products of some": lambda: (rm.Interactions(pairs=[("https", "*"), ("late", "l*")]), rm.AROWClassifier()),
    "a hasher": lambda: (rm.FeatureHasher(12), learner()),
    "a hasher before buckets": lambda: (rm.FeatureHasher(12), rm.PAClassifier(C=0.01, max_features=5)),
    "a hasher and a scaler": lambda: (rm.FeatureHasher(12), rm.StandardScaler(), learner()),
    "a scaler and a hasher": lambda: (rm.StandardScaler(), rm.FeatureHasher(12), learner()),
    "a scaler and products": lambda: (rm.StandardScaler(), rm.Interactions(pairs=[("https", "*")]), learner()),
    "products and a scaler": lambda: (rm.Interactions(pairs=[("https", "*")]), rm.StandardScaler(), learner()),
    "four compiled steps": lambda: (
        rm.StandardScaler(with_std=False),
        rm.Interactions(pairs=[("https", "*"), ("late", "l*")]),
        rm.StandardScaler(),
        rm.FeatureHasher(64),
        rm.PAClassifier(C=0.01, max_features=20),
    ),
    "products before a scaler of one's own": lambda: (rm.Interactions(pairs=[("https", "*")]), Shifted(), learner()),
    "a scaler and products before a learner of one's own": lambda: (
        rm.StandardScaler(),
        rm.Interactions(pairs=[("https", "*")]),
        Contrary(C=0.01),
    ),
    "a covariance": lambda: (rm.StandardScaler(), rm.NAROWClassifier()),
    "a kernel": lambda: (rm.StandardScaler(), rm.KernelPAClassifier(rm.RBF(0.1), C=0.01)),
    "sparse weights": lambda: (rm.StandardScaler(), rm.FOBOSClassifier()),
    "a learner of one's own": lambda: (rm.StandardScaler(), Contrary(C=0.01)),
    "a scaler of one's own": lambda: (Shifted(), learner()),
    "two transformers": lambda: (preprocessing.Normalizer(), rm.StandardScaler(), learner()),
    "a union": lambda: (rm.StandardScaler() + preprocessing.Normalizer(), learner()),
    "a supervised transformer": lambda: (feature_selection.SelectKBest(stats.PearsonCorr(), k=4), learner()),
    "a filter": lambda: (
        rm.StandardScaler(),
        anomaly.QuantileFilter(anomaly.HalfSpaceTrees(seed=1), q=0.95),
        learner(),
    ),
    "only a learner": lambda: (learner(),),
}


def awkward(rounds):
    """Phishing, with features that come late, go and change places, and names that are made anew, or are not texts."""
    for n, (x, y) in enumerate(datasets.Phishing().take(rounds)):
        items = list(x.items()) + [((0, "pair"), n % 7), (5, n % 3 == 0)] * (n > 20)
        if n % 5 == 0:
            items.reverse()
        if n > 40:
            items.insert(n % 6, ("late", n / 100))
        yield {"".join(k) if type(k) is str else k: v for k, v in items[n % 4 == 3 :]}, y


def play(model, both, rounds=200):
    said = []
    for x, y in awkward(rounds):
        said += [both(model, x), model.predict_proba_one(x) if hasattr(model[-1], "predict_proba_one") else None]
        model.learn_one(x, y)
        if len(said) == rounds:  # half-way: the names are other objects from here on
            model = pickle.loads(pickle.dumps(model))
            said.append(both(model, x))
    return said, [state(step) for step in model.steps.values() if hasattr(step, "_open")]


def rivers_pair(model, x):
    return model.predict_one(x), model.score_one(x)


def ours_pair(model, x):
    assert model.predict_score_one(x) == rivers_pair(model, x)
    return model.predict_score_one(x)


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_it_goes_rivers_way(steps):
    assert play(Pipeline(*steps()), ours_pair) == play(compose.Pipeline(*steps()), rivers_pair)


@pytest.mark.parametrize("second", [rm.FeatureHasher(64), rm.Interactions(), rm.OneHotEncoder()])
def test_a_text_goes_past_a_scaler_to_the_step_that_encodes_it(second):
    steps = (rm.StandardScaler(), second, learner())
    ours, rivers = Pipeline(*steps), compose.Pipeline(*(step.clone() for step in steps))
    for n, (x, y) in enumerate(datasets.Phishing().take(60)):
        given = x | {"country": "AB"[n % 2]} if n % 3 else x
        assert ours_pair(ours, given) == rivers_pair(rivers, given)
        ours.learn_one(given, y)
        rivers.learn_one(given, y)
    assert [state(step) for step in ours.steps.values()] == [state(step) for step in rivers.steps.values()]


@pytest.mark.parametrize("second", [rm.FeatureHasher(64), rm.Interactions(), rm.StandardScaler()])
def test_what_a_later_step_refuses_leaves_the_pipeline_usable(second):
    model = Pipeline(rm.StandardScaler(), second, learner())
    for x, y in datasets.Phishing().take(20):
        model.learn_one(x, y)
    for bad in ({"https": math.nan}, {"https": None}, {"https": 1e308, "url_length": 1e308}):
        with pytest.raises((ValueError, OverflowError)):
            model.learn_one(x | bad, y)
        assert type(model.predict_one(x)) is bool


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_one_call_is_both(steps):
    ours, rivers = Pipeline(*steps()), compose.Pipeline(*steps())
    for n, (x, y) in enumerate(awkward(200)):
        assert ours.predict_learn_one(x, y) == rivers.predict_one(x)
        rivers.learn_one(x, y)
        if n == 100:
            ours = pickle.loads(pickle.dumps(ours))
    known = [[state(step) for step in each.steps.values() if hasattr(step, "_open")] for each in (ours, rivers)]
    assert known[0] == known[1]


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ({"a": float("nan")}, True),
        ({"a": "text", "b": 1e-300}, True),
        ({"a": 1e300, "b": 1e300}, True),
        ({"a": 1e300, "b": -1e300}, True),
        ({"a": 1.0, "b": 1e-300, "new": float("inf")}, True),
        ({"a": 1.0, "b": 1e-300}, "a third label"),
        ({"new": 1.0}, "a third label"),
        (["a"], True),
    ],
)
def test_what_both_calls_refuse_one_call_refuses(x, y):
    """And it leaves behind what they leave behind: a scaler may have learned what the learner refuses."""
    pipelines = Pipeline(*STEPS["a scaler"]()), compose.Pipeline(*STEPS["a scaler"]())
    for pipeline in pipelines:
        pipeline.learn_one({"a": 1.0, "b": 1e-300}, True)
        pipeline.learn_one({"a": 2.0, "b": 2e-300}, False)
    ours, rivers = pipelines
    said = []
    for call in (lambda: ours.predict_learn_one(x, y), lambda: (rivers.predict_one(x), rivers.learn_one(x, y))):
        with pytest.raises((ValueError, TypeError, OverflowError)) as refusal:
            call()
        said.append((refusal.type, str(refusal.value)))
    assert said[0] == said[1]
    assert [state(step) for step in ours.steps.values()] == [state(step) for step in rivers.steps.values()]
    assert play(ours, ours_pair, 60) == play(rivers, rivers_pair, 60)


class Noting(rm.StandardScaler):
    """One that takes a weight, too."""

    def learn_one(self, x, w=1.0):
        super().learn_one({name: value * w for name, value in x.items()})


# River's filter hands `w` to its detector, which refuses it.
TAKING = {name: steps for name, steps in STEPS.items() if name != "a filter"}
TAKING["a scaler with w"] = lambda: (Noting(), learner())


@pytest.mark.parametrize("steps", TAKING.values(), ids=TAKING)
def test_further_arguments_go_rivers_way(steps):
    """To each step that takes them, and to no other."""
    pipelines = Pipeline(*steps()), compose.Pipeline(*steps()), Pipeline(*steps())
    for n, (x, y) in enumerate(awkward(100)):
        ours, rivers, unweighted = pipelines
        for pipeline in (ours, rivers):
            pipeline.learn_one(x, y, **({"w": n % 4 * 0.5} if n % 7 else {"w": 2.0, "t": n}))
        unweighted.learn_one(x, y, t=n)
        assert ours.predict_one(x) == rivers.predict_one(x)
    ours, rivers, unweighted = ([state(s) for s in each.steps.values() if hasattr(s, "_open")] for each in pipelines)
    assert ours == rivers != unweighted


def test_what_a_step_refuses_it_refuses():
    model, rivers = Pipeline(*STEPS["two scalers"]()), compose.Pipeline(*STEPS["two scalers"]())
    for pipeline in (model, rivers):
        pipeline.learn_one({"a": 1.0, "b": 1e-300}, True)
        pipeline.learn_one({"a": 2.0, "b": 2e-300}, False)
    for x in ({"a": float("nan")}, {"a": "text"}, {"a": 1e300, "b": 1e300}, ["a"]):
        said = []
        for call in (model.learn_one, rivers.learn_one):
            with pytest.raises((ValueError, TypeError, OverflowError)) as refusal:
                call(x, True)
            said.append((refusal.type, str(refusal.value)))
        assert said[0] == said[1]
    assert play(model, ours_pair, 60) == play(rivers, rivers_pair, 60)


def test_it_learns_during_prediction_where_river_is_told_to():
    ours, rivers = Pipeline(*STEPS["a scaler"]()), compose.Pipeline(*STEPS["a scaler"]())
    with compose.learn_during_predict():
        assert play(ours, rivers_pair) == play(rivers, rivers_pair)
    assert ours[0].counts == rivers[0].counts


def test_one_pipeline_alone_may_learn_during_prediction():
    """As in River, which looks at the pipeline, and finds the value of the class if it has none of its own."""
    one, other = rm.StandardScaler() | learner(), rm.StandardScaler() | learner()
    one._LEARN_UNSUPERVISED_DURING_PREDICT = True
    for model in (one, other):
        model.predict_one({"a": 1.0})
    assert (one[0].counts, other[0].counts) == ({"a": 1}, {})


def test_a_copy_and_a_step_that_comes_later_are_seen():
    ours = rm.StandardScaler() | learner()
    for x, y in datasets.Phishing().take(20):
        ours.predict_learn_one(x, y)
    assert type(pickle.loads(pickle.dumps(ours))._plan) is tuple  # River's, which older versions read
    for copied in (pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours)):
        assert copied.predict_learn_one(x, y) is ours.predict_one(x)
        assert (copied[0].counts["https"], copied[-1].n_seen) == (21, 21)
        assert (ours[0].counts["https"], ours[-1].n_seen) == (20, 20)
        longer = compose.Discard("https") | copied
        longer.predict_learn_one(x, y)
        assert (copied[1].counts["https"], copied[-1].n_seen) == (21, 22)


def test_further_arguments_reach_the_learner():
    ours = Pipeline(*STEPS["a scaler"]())
    ours.learn_one({"a": 1.0}, True, w=0.0)
    assert ours[-1].n_seen == 1
    assert ours.predict_learn_one({"a": 2.0}, False, w=0.0) is True
    assert ours[-1].n_seen == 2
    assert ours[-1].n_updates == 0


def test_a_transformer_begins_one():
    for first in (rm.StandardScaler, rm.FeatureHasher, rm.Interactions, rm.BagOfWords, rm.TFIDF):
        assert type(first() | learner()) is Pipeline
    model = rm.StandardScaler() | (preprocessing.MinMaxScaler() | learner())
    assert list(model.steps) == ["StandardScaler", "MinMaxScaler", "PAClassifier"]
    assert type((rm.StandardScaler() | learner()).clone()) is Pipeline


def test_a_filter_has_no_part_in_an_explanation():
    model = Pipeline(*STEPS["a filter"]())
    for x, y in datasets.Phishing().take(50):
        model.learn_one(x, y)
    assert model.explain_one(x) == model[-1].explain_one(model[0].transform_one(x))


@pytest.mark.parametrize(
    "steps",
    [
        lambda: (compose.Discard("https"), rm.StandardScaler() | rm.PAClassifier()),
        lambda: (rm.StandardScaler() | rm.Interactions(), rm.PAClassifier()),
        lambda: (compose.Discard("https"), rm.StandardScaler() | rm.Interactions(), rm.PAClassifier()),
    ],
)
def test_it_is_a_step_of_rivers_pipeline(steps):
    given = steps()
    inner = {id(step): list(step.steps) for step in given if isinstance(step, compose.Pipeline)}
    model = compose.Pipeline(*given)
    assert list(model.steps.values()) == list(given)
    assert inner == {id(step): list(step.steps) for step in given if isinstance(step, compose.Pipeline)}
    for x, y in datasets.Phishing().take(20):
        model.learn_one(x, y)
    assert model.predict_one(x) is not None


class Seeing(rm.PAClassifier):
    """One that wants to see a frame."""

    def learn_many(self, X, y):
        assert isinstance(X, pandas.DataFrame | polars.DataFrame)
        super().learn_many(X, y)

    def predict_many(self, X):
        assert isinstance(X, pandas.DataFrame | polars.DataFrame)
        return super().predict_many(X)


class Doubled(rm.StandardScaler):
    def transform_many(self, X):
        return 2.0 * super().transform_many(X)


@pytest.mark.parametrize("library", [pandas, polars])
@pytest.mark.parametrize(
    "steps",
    [
        lambda: (rm.StandardScaler(), learner()),
        lambda: (rm.StandardScaler(with_std=False), rm.StandardScaler(half_life=20), rm.AROWClassifier()),
        lambda: (rm.StandardScaler(), Seeing(C=0.01)),
        lambda: (Doubled(), learner()),
        lambda: (rm.StandardScaler(), preprocessing.StandardScaler(), learner()),
        lambda: (rm.StandardScaler(), linear_model.LogisticRegression()),
    ],
)
def test_batches_teach_what_they_teach_rivers_pipeline(steps, library):
    rivers, ours = compose.Pipeline(*steps()), Pipeline(*steps())
    rows, labels = zip(*datasets.Phishing().take(90), strict=True)
    frame, y = library.DataFrame(rows), library.Series(labels)
    for part, given in ((frame[:40], y[:40]), (frame[40:], y[40:])):
        for model in (rivers, ours):
            model.learn_many(part, given)
        for method in ("predict_many", "predict_proba_many", "transform_many"):
            expected, found = getattr(rivers, method)(part), getattr(ours, method)(part)
            assert type(found) is type(expected)
            assert found.equals(expected)
    for x in rows:
        assert ours.predict_one(x) == rivers.predict_one(x)


@pytest.mark.parametrize("last", [rm.SelectiveSampler(rm.PAClassifier()), rm.OnlineMLPClassifier()])
def test_a_batch_that_a_step_cannot_take_teaches_no_step(last):
    model = rm.StandardScaler() | last.clone()
    with pytest.raises(AttributeError, match=f"`{type(last).__name__}` takes no frames: call `learn_one` for each row"):
        model.learn_many(pandas.DataFrame({"a": [1.0, 2.0, 3.0]}), [True, False, True])
    assert model["StandardScaler"].transform_one({"a": 3.0}) == {"a": 0.0}


@pytest.mark.parametrize("method", ["predict_many", "predict_proba_many"])
def test_a_frame_that_a_step_cannot_take_is_refused_by_the_name_of_the_step(method):
    model = rm.StandardScaler() | rm.OneHotEncoder() | rm.PAClassifier()
    model.learn_one({"a": 1.0, "country": "CH"}, True)
    for frame in (pandas.DataFrame({"a": [1.0], "country": ["CH"]}), pandas.DataFrame({"a": [1.0]})):
        with pytest.raises(AttributeError, match="`OneHotEncoder` takes no frames: call `predict_one`"):
            getattr(model, method)(frame)


@pytest.mark.parametrize("method", ["predict_many", "predict_proba_many"])
def test_a_last_step_that_takes_no_frames_is_named(method):
    model = rm.StandardScaler() | rm.SelectiveSampler(rm.PAClassifier())
    one = method.replace("many", "one")
    with pytest.raises(AttributeError, match=f"`SelectiveSampler` takes no frames: call `{one}` for each row"):
        getattr(model, method)(pandas.DataFrame({"a": [1.0]}))


@pytest.mark.parametrize("step", [rm.FeatureHasher(2**10), rm.Interactions()])
def test_a_scaler_belongs_before_texts_become_features(step):
    """Behind such a step, a scaler makes 0 of what is 1 wherever it is present."""
    rows = [({"ad": f"ad{t % 2}", "site": f"s{t % 7}"}, t % 2 == 1) for t in range(2000)]

    def probabilities(model):
        for x, y in rows:
            model.learn_one(x, y)
        return [model.predict_proba_one({"ad": ad, "site": "s1"})[True] for ad in ("ad0", "ad1")]

    told_apart = probabilities(rm.StandardScaler() | step.clone() | rm.FTRLProximalClassifier())
    assert told_apart[0] < 0.1 < 0.9 < told_apart[1]
    alike = probabilities(step.clone() | rm.StandardScaler() | rm.FTRLProximalClassifier())
    assert alike[0] == alike[1]


@pytest.mark.parametrize(
    ("steps", "name"),
    [
        (lambda: (compose.Select("a") + rm.OneHotEncoder(), rm.PAClassifier()), "OneHotEncoder"),
        (lambda: (anomaly.QuantileFilter(anomaly.HalfSpaceTrees(), q=0.9), rm.PAClassifier()), "QuantileFilter"),
        (lambda: (multiclass.OneVsRestClassifier(rm.OnlineMLPClassifier()),), "OnlineMLPClassifier"),
    ],
)
def test_a_batch_that_a_part_of_a_step_cannot_take_teaches_no_step(steps, name):
    model = Pipeline(rm.StandardScaler(), *steps())
    with pytest.raises(AttributeError, match=f"`{name}` takes no frames: call `learn_one` for each row"):
        model.learn_many(pandas.DataFrame({"a": [1.0, 2.0, 3.0]}), [True, False, True])
    assert model["StandardScaler"].transform_one({"a": 3.0}) == {"a": 0.0}


def test_rivers_log_of_method_calls_has_each_step():
    def logged(model):
        calls = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("logging.debug", calls.append)
            with utils.log_method_calls():
                assert model.predict_one({"a": 1.0}) is None
                model.learn_one({"a": 1.0}, True)
        return calls

    ours = Pipeline(*STEPS["a scaler"]())
    assert logged(ours) == logged(compose.Pipeline(*STEPS["a scaler"]()))
    with pytest.MonkeyPatch.context() as patch:  # afterwards, rows go from step to step again
        patch.setattr(compose.Pipeline, "learn_one", None)
        ours.learn_one({"a": 2.0}, False)


def test_a_subclass_with_getattr_keeps_the_fast_route():
    class Named(Pipeline):
        def __getattr__(self, name):
            raise AttributeError(f"no {name!r} here")

    ours = Named(*STEPS["a scaler"]())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compose.Pipeline, "learn_one", None)
        ours.learn_one({"a": 2.0}, False)


def test_methods_of_a_user_are_given_the_frame():
    """Also a function in the place of ours that says, as `functools.wraps` makes it do, that it is of our module."""
    given = []

    def watched(method):
        @functools.wraps(method)
        def watching(self, X):
            given.append(type(X))
            return method(self, X)

        return watching

    class Scaler(rm.StandardScaler):
        transform_many = watched(rm.StandardScaler.transform_many)

    class OwnPipeline(type(rm.StandardScaler() | rm.PAClassifier())):
        _transform_many = watched(compose.Pipeline._transform_many)

    X = pandas.DataFrame({"a": [1.0, 2.0]})
    for model in (Scaler() | rm.PAClassifier(), OwnPipeline(rm.StandardScaler(), rm.PAClassifier())):
        model.learn_many(X, [True, False])
        model.predict_many(X)
    assert given == [pandas.DataFrame] * 3
