"""Text in the svmlight format is the matrix and the labels that Python and scikit-learn read from it."""

import gzip
import io
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from sklearn.svm import LinearSVC

import river_margins as rm
from tests.river_margins.core.test_batch import csr


def read(text):
    return rm.svmlight.read(io.BytesIO(text.encode()))


NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"[+-]?[0-9]{0,20}[0-9]\.?[0-9]{0,20}([eE][+-]?[0-9]{1,2})?", fullmatch=True),
    st.from_regex(r"[+-]?\.[0-9]{1,17}", fullmatch=True),
)


@given(NUMBERS, NUMBERS)
def test_a_number_is_the_double_that_python_reads(label, value):
    X, y = read(f"{label} 3:{value}")
    assert y.tolist() == [float(label)]
    assert [float(number).hex() for number in X.data] == [float(value).hex()]


def test_a_file_of_scikit_learn_is_read_as_it_reads_it(tmp_path):
    draw = np.random.default_rng(1)
    X = draw.normal(size=(200, 30)) * 10.0 ** draw.integers(-12, 12, size=(200, 30)) * (draw.random((200, 30)) < 0.3)
    y = draw.normal(size=200)
    path = tmp_path / "a.svm"
    dump_svmlight_file(X, y, str(path), zero_based=True, comment="made\nby a test", query_id=np.arange(200))
    theirs = load_svmlight_file(str(path), zero_based=True)
    with gzip.open(tmp_path / "a.svm.gz", "wb") as file:
        file.write(path.read_bytes())
    with path.open("rb") as plain, gzip.open(tmp_path / "a.svm.gz") as packed:
        for source in (path, str(path), plain, packed):
            ours = rm.svmlight.read(source)
            assert (ours[0] != theirs[0]).nnz == 0 and ours[0].shape == theirs[0].shape
            assert ours[1].tolist() == theirs[1].tolist()


@pytest.mark.parametrize(
    ("text", "rows", "labels"),
    [
        ("", [], []),
        ("# nothing\n\n  \n", [], []),
        ("+1 1:2", [{1: 2.0}], [1]),
        ("1 # no features\r\n-1\t0:1 2:-.5e1\r\n", [{}, {0: 1.0, 2: -5.0}], [1, -1]),
        ("3 qid:7 1:1#spam\n\n2 qid:8 2:1 # 3:1", [{1: 1.0}, {2: 1.0}], [3, 2]),
        ("0.5 1:0", [{1: 0.0}], [0.5]),
        ("1e17 1:1\n1 1:1\n", [{1: 1.0}, {1: 1.0}], [1e17, 1.0]),
    ],
)
def test_lines(text, rows, labels):
    X, y = read(text)
    assert X.shape == (len(rows), max([0, *(index + 1 for row in rows for index in row)]))
    found = [slice(*X.indptr[i : i + 2]) for i in range(len(rows))]
    assert [dict(zip(X.indices[row].tolist(), X.data[row].tolist(), strict=True)) for row in found] == rows
    assert y.tolist() == labels and {type(label) for label in y.tolist()} == {type(label) for label in labels}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("1:1 2:1", "the label is `1:1`, and not a finite number"),
        ("nan 1:1", "the label is `nan`, and not a finite number"),
        ("1 a:1", "`a:1` is not `index:value`, with an index from 0 to 2147483646"),
        ("1 2147483647:1", "`2147483647:1` is not `index:value`"),
        ("1 99999999999999999999:1", "is not `index:value`"),
        ("1 -3:1", "`-3:1` is not `index:value`"),
        ("1 3", "`3` is not `index:value`"),
        ("1 3:1 :2", "`:2` is not `index:value`"),
        ("1 3:1 2:1", "the index 2 comes after 3: indices must rise"),
        ("1 3:1 3:1", "the index 3 comes after 3: indices must rise"),
        ("1 3:inf", "the value in `3:inf` is not a finite number"),
        ("1 3:1e999", "the value in `3:1e999` is not a finite number"),
        ("1 3:1_5", "the value in `3:1_5` is not a finite number"),
        ("1 3:0x1", "the value in `3:0x1` is not a finite number"),
        ("1 3:", "the value in `3:` is not a finite number"),
        ("1 3:.", "the value in `3:.` is not a finite number"),
        ("1 3:1 qid:x", "the value in `qid:x` is not a finite number"),
        ("1 3:\xb2", "the value in"),
        ("1 3:1 \0 4:1", "a byte is 0"),
        ("\0", "the label is"),
    ],
)
def test_what_is_not_svmlight_is_named_with_its_line(tmp_path, line, why):
    path = tmp_path / "a.svm"
    path.write_text(f"1 1:1\n# a comment\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError) as refusal:
        rm.svmlight.read(path)
    assert str(refusal.value).startswith(f"{path}:3: not svmlight: ") and why in str(refusal.value)


def test_a_learner_learns_what_the_text_says():
    X, y = read("+1 1:1 2:2\n-1 2:1\n+1 1:3\n")
    by_text, by_rows = rm.PAClassifier(), rm.PAClassifier()
    by_text.learn_csr(X, y)
    for x, label in (({1: 1.0, 2: 2.0}, 1), ({2: 1.0}, -1), ({1: 3.0}, 1)):
        by_rows.learn_one(x, label)
    assert by_text.weights == by_rows.weights
    assert by_text.predict_csr(csr(np.eye(3))).tolist() == [by_rows.predict_one({i: 1.0}) for i in range(3)]
    assert math.isfinite(by_text.score_one({1: 1.0})[1])


def test_a_solver_of_scikit_learn_takes_the_matrix():
    X, y = read("+1 1:1 2:2\n-1 2:1\n+1 1:3\n")
    assert X.indices.dtype == X.indptr.dtype == np.int32  # liblinear and others refuse wider ones
    assert LinearSVC().fit(X, y).predict(X).tolist() == [1, -1, 1]


def test_a_file_that_is_open_as_text_is_named(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1 1:1\n")
    with path.open() as file, pytest.raises(TypeError, match="open it as binary"):
        rm.svmlight.read(file)


def test_a_long_word_is_cut_in_the_error():
    with pytest.raises(ValueError) as refusal:
        read("1 " + "x" * 10**6)
    assert "`xxx" in str(refusal.value) and "xxx...` is not" in str(refusal.value) and len(str(refusal.value)) < 250


def test_a_byte_order_mark_is_no_part_of_the_first_label():
    X, y = rm.svmlight.read(io.BytesIO(b"\xef\xbb\xbf1 2:0.5\n"))
    assert y.tolist() == [1] and X.toarray().tolist() == [[0.0, 0.0, 0.5]]
