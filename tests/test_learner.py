"""River's contract and the edges of every learner."""

import collections
import copy
import inspect
import math
import pickle
import random
import threading

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from river import checks, compose, datasets, evaluate, metrics, multiclass

import river_margins as rm
from tests.learners import FORMS
from tests.python_rules import MarginPerceptron

ESTIMATORS = [
    rm.Perceptron,
    rm.PAClassifier,
    rm.PARegressor,
    rm.MarginClassifier,
    rm.MarginRegressor,
    rm.StandardScaler,
]
RIVER_CHECKS = [
    pytest.param(kind(**parameters), check, id=f"{kind.__name__}-{i}-{check.__name__}")
    for kind in ESTIMATORS
    for i, parameters in enumerate(kind._unit_test_params())
    for check in checks.yield_checks(kind(**parameters))
]


def stream(seed=0, rounds=200, features=6, labels=(False, True)):
    """Noisy rounds in which features come and go."""
    draw = random.Random(seed)
    for _ in range(rounds):
        x = {f"f{i}": draw.gauss(0, 1) for i in range(features) if draw.random() < 0.7}
        yield x, draw.choice(labels)


def trained(model, rounds=200):
    labels = [0.5, -2.0, 3.0] if isinstance(model, rm.MarginRegressor) else getattr(model, "classes", None)
    for x, y in stream(rounds=rounds, labels=labels or (False, True)):
        model.learn_one(x, y)
    return model


def same_state(a, b):
    """Bit for bit, whatever is in it."""
    return pickle.dumps(a.__getstate__()) == pickle.dumps(b.__getstate__())


@pytest.mark.parametrize(("model", "check"), RIVER_CHECKS)
def test_river_check(model, check):
    check(model.clone())


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_no_river_check_is_skipped(kind):
    assert not kind(**next(iter(kind._unit_test_params())))._unit_test_skips()


@pytest.mark.parametrize("case", FORMS, ids=str)
@pytest.mark.parametrize(
    "duplicate",
    [
        copy.deepcopy,
        lambda model: pickle.loads(pickle.dumps(model)),
        lambda model: model.clone(include_attributes=True),
    ],
    ids=["deepcopy", "pickle", "clone"],
)
def test_a_copy_goes_on_bit_for_bit(case, duplicate):
    model = trained(case.make())
    twin = duplicate(model)
    assert same_state(twin, model)
    untouched = pickle.dumps(model)
    trained(twin, rounds=50)
    assert pickle.dumps(model) == untouched
    trained(model, rounds=50)
    assert same_state(twin, model)


@pytest.mark.parametrize("case", FORMS, ids=str)
def test_a_clone_is_fresh_and_equal(case):
    model = trained(case.make())
    assert same_state(model.clone(), case.make())
    assert repr(model.clone()) == repr(model)


@pytest.mark.parametrize("case", FORMS, ids=str)
def test_predict_learn_one_is_the_two_calls(case):
    two, fused = case.make(), case.make()
    for x, y in stream(labels=[1.5, 0.0] if isinstance(two, rm.MarginRegressor) else two.classes or (False, True)):
        predicted = two.predict_one(x)
        two.learn_one(x, y)
        assert fused.predict_learn_one(x, y) == predicted
    assert same_state(two, fused)


@pytest.mark.parametrize("case", FORMS, ids=str)
def test_dicts_frames_and_csr_rows_teach_the_same(case):
    draw = np.random.default_rng(1)
    X = draw.normal(size=(80, 5))
    regression = isinstance(case.make(), rm.MarginRegressor)
    y = draw.normal(size=80) if regression else draw.choice(case.make().classes or [False, True], size=80)
    by_dict, by_frame, by_csr = case.make(), case.make(), case.make()
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        by_dict.learn_one(dict(enumerate(row)), label)
    by_frame.learn_many(pd.DataFrame(X), pd.Series(y))
    by_csr.learn_csr(scipy.sparse.csr_matrix(X), y)
    assert same_state(by_dict, by_frame)
    assert same_state(by_dict, by_csr)
    expected = [by_dict.predict_one(dict(enumerate(row))) for row in X.tolist()]
    assert by_frame.predict_many(pd.DataFrame(X)).tolist() == expected
    assert by_csr.predict_csr(scipy.sparse.csr_matrix(X)).tolist() == expected


REFUSED = [
    pytest.param({"a": math.nan}, ValueError, "feature 'a' is nan", id="nan"),
    pytest.param({"a": 1.0, "new": math.inf}, ValueError, "feature 'new' is inf", id="infinity"),
    pytest.param({"a": "red"}, ValueError, "OneHotEncoder", id="text"),
    pytest.param({"a": None}, ValueError, "feature 'a' is None", id="none"),
    pytest.param({"a": [1.0]}, ValueError, "of type list", id="list"),
    pytest.param({"a": 10**400}, ValueError, "feature 'a'", id="huge int"),
    pytest.param({"a": 1e200}, OverflowError, "scale the features", id="overflow"),
]


@pytest.mark.parametrize(("x", "error", "words"), REFUSED)
@pytest.mark.parametrize("case", FORMS, ids=str)
def test_what_is_refused_changes_nothing(case, x, error, words):
    model = trained(case.make())
    before = pickle.dumps(model)
    label = 1.0 if isinstance(model, rm.MarginRegressor) else (model.classes or [True])[-1]
    with pytest.raises(error, match=words):
        model.learn_one({"a": 0.5} | x, label)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (True, 1, "neither False nor True"),
        (True, "yes", "neither False nor True"),
        (True, None, "neither False nor True"),
        ("a", True, "do not mix"),
        (1, True, "do not mix"),
        ("a", None, "no class"),
        ("a", math.nan, "no class"),
        ("a", ["b"], "not hashable"),
    ],
)
def test_labels_that_do_not_go_together_are_refused(first, second, words):
    model = rm.PAClassifier()
    model.learn_one({"a": 1.0}, first)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=words):
        model.check_label(second)
    with pytest.raises(ValueError, match=words):
        model.learn_one({"a": 1.0, "b": 1.0}, second)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("label", ["3", None, math.nan, math.inf, [1.0]])
def test_a_regressor_refuses_what_is_no_finite_number(label):
    with pytest.raises(ValueError, match="regressor needs"):
        rm.PARegressor().learn_one({"a": 1.0}, label)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: rm.PAClassifier(C=0.0), "`C` must be a finite number above 0, not 0.0"),
        (lambda: rm.PAClassifier(C=math.nan), "`C`"),
        (lambda: rm.PAClassifier(C="x"), "`C` must be a finite number above 0, not 'x'"),
        (lambda: rm.PAClassifier(mode=3), "`mode` must be 0"),
        (lambda: rm.PARegressor(eps=-1.0), "`eps`"),
        (lambda: rm.Perceptron(lr=-1.0), "`lr`"),
        (lambda: rm.Perceptron(classes=["a"]), "`classes`"),
        (lambda: rm.Perceptron(classes=["a", "a"]), "`classes`"),
        (lambda: rm.Perceptron(classes=[True, "a"]), "do not mix"),
        (lambda: rm.Perceptron(max_features=0), "`max_features`"),
    ],
)
def test_parameters_out_of_range_are_named(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_before_any_label_a_classifier_knows_nothing():
    model = rm.PAClassifier()
    assert model.predict_one({"a": 1.0}) is None
    assert model.score_one({"a": 1.0}) == model.predict_proba_one({"a": 1.0}) == model.weights == {}


def test_two_named_classes_share_one_vector():
    model = rm.PAClassifier(classes=["ham", "spam"])
    assert model.predict_one({}) == "spam"  # a score of 0 predicts the positive class
    model.learn_one({"a": 1.0}, "ham")
    assert model.score_one({"a": 1.0}) == -1.0
    assert model.predict_one({"a": 1.0}) == "ham"
    assert list(model.predict_proba_one({"a": 1.0})) == ["spam", "ham"]


@pytest.mark.parametrize("score", [0.0, 1e-300, -1e-300, 0.3, -0.3, 800.0, -800.0])
def test_probabilities_rank_as_the_scores_do(score):
    classifier = rm.PAClassifier(mode=0, classes=[False, True])
    classifier.learn_one({"a": 1.0}, True)  # the weight of a is now 1
    probabilities = classifier.predict_proba_one({"a": score})
    assert max(probabilities, key=probabilities.get) == classifier.predict_one({"a": score})
    assert sum(probabilities.values()) == pytest.approx(1.0)


def test_numpy_labels_and_values_are_plain_ones():
    plain, numpy = rm.PAClassifier(), rm.PAClassifier()
    for x, y in stream():
        plain.learn_one(x, y)
        numpy.learn_one({key: np.float64(value) for key, value in x.items()}, np.bool_(y))
    assert same_state(plain, numpy)
    several = rm.PAClassifier()
    several.learn_one({"a": 1.0}, np.int64(3))
    several.learn_one({"a": 1.0}, 3)
    assert list(several.weights) == [3]


@pytest.mark.parametrize("kind", [collections.OrderedDict, collections.Counter, collections.UserDict])
def test_any_mapping_will_do(kind):
    model = rm.PAClassifier()
    model.learn_one(kind({"a": 1.0, "b": 2.0}), True)
    assert dict(model.weights) == {"a": 0.2, "b": 0.4}


def test_keys_may_be_anything_hashable():
    model = rm.PAClassifier(mode=0)
    model.learn_one({1: 1.0, ("a", 2): 1.0, None: 1.0, "s": 1.0}, True)
    assert dict(model.weights) == {1: 0.25, ("a", 2): 0.25, None: 0.25, "s": 0.25}


def test_an_intercept_is_a_feature_of_value_one():
    inside, outside = rm.PAClassifier(intercept=True), rm.PAClassifier()
    for x, y in stream():
        inside.learn_one(x, y)
        outside.learn_one({rm.INTERCEPT: 1.0} | x, y)
        assert inside.score_one(x) == pytest.approx(outside.score_one({rm.INTERCEPT: 1.0} | x), abs=1e-12)
    assert dict(inside.weights) == pytest.approx(dict(outside.weights))
    assert copy.deepcopy(inside).weights[rm.INTERCEPT] == inside.weights[rm.INTERCEPT]


def test_hashed_features_stay_within_bounds_and_are_the_same_everywhere():
    model = rm.PAClassifier(max_features=4)
    for i in range(100):
        model.learn_one({f"name{i}": 1.0}, i % 2 == 0)
    assert set(model.weights) == {0, 1, 2, 3}
    other = rm.PAClassifier(mode=0, max_features=1)
    other.learn_one({"a": 1.0, "b": 2.0}, True)  # both fall into the one bucket, as the feature 3
    assert dict(other.weights) == {0: pytest.approx(1 / 3)}


def test_a_record_may_fall_apart_while_it_is_read():
    class Saboteur:
        def __float__(self):
            del x[key]
            return 1.0

    for i in range(300):
        key = f"key {i}" * 3
        x = {key: Saboteur(), "a": 1.0}
        del key  # the dict now holds the only reference
        key = next(iter(x))
        rm.PAClassifier().learn_one(x, True)


def test_poison_is_refused_before_the_first_label_too():
    for method in (rm.PAClassifier().predict_one, rm.PAClassifier().score_one, rm.PAClassifier().predict_proba_one):
        with pytest.raises(ValueError, match="feature 'a'"):
            method({"a": "text"})


def test_a_sample_weight_multiplies_C():
    weighted, twice = rm.PAClassifier(C=0.1), rm.PAClassifier(C=0.2)
    weighted.learn_one({"a": 1.0}, True, w=2.0)
    twice.learn_one({"a": 1.0}, True)
    assert dict(weighted.weights) == dict(twice.weights) == {"a": 0.2}
    with pytest.raises(ValueError, match="neither C nor lr"):
        rm.PAClassifier(mode=0).learn_one({"a": 1.0}, True, w=2.0)
    with pytest.raises(ValueError, match="`w`"):
        rm.PAClassifier().learn_one({"a": 1.0}, True, w=-1.0)


def test_what_shapes_the_memory_is_fixed_once_made():
    with pytest.raises(AttributeError, match="clone"):
        rm.PAClassifier().intercept = True
    with pytest.raises(ValueError, match="not a mutable attribute"):
        rm.PAClassifier().mutate({"intercept": True})
    assert rm.PAClassifier().clone({"intercept": True}).intercept


def test_what_says_how_to_learn_may_be_mutated_in_mid_stream():
    model = rm.StandardScaler() | rm.PAClassifier(C=0.1)
    model["PAClassifier"].learn_one({"a": 1.0}, True)
    model.mutate({"PAClassifier": {"C": 0.5}})
    model["PAClassifier"].learn_one({"a": 1.0}, True)
    assert dict(model["PAClassifier"].weights) == {"a": 0.6}  # 0.1, and then min(0.5, 1 - 0.1)
    with pytest.raises(ValueError, match="`C` must be a finite number above 0, not -1"):
        model.mutate({"PAClassifier": {"C": -1.0}})
    assert model["PAClassifier"].C == 0.5
    regressor = rm.PARegressor(mode=0, eps=0.5)
    regressor.mutate({"eps": 0.0})
    regressor.learn_one({"a": 1.0}, 2.0)
    assert regressor.predict_one({"a": 1.0}) == 2.0
    composed = rm.MarginClassifier(rm.PA1(0.1))
    composed.mutate({"rule": rm.PA()})
    composed.learn_one({"a": 1.0}, True)
    assert dict(composed.weights) == {"a": 1.0}


def test_a_recipe_is_shared_without_being_changed():
    rule, space = rm.PA1(C=0.5), rm.Linear()
    first, second = rm.MarginClassifier(rule, space), rm.MarginClassifier(rule, space)
    first.learn_one({"a": 1.0}, True)
    assert second.score_one({"a": 1.0}) == {}
    assert (rule, space) == (rm.PA1(C=0.5), rm.Linear())


def test_a_rule_without_a_step_says_so():
    with pytest.raises(TypeError, match="must be a rule"):
        rm.MarginClassifier(rm.Rule())

    class Empty(rm.Rule):
        pass

    with pytest.raises(TypeError, match="`Empty` has no method `step"):
        rm.MarginClassifier(Empty()).learn_one({"a": 1.0}, True)


def test_a_subclass_of_a_compiled_rule_may_override_it_in_python():
    class Half(rm.PA):
        def step(self, seen):
            return super().step(seen).step / 2

    model = rm.MarginClassifier(Half())
    model.learn_one({"a": 1.0}, True)
    assert dict(model.weights) == {"a": 0.5}


def test_a_rule_that_answers_nan_is_stopped():
    class Broken(rm.Rule):
        def step(self, seen):
            return math.nan

    model = rm.MarginClassifier(Broken())
    with pytest.raises(OverflowError, match="step nan"):
        model.learn_one({"a": 1.0}, True)
    assert model.n_seen == 0


def test_signatures_are_there_for_pipelines():
    assert list(inspect.signature(rm.PAClassifier.learn_one).parameters) == ["self", "x", "y", "w"]
    assert list(inspect.signature(rm.PAClassifier).parameters) == ["C", "mode", "classes", "intercept", "max_features"]
    model = compose.Pipeline(rm.StandardScaler(), rm.PAClassifier())
    model.learn_one(x={"a": 1.0}, y=True)
    assert model.predict_one(x={"a": 1.0}) is True


def test_a_batch_is_checked_whole_before_any_row_is_learned():
    model = rm.PAClassifier()
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, np.nan]}, index=["first", "second"])
    with pytest.raises(ValueError, match="row 'second', column 'b' is nan"):
        model.learn_many(frame, pd.Series([True, False]))
    with pytest.raises(ValueError, match="neither False nor True"):
        model.learn_many(frame.fillna(0.0), pd.Series([True, 3], dtype=object))
    with pytest.raises(ValueError, match="columns \\['a'\\] stand twice"):
        model.learn_many(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), pd.Series([True]))
    with pytest.raises(ValueError, match="2 rows, but 1 labels"):
        model.learn_many(frame.fillna(0.0), pd.Series([True]))
    with pytest.raises(ValueError, match="columns \\['b'\\] are not numbers"):
        model.learn_many(frame.assign(b=["x", "y"]), pd.Series([True, False]))
    assert model.n_seen == 0


def test_threads_do_not_crash_a_learner():
    class Slow:
        """A number that runs Python code when it is read."""

        def __init__(self, value):
            self.value = value

        def __float__(self):
            return sum([self.value] * 50) / 50

    model = rm.MarginClassifier(MarginPerceptron())
    rounds = [({k: Slow(v) for k, v in x.items()}, y) for x, y in stream(rounds=300)]

    def work():
        for x, y in rounds:
            model.learn_one(x, y)
            model.predict_one(x)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.n_seen == 1200
    assert len(list(model.weights)) == len(set(model.weights)) == 6


def test_a_learner_does_not_learn_in_the_midst_of_learning():
    class Nested:
        def __float__(self):
            model.learn_one({"b": 1.0}, True)

    model = rm.PAClassifier()
    with pytest.raises(RuntimeError, match="while it learns"):
        model.learn_one({"a": Nested()}, True)
    model.learn_one({"a": 1.0}, True)
    assert dict(model.weights) == {"a": 1.0}


def test_memory_is_reported():
    model = rm.PAClassifier()
    empty = model._raw_memory_usage
    x = {f"feature {i}": 1.0 for i in range(10_000)}
    model.learn_one(x, True)
    keys = sum(key.__sizeof__() for key in x)
    per_feature = (model._raw_memory_usage - empty - keys) / 10_000
    assert per_feature >= 8 + 8 + 8 + 4  # weight, key, hash and slot of each feature are at least counted


def test_it_works_inside_rivers_own_wrappers():
    score = evaluate.progressive_val_score(
        datasets.Phishing(), rm.StandardScaler() | rm.PAClassifier(0.01), metrics.Accuracy()
    )
    assert score.get() > 0.85
    one_against_rest = multiclass.OneVsRestClassifier(rm.PAClassifier(0.1))
    score = evaluate.progressive_val_score(datasets.ImageSegments().take(500), one_against_rest, metrics.Accuracy())
    assert score.get() > 0.3
