"""Rules as parts of a learner: recipes, and rules that a user writes in Python."""

import copy
import math
import pickle

import pytest

import river_margins as rm


def test_a_recipe_is_shared_without_being_changed():
    rule, space = rm.PA1(C=0.5), rm.Linear()
    first, second = rm.MarginClassifier(rule, space), rm.MarginClassifier(rule, space)
    first.learn_one({"a": 1.0}, True)
    assert second.score_one({"a": 1.0}) == {}
    assert (rule, space) == (rm.PA1(C=0.5), rm.Linear())


def test_a_rule_without_a_step_says_so():
    with pytest.raises(TypeError, match="must be a rule"):
        rm.MarginClassifier(rm.Rule())

    class Empty(rm.Rule):
        pass

    with pytest.raises(TypeError, match="`Empty` has no method `step"):
        rm.MarginClassifier(Empty()).learn_one({"a": 1.0}, True)


def test_a_subclass_of_a_compiled_rule_may_override_it_in_python():
    class Half(rm.PA):
        def step(self, seen):
            return super().step(seen).step / 2

    model = rm.MarginClassifier(Half(), intercept=False)
    model.learn_one({"a": 1.0}, True)
    assert dict(model.weights) == {"a": 0.5}


def test_a_rule_that_answers_nan_is_stopped():
    class Broken(rm.Rule):
        def step(self, seen):
            return math.nan

    model = rm.MarginClassifier(Broken())
    with pytest.raises(OverflowError, match="step nan"):
        model.learn_one({"a": 1.0}, True)
    assert model.n_seen == 0


@pytest.mark.parametrize(
    ("kind", "space"),
    [(rm.FOBOSRule, rm.SoftThreshold), (rm.Subgradient, rm.AdaptiveThreshold), (rm.Subgradient, rm.DualAveraging)],
)
def test_what_a_subclass_passes_on_keeps_its_threshold(kind, space):
    class Same(kind):
        def step(self, seen):
            return super().step(seen)

    plain, same = (rm.MarginClassifier(rule(lam=0.5), space(), intercept=False) for rule in (kind, Same))
    for model in (plain, same):
        model.learn_one({"a": 1.0, "b": 0.25}, True)
        model.learn_one({"a": -1.0, "b": 0.5}, False)
    assert dict(same.weights) == dict(plain.weights)


@pytest.mark.parametrize("kind", [rm.SupportClassPA, rm.MIRARule, rm.OriginalMIRARule])
def test_the_step_of_a_subclass_counts_with_many_classes_too(kind):
    class Never(kind):
        def step(self, seen):
            return 0.0

    model = rm.MarginClassifier(Never(), classes=["a", "b", "c"])
    model.learn_one({"x": 1.0}, "a")
    assert (model.n_seen, model.n_updates) == (1, 0)


@pytest.mark.parametrize("radius", [-1.0, math.nan])
def test_a_radius_is_a_length(radius):
    class Bad(rm.Rule):
        def step(self, seen):
            return rm.Step(step=1.0, radius=radius)

    model = rm.MarginClassifier(Bad())
    with pytest.raises(ValueError, match="`radius` is a length, at least 0"):
        model.learn_one({"a": 1.0}, True)
    assert model.n_seen == 0


def test_an_author_is_told_of_weights_and_of_the_form_of_needs():
    class Own(rm.Rule):
        def step(self, seen):
            return rm.Step(step=1.0)

    with pytest.raises(ValueError, match="write weighted = True in its class"):
        rm.MarginClassifier(Own()).learn_one({"a": 1.0}, True, w=2.0)
    Own.needs = ["covariance"]
    with pytest.raises(TypeError, match=r"write needs = \{'covariance'\}"):
        rm.MarginClassifier(Own())


class Chosen(rm.Rule):
    _parameter_names = ("kind",)

    def __init__(self, kind="half"):
        self.kind, self.width = kind, 0.25
        self.answer = self.half if kind == "half" else self.full

    def half(self, seen):
        return self.width

    def full(self, seen):
        return 2.0 * self.width

    def step(self, seen):
        return self.answer(seen)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda rule: pickle.loads(pickle.dumps(rule))])
def test_a_rule_that_refers_to_itself_is_copied(copied):
    rule = Chosen()
    rule.itself = rule
    twin = copied(rule)
    assert twin.itself is twin and twin.answer.__self__ is twin and vars(twin).keys() == vars(rule).keys()
    model = rm.MarginClassifier(Chosen(), intercept=False)
    model.rule.width = 1.0
    model.learn_one({"a": 1.0}, True)
    assert model.score_one({"a": 1.0}) == 1.0
