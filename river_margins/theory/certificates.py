"""Certificates of a running learner: what no fixed weights could reach, and what the learner can lose at most."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from river import base, metrics

from river_margins.conversions.wrapper import ClassifierWrapper, positive_label
from river_margins.core.checks import short
from river_margins.core.reader import INTERCEPT
from river_margins.families.composed import MarginClassifier
from river_margins.rules import PA, PA1, PA2, ALMARule, PerceptronRule, ROMMARule, ShiftingPerceptronRule
from river_margins.spaces import Linear
from river_margins.tasks.labels import plain
from river_margins.theory import bounds

__all__ = ["DualProgress", "MistakeBound", "Watched", "margin_reached"]

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
    guarantee = "That of the learner, with its numbers at hand."
    advice = "Use it to see on your stream how far a learner is from its bound, and from the best fixed weights."

    comparator: Weights | None
    constant: float
    longest: float
    dual: float
    loss: float
    loss_of_mistakes: float
    squares: float

    def __init__(self, learner: MarginClassifier, comparator: Weights | None = None, *, constant: float = 0.0) -> None:
        if not (isinstance(learner, MarginClassifier) and type(learner.space or Linear()) is Linear):
            raise TypeError(
                f"`learner` must be a classifier with plain weights, such as Perceptron(), not {short(learner)}"
            )
        for name in ("max_features", "class_weight"):
            if getattr(learner, name, None) is not None:
                raise ValueError(f"`Watched` states no bound for a learner with `{name}`, {getattr(learner, name)!r}")
        if comparator is not None and not isinstance(comparator, Mapping):
            raise TypeError(f"`comparator` must be a mapping from features to weights or None, not {comparator!r}")
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
    def size(self) -> float:
        """|u|, the length of the comparator."""
        return math.hypot(*(self.comparator or {}).values(), self.constant)

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
        sign = 1.0 if plain(y) == positive_label(self.learner) else -1.0
        before, mistakes = self._score(x), self.n_mistakes
        self.learner.learn_one(x, y)
        moved = sign * (self._score(x) - before)
        q = math.fsum(value * value for value in x.values()) + bool(self.learner.intercept is not False)
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


class _Certificate(metrics.base.ClassificationMetric):
    """A metric that reads the numbers of a watched classifier; what it is updated with does not matter."""

    rules: tuple[type, ...]
    _fmt = ".2f"

    def __init__(self, watched: Watched) -> None:
        super().__init__()
        if not isinstance(watched, Watched):
            raise TypeError(f"`watched` must be a classifier in `Watched`, not {short(watched)}")
        if not isinstance(watched.learner.rule, self.rules):
            known = ", ".join(rule.__name__ for rule in self.rules)
            raise TypeError(
                f"`{type(self).__name__}` knows learners with the rules {known}, not {watched.learner.rule!r}"
            )
        self.watched = watched

    def update(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        """Do nothing: the watched classifier records its rounds."""

    def revert(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        """Do nothing: a round cannot be taken back."""

    def works_with(self, model: base.Estimator) -> bool:
        """Return whether the watched classifier is the model, or a step of it."""
        return model is self.watched or self.watched in getattr(model, "steps", {}).values()


class DualProgress(_Certificate):
    """A lower bound of |u|²/2 + C·(the losses of u on the stream so far), which no fixed weights u go below.

    For PA-I it is the dual of the support vector machine, which each round increases. For PA, ROMMA and ALMA, C is
    infinite, and it holds on separable streams: it bounds |u|²/2 of the weights that separate with margin 1. For ALMA,
    examples are divided by their lengths. No weights then separate with a margin above `largest_margin`.

    Parameters
    ----------
    watched
        The classifier in `Watched`: PAClassifier with mode 0 or 1, ROMMAClassifier, or ALMAClassifier with p = 2 and
        the default B and C.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river_margins.theory import DualProgress
    >>> watched = rm.Watched(rm.PAClassifier(C=0.25, intercept=False))
    >>> for x, y in [({"a": 2.0}, True), ({"a": -1.0}, False)]:
    ...     watched.learn_one(x, y)
    >>> DualProgress(watched).get()  # the first pass of the support vector machine, of which the optimum is 0.25
    0.21875
    """

    rules = (PA1, PA, ROMMARule, ALMARule)

    def __init__(self, watched: Watched) -> None:
        super().__init__(watched)
        rule = watched.learner.rule
        if isinstance(rule, ALMARule) and (rule.B is not None or not math.isclose(rule.C, math.sqrt(2))):
            raise TypeError(f"`DualProgress` holds for ALMA with the default `B` and `C`, not {rule!r}")

    def get(self) -> float:
        """Return the bound."""
        learner = self.watched.learner
        if isinstance(learner.rule, ROMMARule):  # its weights are never longer than those of a separator
            return math.fsum(weight * weight for weight in learner.weights.values()) / 2
        if isinstance(learner.rule, ALMARule):  # the margin it demands, sqrt(8/k)/alpha, is never below the widest
            return (learner.n_updates + 1) * learner.rule.alpha**2 / 16
        return self.watched.dual

    @property
    def largest_margin(self) -> float:
        """What no margin of weights of length 1 exceeds, on a separable stream."""
        bound = self.get()
        return 1 / math.sqrt(2 * bound) if bound else math.inf


class MistakeBound(_Certificate):
    """The mistakes so far as a share of the bound for a comparator; a proof says that it never exceeds 1.

    Parameters
    ----------
    watched
        The classifier in `Watched`, with a comparator: Perceptron, ShiftingPerceptron with lam >= 1, PAClassifier or
        ROMMAClassifier. For PA with mode 0 and ROMMA, the bound is infinite unless the comparator has no loss.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river_margins.theory import MistakeBound
    >>> watched = rm.Watched(rm.Perceptron(intercept=False), comparator={"a": 1.0, "b": -1.0})
    >>> for x, y in [({"a": 1.0}, True), ({"b": 1.0}, False), ({"a": 1.0}, True)]:
    ...     watched.learn_one(x, y)
    >>> MistakeBound(watched)  # R²|u|² is 2
    MistakeBound: 2 mistakes of at most 2.00
    """

    rules = (PerceptronRule, ShiftingPerceptronRule, PA, PA1, PA2, ROMMARule)

    def __init__(self, watched: Watched) -> None:
        super().__init__(watched)
        rule = watched.learner.rule
        if watched.comparator is None:
            raise ValueError("`MistakeBound` needs `Watched(learner, comparator)` with weights to compare with")
        if isinstance(rule, ShiftingPerceptronRule) and rule.lam < 1:
            raise ValueError(f"`lam` must be at least 1 for the bound of ShiftingPerceptron, not {rule.lam}")

    @property
    def bound(self) -> float:
        """The bound on the mistakes so far."""
        seen, rule = self.watched, self.watched.learner.rule
        if isinstance(rule, PerceptronRule):
            return bounds.perceptron_mistakes(seen.longest, seen.size, seen.loss_of_mistakes)
        if isinstance(rule, ShiftingPerceptronRule):
            lost = seen.loss_of_mistakes
            return bounds.shifting_perceptron_mistakes(seen.longest, seen.size, 0.0, lost, rule.lam)
        if isinstance(rule, PA1):
            return bounds.pa1_mistakes(seen.longest, seen.size, seen.loss, rule.C)
        if isinstance(rule, PA2):
            return bounds.pa2_squares(seen.longest, seen.size, seen.squares, rule.C)
        return bounds.separable_mistakes(seen.longest, seen.size) if seen.loss == 0.0 else math.inf

    def get(self) -> float:
        """Return the share; 0 before the first mistake."""
        mistakes = self.watched.n_mistakes
        return mistakes / self.bound if mistakes else 0.0

    @property
    def bigger_is_better(self) -> bool:
        """False: mistakes are better avoided."""
        return False

    def __repr__(self) -> str:
        return f"MistakeBound: {self.watched.n_mistakes} mistakes of at most {self.bound:.2f}"


def margin_reached(
    weights: Weights, data: Iterable[tuple[Mapping[Any, float], bool]], *, directions: bool = False
) -> float:
    """Return the smallest margin of weights, divided by their length, on pairs of an example and True or False.

    Parameters
    ----------
    weights
        {feature: weight}, with `INTERCEPT` for the constant feature.
    data
        Examples and labels.
    directions
        Whether to divide examples by their lengths, as ALMA does; False by default. Examples of length 0 are left out.

    Examples
    --------
    >>> margin_reached({"a": 3.0, "b": -4.0}, [({"a": 1.0}, True), ({"b": 2.0}, False)])
    0.6
    """
    length, smallest = math.hypot(*weights.values()), math.inf
    constant = 1.0 if INTERCEPT in weights else 0.0
    for x, y in data:
        size = math.hypot(*x.values(), constant) if directions else 1.0
        if size:
            smallest = min(smallest, (1.0 if y else -1.0) * product(weights, x) / size)
    return smallest / length if length else 0.0


def product(weights: Weights, x: Mapping[Any, float]) -> float:
    """Return the product of weights with features and the constant feature."""
    return math.fsum(weights.get(name, 0.0) * value for name, value in x.items()) + weights.get(INTERCEPT, 0.0)
