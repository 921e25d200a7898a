"""What the papers prove, as functions of the quantities that a statement names.

R (`longest`) is the length of the longest example, and |u| (`size`) that of the weights u to compare a learner with.
The loss of u is the sum of its hinge losses [1 - y⟨u, x⟩]+ over the rounds; it is 0 if u separates with margin 1. With
many classes, `longest` is √2 times the length of the longest example, and `size` the Frobenius norm of the weights.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from river_margins.core.checks import whole

__all__ = [
    "adaline_squares",
    "alma_updates",
    "arow_mistakes",
    "batch_perceptron_epochs",
    "center_of_gravity_mistakes",
    "consistent_mistakes",
    "elimination_mistakes",
    "ellipsoid_mistakes",
    "forgetron_mistakes",
    "gradient_regret",
    "halving_mistakes",
    "hedge_anytime_regret",
    "hedge_loss",
    "hedge_regret",
    "margin_perceptron_updates",
    "narow_mistakes",
    "pa1_mistakes",
    "pa2_squares",
    "pa_squares",
    "pac_sample_size",
    "pegasos_regret",
    "perceptron_mistakes",
    "pnorm_mistakes",
    "projected_gradient_regret",
    "projectron_mistakes",
    "projectron_plus_plus_mistakes",
    "randomized_budget_mistakes",
    "randomized_sampler_mistakes",
    "second_order_mistakes",
    "separable_mistakes",
    "shifting_perceptron_mistakes",
    "svm_objective",
    "winnow1_mistakes",
    "winnow_mistakes",
    "winnow_mistakes_of_a_gap",
    "winnow_promotions",
]


# ------------------------------------------------------------------------------------------------- perceptrons


def separable_mistakes(longest: float, size: float) -> float:
    """Return R²|u|²: the mistakes of Perceptron, PA and ROMMA if u separates with margin 1.

    Also the squared losses of PA, those of ROMMA in its updates, and the costs of StructuredPA with mode 0.
    Novikoff 1962; Crammer et al. 2006, theorem 2; Li and Long 2002.

    >>> separable_mistakes(2.0, 3.0)
    36.0
    """
    return (longest * size) ** 2


def perceptron_mistakes(longest: float, size: float, loss: float = 0.0) -> float:
    """Return L + R²|u|²/2 + R|u|·sqrt(L + R²|u|²/4): the mistakes of Perceptron on any stream.

    L is the loss of u in the rounds with a mistake, or in all. Freund and Schapire 1999; Gentile 2003. At most
    L + R²|u|² + R|u|·sqrt(L), the form of the lectures.

    >>> perceptron_mistakes(1.0, 2.0), perceptron_mistakes(1.0, 2.0, loss=3.0)
    (4.0, 9.0)
    """
    reach = longest * size
    return loss + reach**2 / 2 + reach * math.sqrt(loss + reach**2 / 4)


def margin_perceptron_updates(longest: float, size: float, margin: float, lr: float) -> float:
    """Return |u|²·(R² + 2·margin/lr): the updates of MarginPerceptron if u separates with margin 1.

    Krauth and Mézard 1987.

    >>> margin_perceptron_updates(1.0, 2.0, margin=0.5, lr=0.5)
    12.0
    """
    return size**2 * (longest**2 + 2 * _at_least("margin", 0, margin) / _above("lr", 0, lr))


def batch_perceptron_epochs(count: int, longest: float, size: float) -> float:
    """Return n²R²|u|²: the passes in which `batch_perceptron` changes, for n examples that u separates with margin 1.

    >>> batch_perceptron_epochs(3, 1.0, 2.0)
    36.0
    """
    return (count * longest * size) ** 2


def shifting_perceptron_mistakes(longest: float, size: float, way: float, loss: float, lam: float) -> float:
    """Return lam·L + K²/2 + K·sqrt(lam·L + K²/4): the mistakes of ShiftingPerceptron, with lam >= 1.

    K = lam·R·(|u| + S)/sqrt(2·lam - 1), with the length of the last u and its path length S (`way`), Σ |u_(k+1) - u_k|.

    >>> round(shifting_perceptron_mistakes(1.0, 1.0, way=math.sqrt(3) - 1, loss=1.5, lam=2.0), 9)  # K = 2
    9.0
    """
    if not lam >= 1:
        raise ValueError(f"`lam` must be at least 1, not {lam}")
    return perceptron_mistakes(longest, lam * (size + way) / math.sqrt(2 * lam - 1), lam * loss)


def pnorm_mistakes(longest: float, size: float, p: float) -> float:
    """Return (p - 1)·X²·|u|_q²: the mistakes of PNormPerceptron if u separates with margin 1.

    X (`longest`) is the largest p-norm of an example, `size` the q-norm of u, 1/p + 1/q = 1. Grove, Littlestone and
    Schuurmans 2001; Gentile 2003.

    >>> pnorm_mistakes(1.0, 2.0, p=3)
    8.0
    """
    return (_above("p", 1, p) - 1) * (longest * size) ** 2


# ------------------------------------------------------------------------------------------ passive-aggressive


def pa_squares(longest: float, size: float, squares: float = 0.0) -> float:
    """Return (R|u| + 2·sqrt(Q))²: the squared losses of PA on examples of one length R; Q is those of u.

    Crammer et al. 2006, theorem 3. With Q = 0 it holds for examples of any lengths, and is `separable_mistakes`.

    >>> pa_squares(1.0, 2.0, squares=4.0)
    36.0
    """
    return (longest * size + 2 * math.sqrt(squares)) ** 2


def pa1_mistakes(longest: float, size: float, loss: float, C: float) -> float:
    """Return max(R², 1/C)·(|u|² + 2C·L): the mistakes of PA-I on any stream.

    Crammer et al. 2006, theorem 4.

    >>> pa1_mistakes(2.0, 1.0, loss=3.0, C=0.5)
    16.0
    """
    return max(longest**2, 1 / _above("C", 0, C)) * 2 * svm_objective(size, loss, C)


def svm_objective(size: float, loss: float, C: float) -> float:
    """Return |u|²/2 + C·L, which is at least the dual progress of PA-I, for every u.

    A step tau of PA-I with loss l and squared length q adds tau·l - tau²q/2 >= min(C, l/q)·l/2 to the dual of this
    objective. See `DualProgress`.

    >>> svm_objective(2.0, loss=3.0, C=0.5)
    3.5
    """
    return size**2 / 2 + C * loss


def pa2_squares(longest: float, size: float, squares: float, C: float) -> float:
    """Return (R² + 1/(2C))·(|u|² + 2C·Q): the squared losses of PA-II, and so its mistakes; Q is those of u.

    Crammer et al. 2006, theorem 5. Also for regression, with the squared losses beyond eps.

    >>> pa2_squares(1.0, 2.0, squares=4.0, C=0.5)
    16.0
    """
    return (longest**2 + 0.5 / _above("C", 0, C)) * (size**2 + 2 * C * squares)


# ---------------------------------------------------------------------------------------------------- gradients


def adaline_squares(longest: float, size: float, squares: float, lr: float) -> float:
    """Return (Q + |u|²/lr)/(1 - lr·R²): the squared errors of Adaline if lr·R² < 1; Q is those of u.

    Cesa-Bianchi, Long and Warmuth 1996.

    >>> adaline_squares(1.0, 1.0, squares=3.0, lr=0.5)
    10.0
    """
    if not _above("lr", 0, lr) * longest**2 < 1:
        raise ValueError(f"`lr` must be below 1/R², {1 / longest**2}, not {lr}")
    return (squares + size**2 / lr) / (1 - lr * longest**2)


def gradient_regret(size: float, squares: float, lr: float) -> float:
    """Return |u|²/(2·lr) + (lr/2)·Σ |g|²: the regret of gradient descent with a constant step; `squares` is Σ |g|².

    Zinkevich 2003.

    >>> gradient_regret(2.0, squares=8.0, lr=0.5)
    6.0
    """
    return size**2 / (2 * _above("lr", 0, lr)) + lr / 2 * squares


def projected_gradient_regret(longest: float, radius: float, lr: float, rounds: int) -> float:
    """Return sqrt(T)·((2D)²/(2·lr) + lr·R²): the regret of OGDClassifier with the radius D, for |u| <= D.

    For losses whose slope is at most 1, so that no gradient is longer than R. Zinkevich 2003, theorem 1.

    >>> projected_gradient_regret(1.0, radius=1.0, lr=2.0, rounds=4)
    6.0
    """
    return math.sqrt(rounds) * ((2 * radius) ** 2 / (2 * _above("lr", 0, lr)) + lr * longest**2)


def pegasos_regret(longest: float, lam: float, rounds: int) -> float:
    """Return (sqrt(lam) + R)²·(1 + ln T)/(2·lam): the regret of PegasosClassifier for |u| <= 1/sqrt(lam).

    Of the objective lam·|w|²/2 + the loss in each round. Shalev-Shwartz, Singer and Srebro 2007.

    >>> pegasos_regret(1.0, lam=1.0, rounds=1)
    2.0
    """
    return (math.sqrt(_above("lam", 0, lam)) + longest) ** 2 * (1 + math.log(max(rounds, 1))) / (2 * lam)


# ----------------------------------------------------------------------------------------------- maximum margin


def alma_updates(margin: float, alpha: float, p: float = 2.0) -> float:
    """Return (2(p - 1)/g²)·(2/alpha - 1)² + 8/alpha - 4: the updates of ALMAClassifier with the default B and C.

    g is the largest margin of the examples, divided by their p-norms, for weights of q-norm 1. Gentile 2001, theorem 3.

    >>> alma_updates(0.5, alpha=1.0)
    12.0
    """
    p, margin, alpha = _above("p", 1, p), _above("margin", 0, margin), _above("alpha", 0, alpha)
    return 2 * (p - 1) / margin**2 * (2 / alpha - 1) ** 2 + 8 / alpha - 4


# ------------------------------------------------------------------------------------- second order, version space


def second_order_mistakes(size: float, loss: float, squares: float, eigenvalues: ArrayLike, a: float) -> float:
    """Return L + sqrt((a|u|² + Σ ⟨u, x⟩²)·Σ ln(1 + λ/a)): the mistakes of SecondOrderPerceptron, full covariance.

    All sums are over the rounds with a mistake: `squares` is that of ⟨u, x⟩², and λ are the eigenvalues of Σ xxᵀ.
    Cesa-Bianchi, Conconi and Gentile 2005, theorem 3.1. The lectures' d|u|·ln|u| does not follow from it.

    >>> round(second_order_mistakes(1.0, 2.0, squares=3.0, eigenvalues=[math.e - 1], a=1.0), 9)
    4.0
    """
    return loss + math.sqrt((a * size**2 + squares) * _log_volume(eigenvalues, a))


def arow_mistakes(size: float, loss: float, squares: float, eigenvalues: ArrayLike, r: float, corrected: int) -> float:
    """Return sqrt(r|u|² + Σ ⟨u, x⟩²)·sqrt(Σ ln(1 + λ/r) + E) + L - E: the mistakes of AROWClassifier, full covariance.

    All sums are over the rounds with a margin below 1, E (`corrected`) of them no mistakes; otherwise as
    `second_order_mistakes`. Crammer, Kulesza and Dredze 2013, theorem 3.

    >>> round(arow_mistakes(1.0, 2.0, squares=3.0, eigenvalues=[math.e - 1], r=1.0, corrected=3), 9)
    3.0
    """
    return math.sqrt((r * size**2 + squares) * (_log_volume(eigenvalues, r) + corrected)) + loss - corrected


def narow_mistakes(
    size: float, loss: float, squares: float, margins: float, updates: int, b: float, corrected: int
) -> float:
    """Return L - E + sqrt((|u|² + b·Σ ⟨u, x⟩²)·(2·Σ m + n/b)): the mistakes of NAROWClassifier, full covariance.

    All sums are over the n (`updates`) rounds with a margin m below 1, E (`corrected`) of them no mistakes. After
    Orabona and Crammer 2010.

    >>> narow_mistakes(1.0, 2.0, squares=3.0, margins=-1.0, updates=6, b=1.0, corrected=1)
    5.0
    """
    return loss - corrected + math.sqrt((size**2 + b * squares) * max(2 * margins + updates / b, 0.0))


def _log_volume(eigenvalues: ArrayLike, a: float) -> float:
    """Return ln det(I + X'X/a), exact also if it is nearly 0."""
    return float(np.log1p(np.maximum(np.asarray(eigenvalues, dtype=float), 0.0) / _above("a", 0, a)).sum())


def ellipsoid_mistakes(dimension: int, size: float) -> float:
    """Return 2d(d + 1)·ln(1 + |u|): the mistakes of the ellipsoid method on examples of length 1, if u separates.

    After Yang, Jin and Ye 2009.

    >>> ellipsoid_mistakes(2, math.e - 1)
    12.0
    """
    return 2 * dimension * (dimension + 1) * math.log1p(size)


def center_of_gravity_mistakes(dimension: int, size: float, ball: bool = False) -> float:
    """Return (ln V + d·ln(1 + |u|))/0.4587: the mistakes of the centre of gravity on examples of length 1.

    V is the volume of the box [-1, 1]^d, divided by that of the unit ball; 1 if `ball` says that the method starts from
    the ball. Each cut through the centre leaves a share of at most 1 - 1/e of the volume, Grünbaum 1960.

    >>> round(center_of_gravity_mistakes(1, math.e - 1), 6) == round(1 / 0.4587, 6)
    True
    """
    log_ball = dimension / 2 * math.log(math.pi) - math.lgamma(dimension / 2 + 1)
    start = 0.0 if ball else dimension * math.log(2) - log_ball
    return (start + dimension * math.log1p(size)) / 0.4587


# ------------------------------------------------------------------------------------------- sampling and budgets


def randomized_sampler_mistakes(longest: float, size: float, b: float) -> float:
    """Return |u|²(2b + R²)²/(8b): the expected mistakes of RandomizedSelectiveSampler(Perceptron()), if u separates.

    Those of all rounds, asked or not. Cesa-Bianchi, Gentile and Zaniboni 2006, theorem 1.

    >>> randomized_sampler_mistakes(1.0, 2.0, b=0.5)
    4.0
    """
    return size**2 * (2 * _above("b", 0, b) + longest**2) ** 2 / (8 * b)


def randomized_budget_mistakes(size: float, loss: float, budget: int, way: float = 0.0) -> float:
    """Return 2B/(B - |u|²)·(|u|² + L + B·S): the expected mistakes of RandomizedBudgetPerceptron, for |u|² < B.

    For kernels with k(x, x) <= 1. If u moves, S (`way`) is its path length, and |u| its largest length. After
    Cavallanti, Cesa-Bianchi and Gentile 2007.

    >>> randomized_budget_mistakes(1.0, 2.0, budget=3)
    9.0
    """
    if not size**2 < budget:
        raise ValueError(f"`size` must be below the root of the budget, {math.sqrt(budget)}, not {size}")
    return 2 * budget / (budget - size**2) * (size**2 + loss + budget * way)


def forgetron_mistakes(size: float, loss: float, budget: int, way: float = 0.0) -> float:
    """Return 2|u|² + 4L + 4B·S: the mistakes of Forgetron with B >= 83, for |u| <= sqrt((B + 1)/ln(B + 1))/4.

    For kernels with k(x, x) <= 1. If u moves, S (`way`) is its path length, |u| is its largest length, and no
    y⟨u, x⟩ of an earlier example may exceed 1. Dekel, Shalev-Shwartz and Singer 2008.

    >>> forgetron_mistakes(1.0, 2.0, budget=100)
    10.0
    """
    largest = math.sqrt((budget + 1) / math.log(budget + 1)) / 4
    if budget < 83 or size > largest * (1 + 1e-12):
        raise ValueError(f"`budget` must be at least 83 and `size` at most {largest}, not {budget} and {size}")
    return 2 * size**2 + 4 * loss + 4 * budget * way


def projectron_mistakes(size: float, loss: float, eta: float) -> float:
    """Return ((|u| + sqrt(|u|² + 4(1 - eta|u|)L))/(2(1 - eta|u|)))²: the mistakes of Projectron, for eta|u| < 1.

    For kernels with k(x, x) <= 1. After Orabona, Keshet and Caputo 2009.

    >>> projectron_mistakes(1.0, 1.0, eta=0.5)  # (1 + sqrt(3))²
    7.46...
    """
    rest = 1 - eta * size
    if not rest > 0:
        raise ValueError(f"`size` must be below 1/eta, {1 / eta}, not {size}")
    return ((size + math.sqrt(size**2 + 4 * rest * loss)) / (2 * rest)) ** 2


def projectron_plus_plus_mistakes(size: float, loss: float, eta: float) -> float:
    """Return (|u|² + 2L)/(1 - 2·eta|u|): the mistakes of Projectron(plus_plus=True), for eta|u| < 1/2.

    For kernels with k(x, x) <= 1. After Orabona, Keshet and Caputo 2009.

    >>> projectron_plus_plus_mistakes(1.0, 2.0, eta=0.25)
    10.0
    """
    rest = 1 - 2 * eta * size
    if not rest > 0:
        raise ValueError(f"`size` must be below 1/(2·eta), {0.5 / eta}, not {size}")
    return (size**2 + 2 * loss) / rest


# ------------------------------------------------------------------------------------------ multiplicative updates


def winnow_mistakes(features: int, theta: float, beta: float, total: float, gap: float) -> float:
    """Return V + (1 + beta)·(S·ln(beta·theta)/ln(beta) + (1 - gap)·V)/(1 - beta(1 - gap)): the mistakes of Winnow.

    V = beta/(beta - 1)·d/theta for d features that are 0 or 1. The target has weights >= 0 with the sum S (`total`): at
    least 1 on positive examples, and at most 1 - gap on negative ones. 1 < beta < 1/(1 - gap). After Littlestone 1988.
    The lectures take beta = 1 + gap/2 with a gap that is not divided by their threshold, which can fail for ever.

    >>> winnow_mistakes(4, theta=2.0, beta=2.0, total=1.0, gap=1.0)  # 4 + 3·2
    10.0
    """
    promotions = winnow_promotions(features, theta, beta, total, gap)
    return beta / (beta - 1) * features / theta + (1 + beta) * promotions


def winnow_promotions(features: int, theta: float, beta: float, total: float, gap: float) -> float:
    """Return (S·ln(beta·theta)/ln(beta) + (1 - gap)·V)/(1 - beta(1 - gap)): the updates of Winnow on positive examples.

    As in `winnow_mistakes`. The others are at most V + beta times as many.

    >>> winnow_promotions(4, theta=2.0, beta=2.0, total=1.0, gap=1.0)
    2.0
    """
    if not (beta > 1 and beta * (1 - gap) < 1):
        raise ValueError(f"`beta` must be above 1 and below 1/(1 - gap), not {beta} with a gap of {gap}")
    start = beta / (beta - 1) * features / theta
    return (total * math.log(beta * theta) / math.log(beta) + (1 - gap) * start) / (1 - beta * (1 - gap))


def winnow_mistakes_of_a_gap(features: int, theta: float, total: float, gap: float) -> float:
    """Return 8d/(gap²·theta) + (5/gap + 14·ln(theta)/gap²)·S: the mistakes of Winnow with beta = 1 + gap/2.

    As in `winnow_mistakes`. Littlestone 1988, theorem 9.

    >>> winnow_mistakes_of_a_gap(4, theta=1.0, total=2.0, gap=1.0)
    42.0
    """
    return 8 * features / (gap**2 * theta) + (5 / gap + 14 * math.log(theta) / gap**2) * total


def winnow1_mistakes(features: int, theta: float, beta: float, literals: int) -> float:
    """Return beta·k·(log_beta(theta) + 1) + d/theta: the mistakes of Winnow(demotion="erase") on a disjunction.

    The disjunction has k (`literals`) of the d features. Littlestone 1988.

    >>> winnow1_mistakes(16, theta=8.0, beta=2.0, literals=3)
    26.0
    """
    return beta * literals * (math.log(theta, beta) + 1) + features / theta


# ------------------------------------------------------------------------------------------ finite classes, experts


def consistent_mistakes(concepts: int) -> int:
    """Return n - 1: the mistakes of the first consistent concept of n, if one of them is right in all rounds.

    >>> consistent_mistakes(8)
    7
    """
    return _at_least("concepts", 1, concepts) - 1


def halving_mistakes(concepts: int) -> int:
    """Return log2(n), rounded down: the mistakes of halving with n concepts, if one of them is right in all rounds.

    >>> halving_mistakes(8), halving_mistakes(9)
    (3, 3)
    """
    return whole("concepts", concepts, 1).bit_length() - 1


def elimination_mistakes(features: int) -> int:
    """Return n + 1: the mistakes of elimination on a disjunction of literals of n Boolean features.

    >>> elimination_mistakes(8)
    9
    """
    return features + 1


def pac_sample_size(mistakes: int, epsilon: float, delta: float) -> float:
    """Return ((M + 1)/epsilon)·((M + 2)·ln(2)/2 + ln(1/delta)): the examples that OnlineToPAC uses, without rounding.

    For a classifier with at most M mistakes. The lectures sum over M stages, and the algorithm can have M + 1.

    >>> round(pac_sample_size(0, epsilon=0.1, delta=2 / math.e), 9)
    10.0
    """
    epsilon, delta = _share("epsilon", epsilon), _share("delta", delta)
    return (mistakes + 1) / epsilon * ((mistakes + 2) * math.log(2) / 2 + math.log(1 / delta))


def hedge_regret(experts: int, rounds: int, eta: float | None = None) -> float:
    """Return ln N/eta + eta·T/8: the regret of exponential weights with N experts and losses in [0, 1].

    None (default) is the best eta, sqrt(8·ln N/T), for which the regret is sqrt(T·ln N/2). Freund and Schapire 1997.

    >>> hedge_regret(1, rounds=16, eta=0.5)
    1.0
    """
    log = math.log(_at_least("experts", 1, experts))
    if eta is None:
        return math.sqrt(rounds * log / 2)
    return log / _above("eta", 0, eta) + eta * rounds / 8


def hedge_anytime_regret(experts: int, rounds: int) -> float:
    """Return 2·sqrt(T·ln N/2) + sqrt(ln N/8): the regret of exponential weights with eta_t = sqrt(8·ln N/t).

    Cesa-Bianchi and Lugosi 2006, theorem 2.3.

    >>> hedge_anytime_regret(1, rounds=16)
    0.0
    """
    log = math.log(_at_least("experts", 1, experts))
    return 2 * math.sqrt(rounds * log / 2) + math.sqrt(log / 8)


def hedge_loss(experts: int, best: float, eta: float) -> float:
    """Return (eta·L + ln N)/(1 - exp(-eta)): the loss of exponential weights if the best expert has the loss L.

    Littlestone and Warmuth 1994.

    >>> round(hedge_loss(1, best=math.e - 1, eta=1.0), 9) == round(math.e, 9)
    True
    """
    return (_above("eta", 0, eta) * best + math.log(_at_least("experts", 1, experts))) / (1 - math.exp(-eta))


# ---------------------------------------------------------------------------------------------------- parameters


def _above(name: str, least: float, value: Any) -> Any:
    """Return a parameter, a number or an array of them, if it is above `least`."""
    if not np.all(np.asarray(value) > least):
        raise ValueError(f"`{name}` must be above {least}, not {value!r}")
    return value


def _at_least(name: str, least: float, value: Any) -> Any:
    """Return a parameter, a number or an array of them, if it is not below `least`."""
    if not np.all(np.asarray(value) >= least):
        raise ValueError(f"`{name}` must be at least {least}, not {value!r}")
    return value


def _share(name: str, value: float) -> float:
    """Return a parameter if it is above 0 and at most 1."""
    if not 0 < value <= 1:
        raise ValueError(f"`{name}` must be above 0 and at most 1, not {value!r}")
    return value
