"""Perceptrons and passive-aggressive learners with a kernel that keep few supports, each by a way of its own."""

from collections.abc import Iterator
from typing import Any

from river_margins.families.margin import MarginClassifier
from river_margins.families.parameter_types import Classes, KernelChoice
from river_margins.rules import PA1
from river_margins.rules.perceptron import UnitRule
from river_margins.spaces import Kernel
from river_margins.spaces.budgeted_kernels import ForgetronKernel, ProjectionKernel, SimpleRemovalKernel
from river_margins.spaces.budgets import OldestRemoval, RandomRemoval
from river_margins.spaces.kernel_functions import RBF, Polynomial

__all__ = ["BPAClassifier", "Forgetron", "Projectron", "RandomizedBudgetPerceptron"]


class RandomizedBudgetPerceptron(MarginClassifier):
    """A kernel perceptron that forgets a support at random for each one it takes beyond its budget.

    Where the margin m = y·Σ c_i k(v_i, x) is 0 or less: if there are `budget` supports, one of them goes, each with the
    same chance; then x comes in with the coefficient y. Many classes as in `KernelPerceptron`.

    Parameters
    ----------
    kernel
        `RBF(...)`, by default with gamma 1, `Polynomial(...)`, `Laplace(...)`, `LinearKernel()`, or a function of two
        dicts.
    budget
        How many supports are kept, >= 1; 100 by default.
    seed
        A whole number; 0 by default. What has been drawn is part of what was learned: a learner that was saved goes on
        with the next number.
    classes
        Classes known beforehand, in the order that breaks ties. Two make one weight vector: [negative, positive].
    intercept
        Whether to add a constant feature of value 1; False by default. It changes no RBF or Laplace kernel.
    max_features
        Hash the features into so many buckets; None (default) keeps them all.

    Notes
    -----
    Where k(x, x) <= 1, in expectation over the draws and for every u with |u|² < B, the budget:
    E[n_mistakes] <= 2B/(B - |u|²)·(|u|² + Σ l(u)). With many classes that asks for k(x, x) <= 1/2. No learner with a
    budget has a bound for longer u: some stream that one of length sqrt(B + 1) fits without loss makes it err in every
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

    kernel: KernelChoice
    budget: int
    seed: int

    def __init__(
        self,
        kernel: KernelChoice = None,
        *,
        budget: int = 100,
        seed: int = 0,
        classes: Classes = None,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(kernel=kernel, budget=budget, seed=seed)
        super().__init__(
            UnitRule(),
            Kernel(kernel, RandomRemoval(budget, seed)),
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
    """A kernel perceptron that lets all supports fade, just so far that the oldest can go.

    Where the margin m = y·f(x) is 0 or less: x comes in with the coefficient y; if there are more than `budget`
    supports, all coefficients are multiplied by phi and the oldest support r goes. phi is the largest number in (0, 1]
    that keeps Q <= 15/32·n_mistakes, where Q grows by (s·phi)² + 2·s·phi - 2·s·phi²·mu, with s = |c_r| and mu =
    sign(c_r)·f(v_r), x included. Many classes as in `KernelPerceptron`.

    Parameters
    ----------
    kernel
        `RBF(...)`, by default with gamma 1, `Polynomial(...)`, `Laplace(...)`, `LinearKernel()`, or a function of two
        dicts.
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
    Where k(x, x) <= 1 and the budget B >= 83, for every u with |u| <= sqrt((B + 1)/ln(B + 1))/4:
    n_mistakes <= 2|u|² + 4·Σ l(u). With many classes that asks for k(x, x) <= 1/2.

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

    kernel: KernelChoice
    budget: int

    def __init__(
        self,
        kernel: KernelChoice = None,
        *,
        budget: int = 100,
        classes: Classes = None,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(kernel=kernel, budget=budget)
        super().__init__(
            UnitRule(),
            ForgetronKernel(kernel, OldestRemoval(budget)),
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
    """A kernel perceptron that keeps an example only if the supports it has cannot say nearly the same.

    Where the margin m = y·f(x) is 0 or less: let P be the combination of supports nearest to x. If x is within eta of
    it, y·P is added to w, which takes no new support; if not, x comes in with the coefficient y. `plus_plus` also
    learns where 0 < m < 1, and never adds a support there: with l = 1 - m and rest the distance to P, where l >
    rest/eta it adds tau·y·P with tau = min(l/|P|², 2(l - rest/eta)/|P|², 1). With many classes x stands for the
    difference vector, whose distances are larger by the square root of 2.

    Parameters
    ----------
    kernel
        `RBF(...)`, by default with gamma 1, `Polynomial(...)`, `Laplace(...)`, `LinearKernel()`, or a function of two
        dicts.
    eta
        How far an example may be from what the supports can say, >= 0; 0.1 by default. With 0 it is `KernelPerceptron`
        with fewer supports.
    plus_plus
        Whether to be Projectron++; False by default.
    classes
        Classes known beforehand, in the order that breaks ties. Two make one weight vector: [negative, positive].
    intercept
        Whether to add a constant feature of value 1; False by default. It changes no RBF or Laplace kernel.
    max_features
        Hash the features into so many buckets; None (default) keeps them all.

    Notes
    -----
    The number of supports stays finite where the examples are bounded, without a budget. A round takes their number
    squared. Where k(x, x) <= 1, u separates with margin 1 and eta·|u| < 1: n_mistakes <= |u|²/(1 - eta·|u|)²;
    Projectron++ with eta·|u| < 1/2, on any stream: n_mistakes <= (|u|² + 2·Σ l(u))/(1 - 2·eta·|u|). With many classes
    that asks for k(x, x) <= 1/2. An example nearer than 1e-5 of its length counts as one that the supports can say,
    whatever eta is.

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
    """Passive-aggressive on a budget: the support that goes leaves what it says of the new example to that one.

    Where l = [1 - y·f(x)]+ > 0, tau = min(C, l/k(x, x)) as in PA-I. Below the budget x comes in with the coefficient
    tau·y. At the budget a support r goes and x comes in with tau·y + c_r·k(v_r, x)/k(x, x): of all r and all
    coefficients of x those that minimise |w' - w|²/2 + C·l(w'), which is the r with the least c_r²·(k(v_r, v_r) -
    k(v_r, x)²/k(x, x)). This is the simple form, BPA-S. With many classes each weight vector passes on its own
    coefficient of r.

    Parameters
    ----------
    kernel
        `RBF(...)`, by default with gamma 1, `Polynomial(...)`, `Laplace(...)`, `LinearKernel()`, or a function of two
        dicts.
    C
        Aggressiveness, > 0; 1 by default.
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
    Each update solves the problem above. No bound on its mistakes is known.

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
        C: float = 1.0,
        budget: int = 100,
        classes: Classes = None,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(kernel=kernel, C=C, budget=budget)
        super().__init__(
            PA1(C),
            SimpleRemovalKernel(kernel, OldestRemoval(budget)),
            classes=classes,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"C"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"kernel": RBF(0.1), "C": 0.1, "budget": 20}
