"""Learners that meet examples only through a kernel."""

from collections.abc import Iterator
from typing import Any

from river_margins.families.margin import MarginClassifier, MarginRegressor
from river_margins.families.parameter_types import Classes, KernelChoice, Mode
from river_margins.families.passive_aggressive import passive_aggressive_rule
from river_margins.rules import PerceptronRule
from river_margins.spaces import Kernel
from river_margins.spaces.budgets import Budget, RandomRemoval
from river_margins.spaces.kernel_functions import RBF, Polynomial

__all__ = ["KernelPAClassifier", "KernelPARegressor", "KernelPerceptron"]


class KernelPerceptron(MarginClassifier):
    """The perceptron in the space of a kernel: every mistaken example becomes a support.

    With the score f(x) = Σ c_i k(v_i, x) and the margin m = y·f(x): where m <= 0, the example x is kept with the
    coefficient lr·y. With many classes, the margin is that against the best-scoring wrong class s, and x is kept with
    lr for its class and -lr for s.

    Parameters
    ----------
    kernel
        `RBF(...)`, by default with gamma 1, `Polynomial(...)`, `Laplace(...)`, `LinearKernel()`, or a function of two
        dicts.
    budget
        `RandomRemoval(...)`, `OldestRemoval(...)` or `SmallestRemoval(...)`; None (default) keeps every mistake for
        ever.
    lr
        The step, > 0; 1 by default. It only rescales the coefficients.
    tie_update
        Whether a margin of exactly 0 counts as a reason to learn (default); with False only a wrong predicted label
        does.
    classes
        Classes known beforehand, in the order that breaks ties. Two make one weight vector: [negative, positive].
    intercept
        Whether to add a constant feature of value 1; False by default. It changes no RBF or Laplace kernel.
    max_features
        Hash the features into so many buckets; None (default) keeps them all.

    Notes
    -----
    For every stream and every u in the space of the
    kernel, with R² the largest k(x, x) and L the sum of u's hinge losses over the mistakes, and without a budget:
    n_mistakes <= L + R²|u|²/2 + R|u|·sqrt(L + R²|u|²/4). With many classes R² becomes 2R². With the linear kernel it is
    `Perceptron`.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.KernelPerceptron(rm.RBF(gamma=0.1))
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 86.07%

    References
    ----------
    Aizerman, M., Braverman, E. and Rozonoer, L., 1964. Theoretical foundations of the potential function method in
    pattern recognition learning. Automation and Remote Control 25.
    Freund, Y. and Schapire, R., 1999. Large margin classification using the perceptron algorithm. Machine Learning 37.
    """

    round_cost = "One evaluation of the kernel for each support."
    guarantee = "Without a budget, that of `Perceptron` in the space of the kernel."
    advice = "Use it if no hyperplane separates the classes and mistakes are few."

    kernel: KernelChoice
    budget: Budget | None
    lr: float
    tie_update: bool

    def __init__(
        self,
        kernel: KernelChoice = None,
        *,
        budget: Budget | None = None,
        lr: float = 1.0,
        tie_update: bool = True,
        classes: Classes = None,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(kernel=kernel, budget=budget, lr=lr, tie_update=tie_update)
        super().__init__(
            PerceptronRule(lr, tie_update=tie_update),
            Kernel(kernel, budget),
            classes=classes,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lr", "tie_update"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"kernel": Polynomial(2), "budget": RandomRemoval(20), "tie_update": False}


class KernelPAClassifier(MarginClassifier):
    """Passive-aggressive classification in the space of a kernel.

    With the score f(x) = Σ c_i k(v_i, x), the loss l = [1 - y·f(x)]+ and q = k(x, x): where l > 0, the example x is
    kept with the coefficient tau·y, where tau is l/q (`mode=0`), min(C, l/q) (`mode=1`) or l/(q + 1/(2C)) (`mode=2`).
    With many classes the margin is that against the best-scoring wrong class s, q = 2k(x, x), and x is kept with tau
    for its class and -tau for s.

    Parameters
    ----------
    kernel
        `RBF(...)`, by default with gamma 1, `Polynomial(...)`, `Laplace(...)`, `LinearKernel()`, or a function of two
        dicts.
    C
        Aggressiveness, > 0; 1 by default. `mode=0` has no use for it.
    mode
        Which step: 0 for PA, 1 (default) for PA-I, 2 for PA-II.
    budget
        `RandomRemoval(...)`, `OldestRemoval(...)` or `SmallestRemoval(...)`; None (default) keeps every example with a
        loss for ever, which may be nearly every one. `BPAClassifier` removes with more care.
    classes
        Classes known beforehand, in the order that breaks ties. Two make one weight vector: [negative, positive].
    intercept
        Whether to add a constant feature of value 1; False by default. It changes no RBF or Laplace kernel.
    max_features
        Hash the features into so many buckets; None (default) keeps them all.

    Notes
    -----
    The bounds of `PAClassifier` hold without a budget, for every u in the space of the kernel and with R² the largest
    k(x, x): with `mode=1` and on any stream, n_mistakes <= max(R², 1/C)·(|u|² + 2C·Σ l(u)).

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.KernelPAClassifier(rm.RBF(gamma=0.1), C=0.3, budget=rm.OldestRemoval(300))
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 88.87%

    References
    ----------
    Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S. and Singer, Y., 2006. Online passive-aggressive algorithms.
    Journal of Machine Learning Research 7, section 3.
    """

    round_cost = "One evaluation of the kernel for each support."
    guarantee = "Without a budget, that of `PAClassifier` in the space of the kernel."
    advice = "Use it with a budget if the last few hundred examples are enough."

    kernel: KernelChoice
    C: float
    mode: Mode
    budget: Budget | None

    def __init__(
        self,
        kernel: KernelChoice = None,
        *,
        C: float = 1.0,
        mode: Mode = 1,
        budget: Budget | None = None,
        classes: Classes = None,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(kernel=kernel, C=C, mode=mode, budget=budget)
        super().__init__(
            passive_aggressive_rule(C, mode),
            Kernel(kernel, budget),
            classes=classes,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"C", "mode"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"kernel": RBF(0.1), "budget": RandomRemoval(50)}
        yield {"mode": 2, "C": 0.1}


class KernelPARegressor(MarginRegressor):
    """Passive-aggressive regression in the space of a kernel.

    With the prediction f(x) = Σ c_i k(v_i, x), the loss l = [|y - f| - eps]+ and q = k(x, x): where l > 0, the example
    x is kept with the coefficient tau·sign(y - f), where tau is l/q (`mode=0`), min(C, l/q) (`mode=1`) or l/(q +
    1/(2C)) (`mode=2`).

    Parameters
    ----------
    kernel
        `RBF(...)`, by default with gamma 1, `Polynomial(...)`, `Laplace(...)`, `LinearKernel()`, or a function of two
        dicts.
    C
        Aggressiveness, > 0; 1 by default. `mode=0` has no use for it.
    mode
        Which step: 0 for PA, 1 (default) for PA-I, 2 for PA-II.
    eps
        Half the width of the tube in which nothing is learned, >= 0, in units of the target; 0.1 by default.
    budget
        `RandomRemoval(...)`, `OldestRemoval(...)` or `SmallestRemoval(...)`; None (default) keeps every example with a
        loss for ever, which may be nearly every one.
    intercept
        Whether to add a constant feature of value 1; False by default. It changes no RBF or Laplace kernel.
    max_features
        Hash the features into so many buckets; None (default) keeps them all.

    Notes
    -----
    The bounds of `PARegressor` hold without a budget, for every u in the space of the kernel and with R² the largest
    k(x, x): with `mode=2` and on any stream, Σ l² <= (R² + 1/(2C))·(|u|² + 2C·Σ l(u)²).

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.KernelPARegressor(rm.RBF(gamma=0.001), C=10.0)
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 0.311843

    References
    ----------
    Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S. and Singer, Y., 2006. Online passive-aggressive algorithms.
    Journal of Machine Learning Research 7, section 5.
    """

    round_cost = "One evaluation of the kernel for each support."
    guarantee = "Without a budget, that of `PARegressor` in the space of the kernel."
    advice = "Use it with a budget for targets that are not linear in the features."

    kernel: KernelChoice
    C: float
    mode: Mode
    budget: Budget | None

    def __init__(
        self,
        kernel: KernelChoice = None,
        *,
        C: float = 1.0,
        mode: Mode = 1,
        eps: float = 0.1,
        budget: Budget | None = None,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(kernel=kernel, C=C, mode=mode, budget=budget)
        super().__init__(
            passive_aggressive_rule(C, mode),
            Kernel(kernel, budget),
            eps=eps,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"C", "mode", "eps"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"kernel": RBF(0.1), "budget": RandomRemoval(50)}
