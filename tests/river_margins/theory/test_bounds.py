"""Each bound has a number worked out by hand beside it, and finds learners that do not learn.

The runs of all learners are held to these functions in `tests/bounds`.
"""

import inspect
import math

import numpy as np
import pytest

import river_margins as rm
from river_margins.theory import bounds, risk

FUNCTIONS = [getattr(module, name) for module in (bounds, risk) for name in module.__all__]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_each_has_a_worked_number(function):
    """Which `tests/docs` runs."""
    assert f">>> {function.__name__}(" in function.__doc__ or f"({function.__name__}(" in function.__doc__
    assert not [each for each in inspect.signature(function).parameters.values() if each.annotation is each.empty]


def test_the_forms_of_the_lectures_follow():
    """L + R²U² + RU·√L, and 1/g² + 2D/g for |x| <= 1 with D = g·L, are no smaller."""
    draw = np.random.default_rng(0)
    for longest, size, loss in 10 ** draw.uniform(-3, 3, size=(200, 3)):
        exact = bounds.perceptron_mistakes(longest, size, loss)
        assert exact <= (loss + (longest * size) ** 2 + longest * size * math.sqrt(loss)) * (1 + 1e-12)
        gap = 1 / size
        assert bounds.perceptron_mistakes(1.0, size, loss) <= (1 / gap**2 + 2 * gap * loss / gap) * (1 + 1e-12)


def test_they_agree_where_one_is_a_case_of_another():
    assert bounds.perceptron_mistakes(3.0, 2.0) == pytest.approx(bounds.separable_mistakes(3.0, 2.0))
    assert bounds.pa_squares(3.0, 2.0) == bounds.separable_mistakes(3.0, 2.0)
    assert bounds.pnorm_mistakes(3.0, 2.0, p=2) == bounds.separable_mistakes(3.0, 2.0)
    assert bounds.margin_perceptron_updates(3.0, 2.0, margin=0.0, lr=1.0) == bounds.separable_mistakes(3.0, 2.0)
    assert bounds.randomized_sampler_mistakes(3.0, 2.0, b=4.5) == bounds.separable_mistakes(3.0, 2.0)
    eta = math.sqrt(8 * math.log(7) / 90)
    assert bounds.hedge_regret(7, 90, eta) == pytest.approx(bounds.hedge_regret(7, 90))
    # The regret of OA's slide, sqrt(T ln N), is twice the square of the right one.
    assert bounds.hedge_regret(7, 90) < math.sqrt(90 * math.log(7))


@pytest.mark.parametrize(
    ("function", "given", "name"),
    [
        ("margin_perceptron_updates", (1.0, 2.0, 1.0, 0.0), "lr"), ("pnorm_mistakes", (1.0, 2.0, 0.5), "p"),
        ("pa1_mistakes", (1.0, 2.0, 1.0, -1.0), "C"), ("pa2_squares", (1.0, 2.0, 1.0, 0.0), "C"),
        ("adaline_squares", (1.0, 2.0, 1.0, -1.0), "lr"), ("gradient_regret", (2.0, 1.0, -1.0), "lr"),
        ("projected_gradient_regret", (1.0, 2.0, 0.0, 9), "lr"), ("pegasos_regret", (1.0, 0.0, 9), "lam"),
        ("alma_updates", (0.0, 0.5), "margin"), ("alma_updates", (0.5, 0.0), "alpha"),
        ("second_order_mistakes", (1.0, 2.0, 3.0, [1.0], 0.0), "a"),
        ("randomized_sampler_mistakes", (1.0, 2.0, 0.0), "b"), ("consistent_mistakes", (0,), "concepts"),
        ("halving_mistakes", (-5,), "concepts"), ("halving_mistakes", (8.0,), "concepts"),
        ("pac_sample_size", (3, 0.0, 0.1), "epsilon"), ("pac_sample_size", (3, 0.1, 100), "delta"),
        ("hedge_regret", (4, 9, -1.0), "eta"), ("hedge_regret", (0, 9), "experts"),
        ("hedge_anytime_regret", (0, 9), "experts"), ("hedge_loss", (4, 3.0, 0.0), "eta"),
    ],
)  # fmt: skip
def test_a_parameter_that_no_learner_has_is_refused(function, given, name):
    """Not answered with a number below 0, or with an error of the arithmetic."""
    with pytest.raises(ValueError, match=f"`{name}` must be"):
        getattr(bounds, function)(*given)


def test_numbers_of_numpy_are_taken():
    assert [bounds.halving_mistakes(count) for count in 2 ** np.arange(4)] == [0, 1, 2, 3]
    rates = np.array([0.5, 2.0])
    assert bounds.hedge_regret(1, 16, rates).tolist() == [1.0, 4.0]  # eta·rounds/8, as for a plot
    with pytest.raises(ValueError, match="`eta` must be above 0"):
        bounds.hedge_regret(1, 16, rates - 1.0)


class Frozen(rm.Rule):
    """Never moves."""

    _parameter_names = ()

    def step(self, seen):
        return 0.0


class Backwards(rm.Rule):
    """Moves the wrong way."""

    _parameter_names = ()

    def step(self, seen):
        return -1.0 if seen.margin <= 0.0 else 0.0


SEPARABLE = [
    bounds.perceptron_mistakes(1.0, math.sqrt(2)),
    bounds.separable_mistakes(1.0, math.sqrt(2)),
    bounds.margin_perceptron_updates(1.0, math.sqrt(2), margin=1.0, lr=1.0),
    bounds.pa1_mistakes(1.0, math.sqrt(2), 0.0, C=1.0),
    bounds.pa2_squares(1.0, math.sqrt(2), 0.0, C=1.0),
    bounds.second_order_mistakes(math.sqrt(2), 0.0, 30.0, [30.0, 30.0], a=1.0),
    bounds.shifting_perceptron_mistakes(1.0, math.sqrt(2), 0.0, 0.0, lam=2.0),
    bounds.ellipsoid_mistakes(2, math.sqrt(2)),
    bounds.center_of_gravity_mistakes(2, math.sqrt(2)),
    bounds.winnow_mistakes(2, theta=1.0, beta=1.5, total=1.0, gap=1.0),
]


@pytest.mark.parametrize("most", SEPARABLE)
@pytest.mark.parametrize("rule", [Frozen(), Backwards()])
def test_a_bound_finds_who_does_not_learn(most, rule):
    """Two examples of length 1 in turn, which u = (1, -1) separates with margin 1."""
    model, perceptron = (rm.MarginClassifier(each, intercept=False) for each in (rule, rm.PerceptronRule()))
    for _ in range(30):
        for feature, label in (("a", True), ("b", False)):
            model.learn_one({feature: 1.0}, label)
            perceptron.learn_one({feature: 1.0}, label)
    assert perceptron.n_mistakes <= most < model.n_mistakes == 60


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bounds.adaline_squares(2.0, 1.0, 0.0, lr=0.25), "`lr` must be below"),
        (lambda: bounds.randomized_budget_mistakes(2.0, 0.0, budget=4), "`size` must be below"),
        (lambda: bounds.forgetron_mistakes(1.0, 0.0, budget=82), "`budget` must be at least 83"),
        (lambda: bounds.forgetron_mistakes(9.0, 0.0, budget=100), "`size` at most"),
        (lambda: bounds.projectron_mistakes(2.0, 0.0, eta=0.5), "`size` must be below"),
        (lambda: bounds.projectron_plus_plus_mistakes(1.0, 0.0, eta=0.5), "`size` must be below"),
        (lambda: bounds.winnow_mistakes(2, 1.0, 2.0, 1.0, gap=0.5), "`beta` must be"),
        (lambda: bounds.winnow_promotions(4, 2.0, 2.0, 1.0, gap=0.4), "`beta` must be"),
        (lambda: bounds.winnow_mistakes(4, 2.0, 1.0, 1.0, gap=0.4), "`beta` must be"),
        (lambda: bounds.shifting_perceptron_mistakes(1.0, 0.01, 0.0, 3.98, lam=0.55), "`lam` must be at least 1"),
        (lambda: risk.average_risk(1, 10, 0.0), "`delta`"),
        (lambda: risk.average_risk(11, 10, 0.1), "`mistakes` must be from 0 to the 10 rounds, not 11"),
        (lambda: risk.average_risk_of_few_errors(-1, 10, 0.1), "`mistakes`"),
        (lambda: risk.selected_risk(0, 0, 0.1), "`rounds` must be a whole number of at least 1, not 0"),
        (lambda: risk.azuma_tail(-1.0, 10), "`excess`"),
    ],
)
def test_where_a_statement_does_not_hold_it_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
