"""Learners that multiply weights: Winnow, for targets in which few of many features matter."""

from collections.abc import Iterator
from typing import Any, Literal

from river.base import tags

from river_margins.core.checks import one_of
from river_margins.families.composed import MarginClassifier
from river_margins.families.parameter_types import Classes, ClassWeight
from river_margins.rules import PerceptronRule
from river_margins.spaces import Multiplicative

__all__ = ["BalancedWinnow", "Winnow"]


class Winnow(MarginClassifier):
    """Winnow: after a wrong prediction, multiply or divide the weights of the features that are present.

    All weights start at 1, also those of features that have not been seen yet. The prediction is True if ⟨w, x⟩ >=
    theta. If it is wrong, w_i' = w_i·beta^(x_i) for a True label and w_i·beta^(-x_i) for a False one. The score is ⟨w,
    x⟩ - theta.

    Parameters
    ----------
    theta
        The threshold, >= 1. Half the number of features is a good value.
    beta
        The factor of a promotion, > 1; 2 by default. The notes say for which values it converges.
    demotion
        "divide" (default), or "erase": a wrong True sets the weights of its features to 0 permanently. This is Winnow1,
        for targets that are disjunctions of features and for labels without noise.
    classes
        [negative, positive] for labels that are not bools; the learner is for two classes.
    class_weight
        A factor of the sample weight for each class: a mapping from labels to numbers > 0, in which a missing label has
        1. Or "balanced": n/(k·n_y), at most n_y, for the label y, with the n examples and k labels seen so far, n_y of
        them with y. None (default) is 1 for all.
    intercept
        Whether to add a constant feature of value 1; False by default, because all weights speak for True, and `theta`
        is what they must outweigh.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Raises
    ------
    ValueError
        If a parameter is outside its range, or a feature of an example is negative.

    Notes
    -----
    For features that are 0 or 1 and a target mu >= 0 with ⟨mu, x⟩ >= 1 on all True examples and <= 1 - delta on all
    others, any beta < 1/(1 - delta) bounds the number of wrong predictions, `n_updates`, over any number of passes.
    With beta = 1 + delta/2 it is at most 8d/(delta²·theta) + (5/delta + 14·ln(theta)/delta²)·Σ mu_i, for d features.
    With a larger beta, learning may never converge. A disjunction has delta = 1 and allows any beta. With features
    between 0 and 1, weights can grow further, and the number depends on the smallest feature, too.

    `n_mistakes` also counts examples exactly on the threshold, as in every learner.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import compose, datasets, evaluate, metrics
    >>> def with_opposites(x):  # so that a feature can also speak for False
    ...     return x | {f"not {name}": 1 - value for name, value in x.items()}
    >>> model = compose.FuncTransformer(with_opposites) | rm.Winnow(theta=9, beta=1.3)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 84.80%

    References
    ----------
    Littlestone, N., 1988. Learning quickly when irrelevant attributes abound: a new linear-threshold algorithm. Machine
    Learning 2.
    """

    round_cost = "The number of features in x."
    guarantee = "A bound on wrong predictions by the size of a separating target and the number of features."
    advice = "Use it if a few of many features in [0, 1] decide, and all of them speak for True."

    theta: float
    beta: float
    demotion: Literal["divide", "erase"]

    def __init__(
        self,
        theta: float,
        *,
        beta: float = 2.0,
        demotion: Literal["divide", "erase"] = "divide",
        classes: Classes = None,
        class_weight: ClassWeight = None,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(theta=theta, beta=beta, demotion=demotion)
        one_of("demotion", demotion, ("divide", "erase"))
        super().__init__(
            PerceptronRule(tie_update=False),
            Multiplicative(beta, theta, form="positive" if demotion == "divide" else "erasing"),
            classes=classes,
            class_weight=class_weight,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"class_weight"}

    @property
    def _multiclass(self) -> bool:
        return False

    def _more_tags(self) -> set[str]:
        return {tags.POSITIVE_INPUT}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"theta": 4.5}
        yield {"theta": 2, "beta": 1.5, "demotion": "erase", "class_weight": "balanced"}


class BalancedWinnow(MarginClassifier):
    """Winnow with two weights for each feature, so that features and their effects may have any sign.

    The prediction is True if ⟨w⁺ - w⁻, x⟩ >= theta. If it is wrong, w⁺_i is multiplied by beta^(y·x_i) and w⁻_i is
    divided by it. Both start at 1, so that an unseen feature has no effect, and w⁻ is always 1/w⁺. `weights` are the
    differences, and the score is ⟨w⁺ - w⁻, x⟩ - theta.

    Parameters
    ----------
    beta
        The factor of a step, > 1; 1.5 by default.
    theta
        The threshold, >= 0; 1 by default.
    classes
        [negative, positive] for labels that are not bools; the learner is for two classes.
    class_weight
        A factor of the sample weight for each class: a mapping from labels to numbers > 0, in which a missing label has
        1. Or "balanced": n/(k·n_y), at most n_y, for the label y, with the n examples and k labels seen so far, n_y of
        them with y. None (default) is 1 for all.
    intercept
        Whether to add a constant feature of value 1, which moves the threshold as it learns; True by default.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    This is Winnow on the features x and -x, so that a feature can also speak against True. No bound is claimed: the
    bounds of `Winnow` require features that are 0 or 1.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), rm.BalancedWinnow(), metrics.Accuracy())
    Accuracy: 81.60%

    References
    ----------
    Littlestone, N., 1989. Mistake bounds and logarithmic linear-threshold learning algorithms. PhD thesis, Santa Cruz.
    """

    round_cost = "The number of features in x."
    guarantee = "None for features of any sign."
    advice = "Use it if Winnow would fit but features can also speak against True."

    beta: float
    theta: float

    def __init__(
        self,
        beta: float = 1.5,
        *,
        theta: float = 1.0,
        classes: Classes = None,
        class_weight: ClassWeight = None,
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(beta=beta, theta=theta)
        super().__init__(
            PerceptronRule(tie_update=False),
            Multiplicative(beta, theta, form="balanced"),
            classes=classes,
            class_weight=class_weight,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"class_weight"}

    @property
    def _multiclass(self) -> bool:
        return False

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"beta": 2, "theta": 0, "intercept": False, "class_weight": "balanced"}
