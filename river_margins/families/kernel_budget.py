"""Learners with a kernel whose update rule itself limits the number of supports."""

from collections.abc import Iterator
from typing import Any

from river_margins.core.checks import whole
from river_margins.core.pairs import no_price
from river_margins.families.composed import MarginClassifier
from river_margins.families.parameter_types import Classes, ClassWeight, KernelChoice
from river_margins.rules import PA1
from river_margins.rules.perceptron import UnitRule
from river_margins.spaces import Kernel
from river_margins.spaces.budgeted_kernels import ForgetronKernel, ProjectionKernel, SimpleRemovalKernel
from river_margins.spaces.budgets import OldestRemoval, RandomRemoval
from river_margins.spaces.kernel_functions import RBF, Polynomial

__all__ = ["BPAClassifier", "Forgetron", "Projectron", "RandomizedBudgetPerceptron"]


class RandomizedBudgetPerceptron(MarginClassifier):
    """A kernel perceptron that removes a random support whenever it exceeds its budget.

    If the margin m = y·Σ c_i k(v_i, x) is 0 or less and there are already `budget` supports, one of them is removed,
    each with the same probability; then x is added with the coefficient y. Many classes work as in `KernelPerceptron`.

    Parameters
    ----------
    kernel
        `RBF(...)`, `Polynomial(...)`, `Laplace(...)`, `LinearKernel()`, or a function of two dicts; None (default) is
        `RBF()`, with a gamma of 1 over the number of features.
    budget
        The largest number of supports, >= 1; 300 by default.
    seed
        The seed of the generator, a whole number >= 0; 0 by default. The state of the generator is saved with the
        learner, so that a restored learner draws the next numbers.
    classes
        Classes known beforehand; their order breaks ties. Two classes share one weight vector: [negative, positive].
    intercept
        Whether to add a constant feature of value 1; False by default. RBF and Laplace kernels do not change with it.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    If k(x, x) <= 1, in expectation over the draws and for every u with |u|² < B, where B is the budget: E[n_mistakes]
    <= 2B/(B - |u|²)·(|u|² + Σ l(u)). With many classes, this requires k(x, x) <= 1/2. No learner with a budget has a
    bound for longer u: there is a stream on which a u of length sqrt(B + 1) has no loss and the learner errs in every
    round.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.RandomizedBudgetPerceptron(rm.RBF(gamma=0.1), budget=100)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 84.47%

    References
    ----------
    Cavallanti, G., Cesa-Bianchi, N. and Gentile, C., 2007. Tracking the best hyperplane with a simple budget
    perceptron. Machine Learning 69.
    """

    round_cost = "One evaluation of the kernel for each support, and `budget` limits their number."
    guarantee = "A bound on the expected mistakes for every u with |u|² below the budget."
    advice = "Use it as the simplest kernel learner with bounded memory."
    _no_class_weight = no_price("`class_weight`")

    kernel: KernelChoice
    budget: int
    seed: int

    def __init__(
        self,
        kernel: KernelChoice = None,
        *,
        budget: int = 300,
        seed: int = 0,
        classes: Classes = None,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(kernel=kernel, budget=budget, seed=seed)
        super().__init__(
            UnitRule(),
            Kernel(kernel, RandomRemoval(whole("budget", budget, 1), seed)),
            classes=classes,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return set()

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"kernel": Polynomial(2), "budget": 20, "seed": 7}


class Forgetron(MarginClassifier):
    """A kernel perceptron that shrinks all coefficients just enough to remove the oldest support safely.

    If the margin m = y·f(x) is 0 or less, x is added with the coefficient y. If there are now more than `budget`
    supports, all coefficients are multiplied by phi and the oldest support r is removed. phi is the largest number in
    (0, 1] that keeps Q <= 15/32·n_mistakes, where Q grows by (s·phi)² + 2·s·phi - 2·s·phi²·mu, with s = |c_r| and mu =
    sign(c_r)·f(v_r), x included. Many classes work as in `KernelPerceptron`.

    Parameters
    ----------
    kernel
        `RBF(...)`, `Polynomial(...)`, `Laplace(...)`, `LinearKernel()`, or a function of two dicts; None (default) is
        `RBF()`, with a gamma of 1 over the number of features.
    budget
        The largest number of supports, >= 1; 300 by default.
    classes
        Classes known beforehand; their order breaks ties. Two classes share one weight vector: [negative, positive].
    intercept
        Whether to add a constant feature of value 1; False by default. RBF and Laplace kernels do not change with it.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    If k(x, x) <= 1 and the budget B >= 83, for every u with |u| <= sqrt((B + 1)/ln(B + 1))/4: n_mistakes <= 2|u|² + 4·Σ
    l(u). With many classes, this requires k(x, x) <= 1/2.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.Forgetron(rm.RBF(gamma=0.1), budget=100)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 83.75%

    References
    ----------
    Dekel, O., Shalev-Shwartz, S. and Singer, Y., 2008. The Forgetron: a kernel-based perceptron on a budget. SIAM
    Journal on Computing 37 (the self-tuned one).
    """

    round_cost = "One evaluation of the kernel for each support, and `budget` limits their number."
    guarantee = "At most 2|u|² + 4·Σ l(u) mistakes for short u, without randomness."
    advice = "Use it if the newest examples matter most."
    _no_class_weight = no_price("`class_weight`")

    kernel: KernelChoice
    budget: int

    def __init__(
        self,
        kernel: KernelChoice = None,
        *,
        budget: int = 300,
        classes: Classes = None,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(kernel=kernel, budget=budget)
        super().__init__(
            UnitRule(),
            ForgetronKernel(kernel, OldestRemoval(whole("budget", budget, 1))),
            classes=classes,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return set()

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"kernel": RBF(0.1), "budget": 20}


class Projectron(MarginClassifier):
    """A kernel perceptron that adds a support only if the present supports cannot represent the example.

    If the margin m = y·f(x) is 0 or less, let P be the combination of supports closest to x. If the distance from x to
    P is at most eta, y·P is added to w, which needs no new support; otherwise x is added with the coefficient y.

    `plus_plus` also learns if 0 < m < 1, and then never adds a support: with l = 1 - m and the distance rest to P, if l
    > rest/eta it adds tau·y·P, where tau = min(l/|P|², 2(l - rest/eta)/|P|², 1). With many classes, x stands for the
    difference vector, whose distances are larger by the square root of 2.

    Parameters
    ----------
    kernel
        `RBF(...)`, `Polynomial(...)`, `Laplace(...)`, `LinearKernel()`, or a function of two dicts; None (default) is
        `RBF()`, with a gamma of 1 over the number of features.
    eta
        The largest distance between an example and its representation by the supports, >= 0; 0.1 by default. With 0 it
        is `KernelPerceptron` with fewer supports.
    plus_plus
        Whether to use Projectron++; False by default.
    classes
        Classes known beforehand; their order breaks ties. Two classes share one weight vector: [negative, positive].
    intercept
        Whether to add a constant feature of value 1; False by default. RBF and Laplace kernels do not change with it.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    The number of supports stays finite without a budget if the examples are bounded. If k(x, x) <= 1, u separates with
    margin 1 and eta·|u| < 1: n_mistakes <= |u|²/(1 - eta·|u|)². Projectron++ with eta·|u| < 1/2, on any stream:
    n_mistakes <= (|u|² + 2·Σ l(u))/(1 - 2·eta·|u|). With many classes, this requires k(x, x) <= 1/2.

    An example whose distance is below 1e-5 of its length always counts as represented, whatever eta is.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.Projectron(rm.RBF(gamma=0.1), eta=0.3, plus_plus=True)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 86.15%

    References
    ----------
    Orabona, F., Keshet, J. and Caputo, B., 2009. Bounded kernel-based online learning. Journal of Machine Learning
    Research 10.
    """

    round_cost = "The square of the number of supports."
    guarantee = "A bound on the mistakes on any stream for |u| < 1/eta, with finitely many supports."
    advice = "Use it if examples resemble each other."
    _no_class_weight = no_price("`class_weight`")

    kernel: KernelChoice
    eta: float
    plus_plus: bool

    def __init__(
        self,
        kernel: KernelChoice = None,
        *,
        eta: float = 0.1,
        plus_plus: bool = False,
        classes: Classes = None,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(kernel=kernel, eta=eta, plus_plus=plus_plus)
        super().__init__(
            UnitRule(plus_plus),
            ProjectionKernel(kernel, eta),
            classes=classes,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return set()

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"kernel": RBF(0.1), "eta": 0.3, "plus_plus": True}


class BPAClassifier(MarginClassifier):
    """Passive-aggressive on a budget: the new example takes over what the removed support contributes to it.

    If l = [1 - y·f(x)]+ > 0, tau = min(C, l/k(x, x)) as in PA-I. Below the budget, x is added with the coefficient
    tau·y. At the budget, a support r is removed and x is added with tau·y + c_r·k(v_r, x)/k(x, x). The choice of r and
    of the coefficient of x minimises |w' - w|²/2 + C·l(w'): r has the smallest c_r²·(k(v_r, v_r) - k(v_r, x)²/k(x, x)).
    This is the simple form, BPA-S. With many classes, each weight vector passes on its own coefficient of r.

    Parameters
    ----------
    kernel
        `RBF(...)`, `Polynomial(...)`, `Laplace(...)`, `LinearKernel()`, or a function of two dicts; None (default) is
        `RBF()`, with a gamma of 1 over the number of features.
    C
        Aggressiveness, > 0; 0.3 by default.
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
    Each update solves the problem above. No bound on the mistakes is known.

    Where examples of different labels are close together, so that k is nearly 1, coefficients grow far beyond C. With a
    small budget their supports then stay, and the learner hardly follows examples that move elsewhere, or labels that
    change: put a scaler in front, and take a larger budget or `BOGDClassifier`, which removes the oldest support.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.BPAClassifier(rm.RBF(gamma=0.1), C=0.3, budget=100)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 88.79%

    References
    ----------
    Wang, Z. and Vucetic, S., 2010. Online passive-aggressive algorithms on a budget. AISTATS.
    """

    round_cost = "One evaluation of the kernel for each support, and `budget` limits their number."
    guarantee = "No mistake bound; each update solves its optimisation problem."
    advice = (
        "Start here for bounded memory: with 50 supports it errs less than the others on River's Phishing and Bananas."
    )

    kernel: KernelChoice
    C: float
    budget: int

    def __init__(
        self,
        kernel: KernelChoice = None,
        *,
        C: float = 0.3,
        budget: int = 300,
        classes: Classes = None,
        class_weight: ClassWeight = None,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(kernel=kernel, C=C, budget=budget)
        super().__init__(
            PA1(C),
            SimpleRemovalKernel(kernel, OldestRemoval(whole("budget", budget, 1))),
            classes=classes,
            class_weight=class_weight,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"C", "class_weight"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"kernel": RBF(0.1), "C": 0.1, "budget": 20}
        yield {"kernel": RBF(0.1), "C": 0.1, "budget": 20, "class_weight": "balanced"}
