"""Rules as parts of a learner: recipes, and rules that a user writes in Python."""

import math

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
