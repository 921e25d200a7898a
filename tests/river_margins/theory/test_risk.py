"""Tails against simulated ones, and the risk of the ensemble on a distribution whose risks are known."""

import math

import numpy as np
import pytest

from river_margins.theory import risk


@pytest.fixture(scope="module")
def walks():
    """Sums of 60 martingale differences whose spread depends on the sum so far, and their conditional variances."""
    draw, runs, rounds = np.random.default_rng(0), 40_000, 60
    total, variance, low = np.zeros(runs), np.zeros(runs), np.zeros(runs)
    for _ in range(rounds):
        p = np.where(total > 0, 0.5, 0.1)  # Z is 1 - p with probability p, and -p otherwise
        total += (draw.random(runs) < p) - p
        variance += p * (1 - p)
        low = np.minimum(low, total)
    return total, variance, rounds


@pytest.mark.lecture("azuma")
@pytest.mark.parametrize("excess", [3.0, 6.0, 10.0, 14.0])
def test_azuma(walks, excess):
    total, _, rounds = walks
    assert (total >= excess).mean() <= risk.azuma_tail(excess, rounds)


@pytest.mark.lecture("bernstein")
@pytest.mark.parametrize("excess", [2.0, 4.0, 8.0, 12.0])
@pytest.mark.parametrize("most", [6.0, 10.0, 15.0])
def test_freedman(walks, excess, most):
    total, variance, _ = walks
    assert ((total >= excess) & (variance <= most)).mean() <= risk.bernstein_tail(excess, most)


def test_the_tails_are_not_far_off():
    """Within the exponent by a factor of two; the square of a bound is too small."""
    draw = np.random.default_rng(1)
    fair = (draw.random((40_000, 100)) < 0.5).sum(axis=1) - 50.0
    seen = math.log((fair >= 12.0).mean())
    assert 2 * seen < math.log(risk.azuma_tail(12.0, 100)) < seen + 3
    assert (fair >= 12.0).mean() > risk.azuma_tail(12.0, 100) ** 2
    rare = (draw.random((40_000, 100)) < 0.05).sum(axis=1) - 5.0
    assert math.log(risk.bernstein_tail(9.0, 4.75)) < math.log((rare >= 9.0).mean()) + 3
    assert (rare >= 9.0).mean() <= risk.bernstein_tail(9.0, 4.75) < risk.azuma_tail(9.0, 100)


@pytest.fixture(scope="module")
def ensembles(runs=100, rounds=300):
    """Perceptrons in the plane, with a tenth of wrong labels: mistakes, the mean risk, and risks by angle."""
    found = []
    for seed in range(runs):
        draw = np.random.default_rng(seed)
        X, wrong, w, mistakes, risks = draw.normal(size=(rounds, 2)), draw.random(rounds) < 0.1, np.zeros(2), 0, []
        labels = np.where((X[:, 0] > 0) ^ wrong, 1.0, -1.0)
        for x, y in zip(X, labels, strict=True):
            apart = abs(math.atan2(w[1], w[0])) / math.pi if w.any() else 0.5
            risks.append(0.1 + 0.8 * apart)
            mistakes += (1.0 if w @ x >= 0 else -1.0) != y
            w = w + y * x if y * (w @ x) <= 0 else w
        found.append((mistakes, np.mean(risks)))
    return np.array(found), rounds


@pytest.mark.lecture("average-risk")
@pytest.mark.parametrize("bound", [risk.average_risk, risk.average_risk_of_few_errors])
@pytest.mark.parametrize("delta", [0.5, 0.1])
def test_the_mean_risk_exceeds_its_bound_as_seldom_as_promised(ensembles, bound, delta):
    found, rounds = ensembles
    exceeded = np.mean([mean > bound(int(mistakes), rounds, delta) for mistakes, mean in found])
    assert exceeded <= delta
    assert np.mean([mean > mistakes / rounds for mistakes, mean in found]) > 0.2  # without a penalty it fails


def test_the_bound_for_few_errors_is_the_smaller_one_where_they_are_few():
    assert risk.average_risk_of_few_errors(5, 10_000, 0.05) < risk.average_risk(5, 10_000, 0.05)
    assert risk.average_risk_of_few_errors(4000, 10_000, 0.05) > risk.average_risk(4000, 10_000, 0.05)


@pytest.mark.parametrize("bound", [risk.hoeffding_risk, risk.bernstein_risk])
@pytest.mark.parametrize(("p", "tests"), [(0.02, 50), (0.3, 50), (0.5, 20)])
def test_one_risk_exceeds_its_bound_as_seldom_as_promised(bound, p, tests):
    """Exactly, by the binomial distribution."""
    for log in (0.5, 1.0, 3.0):
        chance = sum(
            math.comb(tests, k) * p**k * (1 - p) ** (tests - k)
            for k in range(tests + 1)
            if bound(k / tests, tests, log) < p
        )
        assert chance <= math.exp(-log)
