"""What is private to River and used all the same: there, as it is used, and nowhere but where it is listed."""

import importlib
import importlib.metadata
import inspect
import re

import pytest
from river import active, base, checks, compose, preprocessing, stats, utils

import river_margins as rm
from river_margins import river_internals
from river_margins.river_internals import TRIED_VERSIONS, USES
from tests.helpers.paths import ROOT

INSTALLED = importlib.metadata.version("river")
SOURCES = [
    path
    for folder in ("river_margins", "connectors")
    for path in sorted((ROOT / folder).rglob("*.py*"))
    if path.suffix in (".py", ".pyx")
]
MADE = {
    "preprocessing.OneHotEncoder": preprocessing.OneHotEncoder,
    "preprocessing.FeatureHasher": preprocessing.FeatureHasher,
    "preprocessing.PreviousImputer": preprocessing.PreviousImputer,
    "preprocessing.OrdinalEncoder": preprocessing.OrdinalEncoder,
    "stats.Mean": stats.Mean,
    "stats.Var": stats.Var,
    "utils.Rolling": lambda: utils.Rolling(stats.Mean, window_size=3),
    "compose.Pipeline": lambda: planned(compose.Select("a"), rm.Perceptron()),
}


def planned(*steps):
    """A pipeline that has its plan."""
    pipeline = compose.Pipeline(*steps)
    pipeline._build_plan()
    return pipeline


def broken(name):
    use = USES[name]
    return (
        f"River {INSTALLED} has changed `{use.owner}.{name}` (tried with {', '.join(TRIED_VERSIONS)}), which "
        f"{' and '.join(use.where)} use: {use.why}"
    )


def private_names():
    """Those of the classes of River that this library derives from or works with, by what has them."""
    kinds = {kind for kind in vars(base).values() if isinstance(kind, type)}
    kinds |= {active.base.ActiveLearningClassifier, compose.Pipeline, compose.TransformerUnion}
    found = {name for kind in kinds for above in kind.__mro__ if is_rivers(above) for name in vars(above)}
    found |= set(vars(planned(rm.Perceptron())))
    return {name for name in found if re.match(r"_[^_]", name) and not name.startswith("_abc")}


def is_rivers(kind):
    return kind.__module__.partition(".")[0] == "river"


@pytest.mark.parametrize("name", USES)
def test_the_name_is_there(name):
    owner = USES[name].owner
    module, _, kind = owner.rpartition(".")
    thing = MADE[owner]() if owner in MADE else getattr(importlib.import_module(f"river.{module}"), kind)
    assert hasattr(thing, name), broken(name)


@pytest.mark.parametrize("name", USES)
def test_each_use_is_where_the_table_says(name):
    users = [path.relative_to(ROOT).as_posix() for path in SOURCES if re.search(rf"\b{name}\b", path.read_text())]
    for place in USES[name].where:
        if place != "river_margins/river_internals.py":
            assert any(user.startswith(place) for user in users), f"`{name}` is not used in {place} any more"


def test_no_other_private_name_is_used():
    names = private_names()
    assert len(names) > 20, "private names of River cannot be found any more"
    for path in SOURCES:
        place, text = path.relative_to(ROOT).as_posix(), path.read_text()
        if place == "river_margins/river_internals.py":
            continue
        for name in names:
            if re.search(rf"\b{name}\b", text):
                where = USES[name].where if name in USES else ()
                assert place.startswith(where), (
                    f"{place} uses `{name}` of River: list it in river_margins/river_internals.py"
                )


def test_parameters():
    assert river_internals.parameters(rm.PAClassifier(C=0.5))["C"] == 0.5, broken("_get_params")
    assert river_internals.parameters(preprocessing.StandardScaler(with_std=False))["with_std"] is False, broken(
        "_get_params"
    )


def test_draws_at_random():
    found = [river_internals.draws_at_random(preprocessing.FeatureHasher(seed=seed)) for seed in (None, 1)]
    assert found == [True, False], broken("_is_stochastic")


def test_mutate_asks_for_the_names_that_may_change():
    class Learner(base.Classifier):
        def __init__(self):
            self.rate, self.size = 1, 1

        @property
        def _mutable_attributes(self):
            return {"rate"}

        def learn_one(self, x, y):
            pass

        def predict_proba_one(self, x):
            return {}

    learner = Learner()
    learner.mutate({"rate": 2})
    assert learner.rate == 2, broken("_mutable_attributes")
    with pytest.raises(ValueError):
        learner.mutate({"size": 2})


@pytest.mark.parametrize("name", ["_multiclass", "_more_tags", "_unit_test_params"])
def test_the_checks_of_river_read_what_is_overridden(name):
    readers = [checks, base.classifier, base.estimator, base.wrapper, checks.clf, checks.common, checks.utils]
    text = "".join(inspect.getsource(module) for module in readers if inspect.ismodule(module))
    text += inspect.getsource(importlib.import_module("river.checks"))
    assert re.search(rf"\.{name}\b", text), broken(name)


def test_a_sampler_is_asked_by_its_abstract_method():
    abstract = active.base.ActiveLearningClassifier.__abstractmethods__
    assert "_ask_for_label" in abstract, broken("_ask_for_label")


def test_the_plan_of_a_pipeline():
    scaler, union, learner = rm.StandardScaler(), compose.Select("a") + compose.Select("b"), rm.Perceptron()
    pipeline = compose.Pipeline(scaler, union, learner)
    assert pipeline._plan is None, broken("_plan")
    plan = pipeline._build_plan()
    assert plan is pipeline._plan, broken("_build_plan")
    assert [(item[0], item[1]) for item in plan] == [("transformer", scaler), ("union", union), ("final", learner)]
    assert (plan[0][2], plan[2][2]) == (False, True), "whether a step is supervised is not third in `_plan`"
    longer = compose.Pipeline(scaler)
    longer._build_plan()
    longer |= learner
    assert longer._plan is None, "a step is added and the old `_plan` is kept"


def test_learning_during_prediction_is_seen():
    pipeline = compose.Pipeline(rm.Perceptron())
    before = pipeline._LEARN_UNSUPERVISED_DURING_PREDICT
    with compose.learn_during_predict():
        during = pipeline._LEARN_UNSUPERVISED_DURING_PREDICT
    assert (before, during) == (False, True), broken("_LEARN_UNSUPERVISED_DURING_PREDICT")
