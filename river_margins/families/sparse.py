"""Learners with an L1 penalty, which makes many weights exactly 0."""

from collections.abc import Iterator
from typing import Any, Literal

from river_margins.core.checks import one_of
from river_margins.families.composed import MarginClassifier
from river_margins.families.parameter_types import Classes, ClassWeight, Loss
from river_margins.rules import FOBOSRule, Rule, Subgradient
from river_margins.rules.gradient import SCHEDULES
from river_margins.spaces import AdaptiveThreshold, DualAveraging, ProximalLeader, SoftThreshold
from river_margins.spaces.base import Space

__all__ = ["AdaGradRDAClassifier", "FOBOSClassifier", "FTRLProximalClassifier"]


class FTRLProximalClassifier(MarginClassifier):
    """FTRL-proximal: follow the regularised leader, with a learning rate and a threshold for each weight.

    Before each round, w minimises ⟨Σ g, w⟩ + Σ s·(w - w_t)²/2 + (beta/(2·alpha) + l2/2)·|w|² + l1·|w|_1 over the rounds
    t so far. g are their gradients and, for each weight, s = (√n' - √n)/alpha, where n is the sum of its squared
    gradients. In closed form, with z = Σ g - Σ s·w_t: w = 0 if |z| <= l1, otherwise w = -(z - sign(z)·l1)/((beta +
    √n)/alpha + l2).

    Parameters
    ----------
    alpha
        The learning rate, > 0; 0.1 by default.
    beta
        Damping of the first steps of each weight, >= 0; 1 by default.
    l1
        The weight of |w|_1, >= 0; 0 by default. It makes weights exactly 0.
    l2
        The weight of |w|²/2, >= 0; 0 by default.
    loss
        "logistic" (default), "hinge", "squared hinge" or "squared", as in `OGDClassifier`.
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
    For any u, summed over the weights: Σ l - Σ l(u) <= beta·u²/(2·alpha) + Σ s·(u - w_t)²/2 + l1·|u| + l2·u²/2 + Σ
    g²/(2·((beta + √n')/alpha + l2)). In a bounded domain this is O(√T), and smaller for rare features.

    An example without features is not an update. A sample weight multiplies the gradient.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.FTRLProximalClassifier(alpha=1.0, l1=3.0)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.67%
    >>> [feature for feature, weight in model["FTRLProximalClassifier"].weights.items() if weight == 0]
    ['anchor_from_other_domain']

    References
    ----------
    McMahan, H. B. et al., 2013. Ad click prediction: a view from the trenches, section 3. KDD. For the bound: McMahan,
    H. B., 2017. A survey of algorithms and analysis for adaptive online learning, theorem 2. JMLR 18.
    """

    round_cost = "The number of features in x times the number of classes."
    guarantee = "Regret O(√T), for each weight separately."
    advice = "Use it for very many rare features, such as words or clicks, if only few should keep a weight."

    alpha: float
    beta: float
    l1: float
    l2: float
    loss: Loss

    def __init__(
        self,
        alpha: float = 0.1,
        *,
        beta: float = 1.0,
        l1: float = 0.0,
        l2: float = 0.0,
        loss: Loss = "logistic",
        classes: Classes = None,
        class_weight: ClassWeight = None,
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(alpha=alpha, beta=beta, l1=l1, l2=l2, loss=loss)
        rule, space = Subgradient(loss=loss), ProximalLeader(alpha, beta, l1, l2)
        super().__init__(
            rule, space, classes=classes, class_weight=class_weight, intercept=intercept, max_features=max_features
        )

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"l1": 0.5, "l2": 0.1, "loss": "hinge", "class_weight": "balanced"}

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"loss", "class_weight"}


class AdaGradRDAClassifier(MarginClassifier):
    """Regularised dual averaging with AdaGrad: a weight is 0 while the sum of its gradients is small.

    After round t, with the sum s of a weight's gradients and H = delta + the root of the sum of their squares: w =
    -sign(s)·(lr·t/H)·[|s|/t - lam]+.

    Parameters
    ----------
    lr
        The learning rate, > 0; 0.1 by default.
    delta
        Damping of the first steps of each weight, > 0; 1 by default.
    lam
        The weight of |w|_1 in each round, >= 0; 0 by default. It makes weights exactly 0.
    loss
        "hinge" (default), "squared hinge", "logistic" or "squared", as in `OGDClassifier`.
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
    Let F(w) = l(w) + lam·|w|_1 in each round, with the gradients g. For any u, summed over the weights: Σ F - Σ F(u) <=
    H·u²/(2·lr) + (lr/2)·Σ g²/H_t, where H is taken after the last round and H_t before round t.

    An example without features is not an update. A sample weight multiplies loss and regularisation of its round.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.AdaGradRDAClassifier(lr=0.3, lam=0.02)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.27%
    >>> [feature for feature, weight in model["AdaGradRDAClassifier"].weights.items() if weight == 0]
    ['anchor_from_other_domain', 'ip_in_url']

    References
    ----------
    Duchi, J., Hazan, E. and Singer, Y., 2011. Adaptive subgradient methods for online learning and stochastic
    optimization, section 5 and theorem 5. JMLR 12. Xiao, L., 2010. Dual averaging methods for regularized stochastic
    learning and online optimization. JMLR 11.
    """

    round_cost = "The number of features in x times the number of classes."
    guarantee = "Regret O(√T), for each weight separately."
    advice = "Use it for the sparsest weights on a stream that does not drift."

    lr: float
    delta: float
    lam: float
    loss: Loss

    def __init__(
        self,
        lr: float = 0.1,
        *,
        delta: float = 1.0,
        lam: float = 0.0,
        loss: Loss = "hinge",
        classes: Classes = None,
        class_weight: ClassWeight = None,
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(lr=lr, delta=delta, lam=lam, loss=loss)
        rule, space = Subgradient(lam, loss=loss), DualAveraging(lr, delta)
        super().__init__(
            rule, space, classes=classes, class_weight=class_weight, intercept=intercept, max_features=max_features
        )

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"lam": 0.01, "loss": "logistic", "intercept": True, "class_weight": "balanced"}

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lam", "loss", "class_weight"}


class FOBOSClassifier(MarginClassifier):
    """FOBOS: a gradient step, after which every weight shrinks towards 0 and can become exactly 0.

    In each round w' = soft(w - lr_t·g, lr_t·lam), where g is the gradient of the loss and soft(w, c) shrinks the
    absolute value of each weight by c, to 0 at the least. With the schedule "adagrad", lr_t is lr/H for each weight,
    where H is delta + the root of the sum of its squared gradients, the current one included.

    Parameters
    ----------
    lr
        The learning rate, > 0; 0.3 by default.
    lam
        The weight of |w|_1 in each round, >= 0; 0.001 by default. It makes weights exactly 0.
    loss
        "hinge" (default), "squared hinge", "logistic" or "squared", as in `OGDClassifier`.
    schedule
        The factor by which lr is multiplied in round t: "constant" (1), "1/sqrt(t)" (default) or "1/t"; or "adagrad".
    delta
        Damping of the first steps of each weight with the schedule "adagrad", > 0; None (default) is 1 there. The other
        schedules have no damping and refuse it.
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
    With F(w) = l(w) + lam·|w|_1 in each round and any u: Σ lr_t·(F - F(u)) <= |u|²/2 + Σ (lr_t·|g|)²/2, so that the
    regret is O(√T) in a bounded domain. With "adagrad", summed over the weights: Σ F - Σ F(u) <= (H_1·u² + Σ (H_t+1 -
    H_t)·(u - w_t+1)²)/(2·lr) + (lr/2)·Σ g²/H_t.

    A sample weight multiplies lr. With "adagrad", where each weight has its own rate, it multiplies g and lam.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.FOBOSClassifier(lam=0.2)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 87.35%
    >>> [feature for feature, weight in model["FOBOSClassifier"].weights.items() if weight == 0]
    ['is_popular', 'ip_in_url']

    References
    ----------
    Duchi, J. and Singer, Y., 2009. Efficient online and batch learning using forward backward splitting, sections 2
    and 3. JMLR 10. Duchi, J., Hazan, E. and Singer, Y., 2011. Adaptive subgradient methods for online learning and
    stochastic optimization, section 5. JMLR 12.
    """

    round_cost = "The number of features in x times the number of classes."
    guarantee = "Regret O(√T)."
    advice = "Use it for sparse weights that forget features which no longer occur."

    lr: float
    lam: float
    loss: Loss
    schedule: Literal["constant", "1/sqrt(t)", "1/t", "adagrad"]
    delta: float | None

    def __init__(
        self,
        lr: float = 0.3,
        *,
        lam: float = 0.001,
        loss: Loss = "hinge",
        schedule: Literal["constant", "1/sqrt(t)", "1/t", "adagrad"] = "1/sqrt(t)",
        delta: float | None = None,
        classes: Classes = None,
        class_weight: ClassWeight = None,
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(lr=lr, lam=lam, loss=loss, schedule=schedule, delta=delta)
        one_of("schedule", schedule, (*SCHEDULES, "adagrad"))
        rule: Rule
        space: Space
        if schedule == "adagrad":
            rule = Subgradient(lam, loss=loss)
            space = AdaptiveThreshold(lr, 1.0 if delta is None else delta)
        elif delta is not None:
            raise ValueError(f"`delta` belongs to the schedule 'adagrad', not to {schedule!r}: leave it out")
        else:
            rule = FOBOSRule(lr, lam, loss=loss, schedule=schedule)
            space = SoftThreshold()
        super().__init__(
            rule, space, classes=classes, class_weight=class_weight, intercept=intercept, max_features=max_features
        )

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"lam": 0.01, "loss": "logistic", "schedule": "adagrad", "class_weight": "balanced"}

    @property
    def _mutable_attributes(self) -> set[str]:
        rate = set() if self.schedule == "adagrad" else {"lr"}  # which belongs to the space there
        return {"lam", "loss", "class_weight"} | rate
