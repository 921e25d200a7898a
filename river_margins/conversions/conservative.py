"""The conservative conversion: a learner that changes on mistakes only."""

from collections.abc import Mapping
from typing import Any

from river import base

from river_margins.conversions.wrapper import ClassifierWrapper, is_mistaken
from river_margins.core.checks import sample_weight

__all__ = ["Conservative"]


class Conservative(ClassifierWrapper):
    """Learn only from mistakes: pass an example to the classifier if it is wrong on it, and ignore the others.

    A mistake is a margin of at most 0, for classifiers with scores, and a wrong label for all others.

    Parameters
    ----------
    learner
        Any classifier, of this library or of River. The wrapper works on a copy, which keeps what the classifier has
        learned.

    Attributes
    ----------
    learner
        The copy that learns.
    n_seen, n_mistakes
        The number of rounds, and of those in which the classifier was wrong, which it learned.

    Notes
    -----
    The mistakes on a stream are those of the classifier on the examples that it learned, so each bound on its mistakes
    is one for the wrapper. The lectures' pseudo-code of PA-I is `Conservative(PAClassifier())`: it ignores right labels
    with a margin below 1, from which PA learns.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.Conservative(rm.PAClassifier(C=0.25, intercept=False))
    >>> for x in ({"a": 1.0}, {"a": 1.0}, {"a": 1.0}):
    ...     model.learn_one(x, True)
    >>> dict(model.learner.weights), model.n_mistakes  # PA-I alone would have learned all three
    ({'a': 0.25}, 1)

    References
    ----------
    Littlestone, N., 1988. Learning quickly when irrelevant attributes abound. Machine Learning 2.
    """

    round_cost = "A prediction, and on a mistake a learning step of the classifier."
    guarantee = "The mistake bound of the classifier, if it has one."
    advice = "Use it for fewer updates, or where a proof needs a learner that changes on mistakes only."

    n_mistakes: int

    def __init__(self, learner: base.Estimator) -> None:
        self._wrap(learner, n_mistakes=0)

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn x and y if the classifier is wrong on x; with the sample weight w, which other rounds ignore."""
        self.check_label(y)
        sample_weight(w)
        mistaken = is_mistaken(self.learner, x, y)
        if mistaken:
            self.learner.learn_one(x, y, **({} if w == 1.0 else {"w": w}))
        vars(self).update(n_seen=self.n_seen + 1, n_mistakes=self.n_mistakes + mistaken)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"n_mistakes": self.n_mistakes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        vars(self).update(n_mistakes=state["n_mistakes"])
