"""What a stream may throw at a learner: odd values, odd mappings, odd names, odd moments."""

import collections
import copy
import datetime
import decimal
import fractions
import math
import pickle
import types

import numpy as np
import pandas as pd
import pytest
from river import preprocessing, stats
from scipy import sparse

import river_margins as rm
from river_margins import snapshot
from tests.helpers.cases import case
from tests.helpers.rounds import labels_of, state, stream_for, trained
from tests.learners import forms
from tests.learners.entry import with_gamma


@forms
def test_an_empty_record_counts_and_teaches_what_zeros_teach(form):
    empty, zeros = trained(form.make()), trained(form.make())
    label = labels_of(empty)[0]
    empty.learn_one({}, label)
    zeros.learn_one({f"f{i}": 0.0 for i in range(6)}, label)
    assert empty.n_seen == 201
    assert state(empty) == state(zeros)
    scores = empty.score_one({})
    assert form.learner.zero_is_a_point or scores == form.learner.score_of_nothing or set(scores.values()) == {0.0}


@forms
def test_a_zero_is_a_feature_that_is_missing(form):
    plain, filled = (form.make(**with_gamma(form.learner)) for _ in range(2))
    for x, y in stream_for(plain, rounds=40):  # some rules make more of a rounding with every round
        plain.learn_one(x, y)
        filled.learn_one(x | {f"f{i}": 0.0 for i in range(6) if f"f{i}" not in x} | {"never": 0.0}, y)
    assert (filled.n_seen, filled.n_mistakes, filled.n_updates) == (plain.n_seen, plain.n_mistakes, plain.n_updates)
    for x, _ in stream_for(plain, seed=1, rounds=20):
        assert filled.score_one(x) == pytest.approx(plain.score_one(x), rel=1e-8, abs=1e-8)


REFUSED = {
    "nan": ({"a": math.nan}, ValueError, "feature 'a' is nan"),
    "numpy nan": ({"a": np.float32("nan")}, ValueError, "feature 'a' is nan"),
    "decimal nan": ({"a": decimal.Decimal("NaN")}, ValueError, "feature 'a' is nan"),
    "infinity": ({"a": 1.0, "new": -math.inf}, ValueError, "feature 'new' is -inf"),
    "text": ({"a": "red"}, ValueError, "OneHotEncoder.. or FeatureHasher.. of river_margins"),
    "text of a number": ({"a": "1.5"}, ValueError, "feature 'a' is the text '1.5': convert it to a number first"),
    "text of no number": ({"a": "NaN"}, ValueError, "the text 'NaN': leave it out, or fill it in"),
    "text of an infinity": ({"a": "-Infinity"}, ValueError, "the text '-Infinity': leave it out: a finite number"),
    "text beyond a float": ({"a": "1e999"}, ValueError, "the text '1e999': leave it out: a finite number"),
    "decimal comma": ({"a": "0,5"}, ValueError, "feature 'a' is the text '0,5': convert it .* decimal point"),
    "numpy text": ({"a": np.str_("1.5")}, ValueError, "feature 'a' is the text"),
    "bytes": ({"a": b"1.5"}, ValueError, "feature 'a' is the text b'1.5': decode it first"),
    "long text": ({"a": "red " * 1000}, ValueError, "'red red .{60,70}\\.\\.\\.: encode it in a step before"),
    "none": (
        {"a": None},
        ValueError,
        "'a' is None, and a number is needed: leave it out, or fill it with .*StatImputer\\(\\('a', stats.Mean",
    ),
    "date": ({"a": datetime.date(2020, 1, 1)}, ValueError, "a number is needed, such as its hour or its weekday"),
    "frame": ({"a": pd.Series([1.0, 2.0])}, ValueError, "feature 'a' is 0 1.0 1 2.0 dtype: float64, of type Series"),
    "list": ({"a": [1.0]}, ValueError, "of type list"),
    "complex": ({"a": 1j}, ValueError, "of type complex"),
    "numpy time": ({"a": np.datetime64("2024-01-01", "ns")}, ValueError, "of type datetime64: a number is needed"),
    "numpy duration": ({"a": np.timedelta64(5, "ns")}, ValueError, "of type timedelta64: a number is needed"),
    "numpy complex": ({"a": np.complex128(1j)}, ValueError, "of type complex128: a number is needed"),
    "huge int": ({"a": 10**400}, ValueError, "feature 'a' is 10{76}..., which is too large for a float"),
    "an int that Python does not write": (
        {"a": 10**5000},
        ValueError,
        "feature 'a' is a number that is too long to write",
    ),
    "overflow": ({"a": 1e200}, OverflowError, "scale the features"),
}


@forms
def test_what_is_refused_changes_nothing(form):
    model, twin = trained(form.make()), trained(form.make())
    before = pickle.dumps(model)
    for name, (x, error, words) in REFUSED.items():
        with case(name):
            for learn in (model.learn_one, model.predict_learn_one):
                with pytest.raises(error, match=words):
                    learn({"f0": 0.5} | x, labels_of(model)[-1])
                assert pickle.dumps(model) == before
            if error is ValueError:
                for ask in (model.predict_one, model.score_one):
                    with pytest.raises(error, match=words):
                        ask({"f0": 0.5} | x)
    assert state(trained(model, seed=1)) == state(trained(twin, seed=1))  # and it goes on as if nothing had been


def test_the_imputer_that_is_named_fills_in_for_none_only():
    imputer = preprocessing.StatImputer(("a", stats.Mean()))
    imputer.learn_one({"a": 2.0})
    assert imputer.transform_one({"a": None}) == {"a": 2.0}
    assert math.isnan(imputer.transform_one({"a": math.nan})["a"])


def test_the_encoders_that_are_named_exist():
    assert preprocessing.OneHotEncoder and preprocessing.OrdinalEncoder and preprocessing.FeatureHasher


def test_an_overflow_names_the_learner_and_the_parts_of_the_step():
    model = rm.PARegressor(mode=0, intercept=False)
    with pytest.raises(OverflowError, match=r"`PARegressor`: .* squared length 1e-200"):
        model.learn_one({"a": 1e-100}, 1e300)
    assert (model.n_seen, dict(model.weights)) == (0, {})
    model.learn_one({"a": 1.0}, 2.1)
    assert dict(model.weights) == {"a": 2.1}


@forms
def test_any_number_is_a_number(form):
    plain = form.make()
    rounds = [({key: round(4 * value) for key, value in x.items()}, y) for x, y in stream_for(plain)]
    for x, y in rounds:
        plain.learn_one({key: float(value) for key, value in x.items()}, y)
    for kind in (int, np.int64, np.int8, np.float32, np.float64, fractions.Fraction, decimal.Decimal):
        with case(kind):
            other = form.make()
            for x, y in rounds:
                other.learn_one({key: kind(value) for key, value in x.items()}, y)
            assert state(other) == state(plain)


@forms
def test_a_bool_is_0_or_1(form):
    plain = form.make()
    for x, y in stream_for(plain):
        plain.learn_one({key: float(value > 0) for key, value in x.items()}, y)
    for kind in (bool, np.bool_):
        with case(kind):
            other = form.make()
            for x, y in stream_for(plain):
                other.learn_one({key: kind(value > 0) for key, value in x.items()}, y)
            assert state(other) == state(plain)


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 3, 2**64 + 2**11 + 1, 3**90])
def test_ints_beyond_double_precision_are_rounded_to_the_nearest_double(value):
    whole, rounded = rm.PAClassifier(mode=0), rm.PAClassifier(mode=0)
    for _ in range(2):  # the second time the feature is known
        whole.learn_one({"a": value, "b": 1.0}, True)
        rounded.learn_one({"a": float(value), "b": 1.0}, True)
        assert state(whole) == state(rounded)


class Instance:
    def __init__(self, features):
        self.__dict__.update(features)


MAPPINGS = {
    "ordered": collections.OrderedDict,
    "counter": collections.Counter,
    "user": collections.UserDict,
    "chain": collections.ChainMap,
    "proxy": types.MappingProxyType,
    "default": lambda x: collections.defaultdict(float, x),
    "instance": lambda x: vars(Instance(x)),
}


@forms
def test_any_mapping_will_do(form):
    plain, rounds = form.make(), []
    for x, y in stream_for(plain, rounds=60):
        plain.learn_one(x, y)
        rounds.append((x, y, plain.predict_one(x)))
    for name, kind in MAPPINGS.items():
        with case(name):
            other = form.make()
            for x, y, expected in rounds:
                mapping = kind(x)
                other.learn_one(mapping, y)
                assert other.predict_one(mapping) == expected
                assert dict(mapping) == x  # a defaultdict, too, is only looked at
            assert state(other) == state(plain)


@forms
def test_a_record_is_the_callers(form):
    kept, emptied = form.make(), form.make()
    for x, y in stream_for(kept):
        kept.learn_one(x, y)
        theirs = dict(x)
        emptied.learn_one(theirs, y)
        theirs.clear()
    assert state(kept) == state(emptied)


def test_names_may_be_anything_hashable():
    model = rm.PAClassifier(mode=0, intercept=False)
    names = [1, ("a", 2), None, "s", 2.5, b"bytes", frozenset({1}), True]  # True is 1, here as in any dict
    model.learn_one(dict.fromkeys(names, 1.0), True)
    assert dict(model.weights) == dict.fromkeys(names, pytest.approx(1 / 7))
    assert model.score_one({1.0: 7.0}) == pytest.approx(1.0)


@forms
def test_equal_names_need_not_be_the_same_object(form):
    same, fresh = form.make(), form.make()
    for x, y in stream_for(same):
        same.learn_one(x, y)
        fresh.learn_one({"".join(["f", key[1:]]): value for key, value in x.items()}, y)
    assert state(same) == state(fresh)


class Moody:
    """A name that equals "known", and may raise, or do something else, when it is hashed or compared."""

    def __init__(self, *, hashing=lambda: None, comparing=lambda: None):
        self.hashing, self.comparing = hashing, comparing

    def __hash__(self):
        self.hashing()
        return hash("known")

    def __eq__(self, other):
        self.comparing()
        return other == "known"


def test_a_name_that_raises_when_compared_changes_nothing():
    def refuse():
        raise RuntimeError("not comparable")

    model = rm.PAClassifier()
    model.learn_one({"known": 1.0}, True)
    before = pickle.dumps(model)
    with pytest.raises(RuntimeError, match="not comparable"):
        model.learn_one({"other": 1.0, Moody(comparing=refuse): 1.0}, False)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("calls", range(1, 6))
def test_a_name_that_raises_when_hashed_changes_nothing(calls):
    left = calls

    def count():
        nonlocal left
        left -= 1
        if left < 0:
            raise RuntimeError("not hashable any more")

    x = {"other": 1.0, Moody(hashing=count): 1.0}
    model = rm.PAClassifier()
    before = pickle.dumps(model)
    try:
        model.learn_one(x, True)
    except RuntimeError:
        assert pickle.dumps(model) == before
    else:
        assert model.n_seen == 1


@pytest.mark.parametrize("change", [dict.clear, lambda x: x.update({i: 1.0 for i in range(100)}), dict.popitem])
def test_a_name_may_change_the_record_when_it_is_compared(change):
    model = rm.PAClassifier()
    model.learn_one({"known": 1.0}, True)
    for _ in range(100):
        x = {}
        x.update({"a": 1.0, Moody(comparing=lambda x=x: change(x) if x else None): 1.0, "b": 1.0})
        model.learn_one(x, False)
    assert model.n_seen == 101


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


@pytest.mark.parametrize(
    "make",
    [rm.PAClassifier, lambda: rm.PAClassifier(classes=["a", "b", "c"]), rm.PARegressor],
    ids=["two classes", "three classes", "regression"],
)
def test_a_million_features_in_one_record(make):
    x = dict.fromkeys(range(1_000_000), 1.0)
    model = make()
    label = labels_of(model)[-1]
    model.learn_one(x, label)
    model.learn_one(x, label)
    assert model.n_seen == 2
    scores = model.score_one(x)
    # PA-I reaches margin 1 or the label at once; of many classes, the second round finds the second rival.
    expected = {"a": -0.5, "b": -0.25, "c": 0.75} if isinstance(scores, dict) else (3.0 if label == 3.0 else 1.0)
    assert scores == pytest.approx(expected)


@pytest.mark.parametrize("x", [[1.0, 2.0], np.array([0.0, 1.0]), None, "text", 3.0])
def test_what_is_no_mapping_is_named(x):
    with pytest.raises(TypeError, match="a dict of features is needed"):
        rm.PAClassifier().learn_one(x, True)


@pytest.mark.parametrize(
    "make", [rm.PAClassifier, rm.StandardScaler, rm.AutoRegressor, lambda: rm.Calibrated(rm.PAClassifier())]
)
def test_a_value_for_what_is_no_parameter_is_refused(make):
    """Nothing would read it, and no copy would have it."""
    model = make()
    with pytest.raises(
        AttributeError, match=f"`{type(model).__name__}` has no parameter `c`; its parameters are "
    ) as said:
        model.c = 5.0
    assert (said.value.name, said.value.obj) == ("c", model)  # so that Python can suggest a name that is alike
    assert "c" not in vars(model)


class WithFloor(rm.PAClassifier):
    """A learner of a user, written as River's are."""

    def __init__(self, C=0.5, floor=2.0):
        self.floor = floor
        super().__init__(C)

    def learn_one(self, x, y, w=1.0):
        super().learn_one({name: value for name, value in x.items() if value >= self.floor}, y, w)


def test_the_constructor_of_a_subclass_sets_its_parameters():
    model = WithFloor(floor=1.0).clone({"floor": 3.0})
    model.learn_one({"a": 2.0, "b": 4.0}, True)
    again = pickle.loads(pickle.dumps(model))
    assert (again.C, again.floor, dict(again.weights)) == (0.5, 3.0, dict(model.weights))
    assert set(again.weights) == {"b", rm.INTERCEPT}
    with pytest.raises(AttributeError, match="`floor` is fixed"):
        model.floor = 4.0
    with pytest.raises(AttributeError, match="`WithFloor` has no parameter `seen`; its parameters are C, floor"):
        model.seen = 0


@pytest.mark.parametrize("value", [None, math.nan])
def test_the_advice_for_a_missing_text_works(value):
    learner = rm.OneHotEncoder() | rm.PAClassifier()
    with pytest.raises(ValueError, match=r"\('c', 'missing'\) if it is a text"):
        learner.learn_one({"c": value}, True)
    model = preprocessing.StatImputer(("c", "missing")) | learner
    model.learn_one({"c": "x"}, True)
    model.learn_one({"c": None}, False)


@pytest.mark.parametrize("value", [pd.NA, pd.NaT])
def test_a_missing_value_of_pandas_has_the_advice_of_none(value):
    with pytest.raises(ValueError, match=f"'a' is {value}: leave it out, or write None"):
        rm.PAClassifier().learn_one({"a": value}, True)


def test_whole_numbers_of_numpy_are_whole_numbers():
    model, other = (rm.PAClassifier(max_features=number) for number in (np.int64(8), 8))
    for each in (model, other):
        each.learn_one({"a": 1.0}, True)
    assert state(model) == state(other)
    assert snapshot.dumps(snapshot.loads(snapshot.dumps(model))) == snapshot.dumps(model)


def test_a_learner_of_a_user_predicts_and_learns_in_one_call_as_in_two():
    one, two = WithFloor(), WithFloor()
    for x, y in (({"a": 1.0, "b": 4.0}, True), ({"a": 3.0, "b": 1.0}, False), ({"b": 5.0}, False)):
        prediction = two.predict_one(x)
        two.learn_one(x, y)
        assert one.predict_learn_one(x, y) == prediction
    one.predict_learn_one({"c": 2.0}, True, w=2.0)
    two.learn_one({"c": 2.0}, True, w=2.0)
    assert dict(one.weights) == dict(two.weights) and one.n_seen == two.n_seen == 4


class Unmade(rm.PAClassifier):
    def __init__(self, C=0.5):
        self.C = C


class UnmadeScaler(rm.StandardScaler):
    def __init__(self, with_std=True):
        self.with_std = with_std


class UnmadeHasher(rm.FeatureHasher):
    def __init__(self):
        pass


class UnmadeByItsBase(Unmade):
    """Has the constructor of its base."""


@pytest.mark.parametrize("kind", [Unmade, UnmadeByItsBase, UnmadeScaler, UnmadeHasher])
def test_a_constructor_that_leaves_out_that_of_its_base_is_refused(kind):
    with pytest.raises(TypeError, match=r"`Unmade\w*.__init__` must call `super\(\).__init__\(...\)`"):
        kind()


class Lazy(rm.Rule):
    _parameter_names = ("lr",)

    def __init__(self, lr=1.0):
        self.lr = lr

    def step(self, seen):
        return self.lr


def test_a_parameter_of_a_rule_in_python_is_what_the_learner_uses():
    given = Lazy()
    model = rm.MarginClassifier(given, intercept=False)
    given.lr = 9.0
    assert model.rule.lr == 1.0
    model.rule.lr = 0.25
    model.learn_one({"a": 1.0}, True)
    twin = model.clone(include_attributes=True)
    assert model.score_one({"a": 1.0}) == 0.25 == twin.rule.lr


class Open(rm.PAClassifier):
    def __init__(self, floor=2.0, **options):
        super().__init__(**options)
        self.floor = floor


class Kept(rm.PAClassifier):
    def __init__(self, floor=2.0, **options):
        super().__init__(**options)
        self.floor, self.options = floor, options


class Forgetful(rm.PAClassifier):
    def __init__(self, step=0.1):
        super().__init__(C=step)


def test_a_parameter_that_a_learner_does_not_keep_is_named():
    for read in (repr, copy.deepcopy, pickle.dumps, lambda model: model.clone()):
        with pytest.raises(
            TypeError, match=r"`Forgetful` does not keep its parameter `step`: write self\.step = step in"
        ):
            read(Forgetful())


def test_what_a_constructor_takes_by_stars_is_copied_or_refused():
    model = Open(C=0.1)
    for copied in (model.clone, lambda: copy.deepcopy(model), lambda: pickle.dumps(model)):
        with pytest.raises(
            TypeError, match=r"`Open` does not keep its parameter `options`: write self\.options = options"
        ):
            copied()
    kept = Kept(C=0.1)
    for twin in (kept.clone(), copy.deepcopy(kept), pickle.loads(pickle.dumps(kept))):
        assert twin.C == 0.1
    assert kept.clone({"C": 0.5}).C == 0.5


def test_a_learner_of_a_user_learns_the_rows_of_a_batch_as_one_by_one():
    X, y, w = pd.DataFrame({"a": [1.0, 3.0, 2.0], "b": [4.0, 1.0, 0.0]}), [True, False, True], [1.0, 2.0, 1.0]
    one, many = WithFloor(), WithFloor()
    for x, label, weight in zip(X.to_dict("records"), y, w, strict=True):
        one.learn_one(x, label, weight)
    many.learn_many(X, y, w)
    assert state(many) == state(one) and set(many.weights) == {"a", "b", rm.INTERCEPT}
    rows, one, many = sparse.csr_matrix(X.to_numpy()), WithFloor(), WithFloor()
    for i, label in enumerate(y):
        one.learn_one(dict(zip(rows[i].indices.tolist(), rows[i].data.tolist(), strict=True)), label)
    many.learn_csr(rows, y)
    assert state(many) == state(one)


class Opposite(rm.PAClassifier):
    def predict_one(self, x):
        return not super().predict_one(x)

    def predict_proba_one(self, x):
        return {label: 1.0 - p for label, p in super().predict_proba_one(x).items()}


def test_a_learner_of_a_user_predicts_the_rows_of_a_batch_as_one_by_one():
    X, model = pd.DataFrame({"a": [1.0, -1.0]}), Opposite()
    model.learn_many(X, [True, False])
    rows = X.to_dict("records")
    expected = [model.predict_one(x) for x in rows]
    assert model.predict_many(X).tolist() == expected == [False, True]
    assert model.predict_proba_many(X).to_dict("records") == [model.predict_proba_one(x) for x in rows]
    model = Opposite()
    model.learn_csr(sparse.csr_array(X.to_numpy()), [True, False])
    assert model.predict_csr(sparse.csr_array(X.to_numpy())).tolist() == expected


def test_a_row_that_a_learner_of_a_user_refuses_is_named():
    model = WithFloor()
    with pytest.raises(ValueError, match="row 2 of the batch, after 2 that were learned: label 'x'"):
        model.learn_many(pd.DataFrame({"a": [3.0, 4.0, 5.0]}), [True, False, "x"])
    assert model.n_seen == 2
