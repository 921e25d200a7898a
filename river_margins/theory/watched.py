"""A classifier that records the numbers in which its guarantees are stated."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from river_margins.conversions.wrapper import ClassifierWrapper, positive_label
from river_margins.core.checks import is_bare, short
from river_margins.core.reader import INTERCEPT, read_features
from river_margins.core.weights import weight_table
from river_margins.families.composed import MarginClassifier, has_intercept
from river_margins.spaces import Linear
from river_margins.tasks.labels import plain

__all__ = ["Watched"]

Weights = Mapping[Any, float]


class Watched(ClassifierWrapper):
    """A linear classifier for two classes, with the running numbers that its guarantees are stated in.

    Each round, with the margins m before and m' after the update and the squared length q of the example, adds
    tau·(1 - m) - tau²·q/2 to `dual`, where tau = (m' - m)/q is the step.

    Parameters
    ----------
    learner
        A classifier with plain weights, such as Perceptron, PAClassifier, ROMMAClassifier or ALMAClassifier, without
        `max_features` and `class_weight`. The wrapper works on a copy that has learned nothing.
    comparator
        The weights u to compare with, {feature: weight}; None (default) compares with none.
    constant
        The weight in u of the constant feature, 0 by default; the weight of `INTERCEPT` in `comparator` is added.

    Attributes
    ----------
    learner
        The copy that learns.
    n_seen
        The number of rounds.
    longest
        R, the length of the longest example so far, with the constant feature of an intercept.
    dual
        The sum of the dual progress of all rounds.
    loss, loss_of_mistakes, squares
        The sums of the hinge losses of u over all rounds and over those with a mistake, and of its squared losses.

    Notes
    -----
    `DualProgress` and `MistakeBound` read these numbers. A metric of River sees labels and predictions only, so what it
    needs of the examples is recorded here.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> from river_margins.theory import DualProgress
    >>> watched = rm.Watched(rm.PAClassifier(C=0.01))
    >>> model, metric = rm.StandardScaler() | watched, metrics.Accuracy() + DualProgress(watched)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metric)
    Accuracy: 89.67%
    DualProgress: 3.41

    References
    ----------
    Shalev-Shwartz, S. and Singer, Y., 2007. A primal-dual perspective of online learning algorithms. Machine
    Learning 69.
    """

    round_cost = "A learning step, two scores, and the score of the comparator."
    guarantee = "That of the learner; the numbers in it are recorded."
    advice = "Use it to see on your stream how far a learner is from its bound, and from the best fixed weights."

    comparator: Weights | None
    constant: float
    longest: float
    dual: float
    loss: float
    loss_of_mistakes: float
    squares: float

    def __init__(self, learner: MarginClassifier, comparator: Weights | None = None, *, constant: float = 0.0) -> None:
        if not (is_bare(learner, MarginClassifier) and type(learner.space or Linear()) is Linear):
            raise TypeError(
                f"`learner` must be a classifier with plain weights, such as Perceptron(), not {short(learner)}"
            )
        for name in ("max_features", "class_weight"):
            if getattr(learner, name, None) is not None:
                raise ValueError(f"`Watched` knows no bound with `{name}` = {getattr(learner, name)!r}: leave it out")
        if comparator is not None and not isinstance(comparator, Mapping):
            raise TypeError(f"`comparator` must be a mapping from features to weights or None, not {comparator!r}")
        # Raises ValueError for what is no finite number, and for a constant that the learner does not have.
        constants = {INTERCEPT: constant} if constant else {}
        weight_table([comparator or {}, constants], has_intercept(learner.intercept, None), 0)
        if comparator is not None:
            comparator = dict(comparator)
            constant += comparator.pop(INTERCEPT, 0.0)
        self._wrap(learner.clone(), comparator=comparator, constant=constant)
        vars(self).update(longest=0.0, dual=0.0, loss=0.0, loss_of_mistakes=0.0, squares=0.0)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river_margins.families.passive_aggressive import PAClassifier
        from river_margins.families.perceptrons import Perceptron

        yield {"learner": PAClassifier(C=0.5)}
        yield {"learner": Perceptron(), "comparator": {"a": 1.0}, "constant": 0.5}

    @property
    def _multiclass(self) -> bool:
        return False

    @property
    def n_mistakes(self) -> int:
        """The number of rounds with a margin of at most 0."""
        mistakes: int = self.learner.n_mistakes
        return mistakes

    @property
    def weights(self) -> Weights:
        """The weights of the learner."""
        found: Weights = self.learner.weights
        return found

    @property
    def size(self) -> float:
        """|u|, the length of the comparator."""
        return math.hypot(*(self.comparator or {}).values(), self.constant)

    @property
    def certificates(self) -> dict[str, float]:
        """The certificates that hold for the learner: `dual_progress` and `mistake_bound`, as far as there are any."""
        from river_margins.theory.certificates import certificates_of  # which needs River's metrics, unlike learning

        return certificates_of(self)

    def check_label(self, y: Any) -> None:
        """Raise the ValueError that `learn_one` would raise for the label y, without learning anything."""
        if not (isinstance(plain(y), bool) or len(self.learner.classes or ()) == 2):
            raise ValueError(
                "`Watched` is for two classes: give labels True and False, or the learner classes=[negative, "
                f"positive], not the label {y!r}"
            )
        self.learner.check_label(y)

    def learn_one(self, x: Mapping[Any, Any], y: Any) -> None:
        """Let the classifier learn x and y, and record the round."""
        self.check_label(y)
        x = read_features(x)
        sign = 1.0 if plain(y) == positive_label(self.learner) else -1.0
        before, mistakes = self._score(x), self.n_mistakes
        self.learner.learn_one(x, y)
        moved = sign * (self._score(x) - before)
        constant = has_intercept(self.learner.intercept, None)  # the space is `Linear`; 0 is False here, too
        q = math.fsum(value * value for value in x.values()) + constant
        gain = moved * (1.0 - sign * before - moved / 2) / q if q else 0.0
        vars(self).update(n_seen=self.n_seen + 1, longest=max(self.longest, math.sqrt(q)), dual=self.dual + gain)
        if self.comparator is not None:
            lost = max(0.0, 1.0 - sign * (product(self.comparator, x) + self.constant))
            mistaken = self.n_mistakes > mistakes
            vars(self).update(
                loss=self.loss + lost,
                loss_of_mistakes=self.loss_of_mistakes + lost * mistaken,
                squares=self.squares + lost * lost,
            )

    def _score(self, x: Mapping[Any, Any]) -> float:
        """Return the score, which is 0 before the first label."""
        return self.learner.score_one(x) or 0.0

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {name: getattr(self, name) for name in NUMBERS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        vars(self).update({name: state[name] for name in NUMBERS})


NUMBERS = ("longest", "dual", "loss", "loss_of_mistakes", "squares")


def product(weights: Weights, x: Mapping[Any, float]) -> float:
    """Return the product of weights with features and the constant feature."""
    return math.fsum(weights.get(name, 0.0) * value for name, value in x.items()) + weights.get(INTERCEPT, 0.0)
