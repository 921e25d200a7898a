"""Which rules suit which spaces and tasks: all pairs, against the table as the papers have it."""

import pytest

import river_margins as rm
from river_margins import rules, spaces

PLAIN = {"Linear", "AveragedLinear", "Kernel", "RandomFourier"}
GAUSSIAN = {"Diagonal", "Full"}
CLASSES = {"classification"}
ALL = {"classification", "regression"}
SUITS = {
    "ALMARule": (PLAIN | {"PNorm"}, CLASSES),
    "AROWRule": (GAUSSIAN, ALL),
    "CWRule": (GAUSSIAN, CLASSES),
    "CWVarianceRule": (GAUSSIAN, CLASSES),
    "FOBOSRule": ({"SoftThreshold"}, ALL),
    "GradientDescent": (PLAIN, ALL),
    "IELLIPRule": (GAUSSIAN, CLASSES),
    "LeastMeanSquares": (PLAIN, ALL),
    "NAROWRule": (GAUSSIAN, CLASSES),
    "NHERDRule": (GAUSSIAN, CLASSES),
    "NORMARule": (PLAIN, ALL),
    "MIRARule": (PLAIN, CLASSES),
    "OriginalMIRARule": (PLAIN, CLASSES),
    "PA": (PLAIN, ALL),
    "PA1": (PLAIN, ALL),
    "PA2": (PLAIN, ALL),
    "PegasosRule": (PLAIN, ALL),
    "PerceptronRule": (PLAIN | {"VotedLinear", "PocketLinear", "PNorm", "Multiplicative"}, CLASSES),
    "ROMMARule": (PLAIN, CLASSES),
    "SCW1Rule": (GAUSSIAN, CLASSES),
    "SCW2Rule": (GAUSSIAN, CLASSES),
    "SecondOrderPerceptronRule": (GAUSSIAN | {"SecondOrderKernel"}, CLASSES),
    "Subgradient": ({"AdaptiveThreshold", "DualAveraging", "ProximalLeader"}, ALL),
    "SupportClassPA": (PLAIN, CLASSES),
}
RULES = {name: getattr(rules, name) for name in rules.__all__ if name not in {"Rule", "Seen", "Step"}}
ESTIMATORS = {"classification": rm.MarginClassifier, "regression": rm.MarginRegressor}


def test_the_table_has_every_rule():
    assert set(SUITS) == set(RULES)


@pytest.mark.parametrize("task", ESTIMATORS)
@pytest.mark.parametrize("space", spaces.__all__)
@pytest.mark.parametrize("rule", RULES)
def test_a_pair_works_or_is_refused_with_what_to_use(rule, space, task):
    suiting, tasks = SUITS[rule]
    recipe, where, estimator = RULES[rule](), getattr(spaces, space)(), ESTIMATORS[task]
    if space in suiting and task in tasks:
        estimator(recipe, where).learn_one({"a": 1.0}, True)
        return
    with pytest.raises(ValueError) as refused:
        estimator(recipe, where)
    message = str(refused.value)
    _, _, advice = message.partition(": use ")
    assert repr(recipe) in message
    if space not in suiting:
        assert repr(where) in message
        advised = [name for name in spaces.__all__ if f"`{name}()`" in advice]
        assert advised and set(advised) <= suiting
    else:
        assert f"`{estimator.__name__}` does {task}" in message
        advised = [name for name in RULES if f"`{name}()`" in advice]
        where = {space, *(name for name in spaces.__all__ if f"in `{name}()`" in message)}
        assert advised and all(task in SUITS[name][1] and where & SUITS[name][0] for name in advised)


def test_a_rule_cannot_be_exchanged_for_one_that_does_not_suit():
    model = rm.MarginRegressor(rm.PA())
    with pytest.raises(ValueError, match=r"`PerceptronRule.* use `PA1"):
        model.mutate({"rule": rm.PerceptronRule()})
    assert model.rule == rm.PA()


class Sure(rm.Rule):
    def step(self, seen):
        return rm.Step(1.0, shrink=0.5)


def test_a_rule_of_a_user_is_told_that_plain_weights_have_no_covariance():
    model = rm.MarginClassifier(Sure())
    with pytest.raises(ValueError, match=r"shrink=0\.5.* has no covariance .* spaces = \(\"Diagonal\", \"Full\"\)"):
        model.learn_one({"a": 1.0}, True)
    assert model.n_seen == 0
