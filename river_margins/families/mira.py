"""The margin infused relaxed algorithm, in the two forms that go by its name."""

from collections.abc import Iterator
from typing import Any

from river_margins.families.margin import MarginClassifier
from river_margins.families.parameter_types import Classes
from river_margins.rules import MIRARule, OriginalMIRARule

__all__ = ["MIRAClassifier"]


class MIRAClassifier(MarginClassifier):
    """MIRA: of the weights that meet the demands of the best-scoring wrong classes, those nearest to the old ones.

    Each of the `best` highest-scoring wrong classes k asks for ⟨w_y, x⟩ - ⟨w_k, x⟩ >= 1, with a slack of its own that
    costs C: w_k' = w_k - tau_k·x and w_y' = w_y + Σ tau_k·x with 0 <= tau_k <= C, found by Hildreth's method. With one
    candidate, or two classes in one vector, that is PA-I. `original=True` is the rule first published under the name:
    on a mistake, of the moves that add at most x to w_y and take it from others, the one that leaves the shortest
    weights; with one vector tau = min(max(-y⟨w, x⟩/|x|², 0), 1). From zero weights its first step is a perceptron's.

    Parameters
    ----------
    C
        The largest step away from any one class, > 0; 1 by default. `original=True` has no use for it.
    best
        How many wrong classes make a demand, >= 1; 1 by default, None for all.
    original
        Whether to use the rule of 2003; False by default. It refuses a `best`, and sample weights.
    classes
        Classes known beforehand, in the order that breaks ties. Two make one weight vector: [negative, positive].
    intercept
        Whether to add a constant feature of value 1; False by default.
    max_features
        Hash the features into so many buckets; None (default) keeps them all.

    Notes
    -----
    With R the longest example and l_k(u) the losses of any u against the wrong classes k, on any stream n_mistakes <=
    max(2R², 1/C)·(|u|² + 2C·ΣΣ l_k(u)); with one vector R² for 2R². The original never makes |w| longer, but for its
    first step; it stops at a margin of 0, which counts as a mistake, so that nothing bounds its mistakes.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.MIRAClassifier(C=0.1, best=3)
    >>> evaluate.progressive_val_score(datasets.ImageSegments(), model, metrics.Accuracy())
    Accuracy: 86.83%

    References
    ----------
    McDonald, R., Crammer, K. and Pereira, F., 2005. Online large-margin training of dependency parsers. ACL, for the
    demands of the k best. Crammer, K. and Singer, Y., 2003. Ultraconservative online algorithms for multiclass
    problems. Journal of Machine Learning Research 3, for the original.
    """

    round_cost = "The number of features in x times the number of classes."
    guarantee = "A bound on the mistakes in terms of the losses of any fixed weights u; none for the original."
    advice = "Use it with several candidates if classes are easily confused."

    C: float
    best: int | None
    original: bool

    def __init__(
        self,
        C: float = 1.0,
        *,
        best: int | None = 1,
        original: bool = False,
        classes: Classes = None,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(C=C, best=best, original=original)
        rule = MIRARule(C, best)
        if original and best != 1:
            raise ValueError(f"`best` is of no use to the original MIRA, which looks at all classes: it is {best!r}")
        super().__init__(
            OriginalMIRARule() if original else rule, classes=classes, intercept=intercept, max_features=max_features
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"C", "best", "original"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"C": 0.1}
        yield {"best": None}
        yield {"original": True}
