"""What holds for rules that answer to all wrong classes at once."""

import numpy as np

from river_margins.theory import bounds
from tests.bounds.guarantees import bound, size
from tests.learners import CLASSES


def losses_of_each(run, u):
    """The losses of a fixed vector against each wrong class."""
    if run.task == "binary":
        return run.losses_of(u)
    scores, true = run.X @ u.reshape(len(CLASSES), -1).T, np.eye(len(CLASSES), dtype=bool)[run.labels]
    return np.maximum(0.0, 1.0 - (scores[true][:, None] - scores[~true].reshape(run.rounds, -1)))


@bound()
def mistakes_of_many_capped_steps(run, u):
    """Crammer et al. 2006, theorem 4, with a slack for each demand: M <= max(R², 1/C)·(U² + 2C·ΣΣ l_k(u))."""
    C = run.parameters["C"]
    yield run.mistaken.sum(), bounds.pa1_mistakes(run.length, size(u), losses_of_each(run, u).sum(), C)


@bound()
def length_that_never_grows(run, u):
    """Crammer & Singer 2003: |w'| <= |w|, but for the first step, and the one after w has come to 0 up to rounding."""
    moved = run.sizes[:-1] > 1e-14 * np.maximum.accumulate(run.sizes)[:-1]
    yield run.sizes[1:][moved], run.sizes[:-1][moved]
