"""Batch forms of the first learners, on arrays: they change once in a pass over the whole sample.

X has a row for each example, y the labels +1 and -1, or the targets of a regression.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from river_margins.core.checks import not_negative, positive, rows_with, signs, whole

__all__ = ["BatchFit", "batch_adaline", "batch_perceptron", "incremental_kernel_perceptron"]


class BatchFit(NamedTuple):
    """Weights, or integer coefficients of examples; the passes that changed them; and whether no more would."""

    weights: NDArray[np.float64]
    epochs: int
    converged: bool


def batch_perceptron(
    X: ArrayLike, y: ArrayLike, *, margin: float = 0.0, lr: float = 1.0, max_epochs: int = 1000
) -> BatchFit:
    """Add the sum of y·x over all examples with a margin of at most `margin`, until there are none.

    Parameters
    ----------
    X, y
        The examples, as rows, and their labels, +1 or -1.
    margin
        The margin to exceed, >= 0; 0 by default.
    lr
        The step size, > 0; 1 by default.
    max_epochs
        The largest number of passes, >= 1; 1000 by default.

    Returns
    -------
    (weights, epochs, converged): the passes that changed w, and whether all margins exceed `margin`.

    Raises
    ------
    ValueError
        If a parameter is outside its range, a label is not +1 or -1, or a number is not finite.

    Notes
    -----
    This is gradient descent on Σ [margin - y⟨w, x⟩]+, from w = 0. If u separates n examples with margin 1 and `margin`
    is 0, at most n²·R²·|u|² passes change w. The lectures update for margins below 0 only, and start from random
    weights, as w = 0 would never change.

    Examples
    --------
    >>> from river_margins.conversions import batch_perceptron
    >>> batch_perceptron([[1.0, 1.0], [1.0, -1.0]], [1, -1])
    BatchFit(weights=array([0., 2.]), epochs=1, converged=True)

    References
    ----------
    Duda, R., Hart, P. and Stork, D., 2001. Pattern Classification, section 5.5.
    """
    not_negative("margin", margin)
    positive("lr", lr)
    signed = signed_rows(X, y)
    w = np.zeros(signed.shape[1])
    for epoch in range(whole("max_epochs", max_epochs, 1) + 1):
        wrong = signed[signed @ w <= margin]
        if not len(wrong) or epoch == max_epochs:
            break
        w = w + lr * wrong.sum(axis=0)
    return BatchFit(w, epoch, not len(wrong))


def batch_adaline(
    X: ArrayLike, y: ArrayLike, *, lr: float | None = None, max_epochs: int = 10_000, tolerance: float = 1e-12
) -> BatchFit:
    """Add lr·Σ (y - ⟨w, x⟩)·x, the gradient of the squared errors, until it is nearly 0.

    Parameters
    ----------
    X, y
        The examples, as rows, and their targets; +1 and -1 for classes.
    lr
        The step size, > 0; None (default) is 1/λ, with the largest eigenvalue λ of Σ xxᵀ.
    max_epochs
        The largest number of passes, >= 1; 10000 by default.
    tolerance
        The length of the gradient, in relation to that at w = 0, that counts as 0, >= 0; 1e-12 by default.

    Returns
    -------
    (weights, epochs, converged): the passes that changed w, and whether the gradient is below `tolerance`.

    Raises
    ------
    OverflowError
        If the weights grow beyond floating point, as they do with lr > 2/λ.

    Notes
    -----
    From w = 0 it converges to the shortest least squares solution if lr < 2/λ. With lr > 2/λ it diverges, unless no
    target has a component along the eigenvectors of λ.

    Examples
    --------
    >>> from river_margins.conversions import batch_adaline
    >>> batch_adaline([[1.0], [2.0]], [1.0, 3.0])  # 7/5
    BatchFit(weights=array([1.4]), epochs=1, converged=True)

    References
    ----------
    Widrow, B. and Hoff, M., 1960. Adaptive switching circuits.
    """
    X, y = rows_with(X, y)
    if lr is None:
        largest = np.linalg.eigvalsh(X.T @ X).max(initial=0.0)
        lr = 1 / largest if largest > 0.0 else 1.0  # of zeros only: no step moves w
    positive("lr", lr)
    w = np.zeros(X.shape[1])
    least = not_negative("tolerance", tolerance) * np.linalg.norm(X.T @ y)
    for epoch in range(whole("max_epochs", max_epochs, 1) + 1):
        with np.errstate(over="ignore", invalid="ignore"):  # the error below says what to do, numpy's warning does not
            gradient = X.T @ (y - X @ w)
            size = float(np.linalg.norm(gradient))
        if not np.isfinite(size):
            raise OverflowError(f"the weights grow beyond floating point: `lr` is {lr}, above 2/λ; lr=None is 1/λ")
        if size <= least or epoch == max_epochs:
            break
        w = w + lr * gradient
    return BatchFit(w, epoch, bool(size <= least))


def incremental_kernel_perceptron(gram: ArrayLike, y: ArrayLike, *, max_epochs: int = 1000) -> BatchFit:
    """Count, for each example of a finite sample, how often it was misclassified, until none is.

    Parameters
    ----------
    gram
        The kernel of each pair of examples.
    y
        The labels, +1 or -1.
    max_epochs
        The largest number of passes, >= 1; 1000 by default.

    Returns
    -------
    (weights, epochs, converged): the counts a, such that the score of x is Σ a_i·y_i·k(x_i, x).

    Notes
    -----
    If u separates with margin 1 in the space of the kernel, the sum of the counts is at most R²|u|², where R² is the
    largest k(x, x).

    Examples
    --------
    >>> from river_margins.conversions import incremental_kernel_perceptron
    >>> incremental_kernel_perceptron([[1.0, 0.5], [0.5, 1.0]], [1, -1])
    BatchFit(weights=array([1., 1.]), epochs=1, converged=True)

    References
    ----------
    Aizerman, M., Braverman, E. and Rozonoer, L., 1964. Theoretical foundations of the potential function method.
    """
    signed = signed_rows(signed_rows(gram, y).T, y)
    counts = np.zeros(len(signed))
    for epoch in range(whole("max_epochs", max_epochs, 1) + 1):
        wrong = bool((signed @ counts <= 0).any())
        if not wrong or epoch == max_epochs:
            break
        for i, row in enumerate(signed):
            counts[i] += row @ counts <= 0
    return BatchFit(counts, epoch, not wrong)


def signed_rows(X: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
    """Return the rows y·x; raise ValueError for other labels than +1 and -1."""
    rows, labels = rows_with(X, signs(y))
    return rows * labels[:, None]
