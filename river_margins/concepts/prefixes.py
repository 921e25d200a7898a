"""Prefixes of [0, 1]: a class that can be learned from random examples, but has no bound on mistakes."""

from collections.abc import Iterator
from typing import Any

__all__ = ["bisection_adversary"]


def bisection_adversary(learner: Any) -> Iterator[tuple[dict[str, float], bool]]:
    """Yield examples that a learner gets wrong, each of them, although a threshold agrees with all labels.

    The concepts are the prefixes of [0, 1]: x is True up to a threshold. Each example is the middle of the interval in
    which the threshold may still be, with the label that the learner does not predict. The stream ends when no number
    is between the ends of the interval, after 52 examples or more. Real numbers have no end: no learner has a bound on
    its mistakes, though few random examples determine the threshold up to a small error.

    Parameters
    ----------
    learner
        Any learner with `predict_one({"x": number})`. Let it learn each example before the next one is taken.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river_margins.concepts import bisection_adversary
    >>> model = rm.PAClassifier(mode=0)
    >>> mistakes = 0
    >>> for x, y in bisection_adversary(model):
    ...     mistakes += model.predict_one(x) != y
    ...     model.learn_one(x, y)
    >>> mistakes == model.n_seen
    True
    """
    low, high = 0.0, 1.0
    while low < (middle := (low + high) / 2) < high:
        x = {"x": middle}
        y = not learner.predict_one(x)
        yield x, y
        low, high = (middle, high) if y else (low, middle)
