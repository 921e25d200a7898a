"""The claims of the experiments in `benchmarks/lectures.py`, at a size that takes a second."""

import math

import pytest

import river_margins as rm
from benchmarks import lectures
from benchmarks.lectures import MOVING, STEADY, WITHOUT_LIMIT


@pytest.mark.lecture("bound-table")
def test_only_first_order_mistakes_grow_with_the_square_of_the_length():
    found = lectures.bound_table(4, (5, 50), 2000)
    growth = {name: by_length[50] / by_length[5] for name, by_length in found.items()}
    for name in ("perceptron", "PA"):
        assert growth[name] > 20, "ten times the length, and a hundred times the bound"
        assert found[name][5] <= 5**2 and found[name][50] <= 50**2
    for name in growth.keys() - {"perceptron", "PA"}:
        assert growth[name] < 12, "as ln U, times a factor that settles slowly"
    assert found["ellipsoid"][50] <= 2 * 4 * 5 * math.log(51)
    assert found["centre of gravity"][50] <= 4 * math.log(51) / 0.4587 + 4


@pytest.mark.lecture("budget-curves", "drift-curves")
def test_a_larger_budget_costs_less_and_drift_takes_its_worth():
    found = lectures.budgets(3000, (10, 50, 400, WITHOUT_LIMIT))
    for errors in found.values():
        assert list(errors.values()) == sorted(errors.values(), reverse=True)
        assert errors[10] > 1.3 * errors[50]
    ratio = {name: errors[50] / errors[WITHOUT_LIMIT] for name, errors in found.items()}
    assert ratio[MOVING] < 0.8 * ratio[STEADY], "old examples are worth less where the target moves"


@pytest.mark.lecture("second-order-budget-curves")
def test_second_order_statistics_make_a_budget_go_further():
    """At each limit, on both streams; without a limit it is the library's second-order perceptron."""
    limits = (10, 50, WITHOUT_LIMIT)
    first, second = (lectures.budgets(3000, limits, which) for which in ("perceptron", "second-order perceptron"))
    unlimited = rm.SecondOrderPerceptron(covariance="full", intercept=False)
    for name in (STEADY, MOVING):
        assert all(second[name][limit] < 0.95 * first[name][limit] for limit in limits)
    assert second[STEADY][50] < 0.6 * first[STEADY][50]
    assert second[MOVING][WITHOUT_LIMIT] == lectures.error(unlimited, lectures.half_space(3000, every=600))


@pytest.mark.lecture("second-order-drift")
def test_second_order_learners_pay_for_a_target_that_moves():
    found = lectures.second_order(3600)
    steady, moving = found[STEADY], found[MOVING]
    assert steady["AROW"] < steady["second-order perceptron"] < steady["perceptron"]
    loss = {name: moving[name] - steady[name] for name in steady}
    assert min(loss, key=loss.get) == "second-order perceptron" and max(loss, key=loss.get) == "AROW"
    assert loss["AROW that forgets"] < 0.6 * loss["AROW"]


@pytest.mark.lecture("selective-sampling", "rcv1")
def test_a_tenth_of_the_labels_is_enough():
    """Of unit vectors with 5 % of the labels wrong, as the lecture's documents are unit vectors."""
    found = lectures.sampling(10_000)
    assert found["labels"] < 0.1 and found["labels, last half"] < 0.75 * found["labels"]
    assert found["error"] <= found["error with all labels"]


@pytest.mark.lecture("winnow-against-perceptron")
def test_winnow_hardly_feels_features_that_do_not_matter():
    found = lectures.attributes(3000, (50, 400))
    few, many = found[50], found[400]
    assert many["Winnow"] < 2.5 * few["Winnow"]  # as the logarithm of 8
    assert many["perceptron"] > 4 * few["perceptron"]
