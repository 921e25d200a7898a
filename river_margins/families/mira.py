"""The margin infused relaxed algorithm (MIRA), in its two published forms."""

from collections.abc import Iterator
from typing import Any

from river_margins.families.composed import MarginClassifier
from river_margins.families.parameter_types import Classes, ClassWeight
from river_margins.rules import MIRARule, OriginalMIRARule

__all__ = ["MIRAClassifier"]


class MIRAClassifier(MarginClassifier):
    """MIRA: the smallest change of the weights that gives margin 1 against the best-scoring wrong classes.

    Each of the `best` highest-scoring wrong classes k adds the constraint ⟨w_y, x⟩ - ⟨w_k, x⟩ >= 1, with a slack
    variable of its own that costs C: w_k' = w_k - tau_k·x and w_y' = w_y + Σ tau_k·x with 0 <= tau_k <= C. Hildreth's
    method finds the tau_k. With one candidate, or with two classes in one vector, this is PA-I.

    `original=True` is the rule that was first published under this name. It acts on mistakes. Of all moves that add at
    most x to w_y and subtract it from other classes, it takes the one that leaves the shortest weights; with one
    vector, tau = min(max(-y⟨w, x⟩/|x|², 0), 1). From zero weights its first step is that of the perceptron.

    Parameters
    ----------
    C
        The largest step away from any one class, > 0. 0.01 by default, which tolerates wrong labels behind a scaler.
        `original=True` does not use it.
    best
        The number of wrong classes that add a constraint, >= 1; 1 by default, None for all.
    original
        Whether to use the rule of 2003; False by default. This rule refuses `best` and sample weights.
    classes
        Classes known beforehand; their order breaks ties. Two classes share one weight vector: [negative, positive].
    class_weight
        A factor of the sample weight for each class: a mapping from labels to numbers > 0, in which a missing label has
        1. Or "balanced": n/(k·n_y), at most n_y, for the label y, with the n examples and k labels seen so far, n_y of
        them with y. None (default) is 1 for all. `original=True` takes none.
    intercept
        Whether to add a constant feature of value 1; True by default.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    Let R be the length of the longest example, u any weights and l_k(u) their losses against the wrong classes k. On
    any stream, n_mistakes <= max(2R², 1/C)·(|u|² + 2C·ΣΣ l_k(u)); with one vector, R² replaces 2R².

    After its first step, the original never makes |w| longer. It stops at a margin of 0, which counts as a mistake, so
    that no bound on its mistakes exists.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.MIRAClassifier(C=0.1, best=3)
    >>> evaluate.progressive_val_score(datasets.ImageSegments(), model, metrics.Accuracy())
    Accuracy: 86.44%

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
        C: float = 0.01,
        *,
        best: int | None = 1,
        original: bool = False,
        classes: Classes = None,
        class_weight: ClassWeight = None,
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(C=C, best=best, original=original)
        rule = MIRARule(C, best)
        if original and best != 1:
            raise ValueError(f"`original=True` looks at all classes: leave out `best`, which is {best!r}")
        super().__init__(
            OriginalMIRARule() if original else rule,
            classes=classes,
            class_weight=class_weight,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"C", "best", "original", "class_weight"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"C": 0.1}
        yield {"best": None, "class_weight": "balanced"}
        yield {"original": True}
