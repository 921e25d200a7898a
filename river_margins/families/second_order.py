"""Second-order learners that update on mistakes only: the second-order perceptron and IELLIP."""

from collections.abc import Iterator
from typing import Any

from river_margins.core.checks import positive
from river_margins.core.pairs import no_price
from river_margins.families.composed import MarginClassifier
from river_margins.families.gaussian import space_of
from river_margins.families.parameter_types import Classes, ClassWeight, Covariance, KernelChoice
from river_margins.rules import IELLIPRule, SecondOrderPerceptronRule
from river_margins.spaces import SecondOrderKernel
from river_margins.spaces.kernel_functions import Laplace

__all__ = ["IELLIPClassifier", "KernelSecondOrderPerceptron", "SecondOrderPerceptron"]


class SecondOrderPerceptron(MarginClassifier):
    """The second-order perceptron: a perceptron in coordinates in which its mistakes spread evenly.

    Let A = a·I + Σ xxᵀ and θ = Σ y·x over the mistakes so far. The score is computed with the example already in A: f =
    θᵀ(A + xxᵀ)⁻¹x, or with the diagonal of A. If y·f <= 0: θ' = θ + y·x and A' = A + xxᵀ. The weights are A⁻¹θ. With
    many classes, each class has its own θ and A, and y·x is the difference between the class and its best-scoring
    rival. `KernelSecondOrderPerceptron` is its form with a kernel.

    Parameters
    ----------
    tie_update
        Whether a margin of exactly 0 also causes an update (default). With False, only a wrong predicted label does, as
        in SOL.
    every_label
        Whether every label causes an update, not only mistakes: this is regularised least squares, the learner for
        which selective sampling was designed. False by default; the bound below is for mistakes.
    covariance
        "diagonal" (default) keeps one variance for each weight and costs as much as plain weights; "full" keeps a
        matrix, whose memory and time grow with the square of the number of features seen.
    a
        The larger a is, the closer the learner is to a plain perceptron, > 0; 1 by default. A small a equalises the
        features early.
    max_dimension
        The largest number of features that a full matrix may have, >= 1; 5000 by default. One more raises a ValueError.
    half_life
        The number of rounds after which an example counts half, >= 1. With None (default) nothing is forgotten; then
        the learner with `every_label=True` freezes after a change of concept.
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
    With a full matrix and two classes, let S be the mistakes and λ the eigenvalues of their Σ xxᵀ. For any u of length
    1 and g > 0: n_mistakes <= Σ_S [g - y⟨u, x⟩]+/g + sqrt((a + Σ_S ⟨u, x⟩²)·Σ ln(1 + λ/a))/g. With `tie_update=False`
    this holds for `n_updates`, and S are the updates.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.SecondOrderPerceptron()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 84.87%

    References
    ----------
    Cesa-Bianchi, N., Conconi, A. and Gentile, C., 2005. A second-order perceptron algorithm. SIAM Journal on
    Computing 34.
    """

    round_cost = (
        "The features of x times the classes; with a full matrix, the square of all features seen times the classes."
    )
    guarantee = "With a full matrix, a bound on the mistakes in terms of the losses of any fixed weights u."
    advice = "Use it if examples lie along few directions and only mistakes should change the weights."

    tie_update: bool
    every_label: bool
    covariance: Covariance
    a: float
    max_dimension: int
    half_life: float | None

    def __init__(
        self,
        *,
        tie_update: bool = True,
        every_label: bool = False,
        covariance: Covariance = "diagonal",
        a: float = 1.0,
        max_dimension: int = 5000,
        half_life: float | None = None,
        classes: Classes = None,
        class_weight: ClassWeight = None,
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(
            tie_update=tie_update,
            every_label=every_label,
            covariance=covariance,
            a=a,
            max_dimension=max_dimension,
            half_life=half_life,
        )
        space = space_of(covariance, 1.0 / positive("a", a), max_dimension, half_life)
        super().__init__(
            SecondOrderPerceptronRule(tie_update=tie_update, every_label=every_label),
            space,
            classes=classes,
            class_weight=class_weight,
            intercept=intercept,
            max_features=max_features,
        )

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"covariance": "full", "a": 0.1}
        yield {"half_life": 20}
        yield {"covariance": "full", "half_life": 20, "class_weight": "balanced"}

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"tie_update", "every_label", "class_weight"}


class KernelSecondOrderPerceptron(MarginClassifier):
    """The second-order perceptron in the space of a kernel: every mistake becomes a support.

    Let k be the kernels of x with the mistakes so far, K the kernels of the mistakes with each other, M = (a·I + K)⁻¹,
    Y their labels and v = (k(x, x) - kᵀMk)/a. The score f(x) = YᵀMk/(1 + v) is computed with the example already in the
    matrix. If y·f <= 0, x and y are appended. Many classes work as in `SecondOrderPerceptron`, with one matrix for each
    class.

    Parameters
    ----------
    kernel
        `RBF(...)`, `Polynomial(...)`, `Laplace(...)`, `LinearKernel()`, or a function of two dicts; None (default) is
        `RBF()`, with a gamma of 1 over the number of features.
    a
        The larger a is, the closer the learner is to a plain perceptron, > 0; 1 by default.
    tie_update
        Whether a margin of exactly 0 also causes an update (default). With False, only a wrong predicted label does.
    every_label
        Whether every label causes an update, not only mistakes: this is kernel ridge regression on the labels. False by
        default.
    max_supports
        The largest number of supports, >= 1; 5000 (200 MB for two classes) by default. One more raises a ValueError.
    classes
        Classes known beforehand; their order breaks ties. Two classes share one weight vector: [negative, positive].
    class_weight
        A factor of the sample weight for each class: a mapping from labels to numbers > 0, in which a missing label has
        1. Or "balanced": n/(k·n_y), at most n_y, for the label y, with the n examples and k labels seen so far, n_y of
        them with y. None (default) is 1 for all.
    intercept
        Whether to add a constant feature of value 1; False by default. RBF and Laplace kernels do not change with it.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    With two classes, let S be the mistakes and λ the eigenvalues of their K. For any u of length 1 and g > 0:
    n_mistakes <= Σ_S [g - y·u(x)]+/g + sqrt((a + Σ_S u(x)²)·Σ ln(1 + λ/a))/g. With `tie_update=False` this holds for
    `n_updates`, and S are the updates. With the linear kernel, this is `SecondOrderPerceptron(covariance="full")`.

    A score loses about as many digits as k(x, x)/a has, so scale the features before a polynomial kernel.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.KernelSecondOrderPerceptron(rm.RBF(gamma=0.1))
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 87.51%

    References
    ----------
    Cesa-Bianchi, N., Conconi, A. and Gentile, C., 2005. A second-order perceptron algorithm. SIAM Journal on
    Computing 34, section 4.
    """

    round_cost = "The square of the number of supports, times the number of classes."
    guarantee = "A bound on the mistakes in terms of the losses of any u in the space of the kernel."
    advice = "Use it if no hyperplane separates the classes and mistakes are few."

    kernel: KernelChoice
    a: float
    tie_update: bool
    every_label: bool
    max_supports: int

    def __init__(
        self,
        kernel: KernelChoice = None,
        *,
        a: float = 1.0,
        tie_update: bool = True,
        every_label: bool = False,
        max_supports: int = 5000,
        classes: Classes = None,
        class_weight: ClassWeight = None,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(kernel=kernel, a=a, tie_update=tie_update, every_label=every_label, max_supports=max_supports)
        super().__init__(
            SecondOrderPerceptronRule(tie_update=tie_update, every_label=every_label),
            SecondOrderKernel(kernel, 1.0 / positive("a", a), max_supports=max_supports),
            classes=classes,
            class_weight=class_weight,
            intercept=intercept,
            max_features=max_features,
        )

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"kernel": Laplace(0.1), "a": 0.1, "tie_update": False, "class_weight": "balanced"}

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"tie_update", "every_label", "class_weight"}


class IELLIPClassifier(MarginClassifier):
    """An ellipsoid of weights: a mistake moves its centre to margin 1 and shrinks it in that direction.

    With v = xᵀΣx, if y⟨w, x⟩ <= 0: w' = w + (1 - y⟨w, x⟩)/v·y·Σx, and Σ' = (Σ - c_t·ΣxxᵀΣ/v)/(1 - c_t), where c_t =
    c·b^(t-1) in round t. With a diagonal Σ, the diagonal of Σ⁻¹ changes in the same way. With many classes, y·x is the
    difference between the class and its best-scoring rival, each class has its own Σ, and the weights of both classes
    change.

    Parameters
    ----------
    b
        The factor that multiplies c after every round, >= 0 and < 1; 0.3 by default.
    c
        How much the ellipsoid shrinks in the direction of the first mistake, >= 0 and < 1; 0.1 by default.
    tie_update
        Whether a margin of exactly 0 also causes an update (default). With False, only a wrong predicted label does, as
        in LIBOL.
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
    intercept
        Whether to add a constant feature of value 1; True by default.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    After an update the margin is 1 and, with a full Σ, its variance is v again. With b = 0.3, Σ no longer changes after
    about ten rounds, as in LIBOL.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.IELLIPClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 83.51%

    References
    ----------
    Yang, L., Jin, R. and Ye, J., 2009. Online learning by ellipsoid method. ICML.
    """

    round_cost = (
        "The features of x times the classes; with a full matrix, the square of all features seen times the classes."
    )
    guarantee = "After a mistake the margin is 1, and with a full matrix the variance is unchanged."
    advice = "Use it to compare; SCW and AROW make fewer mistakes on most streams."
    _no_class_weight = no_price("`class_weight`")

    b: float
    c: float
    tie_update: bool
    covariance: Covariance
    a: float
    max_dimension: int
    half_life: float | None

    def __init__(
        self,
        b: float = 0.3,
        *,
        c: float = 0.1,
        tie_update: bool = True,
        covariance: Covariance = "diagonal",
        a: float = 1.0,
        max_dimension: int = 5000,
        half_life: float | None = None,
        classes: Classes = None,
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(
            b=b,
            c=c,
            tie_update=tie_update,
            covariance=covariance,
            a=a,
            max_dimension=max_dimension,
            half_life=half_life,
        )
        space = space_of(covariance, a, max_dimension, half_life)
        super().__init__(
            IELLIPRule(b, c=c, tie_update=tie_update),
            space,
            classes=classes,
            intercept=intercept,
            max_features=max_features,
        )

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"covariance": "full", "b": 0.9}
        yield {"half_life": 20}
        yield {"covariance": "full", "half_life": 20}

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"b", "c", "tie_update"}
