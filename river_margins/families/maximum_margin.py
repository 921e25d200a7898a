"""The learners that approach the separator with the largest margin."""

from collections.abc import Iterator
from typing import Any

from river_margins.families.margin import MarginClassifier
from river_margins.families.parameter_types import Classes
from river_margins.rules import ALMARule, ROMMARule
from river_margins.spaces import Linear, PNorm

__all__ = ["ALMAClassifier", "ROMMAClassifier"]


class ROMMAClassifier(MarginClassifier):
    """The relaxed online maximum margin algorithm: the shortest w that keeps the last half-space and meets the new one.

    In a round that acts, w' is the shortest vector with y⟨w', x⟩ >= 1 and ⟨w, w'⟩ >= |w|²; the second constraint stands
    for all earlier examples. With many classes y·x is the difference between the class and its best-scoring rival.

    Parameters
    ----------
    aggressive
        Whether to act on every margin below 1, and not only on mistakes; False by default.
    tie_update
        Whether a margin of exactly 0 acts too (default). With False only a wrong predicted label does, as in LIBOL.
    classes
        Classes known beforehand, in the order that breaks ties. Two make one weight vector: [negative, positive].
    intercept
        Whether to add a constant feature of value 1; False by default.
    max_features
        Hash the features into so many buckets; None (default) keeps them all.

    Notes
    -----
    Where u separates with margin 1 and R is the longest example: Σ l² over the updates <= R²|u|², n_mistakes <= R²|u|²,
    and |w| never exceeds |u|. On noisy streams |w| can grow without end, until a step is refused by an OverflowError:
    there is no C.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.ROMMAClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 84.07%

    References
    ----------
    Li, Y. and Long, P., 2002. The relaxed online maximum margin algorithm. Machine Learning 46.
    """

    round_cost = "The number of features in x times the number of classes."
    guarantee = "At most R²|u|² mistakes if u separates with margin 1."
    advice = "Use it for a wide margin on a separable stream, without a parameter to tune."

    aggressive: bool
    tie_update: bool

    def __init__(
        self,
        *,
        aggressive: bool = False,
        tie_update: bool = True,
        classes: Classes = None,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(aggressive=aggressive, tie_update=tie_update)
        rule = ROMMARule(aggressive=aggressive, tie_update=tie_update)
        super().__init__(rule, classes=classes, intercept=intercept, max_features=max_features)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"aggressive": True}

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"aggressive", "tie_update"}


class ALMAClassifier(MarginClassifier):
    """The approximate large margin algorithm: shorter and shorter steps in a ball of length 1.

    Where y⟨w, x⟩/|x| <= (1 - alpha)·B/sqrt(k), with k - 1 the updates so far: w' = w + C/sqrt(k)·y·x/|x|, shortened to
    length 1 where it is longer. With many classes y·x is the difference between the class and its best-scoring rival.
    With p > 2, |x| is the p-norm, B is multiplied and C divided by sqrt(p - 1), and the steps move sums θ of which w is
    read: w_i = θ_i·(|θ_i|/|θ|_p)^(p-2), whose dual norm is |θ|_p.

    Parameters
    ----------
    alpha
        Which share of the best margin may be missed, in (0, 1]; 0.9 by default. With 1 it acts on mistakes only.
    p
        The norm in which examples are measured, >= 2; 2 by default. 2·ln(number of features) suits sparse targets.
    B
        The margin asked for at first, in units of 1 - alpha, > 0; None (default) is sqrt(8)/alpha, with which the
        theorem holds. LIBOL, SOL and River take 1/alpha.
    C
        The first step, > 0; sqrt(2) by default.
    classes
        Classes known beforehand, in the order that breaks ties. Two make one weight vector: [negative, positive].
    intercept
        Whether to add a constant feature of value 1; False by default.
    max_features
        Hash the features into so many buckets; None (default) keeps them all.

    Notes
    -----
    If a u of length 1 in the dual norm (1/p + 1/q = 1) has y⟨u, x⟩/|x| >= g in all rounds: n_updates <=
    (2(p - 1)/g²)(2/alpha - 1)² + 8/alpha - 4, over any number of passes; and after a pass without one, w has at least
    the margin (1 - alpha)·g.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.ALMAClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 85.99%

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
        alpha: float = 0.9,
        *,
        p: float = 2,
        B: float | None = None,
        C: float = 2**0.5,
        classes: Classes = None,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(alpha=alpha, p=p, B=B, C=C)
        super().__init__(
            ALMARule(alpha, B=B, C=C),
            Linear() if p == 2 else PNorm(p),
            classes=classes,
            intercept=intercept,
            max_features=max_features,
        )

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"alpha": 0.5, "B": 2.0}
        yield {"p": 3}

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"alpha", "B", "C"}
