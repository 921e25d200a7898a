"""Gradient descent: Adaline, online gradient descent, Pegasos."""

from collections.abc import Iterator
from typing import Any, Literal

from river_margins.core.checks import inside_unit, one_of
from river_margins.families.composed import MarginClassifier, MarginRegressor
from river_margins.families.parameter_types import Classes, ClassWeight, Loss, Schedule
from river_margins.rules import GradientDescent, LeastMeanSquares, PegasosRule
from river_margins.tasks.regression import Regression

__all__ = ["AdalineClassifier", "AdalineRegressor", "OGDClassifier", "OGDRegressor", "PegasosClassifier"]


class AdalineClassifier(MarginClassifier):
    """Adaline (least mean squares) on the labels -1 and +1: correct a fixed share of every error.

    In each round w' = w + lr·(y - f)·x, where f is the score; `normalised` divides the step by 1e-8 + |x|². With many
    classes, f is the difference from the best-scoring wrong class.

    Parameters
    ----------
    lr
        The learning rate, > 0; 0.1 by default, which suits the normalised form. A round is stable if lr < 2, or if
        lr·|x|² < 2 without normalisation.
    normalised
        Whether to divide the step by the squared length of the example (default), so that every step is bounded.
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
    Without normalisation, if lr·R² < 1 where R is the length of the longest example, for any u: Σ (y - f)² <= (Σ (y -
    ⟨u, x⟩)² + |u|²/lr) / (1 - lr·R²).

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.AdalineClassifier(lr=0.01, normalised=False)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.35%

    References
    ----------
    Widrow, B. and Hoff, M., 1960. Adaptive switching circuits. IRE WESCON Convention Record.
    """

    round_cost = "The number of features in x times the number of classes."
    guarantee = "With `normalised=False` and lr·R² < 1, a bound on squared errors by those of any fixed u."
    advice = "Use the normalised step if features vary in scale or the stream drifts."

    lr: float
    normalised: bool

    def __init__(
        self,
        lr: float = 0.1,
        *,
        normalised: bool = True,
        classes: Classes = None,
        class_weight: ClassWeight = None,
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(lr=lr, normalised=normalised)
        rule = LeastMeanSquares(lr, normalised=normalised)
        super().__init__(
            rule, classes=classes, class_weight=class_weight, intercept=intercept, max_features=max_features
        )

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"lr": 1.0, "intercept": True, "class_weight": "balanced"}

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lr", "normalised", "class_weight"}


class AdalineRegressor(MarginRegressor):
    """Adaline (least mean squares): correct a fixed share of every error.

    In each round w' = w + lr·(y - f)·x, where f is the prediction; `normalised` divides the step by 1e-8 + |x|².

    Parameters
    ----------
    lr
        The learning rate, > 0; 0.5 by default, which suits the normalised form. A round is stable if lr < 2, or if
        lr·|x|² < 2 without normalisation.
    normalised
        Whether to divide the step by the squared length of the example (default), so that every step is bounded.
    intercept
        Whether to add a constant feature of value 1; True by default.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    Without normalisation, if lr·R² < 1 where R is the length of the longest example, for any u: Σ (y - f)² <= (Σ (y -
    ⟨u, x⟩)² + |u|²/lr) / (1 - lr·R²). The normalised form with lr = 1 is PA with eps = 0. `n_mistakes` counts
    predictions that are not exact.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.AdalineRegressor()
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 0.558996

    References
    ----------
    Widrow, B. and Hoff, M., 1960. Adaptive switching circuits. IRE WESCON Convention Record.
    """

    round_cost = "The number of features in x."
    guarantee = "With `normalised=False` and lr·R² < 1, a bound on squared errors by those of any fixed u."
    advice = "Use it for numeric targets with Gaussian noise, or to follow a drift."

    lr: float
    normalised: bool

    def __init__(
        self, lr: float = 0.5, *, normalised: bool = True, intercept: bool = True, max_features: int | None = None
    ) -> None:
        vars(self).update(lr=lr, normalised=normalised)
        rule = LeastMeanSquares(lr, normalised=normalised)
        super().__init__(rule, eps=0.0, intercept=intercept, max_features=max_features)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"lr": 1.0, "intercept": True}

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lr", "normalised"}


class OGDClassifier(MarginClassifier):
    """Online gradient descent on a loss of the margin, optionally within a ball.

    With the loss l of the margin m, w' = w - lr_t·l'(m)·y·x; then w' is shortened to the length `radius` if it is
    longer. With many classes, m is the margin against the best-scoring wrong class.

    Parameters
    ----------
    lr
        The learning rate, > 0; 0.3 by default.
    loss
        "hinge" (default), [1 - m]+; "squared hinge", half its square; "logistic", ln(1 + e^-m); or "squared",
        (1 - m)²/2.
    schedule
        The factor by which lr is multiplied in round t: "constant" (1), "1/sqrt(t)" (default) or "1/t".
    radius
        The largest length |w|, > 0; None (default) sets no limit.
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
    With the schedule 1/sqrt(t) and radius D, for |u| <= D and the largest gradient G, after T rounds: Σ l - Σ l(u) <=
    sqrt(T)·((2D)²/(2·lr) + lr·G²).

    With a squared loss, steps of long examples diverge while lr_t·|x|² > 2, and the weights come back very late: with n
    scaled features, take lr = 1/n or less.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.OGDClassifier(lr=0.1, loss="logistic")
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 88.87%

    References
    ----------
    Zinkevich, M., 2003. Online convex programming and generalized infinitesimal gradient ascent, section 2. ICML.
    """

    round_cost = "The number of features in x times the number of classes."
    guarantee = "Regret O(√T) within a ball."
    advice = "Use it to choose the loss; the logistic one gives scores closest to log-odds."

    lr: float
    loss: Loss
    schedule: Schedule
    radius: float | None

    def __init__(
        self,
        lr: float = 0.3,
        *,
        loss: Loss = "hinge",
        schedule: Schedule = "1/sqrt(t)",
        radius: float | None = None,
        classes: Classes = None,
        class_weight: ClassWeight = None,
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(lr=lr, loss=loss, schedule=schedule, radius=radius)
        rule = GradientDescent(lr, loss=loss, schedule=schedule, radius=radius)
        super().__init__(
            rule, classes=classes, class_weight=class_weight, intercept=intercept, max_features=max_features
        )

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"loss": "logistic", "schedule": "1/t", "radius": 2.0, "class_weight": "balanced"}

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lr", "loss", "schedule", "radius", "class_weight"}


# The loss of an error, as a loss of a margin. For a quantile, the task multiplies the margin.
LOSSES = {"squared": "squared hinge", "absolute": "hinge", "quantile": "hinge"}
ErrorLoss = Literal["squared", "absolute", "quantile"]


class OGDRegressor(MarginRegressor):
    """Online gradient descent on a loss of the error, optionally within a ball.

    With the prediction f, w' = w - lr_t·l'(f)·x; then w' is shortened to the length `radius` if it is longer.

    Parameters
    ----------
    lr
        The learning rate, > 0; 1 by default. With the squared loss, the rate of a round is at most 1/|x|², so that no
        step goes beyond the target. With the other losses it is in units of the target: write about the size of
        targets that lie around 0. For others write `AutoRegressor([OGDRegressor(...)])`, which standardises them.
    loss
        "squared" (default) is half the square of [|y - f| - eps]+, for targets of any scale. "absolute" is [|y - f| -
        eps]+ itself, whose steps do not grow with the error. "quantile" multiplies the absolute loss by `quantile` if
        the target is above the prediction and by 1 - `quantile` if it is below (the pinball loss).
    quantile
        The share of targets that are to lie below the prediction, above 0 and below 1; 0.5 (default) is the median.
        Only with `loss="quantile"`.
    eps
        The largest error that causes no update, >= 0, in units of the target; 0 by default.
    schedule
        The factor by which lr is multiplied in round t: "constant" (1), "1/sqrt(t)" (default) or "1/t".
    radius
        The largest length |w|, > 0; None (default) sets no limit.
    intercept
        Whether to add a constant feature of value 1; True by default.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    With the absolute or the quantile loss, the schedule 1/sqrt(t) and radius D, for |u| <= D and the largest gradient
    G, after T rounds: Σ l - Σ l(u) <= sqrt(T)·((2D)²/(2·lr) + lr·G²).

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.OGDRegressor()
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 0.315346

    Targets between 0 and 10 that depend on nothing, and the number that 9 of 10 stay below:

    >>> high = rm.OGDRegressor(loss="quantile", quantile=0.9)
    >>> for number in range(5000):
    ...     high.learn_one({}, number * 7 % 100 / 10)
    >>> round(high.predict_one({}))
    9

    References
    ----------
    Zinkevich, M., 2003. Online convex programming and generalized infinitesimal gradient ascent, section 2. ICML.
    """

    round_cost = "The number of features in x."
    guarantee = "Regret O(√T) within a ball."
    advice = (
        "Use it for targets that do not drift, as its steps shorten; `loss='absolute'` ignores the size of outliers."
    )

    lr: float
    loss: ErrorLoss
    quantile: float
    schedule: Schedule
    radius: float | None

    def __init__(
        self,
        lr: float = 1.0,
        *,
        loss: ErrorLoss = "squared",
        quantile: float = 0.5,
        eps: float = 0.0,
        schedule: Schedule = "1/sqrt(t)",
        radius: float | None = None,
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        one_of("loss", loss, tuple(LOSSES))
        inside_unit("quantile", quantile)
        if loss != "quantile" and quantile != 0.5:
            raise ValueError(f"`quantile={quantile!r}` is for `loss='quantile'`, and the loss is {loss!r}")
        vars(self).update(lr=lr, loss=loss, quantile=quantile, schedule=schedule, radius=radius)
        rule = GradientDescent(lr, loss=LOSSES[loss], schedule=schedule, radius=radius, capped=loss == "squared")
        super().__init__(rule, eps=eps, intercept=intercept, max_features=max_features)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"lr": 0.01, "loss": "absolute", "schedule": "1/t", "radius": 10.0}
        yield {"loss": "quantile", "quantile": 0.9}

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lr", "loss", "quantile", "eps", "schedule", "radius"}

    def _task(self) -> Regression:
        return Regression(self.eps, self.quantile if self.loss == "quantile" else None)


class PegasosClassifier(MarginClassifier):
    """Pegasos: stochastic subgradient descent on the linear support vector machine.

    The objective is lam·|w|²/2 plus the hinge loss. In round t, w' = (1 - 1/t)·w, plus y·x/(lam·t) if the margin is
    below 1. With `project`, w' is then shortened to the length 1/sqrt(lam) if it is longer.

    Parameters
    ----------
    lam
        The weight of the regularisation lam·|w|²/2, > 0. 0.2 by default, for streams of a few hundred examples: the
        first steps have the length |x|/lam. From some thousands on write 0.01, above all if features are mostly 0 or
        a class is rare: with 0.2, a class of 10 % may never be predicted. The paper takes 1e-4 and less, with many
        passes over the data.
    project
        Whether to shorten w to at most 1/sqrt(lam) (default); the bound requires it.
    classes
        Classes known beforehand; their order breaks ties. Two classes share one weight vector: [negative, positive].
    class_weight
        A factor of the sample weight for each class: a mapping from labels to numbers > 0, in which a missing label has
        1. Or "balanced": n/(k·n_y), at most n_y, for the label y, with the n examples and k labels seen so far, n_y of
        them with y. None (default) is 1 for all.
    intercept
        Whether to add a constant feature of value 1, which is regularised like the others; True by default.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    With `project`, let F(w) = lam·|w|²/2 + l(w) in each round, G = sqrt(lam) + R and R the length of the longest
    example. For |u| <= 1/sqrt(lam), after T rounds: Σ F(w) - Σ F(u) <= G²(1 + ln T)/(2·lam). Shrinking alone is not
    counted as an update: `n_updates` counts rounds with a loss.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.PegasosClassifier(lam=0.01)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 87.75%

    References
    ----------
    Shalev-Shwartz, S., Singer, Y., Srebro, N. and Cotter, A., 2011. Pegasos: primal estimated sub-gradient solver for
    SVM, section 2. Mathematical Programming 127.
    """

    round_cost = "The number of features in x times the number of classes."
    guarantee = "Regret O(ln T/lam)."
    advice = "Use it as an online linear support vector machine."

    lam: float
    project: bool

    def __init__(
        self,
        lam: float = 0.2,
        *,
        project: bool = True,
        classes: Classes = None,
        class_weight: ClassWeight = None,
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(lam=lam, project=project)
        rule = PegasosRule(lam, project=project)
        super().__init__(
            rule, classes=classes, class_weight=class_weight, intercept=intercept, max_features=max_features
        )

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"lam": 0.1, "project": False, "class_weight": "balanced"}

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lam", "project", "class_weight"}
