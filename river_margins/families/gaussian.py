"""Learners with a Gaussian over the weights: its mean predicts, its covariance sets the step of each weight."""

from collections.abc import Iterator
from typing import Any

from river_margins.core.checks import one_of
from river_margins.families.composed import MarginClassifier, MarginRegressor
from river_margins.families.parameter_types import Classes, ClassWeight, Covariance
from river_margins.rules import AROWRule, NAROWRule, NHERDRule
from river_margins.spaces import Diagonal, Full
from river_margins.spaces.base import Space

__all__ = ["AROWClassifier", "AROWRegressor", "NAROWClassifier", "NHERDClassifier"]


def space_of(covariance: Covariance, a: float, max_dimension: int, half_life: float | None) -> Space:
    """Return the space that `covariance` names."""
    full = Full(a, max_dimension=max_dimension, half_life=half_life)
    return (
        full if one_of("covariance", covariance, ("diagonal", "full")) == "full" else Diagonal(a, half_life=half_life)
    )


class AROWClassifier(MarginClassifier):
    """Adaptive regularisation of weights: large steps along rare features, small ones along frequent features.

    With margin m = y⟨w, x⟩ and variance v = xᵀΣx, if m < 1: w' = w + (1 - m)/(v + r)·y·Σx, and Σ⁻¹ grows by xxᵀ/r, or
    by the diagonal of xxᵀ/r. With many classes, m is the margin against the best-scoring wrong class s, each class has
    its own Σ, v = xᵀΣ_y·x + xᵀΣ_s·x, and the weights of both classes change.

    Parameters
    ----------
    r
        How little a single example counts, > 0; 1 by default. Predictions depend only on r/a.
    covariance
        "diagonal" (default) keeps one variance for each weight and costs as much as plain weights; "full" keeps a
        matrix, whose memory and time grow with the square of the number of features seen.
    a
        The initial variance of each weight, > 0; 1 by default.
    max_dimension
        The largest number of features that a full matrix may have, >= 1; 5000 by default. One more raises a ValueError.
    half_life
        The number of rounds after which an example counts half, >= 1. With None (default) nothing is forgotten, and the
        learner freezes after a change of concept.
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
    With a full matrix, two classes and a = 1, let S be the rounds with m < 1, X the sum of xxᵀ over S, and E the number
    of rounds in S that are not mistakes. For any u: n_mistakes <= sqrt(r|u|² + uᵀXu)·sqrt(ln det(I + X/r) + E) + Σ_S
    l(u) - E. Σ⁻¹w is the sum of y·x/r over S.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.AROWClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 88.95%

    References
    ----------
    Crammer, K., Kulesza, A. and Dredze, M., 2013. Adaptive regularization of weight vectors. Machine Learning 91.
    """

    round_cost = (
        "The features of x times the classes; with a full matrix, the square of all features seen times the classes."
    )
    guarantee = "With a full matrix, a bound on the mistakes in terms of the losses of any fixed weights u."
    advice = "Use it if some features occur much more often than others; it tolerates noise and r needs little tuning."

    r: float
    covariance: Covariance
    a: float
    max_dimension: int
    half_life: float | None

    def __init__(
        self,
        r: float = 1.0,
        *,
        covariance: Covariance = "diagonal",
        a: float = 1.0,
        max_dimension: int = 5000,
        half_life: float | None = None,
        classes: Classes = None,
        class_weight: ClassWeight = None,
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(r=r, covariance=covariance, a=a, max_dimension=max_dimension, half_life=half_life)
        space = space_of(covariance, a, max_dimension, half_life)
        super().__init__(
            AROWRule(r),
            space,
            classes=classes,
            class_weight=class_weight,
            intercept=intercept,
            max_features=max_features,
        )

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"covariance": "full", "r": 0.1}
        yield {"half_life": 20}
        yield {"covariance": "full", "half_life": 20, "class_weight": "balanced"}

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"r", "class_weight"}


class AROWRegressor(MarginRegressor):
    """Adaptive regularisation of weights for regression: recursive least squares on errors above eps.

    With the loss l = [|y - f| - eps]+ and the variance v = xᵀΣx, if l > 0: w' = w + sign(y - f)·l/(v + r)·Σx, and Σ⁻¹
    grows by xxᵀ/r, or by the diagonal of xxᵀ/r. With eps = 0, Σ⁻¹ grows in every round.

    Parameters
    ----------
    r
        How little a single example counts, > 0; 1 by default. Predictions depend only on r/a.
    eps
        The largest error that causes no update, >= 0, in units of the target; 0 by default. Nothing is learned from
        targets that all lie within eps of 0.
    covariance
        "diagonal" (default) keeps one variance for each weight and costs as much as plain weights; "full" keeps a
        matrix, whose memory and time grow with the square of the number of features seen.
    a
        The initial variance of each weight, > 0. 100 by default: targets may be large, unlike the labels of a
        classifier.
    max_dimension
        The largest number of features that a full matrix may have, >= 1; 5000 by default. One more raises a ValueError.
    half_life
        The number of rounds after which an example counts half, >= 1. With None (default) nothing is forgotten, and the
        learner freezes after a change of concept.
    intercept
        Whether to add a constant feature of value 1; True by default.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    With a full matrix and eps = 0, this is recursive least squares: w minimises |w|²/a + Σ (y - ⟨w, x⟩)²/r over all
    examples seen. `n_mistakes` counts predictions with an error above eps.

    With `max_features` and targets far from 0, features that share a bucket cost much: each has learned a part of the
    level of the targets, with either sign. In `AutoRegressor([AROWRegressor(a=1, max_features=...)])` targets have the
    mean 0.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.AROWRegressor(covariance="full")
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 0.890332

    References
    ----------
    Crammer, K., Kulesza, A. and Dredze, M., 2013. Adaptive regularization of weight vectors. Machine Learning 91.
    """

    round_cost = "The number of features in x; with a full matrix, the square of all features seen."
    guarantee = "With a full matrix and eps = 0, ridge regression on all examples seen, with the penalty r/a."
    advice = "Use it if features explain the target together; use the full matrix if there are few of them."

    r: float
    covariance: Covariance
    a: float
    max_dimension: int
    half_life: float | None

    def __init__(
        self,
        r: float = 1.0,
        *,
        eps: float = 0.0,
        covariance: Covariance = "diagonal",
        a: float = 100.0,
        max_dimension: int = 5000,
        half_life: float | None = None,
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(r=r, covariance=covariance, a=a, max_dimension=max_dimension, half_life=half_life)
        space = space_of(covariance, a, max_dimension, half_life)
        super().__init__(AROWRule(r), space, eps=eps, intercept=intercept, max_features=max_features)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"covariance": "full", "r": 0.1}
        yield {"half_life": 20}
        # The variance must suit the dates of 700,000 in River's data: with 100, the order of the features decides when
        # rounding has made a variance meaningless.
        yield {"covariance": "full", "half_life": 20, "a": 0.001}

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"r", "eps"}


class NAROWClassifier(MarginClassifier):
    """AROW with its own r for each example, chosen so that the sum of all score variances grows slowly.

    With v = xᵀΣx, 1/r = [b - 1/v]+. The score is computed with the example already in Σ⁻¹: f = θᵀ(Σ⁻¹ + xxᵀ/r)⁻¹x. If
    y·f < 1: θ' = θ + y·x, and Σ⁻¹ grows by xxᵀ/r, or by its diagonal. The weights are Σθ. With many classes, each class
    has its own θ and Σ; y·x is added to θ of the class and subtracted from θ of the best-scoring wrong class.

    Parameters
    ----------
    b
        An example reduces the variances if its own variance is above 1/b, > 0; 1 by default.
    covariance
        "diagonal" (default) keeps one variance for each weight and costs as much as plain weights; "full" keeps a
        matrix, whose memory and time grow with the square of the number of features seen.
    a
        The initial variance of each weight, > 0; 1 by default.
    max_dimension
        The largest number of features that a full matrix may have, >= 1; 5000 by default. One more raises a ValueError.
    half_life
        The number of rounds after which an example counts half, >= 1; None (default) forgets nothing.
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
    With a full matrix, two classes and a = 1, let S be the rounds with m < 1 and E the number of them that are not
    mistakes. For any u: n_mistakes <= Σ_S l(u) - E + sqrt((|u|² + b·Σ_S ⟨u, x⟩²)·(2·Σ_S m + |S|/b)).

    If v <= 1/b, the mean changes and Σ stays. The learner of this name in LIBOL is a different one: AROW with this r.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.NAROWClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 88.95%

    References
    ----------
    Orabona, F. and Crammer, K., 2010. New adaptive algorithms for online classification. NeurIPS 23.
    """

    round_cost = (
        "The features of x times the classes; with a full matrix, the square of all features seen times the classes."
    )
    guarantee = "With a full matrix, a bound on the mistakes in terms of the losses of any fixed weights u."
    advice = "Use it to compare with AROW if examples differ much in how much they reveal."

    b: float
    covariance: Covariance
    a: float
    max_dimension: int
    half_life: float | None

    def __init__(
        self,
        b: float = 1.0,
        *,
        covariance: Covariance = "diagonal",
        a: float = 1.0,
        max_dimension: int = 5000,
        half_life: float | None = None,
        classes: Classes = None,
        class_weight: ClassWeight = None,
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(b=b, covariance=covariance, a=a, max_dimension=max_dimension, half_life=half_life)
        space = space_of(covariance, a, max_dimension, half_life)
        super().__init__(
            NAROWRule(b),
            space,
            classes=classes,
            class_weight=class_weight,
            intercept=intercept,
            max_features=max_features,
        )

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"covariance": "full", "b": 10.0}
        yield {"half_life": 20}
        yield {"covariance": "full", "half_life": 20, "class_weight": "balanced"}

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"b", "class_weight"}


class NHERDClassifier(MarginClassifier):
    """Gaussian herding: the linear map that brings all weight vectors, on average, closest to margin 1.

    With margin m = y⟨w, x⟩ and variance v = xᵀΣx, if m < 1: w' = w + (1 - m)/(v + 1/C)·y·Σx, and Σ⁻¹ grows by (2C +
    C²v)·xxᵀ, or by its diagonal. With many classes, m is the margin against the best-scoring wrong class s, each class
    has its own Σ, v = xᵀΣ_y·x + xᵀΣ_s·x, and the weights of both classes change.

    Parameters
    ----------
    C
        Aggressiveness, > 0; 0.1 by default. Predictions depend only on C·a.
    covariance
        "diagonal" (default) keeps one variance for each weight and costs as much as plain weights; "full" keeps a
        matrix, whose memory and time grow with the square of the number of features seen.
    a
        The initial variance of each weight, > 0; 1 by default.
    max_dimension
        The largest number of features that a full matrix may have, >= 1; 5000 by default. One more raises a ValueError.
    half_life
        The number of rounds after which an example counts half, >= 1. With None (default) nothing is forgotten, and the
        learner freezes after a change of concept.
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
    With a full matrix, the map minimises E[(w' - w)ᵀΣ⁻¹(w' - w)/2 + C/2·(1 - y⟨w', x⟩)²] over the Gaussian.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.NHERDClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.59%

    References
    ----------
    Crammer, K. and Lee, D., 2010. Learning via Gaussian herding. NeurIPS 23.
    """

    round_cost = (
        "The features of x times the classes; with a full matrix, the square of all features seen times the classes."
    )
    guarantee = "Each step is the best linear map of the Gaussian."
    advice = "Use it if AROW learns too slowly; its variances shrink sooner."

    C: float
    covariance: Covariance
    a: float
    max_dimension: int
    half_life: float | None

    def __init__(
        self,
        C: float = 0.1,
        *,
        covariance: Covariance = "diagonal",
        a: float = 1.0,
        max_dimension: int = 5000,
        half_life: float | None = None,
        classes: Classes = None,
        class_weight: ClassWeight = None,
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(C=C, covariance=covariance, a=a, max_dimension=max_dimension, half_life=half_life)
        space = space_of(covariance, a, max_dimension, half_life)
        super().__init__(
            NHERDRule(C),
            space,
            classes=classes,
            class_weight=class_weight,
            intercept=intercept,
            max_features=max_features,
        )

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"covariance": "full", "C": 0.1}
        yield {"half_life": 20}
        yield {"covariance": "full", "half_life": 20, "class_weight": "balanced"}

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"C", "class_weight"}
