"""Gradient descent with a kernel, and with random features in its place."""

from collections.abc import Iterator
from typing import Any

from river_margins.families.margin import MarginClassifier
from river_margins.families.parameter_types import Classes, KernelChoice, Loss
from river_margins.rules import GradientDescent, NORMARule
from river_margins.spaces import Kernel, RandomFourier
from river_margins.spaces.budgets import OldestRemoval
from river_margins.spaces.kernel_functions import LinearKernel

__all__ = ["BOGDClassifier", "FOGDClassifier"]


class BOGDClassifier(MarginClassifier):
    """Budgeted online gradient descent: NORMA in the space of a kernel, whose oldest support goes.

    In every round all coefficients are multiplied by 1 - lr·lam. Where m = y·f(x) < 1, x comes in with the coefficient
    lr·y; if there were `budget` supports, the oldest goes. Many classes as in `KernelPerceptron`.

    Parameters
    ----------
    kernel
        `RBF(...)`, by default with gamma 1, `Polynomial(...)`, `Laplace(...)`, `LinearKernel()`, or a function of two
        dicts.
    lr
        The learning rate, > 0; 0.5 by default.
    lam
        Weight of the regularisation lam·|w|²/2, >= 0; 0.001 by default. How fast the past fades.
    budget
        How many supports are kept, >= 1; 100 by default.
    classes
        Classes known beforehand, in the order that breaks ties. Two make one weight vector: [negative, positive].
    intercept
        Whether to add a constant feature of value 1; False by default. It changes no RBF or Laplace kernel.
    max_features
        Hash the features into so many buckets; None (default) keeps them all.

    Notes
    -----
    With X² the largest k(x, x) (twice that with many classes): |w| <= X·(1 - (1 - lr·lam)^budget)/lam. With
    F(w) = lam·|w|²/2 + l(w), for any u and over T rounds:
    Σ F(w) - Σ F(u) <= |u|²/(2·lr) + lr/2·Σ |F'(w)|² + Σ_removed |c|X·(X/lam + |u|)/lr, where c is what was left of the
    coefficient that was removed. Other choices of the support to remove are
    `MarginClassifier(NORMARule(lr), Kernel(kernel, budget))`.

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
        budget: int = 100,
        classes: Classes = None,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(kernel=kernel, lr=lr, lam=lam, budget=budget)
        super().__init__(
            NORMARule(lr, lam=lam),
            Kernel(kernel, OldestRemoval(budget)),
            classes=classes,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lr", "lam"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"kernel": LinearKernel(), "budget": 20, "lam": 0.1}


class FOGDClassifier(MarginClassifier):
    """Gradient descent on random Fourier features, which stand for the RBF kernel at a cost that never grows.

    z(x) = [cos⟨ω_i, x⟩, sin⟨ω_i, x⟩]/√D with D random vectors ω_i of variance 2·gamma, so that ⟨z(x), z(x')⟩ is about
    exp(-gamma·|x - x'|²). Where m = y⟨w, z(x)⟩ < 1: w' = w + lr·y·z(x). Many classes as in `OGDClassifier`.

    Parameters
    ----------
    gamma
        That of the RBF kernel, > 0; 1 by default.
    components
        D, >= 1; 100 by default.
    lr
        The learning rate, > 0; 0.01 by default.
    loss
        "hinge" (default), "squared hinge", "logistic" or "squared".
    seed
        A whole number; 0 by default. The frequencies of a feature are drawn from the seed and its name, so that they
        are the same in every process and whatever came before.
    classes
        Classes known beforehand, in the order that breaks ties. Two make one weight vector: [negative, positive].
    intercept
        Whether to add a constant feature of value 1; False by default. It changes no RBF or Laplace kernel.
    max_features
        Hash the features into so many buckets; None (default) keeps them all.

    Notes
    -----
    ⟨z(x), z(x')⟩ misses the kernel by a standard deviation of at most 1/√D. With the hinge loss and for any u, with U
    `n_updates`: Σ l(w) - Σ l(u) <= |u|²/(2·lr) + lr/2·U.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.FOGDClassifier(gamma=0.1, lr=0.1)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 87.51%

    References
    ----------
    Rahimi, A. and Recht, B., 2007. Random features for large-scale kernel machines. NeurIPS.
    Lu, J., Hoi, S., Wang, J., Zhao, P. and Liu, Z., 2016. Large scale online kernel learning. Journal of Machine
    Learning Research 17.
    """

    round_cost = "`components` times the number of features in x, and as many sines and cosines."
    guarantee = "A regret bound in the space of the random features."
    advice = "Use it for a kernel at a cost that never grows."

    gamma: float
    components: int
    lr: float
    loss: Loss
    seed: int

    def __init__(
        self,
        gamma: float = 1.0,
        *,
        components: int = 100,
        lr: float = 0.01,
        loss: Loss = "hinge",
        seed: int = 0,
        classes: Classes = None,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(gamma=gamma, components=components, lr=lr, loss=loss, seed=seed)
        super().__init__(
            GradientDescent(lr, loss=loss, schedule="constant"),
            RandomFourier(gamma, components, seed),
            classes=classes,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lr", "loss"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"gamma": 0.1, "components": 10, "lr": 0.5, "seed": 3}
