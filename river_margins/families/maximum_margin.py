"""Learners that approach the separator with the largest margin: ROMMA and ALMA."""

from collections.abc import Iterator
from typing import Any

from river_margins.core.pairs import no_price
from river_margins.families.composed import MarginClassifier
from river_margins.families.parameter_types import Classes, ClassWeight
from river_margins.rules import ALMARule, ROMMARule
from river_margins.spaces import Linear, PNorm

__all__ = ["ALMAClassifier", "ROMMAClassifier"]


class ROMMAClassifier(MarginClassifier):
    """The relaxed online maximum margin algorithm: the shortest w that meets the last two constraints.

    In a round with an update, w' is the shortest vector with y⟨w', x⟩ >= 1 and ⟨w, w'⟩ >= |w|². The second constraint
    stands for all earlier examples. With many classes, y·x is the difference between the class and its best-scoring
    rival.

    Parameters
    ----------
    aggressive
        Whether every margin below 1 causes an update (default), not only a mistake: the aggressive form of the paper.
    tie_update
        Whether a margin of exactly 0 also causes an update (default). With False, only a wrong predicted label does, as
        in LIBOL.
    classes
        Classes known beforehand; their order breaks ties. Two classes share one weight vector: [negative, positive].
    intercept
        Whether to add a constant feature of value 1; True by default.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    If u separates with margin 1 and R is the length of the longest example: Σ l² over the updates <= R²|u|², n_mistakes
    <= R²|u|², and |w| never exceeds |u|. With `aggressive=False, tie_update=False` the bound is that of `n_updates`,
    because a tie without an update counts as a mistake. On noisy streams |w| grows without limit, because there is no C
    that limits the step. Beyond a score of 1e75 only the direction of w matters, and w is shortened to |w||x| = 1e75,
    and to |w| = 1e100 after examples shorter than 1e-25.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.ROMMAClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 85.91%

    References
    ----------
    Li, Y. and Long, P., 2002. The relaxed online maximum margin algorithm. Machine Learning 46.
    """

    round_cost = "The number of features in x times the number of classes."
    guarantee = "At most R²|u|² mistakes if u separates with margin 1."
    advice = "Use it for a wide margin on a separable stream, without a parameter to tune."
    _no_class_weight = no_price("`class_weight`")

    aggressive: bool
    tie_update: bool

    def __init__(
        self,
        *,
        aggressive: bool = True,
        tie_update: bool = True,
        classes: Classes = None,
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(aggressive=aggressive, tie_update=tie_update)
        rule = ROMMARule(aggressive=aggressive, tie_update=tie_update)
        super().__init__(rule, classes=classes, intercept=intercept, max_features=max_features)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"aggressive": False}

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"aggressive", "tie_update"}


class ALMAClassifier(MarginClassifier):
    """The approximate large margin algorithm: steps of decreasing length in the unit ball.

    If y⟨w, x⟩/|x| <= (1 - alpha)·B/sqrt(k), where k - 1 is the number of updates so far: w' = w + C/sqrt(k)·y·x/|x|,
    shortened to length 1 if it is longer. With many classes, y·x is the difference between the class and its
    best-scoring rival.

    With p > 2, |x| is the p-norm, B is multiplied and C divided by sqrt(p - 1), and the steps change a sum θ that
    determines the weights: w_i = θ_i·(|θ_i|/|θ|_p)^(p-2), whose dual norm is |θ|_p.

    Parameters
    ----------
    alpha
        The share of the best margin that may be missed, in (0, 1]. 0.5 by default: a wider margin also tolerates some
        wrong labels. LIBOL and River take 0.9; with 1, only mistakes cause updates.
    p
        The norm that measures examples, >= 2; 2 by default. 2·ln(number of features) suits sparse targets.
    B
        The margin required at first, in units of 1 - alpha, > 0; None (default) is sqrt(8)/alpha, for which the theorem
        holds. LIBOL, SOL and River take 1/alpha.
    C
        The length of the first step, > 0; sqrt(2) by default.
    classes
        Classes known beforehand; their order breaks ties. Two classes share one weight vector: [negative, positive].
    class_weight
        A factor of the sample weight for each class: a mapping from labels to numbers > 0, in which a missing label has
        1. Or "balanced": n/(k·n_y), at most n_y, for the label y, with the n examples and k labels seen so far, n_y of
        them with y. None (default) is 1 for all.
    intercept
        Whether to add a constant feature of value 1; True by default.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    If a u of length 1 in the dual norm (1/p + 1/q = 1) has y⟨u, x⟩/|x| >= g in all rounds: n_updates <= (2(p -
    1)/g²)(2/alpha - 1)² + 8/alpha - 4, over any number of passes. After a pass without an update, w has a margin of at
    least (1 - alpha)·g.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.ALMAClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 88.63%

    References
    ----------
    Gentile, C., 2001. A new approximate maximal margin classification algorithm. Journal of Machine Learning
    Research 2.
    """

    round_cost = "The number of features in x times the number of classes."
    guarantee = "At most (2(p - 1)/g²)(2/alpha - 1)² + 8/alpha - 4 updates if some u has margin g."
    advice = "Use it on a separable stream if the margin should come close to the best one."

    alpha: float
    p: float
    B: float | None
    C: float

    def __init__(
        self,
        alpha: float = 0.5,
        *,
        p: float = 2,
        B: float | None = None,
        C: float = 2**0.5,
        classes: Classes = None,
        class_weight: ClassWeight = None,
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(alpha=alpha, p=p, B=B, C=C)
        super().__init__(
            ALMARule(alpha, B=B, C=C),
            Linear() if p == 2 else PNorm(p),
            classes=classes,
            class_weight=class_weight,
            intercept=intercept,
            max_features=max_features,
        )

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"alpha": 0.9, "B": 2.0}
        yield {"p": 3, "class_weight": "balanced"}

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"alpha", "B", "C", "class_weight"}
