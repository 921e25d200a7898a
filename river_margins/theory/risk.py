"""The risk of hypotheses from their errors, with tails of sums; all for independent examples of one distribution.

The risk of a hypothesis is its probability of a wrong label. M is the number of wrong predictions of an online learner
in n rounds, each made before its label was learned.
"""

import math

from river_margins.core.checks import inside_unit, not_negative, positive, whole

__all__ = [
    "average_risk",
    "average_risk_of_few_errors",
    "azuma_tail",
    "bernstein_risk",
    "bernstein_tail",
    "hoeffding_risk",
    "selected_risk",
]


def azuma_tail(excess: float, rounds: int, width: float = 1.0) -> float:
    """Return a bound on P(Σ Z >= excess), for martingale differences Z that each lie in an interval of `width`.

    Hoeffding's inequality, which Azuma extended: exp(-2·excess²/(n·width²)).

    >>> azuma_tail(10.0, 100) == math.exp(-2)
    True
    """
    return math.exp(
        -2 * not_negative("excess", excess) ** 2 / (whole("rounds", rounds, 1) * positive("width", width) ** 2)
    )


def bernstein_tail(excess: float, variance: float) -> float:
    """Return a bound on P(Σ Z >= excess and V <= variance), for martingale differences Z <= 1.

    V is the sum of their conditional variances. Freedman's inequality, Bernstein's for martingales:
    exp(-excess²/(2·(variance + excess/3))).

    >>> bernstein_tail(3.0, 3.5) == math.exp(-1)
    True
    """
    not_negative("variance", variance)
    return math.exp(-(not_negative("excess", excess) ** 2) / (2 * (variance + excess / 3))) if excess else 1.0


def hoeffding_risk(error_rate: float, tests: int, log: float) -> float:
    """Return r + sqrt(L/(2s)), which the risk exceeds with a probability of at most exp(-L).

    r is the error rate on s examples that the hypothesis does not depend on, and L is `log`.

    >>> hoeffding_risk(0.25, 8, 1.0)
    0.5
    """
    return error_rate + math.sqrt(log / (2 * tests))


def bernstein_risk(error_rate: float, tests: int, log: float) -> float:
    """Return r + L/s + sqrt((L/s)² + 2·r·L/s), which the risk exceeds with a probability of at most exp(-L).

    Chernoff's bound on the lower tail, solved for the risk; below `hoeffding_risk` for few errors on many examples.

    >>> bernstein_risk(0.0, 100, 1.0)
    0.02
    """
    part = log / tests
    return error_rate + part + math.sqrt(part**2 + 2 * error_rate * part)


def _check(mistakes: int, rounds: int, delta: float) -> None:
    inside_unit("delta", delta)
    if not 0 <= mistakes <= whole("rounds", rounds, 1):
        raise ValueError(f"`mistakes` must be from 0 to the {rounds} rounds, not {mistakes!r}")


def average_risk(mistakes: int, rounds: int, delta: float) -> float:
    """Return M/n + sqrt(ln(1/delta)/(2n)), which the mean risk of H_0 ... H_{n-1} exceeds with probability <= delta.

    H_t is the learner after t rounds. H_n is not among them: no example has tested it.

    >>> round(average_risk(10, 100, 0.1), 6)
    0.207298
    """
    _check(mistakes, rounds, delta)
    return mistakes / rounds + math.sqrt(math.log(1 / delta) / (2 * rounds))


def average_risk_of_few_errors(mistakes: int, rounds: int, delta: float) -> float:
    """Return M/n + (5L/3 + sqrt(2L(M + 1 + 7L/6)))/n with L = ln(n/delta), a bound as `average_risk`.

    From `bernstein_tail`, as the variances sum to at most the risks. It is the smaller one if mistakes are few.

    >>> round(average_risk_of_few_errors(0, 1000, 0.1), 6)
    0.03006
    """
    _check(mistakes, rounds, delta)
    log = math.log(rounds / delta)
    return (mistakes + 5 * log / 3 + math.sqrt(2 * log * (mistakes + 1 + 7 * log / 6))) / rounds


def selected_risk(mistakes: int, rounds: int, delta: float) -> float:
    """Return M/n + 6·sqrt(ln(2(n + 1)/delta)/n), a bound on the risk that the choice with Hoeffding's penalty reaches.

    Cesa-Bianchi, Conconi and Gentile 2004, theorem 4. It says before the choice what `OnlineToBatch.risk_bound_` can
    promise after it, which is smaller.

    >>> round(selected_risk(100, 10_000, 0.1), 6)
    0.219624
    """
    _check(mistakes, rounds, delta)
    return mistakes / rounds + 6 * math.sqrt(math.log(2 * (rounds + 1) / delta) / rounds)
