"""Dicts, data frames and sparse matrices teach the same, and a batch is checked whole before any row is learned."""

import math
import pickle
import signal
from functools import partial

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
import scipy.sparse
from river import compose, preprocessing

import river_margins as rm
from river_margins.core.frames import as_frame, numbers_of_any, numbers_of_pandas, numbers_of_polars
from tests.helpers.cases import case
from tests.helpers.rounds import labels_of, not_labels_of, state, takes_no_negatives, trained
from tests.learners import FORMS, LEARNERS, forms
from tests.learners.entry import with_gamma

ROWS, COLUMNS = 60, 5


def batch(model, seed=1, holes=False):
    """A matrix with zeros where `holes` are wanted, and labels that the model takes."""
    draw = np.random.default_rng(seed)
    X = draw.integers(-8, 9, size=(ROWS, COLUMNS)) / 4  # short numbers, which float32 holds too
    if takes_no_negatives(model):
        X = abs(X)
    if holes:
        X *= draw.random(size=X.shape) < 0.4
    return X, draw.choice(labels_of(model), size=ROWS)


def taught_by_dicts(model, rows, labels):
    for x, y in zip(rows, labels.tolist(), strict=True):
        model.learn_one(x, y)
    return model


@forms
def test_the_three_forms_teach_the_same(form):
    X, y = batch(form.make())
    rows = [dict(enumerate(row)) for row in X.tolist()]
    explicit = scipy.sparse.csr_matrix(np.where(X == 0, 99.0, X))
    explicit.data[explicit.data == 99.0] = 0.0  # zeros that are stored
    for options in ({}, {"intercept": True}, {"max_features": 3}):
        if not all(hasattr(form.make(), name) for name in options):
            continue  # a learner for one class has no intercept
        with case(options):
            by_dict = taught_by_dicts(form.make(**options), rows, y)
            by_frame, by_csr = form.make(**options), form.make(**options)
            by_frame.learn_many(pd.DataFrame(X), pd.Series(y))
            assert state(by_frame) == state(by_dict)
            by_csr.learn_csr(explicit, y)
            assert state(by_csr) == state(by_dict)
            expected = [by_dict.predict_one(x) for x in rows]
            assert by_frame.predict_many(pd.DataFrame(X)).tolist() == expected
            assert by_csr.predict_csr(explicit).tolist() == expected


def csr(X):
    return scipy.sparse.csr_matrix(X)


def shuffled(X):
    """The same rows with their entries stored in another order, and halves of them stored twice."""
    entries = csr(X).tocoo()
    order = np.random.default_rng(0).permutation(entries.nnz)
    rows, columns, data = (np.concatenate([each[order], each]) for each in (entries.row, entries.col, entries.data / 2))
    by_row = np.argsort(rows, kind="stable")
    starts = np.searchsorted(rows[by_row], np.arange(X.shape[0] + 1))
    matrix = scipy.sparse.csr_matrix((data[by_row], columns[by_row], starts), shape=X.shape)
    assert not matrix.has_canonical_format
    return matrix


def wide(X):
    matrix = scipy.sparse.csr_array(X)
    return scipy.sparse.csr_array(
        (matrix.data, matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)), shape=(X.shape[0], 2**40)
    )


MATRICES = {
    "csr": csr,
    "csc": scipy.sparse.csc_matrix,
    "coo": scipy.sparse.coo_array,
    "array": scipy.sparse.csr_array,
    "shuffled": shuffled,
    "wide": wide,
    "float32": lambda X: csr(X).astype(np.float32),
    "int8": lambda X: csr(4 * X).astype(np.int8),
}


@forms
def test_any_sparse_matrix_is_its_rows(form):
    X, y = batch(form.make(), holes=True)
    assert (X == 0).all(axis=1).any()  # there are empty rows
    expected = {}
    for scale in (1, 4):
        rows = [{i: scale * value for i, value in enumerate(row) if value} for row in X.tolist()]
        by_dict = taught_by_dicts(form.make(), rows, y)
        expected[scale] = state(by_dict), [by_dict.predict_one(x) for x in rows]
    for name, matrix in MATRICES.items():
        with case(name):
            given, by_csr = matrix(X), form.make()
            before = given.copy()
            by_csr.learn_csr(given, y)
            found = state(by_csr), by_csr.predict_csr(given).tolist()
            assert found == expected[4 if given.dtype == np.int8 else 1]
            assert (given.tocsr() - before.tocsr()).nnz == 0  # and it is the caller's


@pytest.mark.parametrize("intercept", [False, True])
def test_sparse_rows_of_any_length_round_as_dicts_do(intercept):
    draw = np.random.default_rng(2)
    X = draw.normal(size=(200, 40)) * (draw.random(size=(200, 40)) < draw.random(size=(200, 1)))
    lengths = {np.count_nonzero(row) for row in X}
    assert {length % 8 for length in lengths} == set(range(8))
    assert max(lengths) > 32
    y = draw.choice([False, True], size=200)
    by_dict, by_csr = rm.PAClassifier(intercept=intercept), rm.PAClassifier(intercept=intercept)
    taught_by_dicts(by_dict, [{i: value for i, value in enumerate(row) if value} for row in X.tolist()], y)
    by_csr.learn_csr(csr(X), y)
    assert state(by_csr) == state(by_dict)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("w", [1.0, 0.5])
def test_columns_that_come_late_and_long_rows_teach_as_dicts_do(intercept, w):
    draw = np.random.default_rng(3)
    late = draw.normal(size=(120, 30)) * (np.arange(30) <= np.arange(120)[:, None] / 4) * (draw.random((120, 30)) < 0.5)
    long = draw.normal(size=(40, 500)) * (draw.random((40, 500)) < 0.9)
    for X in (late, long):
        y = draw.choice([False, True], size=len(X))
        by_dict, by_csr = (rm.PAClassifier(C=0.1, intercept=intercept) for _ in range(2))
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            by_dict.learn_one({i: value for i, value in enumerate(row) if value}, label, w=w)
        by_csr.learn_csr(csr(X), y, w=w)
        assert state(by_csr) == state(by_dict)


FRAMES = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype("float32"),
    "nullable": lambda X: X.astype("Float64"),
    "mixed": lambda X: X.astype({"a": "float32", "b": "Float32", "c": "object"}),
    "objects": lambda X: X.astype("object"),
    "index of dates": lambda X: X.set_index(pd.date_range("2020-01-01", periods=ROWS)),
    "index that repeats": lambda X: X.set_index(pd.Index([7] * ROWS)),
}


@forms
def test_any_frame_is_its_rows(form):
    X, y = batch(form.make())
    rows = [dict(zip("abcde", row, strict=True)) for row in X.tolist()]
    by_dict = taught_by_dicts(form.make(), rows, y)
    expected = [by_dict.predict_one(x) for x in rows]
    for name, kind in FRAMES.items():
        with case(name):
            frame, by_frame = kind(pd.DataFrame(X, columns=list("abcde"))), form.make()
            by_frame.learn_many(frame, pd.Series(y, index=frame.index))
            assert state(by_frame) == state(by_dict)
            predicted = by_frame.predict_many(frame)
            assert predicted.index.equals(frame.index)
            assert predicted.tolist() == expected


SHORT = pd.DataFrame({"a": [0, 1, 1, 0], "b": [1, 0, 1, 1]})


@pytest.mark.parametrize(
    "frame",
    [
        *(SHORT.astype(kind) for kind in ("float32", "uint8", "bool", "Int64", "double[pyarrow]")),
        SHORT.assign(
            c=[2**63 - 1, -(2**63), 2**53 + 1, 0], d=[2.0**-1074, -0.0, 1e308, 0.1], e=[True, False, True, False]
        ),
        SHORT.assign(c=np.array([2**64 - 1, 0, 1, 2**53 + 1], dtype="uint64")),
        SHORT.set_axis([2, 1], axis=1).set_index(pd.Index(["x", "y", "x", "z"], name="place")),
        SHORT.set_axis(pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]), axis=1),
        SHORT[:0],
        SHORT[[]],
    ],
)
def test_a_frame_of_pandas_is_what_narwhals_makes_of_it(frame):
    directly, wrapped = numbers_of_pandas(frame), numbers_of_any(as_frame(frame))
    assert directly is not None
    assert (directly.names, directly.values.shape) == (wrapped.names, wrapped.values.shape)
    assert directly.values.tobytes() == wrapped.values.tobytes()
    for numbers in (directly, wrapped):
        expected = pd.DataFrame(directly.values, frame.index, frame.columns)
        pd.testing.assert_frame_equal(numbers.as_frame(), expected, check_column_type=False)
    for one in (True, 2, 0.5, "ham", ("a", 1)):
        pd.testing.assert_series_equal(directly.series_of([one] * len(frame)), wrapped.series_of([one] * len(frame)))
        pd.testing.assert_frame_equal(*(numbers.frame_of({one: [0.5] * len(frame)}) for numbers in (directly, wrapped)))


@pytest.mark.parametrize(
    "frame",
    [
        *(
            polars.from_pandas(SHORT).cast(kind)
            for kind in (polars.Float32, polars.UInt8, polars.Boolean, polars.Decimal(9, 2))
        ),
        polars.DataFrame(
            {"a": [1, None, 3], "b": [2**63 - 1, 0, -1], "c": [0.5, None, -0.0], "d": [True, None, False]}
        ),
        polars.DataFrame(
            {"a": [1.0, 2.0], "b": [3.0, 4.0]}
        ),  # as many rows as columns, which can be taken for each other
        polars.DataFrame({"a": [1.0]}),
        polars.DataFrame({"a": [], "b": []}, schema_overrides={"a": polars.Int64, "b": polars.Boolean}),
        polars.DataFrame(),
    ],
)
def test_a_frame_of_polars_is_what_narwhals_makes_of_it(frame):
    directly, wrapped = numbers_of_polars(frame), numbers_of_any(as_frame(frame))
    assert directly is not None
    assert (directly.names, directly.values.shape) == (wrapped.names, wrapped.values.shape)
    assert directly.values.tobytes() == wrapped.values.tobytes()
    expected = polars.DataFrame(dict(zip(frame.columns, directly.values.T, strict=True)))
    assert directly.as_frame().equals(expected) and wrapped.as_frame().equals(expected)
    for one in (True, 2, 0.5, "ham"):
        found, same = (numbers.series_of([one] * len(frame)) for numbers in (directly, wrapped))
        assert found.equals(same, check_dtypes=True)
        found, same = (numbers.frame_of({one: [0.5] * len(frame)}) for numbers in (directly, wrapped))
        assert found.equals(same) and found.schema == same.schema


@pytest.mark.parametrize(
    "frame",
    [
        SHORT.set_axis(["a", "a"], axis=1),
        SHORT.assign(b="1"),
        SHORT.assign(b=pd.Timestamp(0)),
        SHORT.astype("category"),
        SHORT.astype("object"),
        *(
            polars.DataFrame({"a": [1.0, 2.0], "b": kind})
            for kind in (["1", "2"], [[1.0], [2.0]], [pd.Timestamp(0)] * 2)
        ),
        [[1.0]],
    ],
)
def test_other_frames_are_left_to_narwhals(frame):
    assert numbers_of_pandas(frame) is None and numbers_of_polars(frame) is None


@pytest.mark.parametrize("kind", ["int8", "int64", "uint16", "bool", "Int64", "boolean"])
def test_whole_numbers_and_bools_are_numbers(kind):
    plain, other = rm.PAClassifier(), rm.PAClassifier()
    plain.learn_many(SHORT.astype(float), [True, False, True, False])
    other.learn_many(SHORT.astype(kind), [True, False, True, False])
    assert state(plain) == state(other)


def test_a_frame_of_another_library_gives_a_series_of_that_library():
    model = rm.StandardScaler() | rm.PAClassifier()
    model.learn_many(polars.DataFrame({"a": [1.0, 2.0], "b": [1, 0]}), polars.Series([True, False]))
    predicted = model.predict_many(polars.DataFrame({"b": [1, 0], "a": [1.0, 2.0]}))
    assert isinstance(predicted, polars.Series) and predicted.to_list() == [True, False]
    assert model.predict_proba_many(polars.DataFrame({"a": [1.0], "b": [1]})).columns == ["True", "False"]
    table = pyarrow.table({"a": [1.0, 2.0], "b": [0, 1]})
    by_list, by_arrow = (rm.PAClassifier() for _ in range(2))
    by_list.learn_many(table, [True, False])
    by_arrow.learn_many(table, pyarrow.array([True, False]))
    assert state(by_arrow) == state(by_list)
    with pytest.raises(ValueError, match="label None"):
        by_arrow.learn_many(table, pyarrow.array([True, None]))
    with pytest.raises(ValueError, match=r"one label for each row is needed, not an array of shape \(2, 1\)"):
        by_arrow.learn_many(table, np.array([[True], [False]]))


@forms
def test_columns_may_change_their_order_and_come_and_go(form):
    X, y = batch(form.make())
    frame = pd.DataFrame(X, columns=list("abcde"))
    parts = [frame[:20], frame[20:40][list("ecabd")], frame[40:][["d", "a"]].assign(new=1.0)]
    by_dict, by_frame = form.make(), form.make()
    for part, labels in zip(parts, (y[:20], y[20:40], y[40:]), strict=True):
        taught_by_dicts(by_dict, part.to_dict(orient="records"), labels)
        by_frame.learn_many(part, labels)
        assert state(by_frame) == state(by_dict)


@pytest.mark.parametrize(
    ("make", "labels"),
    [
        (rm.PARegressor, [1.0, 2.0]),
        (rm.PAClassifier, [True, False]),
        (rm.PAClassifier, ["a", "b"]),
        (rm.PAClassifier, [3, 4]),
    ],
)
def test_predictions_of_no_rows_join_those_of_others(make, labels):
    model, X = make(), pd.DataFrame({"a": [1.0, 2.0]})
    assert model.predict_many(X[:0]).empty  # before the first label, too
    model.learn_many(X, labels)
    parts = [model.predict_many(part) for part in (X, X[:0])]
    assert pd.concat(parts).dtype == parts[0].dtype
    found, none = (model.predict_csr(scipy.sparse.csr_array(part.to_numpy())) for part in (X, X[:0]))
    assert np.concatenate([found, none]).dtype == found.dtype


@forms
def test_a_frame_without_rows_or_columns(form):
    model, twin = trained(form.make()), trained(form.make())
    for empty in (pd.DataFrame(), pd.DataFrame({"a": []}), pd.DataFrame({"a": pd.Series([], dtype=float)})):
        model.learn_many(empty, pd.Series([], dtype=object))
        assert len(model.predict_many(empty)) == 0
    model.learn_csr(scipy.sparse.csr_matrix((0, 3)), [])
    assert model.predict_csr(scipy.sparse.csr_matrix((0, 3))).tolist() == []
    assert state(model) == state(twin)
    label = labels_of(model)[0]
    model.learn_many(pd.DataFrame(index=[3, 4]), [label, label])
    model.learn_csr(scipy.sparse.csr_matrix((1, 0)), [label])
    taught_by_dicts(twin, [{}, {}, {}], np.array([label] * 3))
    assert state(model) == state(twin)
    assert model.predict_many(pd.DataFrame(index=[3])).tolist() == [twin.predict_one({})]


NUMBERS = pd.DataFrame({"f0": [1.0, 2.0], "f1": [1.0, 3.0]}, index=["first", "second"])
REFUSED = {
    "nan": (NUMBERS.assign(f1=[1.0, np.nan]), "row 'second', column 'f1' is nan: replace it before"),
    "infinity": (NUMBERS.assign(f0=[1.0, -np.inf]), "row 'second', column 'f0' is -inf: replace it before"),
    "missing": (NUMBERS.assign(f1=pd.array([1, None], dtype="Int64").copy()), "row 'second', column 'f1' is nan"),
    "None among objects": (NUMBERS.assign(f1=pd.Series([1.0, None], dtype=object).to_numpy()), "column 'f1' is nan"),
    "text": (
        NUMBERS.assign(f1=["1", "2"]),
        r"column 'f1' has the type String, and numbers are needed: .*Select\('f1'\) \| preprocessing\.OneHot",
    ),
    "category": (NUMBERS.assign(f1=pd.Categorical(["1", "2"])), "column 'f1' has the type Categorical, and"),
    "time": (
        NUMBERS.assign(f1=pd.to_datetime(["2020", "2021"])),
        "'f1' has the type Datetime.* such as its hour or its weekday$",
    ),
    "days": (NUMBERS.assign(f1=pd.to_timedelta([1, 2], "D")), "'f1' has the type Duration.* replace it by numbers"),
    "complex": (NUMBERS.assign(f1=[1j, 2.0]), "column 'f1' has the type Unknown, and numbers are needed"),
    "text among objects": (NUMBERS.assign(f1=pd.Series([1.0, "2"], dtype=object).to_numpy()), "'f1' is the text '2'"),
    "a name twice": (pd.DataFrame([[1.0, 2.0]] * 2, columns=["a", "a"]), "unique column names"),
}


@forms
def test_a_frame_is_checked_whole_before_any_row_is_learned(form):
    model = trained(form.make())
    before = pickle.dumps(model)
    for name, (frame, words) in REFUSED.items():
        with case(name):
            with pytest.raises(ValueError, match=words):
                model.learn_many(frame, [labels_of(model)[0]] * 2)
            with pytest.raises(ValueError, match=words):
                model.predict_many(frame)
            assert pickle.dumps(model) == before


def test_the_advice_for_a_column_of_texts_works():
    frame, labels = NUMBERS.assign(kind=["spam", "ham"]), [True, False]
    encoder = compose.Select("kind") | preprocessing.OneHotEncoder()
    model = (encoder + compose.Select("f0", "f1")) | rm.PAClassifier(C=1.0)
    model.learn_many(frame, labels)
    assert model.predict_many(frame).tolist() == labels
    for step in (preprocessing.StatImputer(), preprocessing.FeatureHasher()):
        assert not hasattr(step, "learn_many")  # so no message about a frame may name it


@pytest.mark.parametrize("X", [np.ones((2, 2)), [[1.0, 2.0]], {"a": 1.0}], ids=["array", "list", "dict"])
def test_what_is_no_data_frame_is_named(X):
    pipeline, alone = rm.StandardScaler() | rm.PAClassifier(), rm.PAClassifier()
    for call in (
        lambda: pipeline.learn_many(X, [True]),
        lambda: pipeline.predict_many(X),
        lambda: alone.predict_many(X),
    ):
        with pytest.raises(TypeError, match=f"a data frame is needed, .*, not a {type(X).__name__}"):
            call()


@forms
def test_labels_and_weights_are_checked_before_any_row_is_learned(form):
    model = trained(form.make())
    before = pickle.dumps(model)
    good = labels_of(model)[0]
    for bad in not_labels_of(model):
        for labels in ([good, bad], pd.Series([good, bad], dtype=object)):
            with pytest.raises(ValueError, match="label"):
                model.learn_many(NUMBERS, labels)
    for labels in ([good], [good] * 3, []):
        with pytest.raises(ValueError, match="2 rows, but"):
            model.learn_many(NUMBERS, labels)
    with pytest.raises(ValueError, match="2 rows, but sample weights of shape"):
        model.learn_many(NUMBERS, [good, good], w=[1.0])
    with pytest.raises(ValueError, match="`w` must be"):
        model.learn_many(NUMBERS, [good, good], w=pd.Series([1.0, -1.0]))
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("data", [np.nan, np.inf])
def test_a_matrix_is_checked_whole_before_any_row_is_learned(data):
    model = rm.PAClassifier()
    matrix = scipy.sparse.csr_matrix(([1.0, 2.0, data], ([0, 1, 2], [1, 1, 7])), shape=(3, 9))
    with pytest.raises(ValueError, match="row 2, column 7 is"):
        model.learn_csr(matrix, [True, False, True])
    for strange in (matrix.astype(complex), scipy.sparse.csr_matrix(np.array([[1, 0]], dtype=complex))):
        with pytest.raises(ValueError, match="the matrix holds complex128"):
            model.learn_csr(strange, [True] * strange.shape[0])
    with pytest.raises(TypeError, match="a scipy sparse matrix is needed, not a ndarray"):
        model.learn_csr(np.eye(2), [True, False])
    with pytest.raises(ValueError, match=r"a row for each example is needed, not an array of shape \(2,\)"):
        model.learn_csr(scipy.sparse.coo_array(np.array([1.0, 2.0])), [True, False])
    with pytest.raises(TypeError, match="a data frame is needed"):
        model.predict_proba_many(np.eye(2))
    assert model.n_seen == 0


def test_an_overflow_in_a_batch_keeps_the_rows_before_it_and_says_so():
    rows = [{"a": 1.0}, {"a": 2.0}]
    expected = rm.PARegressor(mode=0)
    for x, y in zip(rows, (1.0, 3.0), strict=True):
        expected.learn_one(x, y)
    model = rm.PARegressor(mode=0)
    with pytest.raises(OverflowError, match="row 2 of the batch, after 2 that were learned: `PARegressor`"):
        model.learn_many(pd.DataFrame([*rows, {"a": 1e200}, {"a": 1.0}]), [1.0, 3.0, 5.0, 7.0])
    assert state(model) == state(expected)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("bad", [1e200, 1e308])
def test_an_overflow_in_a_matrix_keeps_the_rows_before_it_and_says_so(intercept, bad):
    X, y = np.array([[1.0, 2.0, 0.0], [0.0, 2.0, 3.0]] * 30), np.array([False, True] * 30)
    X[40, 1] = bad
    model, expected = (rm.PAClassifier(C=0.1, intercept=intercept) for _ in range(2))
    with pytest.raises(OverflowError, match="row 40 of the batch, after 40 that were learned: `PAClassifier`"):
        model.learn_csr(csr(X), y)
    expected.learn_csr(csr(X[:40]), y[:40])
    assert state(model) == state(expected)
    assert expected.n_seen == 40


def test_the_scaler_says_the_same_of_an_overflow():
    scaler, expected = rm.StandardScaler(), rm.StandardScaler()
    expected.learn_one({"a": 1.0})
    with pytest.raises(OverflowError, match="row 1 of the batch, after 1 that were learned: `StandardScaler`"):
        scaler.learn_many(pd.DataFrame({"a": [1.0, 1e200, 2.0]}))
    assert state(scaler) == state(expected)
    with pytest.raises(ValueError, match="row 2, column 'a' is nan"):
        scaler.learn_many(pd.DataFrame({"a": [1.0, 1.0, np.nan]}))
    assert state(scaler) == state(expected)


@pytest.mark.parametrize("learner", [each for each in LEARNERS if each.make().rule.weighted], ids=str)
def test_a_batch_carries_sample_weights(learner):
    make = partial(learner.make, **with_gamma(learner))
    X, y = batch(make())
    weights = np.random.default_rng(2).integers(0, 3, size=ROWS).astype(float)
    one_by_one, by_frame, by_csr = make(), make(), make()
    for row, label, weight in zip(X.tolist(), y.tolist(), weights, strict=True):
        one_by_one.learn_one(dict(enumerate(row)), label, w=weight)
    by_frame.learn_many(pd.DataFrame(X), y, w=pd.Series(weights))
    assert state(by_frame) == state(one_by_one)
    twice, halves = make(), make()
    twice.learn_many(pd.DataFrame(X), y, w=2.0)
    halves.learn_many(pd.DataFrame(X), y, w=[2.0] * ROWS)
    assert state(twice) == state(halves)
    by_csr.learn_csr(scipy.sparse.csr_matrix(X), y, w=weights)
    assert by_csr.n_updates == one_by_one.n_updates


@pytest.mark.parametrize("form", [form for form in FORMS if form.task == "multiclass"], ids=str)
def test_new_classes_may_come_within_a_batch(form):
    X, _ = batch(form.make())
    numbers = 3 - np.arange(ROWS) * (np.arange(ROWS) // 20 + 1) % 7  # in another order than when sorted
    for labels in (np.array([f"class {i}" for i in numbers]), numbers, numbers.astype("i1"), numbers / 2):
        with case(labels.dtype):
            by_dict = taught_by_dicts(form.learner.make(), [dict(enumerate(row)) for row in X.tolist()], labels)
            by_frame = form.learner.make()
            for rows in (slice(0, 9), slice(9, ROWS)):
                by_frame.learn_many(pd.DataFrame(X[rows]), labels[rows])
            assert state(by_frame) == state(by_dict)
            proba = by_frame.predict_proba_many(pd.DataFrame(X))
            assert list(proba.columns) == list(by_frame.weights) == list(dict.fromkeys(labels.tolist()))
            assert np.allclose(proba.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("columns", "bad"),
    [([1, 2, 3], "row 2, column 3"), ([0, 9, 1], "row 1, column 9"), ([-1, 0, 1], "row 0, column -1")],
)
def test_a_column_outside_of_the_matrix_is_refused(columns, bad):
    matrix = scipy.sparse.csr_matrix((np.ones(3), columns, [0, 1, 2, 3]), shape=(3, 3))  # scipy does not look
    model = rm.PAClassifier()
    for call in (lambda: model.learn_csr(matrix, [True, False, True]), lambda: model.predict_csr(matrix)):
        with pytest.raises(ValueError, match=f"{bad} is outside of the 3 columns"):
            call()
    assert model.n_seen == 0


def test_a_signal_ends_a_batch_between_two_rows():
    class Stop(Exception):
        pass

    def stop(*_):
        raise Stop

    X = csr(np.random.default_rng(0).normal(size=(3000, 600)))  # seconds of work
    y = np.arange(3000) % 2 == 0
    model = rm.MarginClassifier(rm.AROWRule(), rm.Full(), intercept=False)
    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.2)  # of CPU time
    try:
        with pytest.raises(Stop):
            model.learn_csr(X, y)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    assert model.n_seen < 3000
    model.learn_one({0: 1.0}, True)  # it is not left in the midst of learning


@pytest.mark.parametrize(
    ("make", "labels"),
    [(rm.PARegressor, [1.0, 999.0]), (rm.PAClassifier, [True, False]), (rm.PAClassifier, ["a", "b"])],
)
def test_a_masked_label_is_none(make, labels):
    model, masked = make(), np.ma.array(labels, mask=[False, True])
    rows = pd.DataFrame({"a": [1.0, 2.0]})
    for learn in (lambda: model.learn_many(rows, masked), lambda: model.learn_csr(csr(rows.to_numpy()), masked)):
        with pytest.raises(ValueError, match="label None"):
            learn()
    assert model.n_seen == 0


@pytest.mark.parametrize("classes", [[1, "other"], [("a", 1), ("b", 2)], ["a", "b"]])
def test_a_matrix_is_predicted_with_the_labels_themselves(classes):
    model, labels = rm.PAClassifier(classes=classes), np.empty(2, dtype=object)
    labels[0], labels[1] = classes
    model.learn_csr(csr(np.eye(2)), labels)
    found = model.predict_csr(csr(np.eye(2)))
    assert found.shape == (2,) and found.tolist() == [model.predict_one({0: 1.0}), model.predict_one({1: 1.0})]


def test_labels_are_one_column():
    X = pd.DataFrame({"a": [1.0, 2.0], "y": [True, False]})
    with pytest.raises(ValueError, match="name its column"):
        rm.PAClassifier().learn_many(X[["a"]], X[["y"]])
    for y in (None, True):
        with pytest.raises(TypeError, match="one label for each row is needed, not"):
            rm.PAClassifier().learn_many(X[["a"]], y)


@pytest.mark.parametrize(
    "w", [["a", "b", "c"], {"a": 1}, np.ma.array([1, 2, 3], mask=[0, 1, 0])], ids=["texts", "dict", "masked"]
)
def test_what_is_no_weight_is_refused_by_name(w):
    model = rm.FTRLProximalClassifier()
    with pytest.raises((TypeError, ValueError), match="`w` must be"):
        model.learn_csr(scipy.sparse.csr_array(np.eye(3)), [True, False, True], w=w)
    assert model.n_seen == 0


def test_a_frame_of_several_labels_is_a_dict_for_each_row():
    x, y = pd.DataFrame({"a": [1.0, 0.0]}), pd.DataFrame({"crash": [True, False], "bill": [False, True]})
    model = rm.PAMultiLabelClassifier()
    with pytest.raises(ValueError, match=r'pass a dict for each row, as in y.to_dict\("records"\)'):
        model.learn_many(x, y)
    model.learn_many(x, y.to_dict("records"))
    assert model.n_seen == 2


@pytest.mark.parametrize(
    ("make", "labels", "words"),
    [
        (rm.PAClassifier, ["1", "2", 1], "row 2 of the batch: label 1 and the label '1'"),
        (rm.PAClassifier, ["a", None, "b"], "row 1 of the batch: label None is not a class"),
        (rm.PAClassifier, np.array([2.0, math.nan, 1.0]), "row 1 of the batch: label nan is not a class"),
        (lambda: rm.PAClassifier(classes=["1", 3, 4]), np.array([3, 4, 1]), "row 2 of the batch: label 1 and"),
        (rm.PARegressor, [1.0, 2.0, "red"], "row 2 of the batch: label 'red' is not a number"),
        (rm.PAMultiLabelClassifier, [{"1": True}, {"2": True}, {1: False}], "row 2 of the batch: label 1 and"),
    ],
)
def test_labels_that_do_not_go_together_teach_no_row(make, labels, words):
    model = make()
    for learn in (
        lambda: model.learn_many(pd.DataFrame({"a": [1.0, 2.0, 3.0]}), labels),
        lambda: model.learn_csr(scipy.sparse.csr_matrix(np.eye(3)), labels),
    ):
        with pytest.raises(ValueError, match=words):
            learn()
    assert model.n_seen == 0


def test_a_sparse_matrix_is_sent_where_it_is_taken():
    X, model = scipy.sparse.csr_array(np.eye(2)), rm.PAClassifier()
    with pytest.raises(TypeError, match=r"not a csr_array: .*learn_csr.*from_spmatrix"):
        model.learn_many(X, [True, False])
    model.learn_many(pd.DataFrame.sparse.from_spmatrix(X), [True, False])
    assert model.n_seen == 2


def test_a_lazy_frame_is_to_be_collected():
    frame, model = polars.DataFrame({"a": [1.0, -1.0]}).lazy(), rm.PAClassifier()
    with pytest.raises(TypeError, match=r"not a LazyFrame: X\.collect\(\) makes one"):
        model.learn_many(frame, [True, False])
    model.learn_many(frame.collect(), [True, False])
    assert model.n_seen == 2


def test_a_polars_frame_with_a_namespace_called_index(monkeypatch):
    monkeypatch.setattr(polars.DataFrame, "index", property(lambda frame: 7), raising=False)
    X = polars.DataFrame({"a": [1.0, 2.0]})
    assert rm.StandardScaler().transform_many(X).equals(polars.DataFrame({"a": [0.0, 0.0]}))
    assert rm.PARegressor().predict_many(X).to_list() == [0.0, 0.0]
    with pytest.raises(ValueError, match="row 0, column 'a' is nan"):
        rm.PARegressor().predict_many(polars.DataFrame({"a": [float("nan")]}))
