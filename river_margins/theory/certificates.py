"""Certificates of a running learner: what no fixed weights could reach, and what the learner can lose at most."""

import contextlib
import math
from collections.abc import Iterable, Mapping
from typing import Any

from river import base, metrics

from river_margins.core.checks import is_bare, short
from river_margins.core.reader import INTERCEPT
from river_margins.rules import PA, PA1, PA2, ALMARule, PerceptronRule, ROMMARule, ShiftingPerceptronRule
from river_margins.tasks.labels import plain
from river_margins.theory import bounds
from river_margins.theory.watched import Watched, Weights, product

__all__ = ["DualProgress", "MistakeBound", "margin_reached"]


class _Certificate(metrics.base.ClassificationMetric):
    """A metric that reads the numbers of a watched classifier; what it is updated with does not matter."""

    rules: tuple[type, ...]
    _fmt = ".2f"

    def __init__(self, watched: Watched) -> None:
        super().__init__()
        if not is_bare(watched, Watched):
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
        """An upper bound on the margin of all weights of length 1, on a separable stream; infinite at first."""
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
        if not (getattr(rule, "tie_update", True) or getattr(rule, "aggressive", False)):
            raise ValueError(f"`{rule!r}` learns nothing from a tie, which counts as a mistake: use tie_update=True")

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


def certificates_of(watched: Watched) -> dict[str, float]:
    """Return the numbers of the certificates that hold for a watched classifier, by name."""
    found: dict[str, float] = {"mistakes": watched.n_mistakes}
    with contextlib.suppress(TypeError):  # of a rule without this certificate
        found["dual_progress"] = DualProgress(watched).get()
    with contextlib.suppress(TypeError, ValueError):  # or without a comparator
        found["mistake_bound"] = MistakeBound(watched).bound
    return found


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
        if not isinstance(plain(y), bool):
            raise ValueError(f"labels must be True or False, not {y!r}")
        size = math.hypot(*x.values(), constant) if directions else 1.0
        if size:
            smallest = min(smallest, (1.0 if y else -1.0) * product(weights, x) / size)
    return smallest / length if length else 0.0
