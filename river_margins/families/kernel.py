"""The perceptron and passive-aggressive learning with a kernel; a budget is optional."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from river_margins.core.checks import whole
from river_margins.families.composed import MarginClassifier, MarginRegressor
from river_margins.families.parameter_types import Classes, ClassWeight, KernelChoice, Mode
from river_margins.families.passive_aggressive import passive_aggressive_rule
from river_margins.rules import PerceptronRule
from river_margins.spaces import Kernel
from river_margins.spaces.budgets import Budget, OldestRemoval, RandomRemoval, SmallestRemoval
from river_margins.spaces.kernel_functions import RBF, Polynomial

__all__ = ["KernelPAClassifier", "KernelPARegressor", "KernelPerceptron"]


def budget_of(budget: Budget | int | None, kind: type[Budget] = OldestRemoval) -> Budget | None:
    """Return the budget that a parameter stands for; a number keeps the newest supports, so that drift is followed.

    Not in regression: there the oldest hold up predictions far from 0. Each removal would leave an error of their size,
    whose correction is a larger support, and so on without end.
    """
    return kind(whole("budget", budget, 1)) if isinstance(budget, int | np.integer) else budget


class KernelPerceptron(MarginClassifier):
    """The perceptron in the space of a kernel: every mistake becomes a support.

    The score is f(x) = Σ c_i k(v_i, x) and the margin m = y·f(x). If m <= 0, the example x is kept with the coefficient
    lr·y. With many classes, the margin is measured against the best-scoring wrong class s, and x is kept with lr for
    its class and -lr for s.

    Parameters
    ----------
    kernel
        `RBF(...)`, `Polynomial(...)`, `Laplace(...)`, `LinearKernel()`, or a function of two dicts; None (default) is
        `RBF()`, with a gamma of 1 over the number of features.
    budget
        `RandomRemoval(...)`, `OldestRemoval(...)`, `SmallestRemoval(...)`, or n for `OldestRemoval(n)`; 1000 by
        default. None keeps every mistake, as in the papers.
    lr
        The step size, > 0; 1 by default. It only rescales the coefficients.
    tie_update
        Whether a margin of exactly 0 also causes an update (default). With False, only a wrong predicted label does.
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
    Without a budget, for every stream and every u in the space of the kernel, let R² be the largest k(x, x) and L the
    sum of the hinge losses of u over the mistakes. Then n_mistakes <= L + R²|u|²/2 + R|u|·sqrt(L + R²|u|²/4). With many
    classes, R² becomes 2R². With `tie_update=False` this holds for `n_updates`. With the linear kernel, this is
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
    budget: Budget | int | None
    lr: float
    tie_update: bool

    def __init__(
        self,
        kernel: KernelChoice = None,
        *,
        budget: Budget | int | None = 1000,
        lr: float = 1.0,
        tie_update: bool = True,
        classes: Classes = None,
        class_weight: ClassWeight = None,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(kernel=kernel, budget=budget, lr=lr, tie_update=tie_update)
        super().__init__(
            PerceptronRule(lr, tie_update=tie_update),
            Kernel(kernel, budget_of(budget)),
            classes=classes,
            class_weight=class_weight,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lr", "tie_update", "class_weight"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"kernel": Polynomial(2), "budget": RandomRemoval(20), "tie_update": False, "class_weight": "balanced"}


class KernelPAClassifier(MarginClassifier):
    """Passive-aggressive classification in the space of a kernel.

    The score is f(x) = Σ c_i k(v_i, x), the loss l = [1 - y·f(x)]+ and q = k(x, x). If l > 0, the example x is kept
    with the coefficient tau·y, where tau is l/q (`mode=0`), min(C, l/q) (`mode=1`) or l/(q + 1/(2C)) (`mode=2`). With
    many classes, the margin is measured against the best-scoring wrong class s, q = 2k(x, x), and x is kept with tau
    for its class and -tau for s.

    Parameters
    ----------
    kernel
        `RBF(...)`, `Polynomial(...)`, `Laplace(...)`, `LinearKernel()`, or a function of two dicts; None (default) is
        `RBF()`, with a gamma of 1 over the number of features.
    C
        Aggressiveness, > 0; 0.3 by default. `mode=0` does not use it.
    mode
        The step: 0 is PA, 1 (default) is PA-I, 2 is PA-II.
    budget
        `RandomRemoval(...)`, `OldestRemoval(...)`, `SmallestRemoval(...)`, or n for `OldestRemoval(n)`; 1000 by
        default. None keeps every example that had a loss, as in the paper, which can be nearly every example.
        `BPAClassifier` chooses more carefully what to remove.
    classes
        Classes known beforehand; their order breaks ties. Two classes share one weight vector: [negative, positive].
    class_weight
        A factor of the sample weight for each class: a mapping from labels to numbers > 0, in which a missing label has
        1. Or "balanced": n/(k·n_y), at most n_y, for the label y, with the n examples and k labels seen so far, n_y of
        them with y. None (default) is 1 for all. `mode=0` takes none.
    intercept
        Whether to add a constant feature of value 1; False by default. RBF and Laplace kernels do not change with it.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    Without a budget, the bounds of `PAClassifier` hold for every u in the space of the kernel, where R² is the largest
    k(x, x). For example, `mode=1`, on any stream: n_mistakes <= max(R², 1/C)·(|u|² + 2C·Σ l(u)).

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.KernelPAClassifier(budget=300)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 88.55%

    References
    ----------
    Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S. and Singer, Y., 2006. Online passive-aggressive algorithms.
    Journal of Machine Learning Research 7, section 3.
    """

    round_cost = "One evaluation of the kernel for each support."
    guarantee = "Without a budget, that of `PAClassifier` in the space of the kernel."
    advice = "Use it if no hyperplane separates the classes and the last thousand examples are enough."

    kernel: KernelChoice
    C: float
    mode: Mode
    budget: Budget | int | None

    def __init__(
        self,
        kernel: KernelChoice = None,
        *,
        C: float = 0.3,
        mode: Mode = 1,
        budget: Budget | int | None = 1000,
        classes: Classes = None,
        class_weight: ClassWeight = None,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(kernel=kernel, C=C, mode=mode, budget=budget)
        super().__init__(
            passive_aggressive_rule(C, mode),
            Kernel(kernel, budget_of(budget)),
            classes=classes,
            class_weight=class_weight,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"C", "mode", "class_weight"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"kernel": RBF(0.1), "budget": RandomRemoval(50)}
        yield {"mode": 2, "C": 0.1, "class_weight": "balanced"}


class KernelPARegressor(MarginRegressor):
    """Passive-aggressive regression in the space of a kernel.

    The prediction is f(x) = Σ c_i k(v_i, x), the loss l = [|y - f| - eps]+ and q = k(x, x). If l > 0, the example x is
    kept with the coefficient tau·sign(y - f), where tau is l/q (`mode=0`), min(C, l/q) (`mode=1`) or l/(q + 1/(2C))
    (`mode=2`).

    Parameters
    ----------
    kernel
        `RBF(...)`, `Polynomial(...)`, `Laplace(...)`, `LinearKernel()`, or a function of two dicts; None (default) is
        `RBF(c0=1)`, with a gamma of 1 over the number of features; its constant reaches targets far from 0.
    C
        Aggressiveness, > 0; 1 by default. `mode=0` does not use it.
    mode
        The step: 0 is PA, 1 is PA-I, 2 (default) is PA-II. The steps of 0 and 2 grow with the error, so that targets of
        any scale are reached; those of 1 are at most C, which resists outliers.
    eps
        The largest error that causes no update, >= 0, in units of the target; 0 by default. Nothing is learned from
        targets that all lie within eps of 0.
    budget
        `RandomRemoval(...)`, `OldestRemoval(...)`, `SmallestRemoval(...)`, or n for `SmallestRemoval(n)`; 1000 by
        default. With `OldestRemoval`, errors grow without limit if the oldest supports carry targets far from 0. With
        `SmallestRemoval` and the modes 0 and 2, the supports of a huge target, or of targets that were much larger than
        those of now, stay for ever, and errors remain large: write `mode=1`, or `RandomRemoval(n)`, which needs some
        thousand rounds. None keeps every example that had a loss, as in the paper, which can be nearly every example.
    intercept
        Whether to add a constant feature of value 1; False by default. RBF and Laplace kernels do not change with it.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    Without a budget, the bounds of `PARegressor` hold for every u in the space of the kernel, where R² is the largest
    k(x, x). For example, `mode=2`, on any stream: Σ l² <= (R² + 1/(2C))·(|u|² + 2C·Σ l(u)²).

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.KernelPARegressor(rm.RBF(gamma=0.001), C=10.0)
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 0.211969

    References
    ----------
    Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S. and Singer, Y., 2006. Online passive-aggressive algorithms.
    Journal of Machine Learning Research 7, section 5.
    """

    round_cost = "One evaluation of the kernel for each support."
    guarantee = "Without a budget, that of `PARegressor` in the space of the kernel."
    advice = "Use it for targets that are not linear in the features."

    kernel: KernelChoice
    C: float
    mode: Mode
    budget: Budget | int | None

    def __init__(
        self,
        kernel: KernelChoice = None,
        *,
        C: float = 1.0,
        mode: Mode = 2,
        eps: float = 0.0,
        budget: Budget | int | None = 1000,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(kernel=kernel, C=C, mode=mode, budget=budget)
        super().__init__(
            passive_aggressive_rule(C, mode),
            Kernel(RBF(c0=1.0) if kernel is None else kernel, budget_of(budget, SmallestRemoval)),
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
