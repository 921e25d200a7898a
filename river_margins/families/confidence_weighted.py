"""Confidence-weighted learning (CW) and its soft form (SCW)."""

from collections.abc import Iterator
from typing import Any, Literal

from river_margins.core.checks import one_of
from river_margins.core.pairs import no_price
from river_margins.families.composed import MarginClassifier
from river_margins.families.gaussian import space_of
from river_margins.families.parameter_types import Classes, ClassWeight, Covariance
from river_margins.rules import CWRule, CWVarianceRule, Rule, SCW1Rule, SCW2Rule

__all__ = ["CWClassifier", "SCWClassifier"]


class CWClassifier(MarginClassifier):
    """Confidence-weighted: the closest Gaussian that classifies the example correctly with probability eta.

    Let m = y⟨w, x⟩ be the margin, v = xᵀΣx its variance and phi the normal quantile of eta. If m < phi·sqrt(v), the
    update is the Gaussian (w', Σ') closest to (w, Σ) with m' = phi·sqrt(v'), or with m' = phi·v' for `form="variance"`.
    In both forms, w' = w + alpha·y·Σx, and Σ⁻¹ grows by a multiple of xxᵀ, or of its diagonal. With many classes, m is
    the margin against the best-scoring wrong class s, each class has its own Σ, v = xᵀΣ_y·x + xᵀΣ_s·x, and the weights
    of both classes change.

    Parameters
    ----------
    eta
        The probability with which the example must be classified correctly, above 0.5 and below 1; 0.7 by default.
    phi
        The same requirement in standard deviations, > 0; None (default) takes the normal quantile of `eta`. If `phi` is
        given, `eta` is not used.
    form
        The unit of the margin: "deviation" (default) or "variance".
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
    intercept
        Whether to add a constant feature of value 1; True by default.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    No bound limits the steps, and each wrong label squares the remaining variance. With noise, features soon count as
    certain and stop changing (here after 160 updates). `SCWClassifier` is the form for noisy labels.

    With a `half_life`, no step takes a variance below 1/1024 of `a`; with a full matrix, that is the variance along the
    example. In ten half lives it grows back to `a`/2, so the learner never stops changing.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.CWClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 83.35%

    References
    ----------
    Crammer, K., Dredze, M. and Pereira, F., 2012. Confidence-weighted linear classification for text categorization.
    Journal of Machine Learning Research 13. The variance form: Dredze, M., Crammer, K. and Pereira, F., 2008.
    Confidence-weighted linear classification. ICML.
    """

    round_cost = (
        "The features of x times the classes; with a full matrix, the square of all features seen times the classes."
    )
    guarantee = "After a step the example is classified correctly with probability eta."
    advice = "Use it for correct labels and many rare features, such as words."
    _no_class_weight = no_price("`class_weight`")

    eta: float
    phi: float | None
    form: Literal["deviation", "variance"]
    covariance: Covariance
    a: float
    max_dimension: int
    half_life: float | None

    def __init__(
        self,
        eta: float = 0.7,
        *,
        phi: float | None = None,
        form: Literal["deviation", "variance"] = "deviation",
        covariance: Covariance = "diagonal",
        a: float = 1.0,
        max_dimension: int = 5000,
        half_life: float | None = None,
        classes: Classes = None,
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(
            eta=eta, phi=phi, form=form, covariance=covariance, a=a, max_dimension=max_dimension, half_life=half_life
        )
        space = space_of(covariance, a, max_dimension, half_life)
        super().__init__(
            _confident(eta, phi, form), space, classes=classes, intercept=intercept, max_features=max_features
        )

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"covariance": "full", "form": "variance"}
        yield {"half_life": 20}
        yield {"covariance": "full", "half_life": 20}

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"eta", "phi", "form"}


class SCWClassifier(MarginClassifier):
    """Soft confidence-weighted: CW in which a missed margin costs C, so that noise does little harm.

    Let m = y⟨w, x⟩ be the margin, v = xᵀΣx its variance and phi the normal quantile of eta. If m < phi·sqrt(v), the
    update is the Gaussian that minimises the divergence from the current one plus C·s (`mode=1`) or C·s² (`mode=2`),
    with s = [phi·sqrt(v') - m']+. It is w' = w + alpha·y·Σx, and Σ⁻¹ grows by a multiple of xxᵀ, or of its diagonal.
    With many classes, m is the margin against the best-scoring wrong class s, each class has its own Σ, v = xᵀΣ_y·x +
    xᵀΣ_s·x, and the weights of both classes change.

    Parameters
    ----------
    C
        Aggressiveness, > 0; 0.1 by default.
    mode
        The penalty: 1 (default) is SCW-I, 2 is SCW-II.
    eta
        The probability with which the example should be classified correctly, above 0.5 and below 1; None (default) is
        0.75 for SCW-I and 0.9 for SCW-II.
    phi
        The same requirement in standard deviations, > 0; None (default) takes the normal quantile of `eta`. If `phi` is
        given, `eta` is not used.
    covariance
        "diagonal" (default) keeps one variance for each weight and costs as much as plain weights; "full" keeps a
        matrix, whose memory and time grow with the square of the number of features seen.
    a
        The initial variance of each weight, > 0; 1 by default.
    max_dimension
        The largest number of features that a full matrix may have, >= 1; 5000 by default. One more raises a ValueError.
    half_life
        The number of rounds after which an example counts half, >= 1. With None (default) nothing is forgotten, and the
        learner freezes after a change of concept. With noise, SCW-I also freezes with values above about 1500, and
        above smaller ones if C is larger or the features are not scaled. Without noise, and after a change that makes
        nearly every prediction wrong, it can freeze with any value: take `mode=2` with C = 1, or `AROWClassifier`.
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
    LIBOL's SCW-II has a misprint under the root. This one solves the problem of the paper.

    With a `half_life`, no step of SCW-II takes a variance below 1/1024 of `a`, as in `CWClassifier`.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.SCWClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.67%

    References
    ----------
    Wang, J., Zhao, P. and Hoi, S., 2012. Exact soft confidence-weighted learning. ICML.
    """

    round_cost = (
        "The features of x times the classes; with a full matrix, the square of all features seen times the classes."
    )
    guarantee = "Each step solves its optimisation problem; with mode 1 it moves w by at most C·Σx."
    advice = "Use it if CW would fit but some labels are wrong."

    C: float
    mode: Literal[1, 2]
    eta: float | None
    phi: float | None
    covariance: Covariance
    a: float
    max_dimension: int
    half_life: float | None

    def __init__(
        self,
        C: float = 0.1,
        *,
        mode: Literal[1, 2] = 1,
        eta: float | None = None,
        phi: float | None = None,
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
            C=C,
            mode=mode,
            eta=eta,
            phi=phi,
            covariance=covariance,
            a=a,
            max_dimension=max_dimension,
            half_life=half_life,
        )
        space = space_of(covariance, a, max_dimension, half_life)
        super().__init__(
            _soft(C, mode, eta, phi),
            space,
            classes=classes,
            class_weight=class_weight,
            intercept=intercept,
            max_features=max_features,
        )

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"covariance": "full", "mode": 2}
        yield {"half_life": 20}
        yield {"covariance": "full", "half_life": 20, "class_weight": "balanced"}

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"C", "mode", "eta", "phi", "class_weight"}


def _confident(eta: float, phi: float | None, form: Literal["deviation", "variance"]) -> Rule:
    one_of("form", form, ("deviation", "variance"))
    return (CWRule if form == "deviation" else CWVarianceRule)(eta, phi=phi)


def _soft(C: float, mode: Literal[1, 2], eta: float | None, phi: float | None) -> Rule:
    if mode not in (1, 2):
        raise ValueError(f"`mode` must be 1 (SCW-I) or 2 (SCW-II), not {mode!r}")
    rule = SCW1Rule if mode == 1 else SCW2Rule
    return rule(C, phi=phi) if eta is None else rule(C, eta=eta, phi=phi)
