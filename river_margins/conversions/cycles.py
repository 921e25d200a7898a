"""A learner over a finite sample, again and again."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from river import base

from river_margins.conversions.wrapper import is_mistaken
from river_margins.core.checks import short, whole

__all__ = ["Cycles", "cycle"]


class Cycles(NamedTuple):
    """What `cycle` has done: passes, the last one included; rounds that changed the learner; whether it is right."""

    epochs: int
    updates: int
    converged: bool


def cycle(learner: Any, data: Iterable[tuple[Any, Any]], max_epochs: int = 1000) -> Cycles:
    """Let a classifier learn a finite sample in passes until one pass makes no mistake.

    Parameters
    ----------
    learner
        Any classifier; it learns in place. A mistake is a margin of at most 0, for classifiers with scores, and a wrong
        label for all others. A regressor is a TypeError.
    data
        Pairs of an example and its label.
    max_epochs
        The largest number of passes, >= 1; 1000 by default.

    Returns
    -------
    (epochs, updates, converged): the passes, of which the last one makes no mistake if `converged`; and the rounds that
    changed a learner of this library, or the mistakes of another one.

    Notes
    -----
    If u separates the sample with margin 1, the perceptron converges with at most R²|u|² updates, R the length of the
    longest example, and so at most that many passes and one more. Its weights are Σ a_i·y_i·x_i with whole numbers a_i
    >= 0, times lr. On other samples it never converges.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river_margins.conversions import cycle
    >>> model = rm.Perceptron(intercept=False)
    >>> cycle(model, [({"a": 1.0, "b": 1.0}, True), ({"a": 1.0, "b": -1.0}, False), ({"a": 2.0, "b": 1.0}, True)])
    Cycles(epochs=2, updates=2, converged=True)
    >>> dict(model.weights)
    {'a': 0.0, 'b': 2.0}
    """
    if isinstance(learner, base.Regressor):
        raise TypeError(f"`learner` must be a classifier, such as Perceptron(), not {short(learner)}")
    data = list(data)
    whole("max_epochs", max_epochs, 1)
    before, mistakes, total = getattr(learner, "n_updates", 0), 1, 0
    epochs = 0
    while mistakes and epochs < max_epochs:
        mistakes = 0
        for x, y in data:
            mistakes += is_mistaken(learner, x, y)
            learner.learn_one(x, y)
        epochs, total = epochs + 1, total + mistakes
    updates = learner.n_updates - before if hasattr(learner, "n_updates") else total
    return Cycles(epochs, updates, not mistakes)
