"""Selective sampling: learners that decide for which examples to request the label.

A sampler wraps any margin classifier, which learns the labels that were requested.
"""

import math
import random
from collections.abc import Iterator, Mapping
from typing import Any

from river import base, compose
from river.active import base as river_active

from river_margins.core.checks import positive, short, whole
from river_margins.families.composed import has_intercept
from river_margins.families.delegating import DelegatingClassifier, innermost
from river_margins.families.parameter_types import ScoringClassifier
from river_margins.tasks.labels import plain

__all__ = ["MarginSampler", "RandomizedSelectiveSampler", "SelectiveSampler", "ShareSampler"]


class _Sampler(DelegatingClassifier):
    """A copy of a classifier that learns, and the numbers of rounds, requests, and requests without a label yet."""

    classifier: Any
    n_rounds: int
    n_queries: int
    n_open: int

    def _wrap(self, classifier: ScoringClassifier) -> None:
        if isinstance(classifier, compose.Pipeline):
            raise TypeError(
                "`classifier` must be a margin classifier, not a pipeline: wrap its last step, as in "
                f"`StandardScaler() | {type(self).__name__}(Perceptron())`"
            )
        if not (isinstance(classifier, base.Classifier) and hasattr(classifier, "score_one")):
            raise TypeError(f"`classifier` must be a margin classifier, such as Perceptron(), not {short(classifier)}")
        learner = classifier.clone(include_attributes=True)  # the given classifier is a recipe and does not change
        # One object under both names, so that a copy has the parameters that `mutate` gave the learner.
        vars(self).update(classifier=learner, learner=learner, n_rounds=0, n_queries=0, n_open=0)

    def _asks(self, x: Mapping[Any, Any], confidence: float, t: int) -> bool:
        """Return whether to request the label of x in round t, given |f|."""
        raise NotImplementedError

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river_margins.families.passive_aggressive import PAClassifier
        from river_margins.families.perceptrons import Perceptron

        yield {"classifier": Perceptron(intercept=True)}
        yield {"classifier": PAClassifier(C=0.1)}

    def query_one(self, x: Mapping[Any, Any]) -> bool:
        """Return whether to request the label of x, and count the round. Predicting neither counts nor draws."""
        return self.query_scored(x, self.learner.score_one(x))

    def query_scored(self, x: Mapping[Any, Any], scores: Any) -> bool:
        """Do as `query_one` for an example whose score is known, as `score_one` returns it."""
        if isinstance(scores, dict):
            best = sorted(scores.values())[-2:]
            scores = best[1] - best[0] if len(best) == 2 else 0.0
        # A parameter of numpy makes a bool of numpy, which would make numbers of numpy of the counts.
        asked = bool(self._asks(x, abs(scores), self.n_rounds + 1))
        vars(self).update(n_rounds=self.n_rounds + 1, n_queries=self.n_queries + asked, n_open=self.n_open + asked)
        return asked

    def withdraw(self) -> None:
        """Take the last request back: its label will not come, for example because a budget is spent."""
        if not self.n_open:
            raise ValueError("there is no request to withdraw: call `query_one` first")
        vars(self).update(n_queries=self.n_queries - 1, n_open=self.n_open - 1)

    @property
    def position(self) -> dict[str, Any]:
        """What requests change and learning does not, as numbers and lists: write it as JSON to go on from there."""
        return {"n_rounds": self.n_rounds, "n_queries": self.n_queries, "n_open": self.n_open}

    def go_to(self, position: Mapping[str, Any]) -> None:
        """Go on from a `position`."""
        vars(self).update({name: position[name] for name in ("n_rounds", "n_queries", "n_open")})

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn a label that was requested. If no request is open, learn it only if `query_one` requests it now.

        A class that the classifier does not know yet is learned, too, and counts as requested.
        So a loop that hands over every label, such as `evaluate.progressive_val_score`, learns the requested ones.
        """
        before = self.position
        self.check_label(y)
        if not self.n_open and not self.query_one(x):
            if not self._is_new(x, y):
                return
            vars(self).update(n_queries=self.n_queries + 1, n_open=1)
        try:
            self.learner.learn_one(x, y, **({} if w == 1.0 else {"w": w}))  # some classifiers take no sample weight
        except BaseException:
            self.go_to(before)
            raise
        vars(self).update(n_open=self.n_open - 1)

    def _is_new(self, x: Mapping[Any, Any], y: Any) -> bool:
        scores = self.learner.score_one(x)
        return isinstance(scores, dict) and plain(y) not in scores

    def as_river(self) -> river_active.ActiveLearningClassifier:
        """Return a River active learner around this sampler: each prediction comes with the decision to request.

        `evaluate.progressive_val_score` then gives it only the requested labels and reports the samples used.
        """
        return _Asking(self)

    def _recipe(self) -> dict[str, Any]:
        return super()._recipe() | {"classifier": self.learner.clone()}

    def __getstate__(self) -> dict[str, Any]:
        return self.position | {"learner": self.learner.__getstate__()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.go_to(state)
        self.learner.__setstate__(state["learner"])


class _Drawing(_Sampler):
    """A sampler that draws at random, from `seed` on."""

    seed: int | None
    _generator: random.Random

    def _wrap_seeded(self, classifier: ScoringClassifier, seed: int | None) -> None:
        seed = seed if seed is None else whole("seed", seed)
        vars(self).update(seed=seed, _generator=random.Random(seed))
        self._wrap(classifier)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield from (parameters | {"seed": 1} for parameters in super()._unit_test_params())

    @property
    def position(self) -> dict[str, Any]:
        if self.seed is None and not self.n_rounds:
            # Nothing was drawn. A snapshot of a wrapper has a clone that has learned nothing, and without a seed each
            # clone has other random numbers: it could not be read back.
            return super().position | {"generator": None}
        version, words, gauss = self._generator.getstate()
        return super().position | {"generator": [version, list(words), gauss]}

    def go_to(self, position: Mapping[str, Any]) -> None:
        if position["generator"] is not None:
            version, words, gauss = position["generator"]
            self._generator.setstate((version, tuple(words), gauss))
        super().go_to(position)


class SelectiveSampler(_Sampler):
    """Request the label if the score is closer to 0 than the remaining uncertainty.

    In round t, with n labels requested so far and the score f, the label is requested if |f| <= |x|·√(c·ln(t)/n):
    always while n = 0, and never for an example without features and constant. With many classes, f is the lead of the
    best score over the second best.

    Parameters
    ----------
    classifier
        The margin classifier that learns the labels. The sampler works on a copy, which keeps what the classifier has
        learned.
    c
        Rate of requests, > 0; 1 by default. The larger c, the more labels are requested.

    Attributes
    ----------
    n_rounds, n_queries, n_open
        The number of examples passed to `query_one`, the number of labels it requested, and how many of these were not
        learned yet.
    learner
        The classifier that learns.

    Notes
    -----
    The rates are proved for regularised least squares, which learns every requested label, on independent examples with
    little noise near the border. There is no bound for arbitrary streams. Learners whose scores soon exceed the
    threshold, as they do with a small c, stop requesting labels too early.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.SelectiveSampler(rm.PAClassifier(C=0.1, intercept=True), c=0.3).as_river()
    >>> steps = evaluate.iter_progressive_val_score(datasets.Phishing(), model, metrics.Accuracy(), step=1250)
    >>> [(step["Accuracy"], step["Samples used"]) for step in steps]
    [(Accuracy: 84.87%, 193)]

    References
    ----------
    Cavallanti, G., Cesa-Bianchi, N. and Gentile, C., 2011. Learning noisy linear classifiers via adaptive and selective
    sampling. Machine Learning 83.
    """

    round_cost = "One score, and one learning step if the label is requested."
    guarantee = "For regularised least squares on independent examples, an error close to the best at low noise."
    advice = "Use it if labels are expensive and the stream does not drift."

    c: float

    def __init__(self, classifier: ScoringClassifier, *, c: float = 1.0) -> None:
        vars(self).update(c=positive("c", c))
        self._wrap(classifier)

    def _asks(self, x: Mapping[Any, Any], confidence: float, t: int) -> bool:
        length = math.hypot(*x.values(), _has_constant(self.learner))
        if length == 0.0 or self.n_queries == 0:
            return length > 0.0 or bool(x)  # a scaler makes zeros of features that it has not learned
        return confidence <= length * math.sqrt(self.c * math.log(t) / self.n_queries)


def _has_constant(classifier: Any) -> bool:
    """Return whether a classifier adds a constant feature of value 1; `intercept=None` leaves that to its space."""
    inner = innermost(classifier)  # wrappers, such as Calibrated, have no `intercept` of their own
    intercept = getattr(inner, "intercept", False)
    return has_intercept(None, inner.space) if intercept is None else bool(intercept)


class RandomizedSelectiveSampler(_Drawing):
    """Request the label with probability b/(b + |f|), where f is the score.

    With many classes, f is the lead of the best score over the second best.

    Parameters
    ----------
    classifier
        The margin classifier that learns the labels. The sampler works on a copy, which keeps what the classifier has
        learned.
    b
        Rate of requests, > 0, in the unit of scores; 1 by default. The larger b, the more labels are requested.
    seed
        The seed of the generator, a whole number >= 0; None (default) draws one.

    Attributes
    ----------
    n_rounds, n_queries, n_open
        The number of examples passed to `query_one`, the number of labels it requested, and how many of these were not
        learned yet.
    learner
        The classifier that learns.

    Notes
    -----
    The guarantee is for the perceptron and counts the mistakes of all rounds, with and without a request. b = R²/2
    gives R²|u|², the bound of a perceptron that sees every label.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.RandomizedSelectiveSampler(rm.PAClassifier(C=0.1, intercept=True), b=0.2, seed=1).as_river()
    >>> steps = evaluate.iter_progressive_val_score(datasets.Phishing(), model, metrics.Accuracy(), step=1250)
    >>> [(step["Accuracy"], step["Samples used"]) for step in steps]
    [(Accuracy: 85.67%, 283)]

    References
    ----------
    Cesa-Bianchi, N., Gentile, C. and Zaniboni, L., 2006. Worst-case analysis of selective sampling for linear
    classification, theorem 1. JMLR 7.
    """

    round_cost = "One score, and one learning step if the label is requested."
    guarantee = "Around `Perceptron`, E[mistakes] <= |u|²(2b + R²)²/(8b) if u separates with margin 1."
    advice = "Use it if labels are expensive and nothing is known about the stream."

    b: float

    def __init__(self, classifier: ScoringClassifier, *, b: float = 1.0, seed: int | None = None) -> None:
        vars(self).update(b=positive("b", b))
        self._wrap_seeded(classifier, seed)

    def _asks(self, x: Mapping[Any, Any], confidence: float, t: int) -> bool:
        return self._generator.random() < self.b / (self.b + confidence)


class MarginSampler(_Sampler):
    """Request the label if the score is at most `margin` away from 0.

    With many classes, the score is the lead of the best score over the second best.

    Parameters
    ----------
    classifier
        The margin classifier that learns the labels. The sampler works on a copy, which keeps what the classifier has
        learned.
    margin
        The largest |score| at which the label is requested, > 0, in the unit of scores; 1 by default. A margin of 1 is
        where the hinge loss of one of the two labels is 0. The scores of `AutoClassifier` and `Hedge` are votes of at
        most 1: with the default, each label is requested.

    Attributes
    ----------
    n_rounds, n_queries, n_open
        The number of examples passed to `query_one`, the number of labels it requested, and how many of these were not
        learned yet.
    learner
        The classifier that learns.

    Notes
    -----
    The threshold stays. Learners whose scores grow, such as a perceptron, request fewer labels as they learn. One whose
    scores exceed a small margin after a few labels, perhaps all of one class, never requests another one.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.MarginSampler(rm.PAClassifier(C=0.1, intercept=False), margin=1.0).as_river()
    >>> steps = evaluate.iter_progressive_val_score(datasets.Phishing(), model, metrics.Accuracy(), step=1250)
    >>> [(step["Accuracy"], step["Samples used"]) for step in steps]
    [(Accuracy: 82.87%, 497)]

    References
    ----------
    Lewis, D. and Gale, W., 1994. A sequential algorithm for training text classifiers. SIGIR: uncertainty sampling.
    """

    round_cost = "One score, and one learning step if the label is requested."
    guarantee = "None: examples beyond the margin are never looked at again, right or wrong."
    advice = "Use it if the unit of the scores is known, such as a margin of 1, and you want to choose the threshold."

    margin: float

    def __init__(self, classifier: ScoringClassifier, *, margin: float = 1.0) -> None:
        vars(self).update(margin=positive("margin", margin))
        self._wrap(classifier)

    def _asks(self, x: Mapping[Any, Any], confidence: float, t: int) -> bool:
        return confidence <= self.margin


class ShareSampler(_Drawing):
    """Request the label of a fixed share of the examples, drawn at random.

    Parameters
    ----------
    classifier
        The margin classifier that learns the labels. The sampler works on a copy, which keeps what the classifier has
        learned.
    share
        The probability of each request, in (0, 1]; 0.1 by default.
    seed
        The seed of the generator, a whole number >= 0; None (default) draws one.

    Attributes
    ----------
    n_rounds, n_queries, n_open
        The number of examples passed to `query_one`, the number of labels it requested, and how many of these were not
        learned yet.
    learner
        The classifier that learns.

    Notes
    -----
    The requested labels are a sample of the stream: what is measured on them holds for all of it. This is what the
    other samplers must be compared with, at the same number of labels.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.ShareSampler(rm.PAClassifier(C=0.1, intercept=True), share=0.15, seed=1).as_river()
    >>> steps = evaluate.iter_progressive_val_score(datasets.Phishing(), model, metrics.Accuracy(), step=1250)
    >>> [(step["Accuracy"], step["Samples used"]) for step in steps]
    [(Accuracy: 81.99%, 179)]

    References
    ----------
    Cohn, D., Atlas, L. and Ladner, R., 1994. Improving generalization with active learning. Machine Learning 15: the
    passive sampling that selective sampling is compared with.
    """

    round_cost = "One score, and one learning step if the label is requested."
    guarantee = "That of the classifier on the share of the stream that it learns."
    advice = "Use it to estimate the accuracy of a model if labels are expensive, or as a baseline for other samplers."

    share: float

    def __init__(self, classifier: ScoringClassifier, *, share: float = 0.1, seed: int | None = None) -> None:
        vars(self).update(share=positive("share", share))
        if self.share > 1.0:
            raise ValueError(f"`share` must be in (0, 1], not {short(share)}: it is a probability")
        self._wrap_seeded(classifier, seed)

    def _asks(self, x: Mapping[Any, Any], confidence: float, t: int) -> bool:
        return self._generator.random() < self.share


class _Asking(river_active.ActiveLearningClassifier):
    """A sampler in the form that River's evaluation expects."""

    def __init__(self, sampler: _Sampler) -> None:
        super().__init__(sampler)
        self.sampler = sampler

    def _ask_for_label(self, x, y_pred):
        return self.sampler.query_one(x)

    def predict_one(self, x, **_):
        return self.sampler.predict_one(x), self.sampler.query_one(x)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        kinds = (SelectiveSampler, RandomizedSelectiveSampler, MarginSampler, ShareSampler)
        yield from ({"sampler": kind(**next(kind._unit_test_params()))} for kind in kinds)
