"""What the batch forms refuse."""

import math

import numpy as np
import pytest

from river_margins.conversions import batch_adaline, batch_perceptron, hildreth, svm

X = [[1.0, 1.0], [1.0, -1.0], [2.0, 1.0]]


@pytest.mark.parametrize("fit", [batch_perceptron, batch_adaline, svm])
@pytest.mark.parametrize(
    ("rows", "labels", "words"),
    [
        (X, [1], "a row and a number for each example"),
        (X, [1, -1], "a row and a number for each example"),
        ([1.0, 2.0], [1, -1], "a row and a number for each example"),
        ([[math.nan, 1.0]], [1], "must be finite"),
    ],
)
def test_a_sample_that_is_none_is_refused(fit, rows, labels, words):
    with pytest.raises(ValueError, match=words):
        fit(rows, labels)


def test_half_spaces_have_finite_targets():
    with pytest.raises(ValueError, match="must be finite"):
        hildreth([0.0, 0.0], [[1.0, 0.0]], [math.nan])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("X", [np.zeros((2, 1)), np.zeros((2, 0))])
def test_adaline_without_a_feature(X):
    found = batch_adaline(X, [1.0, 2.0])
    assert (found.weights.tolist(), found.epochs, found.converged) == ([0.0] * X.shape[1], 0, True)
