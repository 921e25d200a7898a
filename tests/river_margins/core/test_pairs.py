"""Which rules suit which spaces and tasks: all pairs, against the table as the papers have it."""

import itertools

import pytest

import river_margins as rm
from river_margins import rules, spaces
from tests.helpers.cases import case

PLAIN = {"Linear", "AveragedLinear", "Kernel", "RandomFourier"}
GAUSSIAN = {"Diagonal", "Full"}
CLASSES = {"classification"}
ALL = {"classification", "regression"}
SUITS = {
    "ALMARule": (PLAIN | {"PNorm"}, CLASSES),
    "AROWRule": (GAUSSIAN, ALL),
    "CWRule": (GAUSSIAN, CLASSES),
    "CWVarianceRule": (GAUSSIAN, CLASSES),
    "CoinBettingRule": ({"CoinBetting"}, ALL),
    "FOBOSRule": ({"SoftThreshold"}, ALL),
    "GradientDescent": (PLAIN, ALL),
    "IELLIPRule": (GAUSSIAN, CLASSES),
    "LeastMeanSquares": (PLAIN, ALL),
    "MarginPerceptronRule": (PLAIN, CLASSES),
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
    "ShiftingPerceptronRule": (PLAIN | {"PNorm"}, CLASSES),
    "Subgradient": ({"AdaptiveThreshold", "DualAveraging", "ProximalLeader"}, ALL),
    "SupportClassPA": (PLAIN, CLASSES),
}
RULES = {name: getattr(rules, name) for name in rules.__all__ if name not in {"Rule", "Seen", "Step"}}
ESTIMATORS = {"classification": rm.MarginClassifier, "regression": rm.MarginRegressor}


def test_the_table_has_every_rule():
    assert set(SUITS) == set(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_a_pair_works_or_is_refused_with_what_to_use(rule):
    for space, task in itertools.product(spaces.__all__, ESTIMATORS):
        with case(f"{space}, {task}"):
            works_or_is_refused(rule, space, task)


def works_or_is_refused(rule, space, task):
    suiting, tasks = SUITS[rule]
    recipe = RULES[rule]("hinge") if rule == "CoinBettingRule" else RULES[rule]()  # its default is for classes only
    where, estimator = getattr(spaces, space)(), ESTIMATORS[task]
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


# ------------------------------------------------------------------------- rules and spaces that the table lacks


def test_a_space_that_offers_more_suits_more_rules_and_no_rule_changes():
    class Mine(rm.Linear):  # a subclass that makes its claims again, as a new space does
        offers = frozenset({"plain steps"})

    rm.MarginClassifier(rm.PerceptronRule(), Mine()).learn_one({"a": 1.0}, True)
    with pytest.raises(ValueError, match=r"`PA1.*`Mine\(\)`, which offers no inner product: use `Linear\(\)` or "):
        rm.MarginClassifier(rm.PA1(), Mine())


def test_a_rule_that_needs_something_new_is_refused_by_every_space():
    class New(rm.Rule):
        needs = frozenset({"covariances"})

        def step(self, seen):
            return 1.0

    with pytest.raises(ValueError, match=r"`New\.needs` has 'covariances', which is unknown: write 'covariance'"):
        rm.MarginClassifier(New())


def test_a_rule_may_need_what_no_one_space_offers():
    class Greedy(rm.Rule):
        needs = frozenset({"covariance", "soft threshold"})

    with pytest.raises(ValueError, match=r"no space offers all that `Greedy\(\)` needs: covariance, soft threshold"):
        rm.MarginClassifier(Greedy())


@pytest.mark.parametrize(
    ("attribute", "value", "error", "words"),
    [
        ("spaces", ("diagonal",), ValueError, r"`Mine\.spaces` has 'diagonal', which is unknown: write 'Diagonal'"),
        ("spaces", ("Anything else",), ValueError, r"unknown: choose from .*'Linear'"),
        ("spaces", "Diagonal", TypeError, r"`Mine\.spaces` must be a tuple: write spaces = \('Diagonal',\)"),
        ("needs", "covariance", TypeError, r"`Mine\.needs` must be a set of words: write needs = \{'covariance'\}"),
        ("tasks", ("Classification",), ValueError, r"`Mine\.tasks` has 'Classification', .* write 'classification'"),
        ("tasks", "multilabel", TypeError, r"`Mine\.tasks` must be a tuple: write tasks = \('multilabel',\)"),
        ("_parameter_names", "C", TypeError, r"must be a tuple: write _parameter_names = \('C',\)"),
    ],
)
def test_a_rule_that_describes_itself_wrongly_is_told_what_to_write(attribute, value, error, words):
    Mine = type("Mine", (rm.Rule,), {attribute: value, "step": lambda self, seen: 0.0})
    with pytest.raises(error, match=words):
        rm.MarginClassifier(Mine())


def test_parameters_that_a_rule_does_not_name_are_refused():
    class Mine(rm.Rule):
        def __init__(self, lr=1.0, margin=0.5):
            self.lr, self.margin = lr, margin

    with pytest.raises(TypeError, match=r"the parameter `lr`.* write _parameter_names = \('lr', 'margin'\)"):
        rm.MarginClassifier(Mine())


def test_parameters_that_a_rule_does_not_keep_are_refused():
    class Mine(rm.Rule):
        _parameter_names = ("lr",)

        def __init__(self, lr=1.0):
            self.rate = lr

    Mine._parameter_names = ("lr", "b")
    with pytest.raises(
        TypeError, match=r"`Mine` has no parameter `b`, .*: write _parameter_names = \('lr',\) in the class"
    ):
        rm.MarginClassifier(Mine())
    Mine._parameter_names = ("lr",)
    with pytest.raises(TypeError, match=r"`Mine` does not keep its parameter `lr`: write self\.lr = lr in `__init__`"):
        rm.MarginClassifier(Mine())


@pytest.mark.parametrize("answer", [None, "1.0", [1.0]])
def test_a_step_that_is_no_number_is_refused(answer):
    class Mine(rm.Rule):
        def step(self, seen):
            return answer

    model = rm.MarginClassifier(Mine())
    with pytest.raises(TypeError, match=r"`Mine\.step` returned .*: return a number or a Step; 0\.0 leaves"):
        model.learn_one({"a": 1.0}, True)
    assert (model.n_seen, model.score_one({"a": 1.0})) == (0, {})


@pytest.mark.parametrize("space", spaces.__all__)
def test_every_space_offers_something_that_a_rule_needs(space):
    needed = set().union(*(rule.needs for rule in RULES.values()))
    assert set() < getattr(spaces, space).offers <= needed


@pytest.mark.parametrize("rule", RULES)
def test_no_rule_of_the_library_names_a_space(rule):
    assert RULES[rule].spaces is None


@pytest.mark.parametrize("rule", [rm.LeastMeanSquares(0.5), rm.GradientDescent(loss="squared"), rm.PA1()], ids=repr)
def test_an_error_of_at_most_eps_causes_no_update(rule):
    model = rm.MarginRegressor(rule, eps=0.1, intercept=False)
    for y in (0.0, 0.05, -0.05):
        model.learn_one({"a": 1.0}, y)
    assert (model.predict_one({"a": 1.0}), model.n_updates, model.n_mistakes) == (0.0, 0, 0)


@pytest.mark.parametrize(
    ("rule", "space"), [(rm.CoinBettingRule(), rm.CoinBetting(None)), (rm.GradientDescent(loss="logistic"), None)]
)
def test_a_loss_for_classes_is_refused_for_numbers(rule, space):
    with pytest.raises(ValueError, match="loss for two classes"):
        rm.MarginRegressor(rule, space)


@pytest.mark.parametrize("rule", [rm.SupportClassPA(), rm.MIRARule(best=2), rm.OriginalMIRARule()], ids=repr)
def test_a_rule_with_a_step_for_each_class_takes_no_rivals(rule):
    with pytest.raises(ValueError, match="finds a step for each class itself"):
        rm.MarginClassifier(rule, rivals="uniform")
    model = rm.MarginClassifier(rm.PA1(), rivals="proportional")
    with pytest.raises(ValueError, match="finds a step for each class itself"):
        model.mutate({"rule": rule})
    assert model.rule == rm.PA1()


def test_parameters_that_a_compiled_rule_or_space_does_not_name_are_refused():
    class Mine(rm.PA1):  # its constructor is compiled
        _parameter_names = ()

    class Space(rm.Kernel):
        _parameter_names = ("kernel",)

    with pytest.raises(TypeError, match=r"`Mine` has the parameter `C`.* write _parameter_names = \('C',\)"):
        rm.MarginClassifier(Mine(C=0.01))
    with pytest.raises(
        TypeError, match=r"`Space` has the parameter `budget`.*_parameter_names = \('kernel', 'budget'\)"
    ):
        rm.MarginClassifier(rm.PA1(), Space())
