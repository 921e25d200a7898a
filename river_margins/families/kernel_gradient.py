"""Gradient descent with a kernel, and with random features that approximate one."""

from collections.abc import Iterator
from typing import Any

from river_margins.core.checks import whole
from river_margins.families.composed import MarginClassifier
from river_margins.families.parameter_types import Classes, ClassWeight, KernelChoice, Loss
from river_margins.rules import GradientDescent, NORMARule
from river_margins.spaces import Kernel, RandomFourier
from river_margins.spaces.budgets import OldestRemoval
from river_margins.spaces.kernel_functions import LinearKernel

__all__ = ["BOGDClassifier", "FOGDClassifier"]


class BOGDClassifier(MarginClassifier):
    """Budgeted online gradient descent: NORMA in the space of a kernel, removing the oldest support.

    In every round all coefficients are multiplied by 1 - lr·lam. If m = y·f(x) < 1, x is added with the coefficient
    lr·y, and if there were already `budget` supports, the oldest is removed. Many classes work as in
    `KernelPerceptron`.

    Parameters
    ----------
    kernel
        `RBF(...)`, `Polynomial(...)`, `Laplace(...)`, `LinearKernel()`, or a function of two dicts; None (default) is
        `RBF()`, with a gamma of 1 over the number of features.
    lr
        The learning rate, > 0; 0.5 by default.
    lam
        The weight of the regularisation lam·|w|²/2, >= 0; 0.001 by default. The larger, the sooner old examples fade.
    budget
        The largest number of supports, >= 1; 300 by default.
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
    Let X² be the largest k(x, x), or twice that with many classes: |w| <= X·(1 - (1 - lr·lam)^budget)/lam. With F(w) =
    lam·|w|²/2 + l(w), for any u and over T rounds: Σ F(w) - Σ F(u) <= |u|²/(2·lr) + lr/2·Σ |F'(w)|² + Σ_removed
    |c|X·(X/lam + |u|)/lr, where c is the remaining coefficient of a support when it is removed.

    To remove another support than the oldest, use `MarginClassifier(NORMARule(lr), Kernel(kernel, budget))`.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.BOGDClassifier(rm.RBF(gamma=0.1), budget=300)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.11%

    References
    ----------
    Kivinen, J., Smola, A. and Williamson, R., 2004. Online learning with kernels. IEEE Transactions on Signal
    Processing 52.
    Zhao, P., Wang, J., Wu, P., Jin, R. and Hoi, S., 2012. Fast bounded online gradient descent algorithms for scalable
    kernel-based online learning. ICML (which removes at random, and makes up for it).
    """

    round_cost = "One evaluation of the kernel for each support, and `budget` limits their number."
    guarantee = "A regret bound, with a further term for each support that was removed."
    advice = "Use it on streams that drift."

    kernel: KernelChoice
    lr: float
    lam: float
    budget: int

    def __init__(
        self,
        kernel: KernelChoice = None,
        *,
        lr: float = 0.5,
        lam: float = 0.001,
        budget: int = 300,
        classes: Classes = None,
        class_weight: ClassWeight = None,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(kernel=kernel, lr=lr, lam=lam, budget=budget)
        super().__init__(
            NORMARule(lr, lam=lam),
            Kernel(kernel, OldestRemoval(whole("budget", budget, 1))),
            classes=classes,
            class_weight=class_weight,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lr", "lam", "class_weight"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"kernel": LinearKernel(), "budget": 20, "lam": 0.1}
        yield {"kernel": LinearKernel(), "budget": 20, "lam": 0.1, "class_weight": "balanced"}


class FOGDClassifier(MarginClassifier):
    """Gradient descent on random Fourier features, which replace the RBF kernel at a fixed cost.

    z(x) = [cos⟨ω_i, x⟩, sin⟨ω_i, x⟩]/√D with D random vectors ω_i of variance 2·gamma, so that ⟨z(x), z(x')⟩ is about
    exp(-gamma·|x - x'|²). If m = y⟨w, z(x)⟩ < 1: w' = w + lr·y·z(x). Many classes work as in `OGDClassifier`.

    Parameters
    ----------
    gamma
        The gamma of the RBF kernel, > 0. None (default) is 1 over the number of features in the first example that is
        learned, zeros included, which suits features of variance 1.
    components
        The number D of random vectors, >= 1; 300 by default.
    lr
        The learning rate, > 0; 0.5 by default.
    loss
        "hinge" (default), "squared hinge", "logistic" or "squared".
    seed
        A whole number >= 0; 0 by default. The frequencies of a feature are drawn from the seed and the feature's name,
        so that they are the same in every process and in every order of examples.
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
    ⟨z(x), z(x')⟩ differs from the kernel by a standard deviation of at most 1/√D. With the hinge loss, for any u and U
    = `n_updates`: Σ l(w) - Σ l(u) <= |u|²/(2·lr) + lr/2·U.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.FOGDClassifier(gamma=0.1, lr=0.1)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 88.71%

    References
    ----------
    Rahimi, A. and Recht, B., 2007. Random features for large-scale kernel machines. NeurIPS.
    Lu, J., Hoi, S., Wang, J., Zhao, P. and Liu, Z., 2016. Large scale online kernel learning. Journal of Machine
    Learning Research 17.
    """

    round_cost = "`components` times the number of features in x, and as many sines and cosines."
    guarantee = "A regret bound in the space of the random features."
    advice = "Use it for a kernel at a cost that never grows."

    gamma: float | None
    components: int
    lr: float
    loss: Loss
    seed: int

    def __init__(
        self,
        gamma: float | None = None,
        *,
        components: int = 300,
        lr: float = 0.5,
        loss: Loss = "hinge",
        seed: int = 0,
        classes: Classes = None,
        class_weight: ClassWeight = None,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(gamma=gamma, components=components, lr=lr, loss=loss, seed=seed)
        super().__init__(
            GradientDescent(lr, loss=loss, schedule="constant"),
            RandomFourier(gamma, components, seed),
            classes=classes,
            class_weight=class_weight,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lr", "loss", "class_weight"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"gamma": 0.1, "components": 10, "lr": 0.5, "seed": 3}
        yield {"gamma": 0.1, "components": 10, "lr": 0.5, "seed": 3, "class_weight": "balanced"}
