"""The mixture of models: worked rounds, the log loss against the best model, and good manners."""

import json
import math
import pickle

import numpy as np
import pytest

import river_margins as rm
from river_margins import snapshot
from tests.helpers.cases import case
from tests.helpers.paths import ROOT
from tests.helpers.rounds import stream

GOLDEN = {each["id"]: each for each in json.loads((ROOT / "tests/golden/adaptation.json").read_text())}


def near(value):
    return pytest.approx(value, abs=1e-9, rel=1e-9)


def with_chances(kind, chances, delta=1.0):
    """A mixture whose model m gives label 1 the probability chances[t][m] in round t, for the example {t: 1}."""
    count = len(chances[0])
    model = kind(rm.LogLinearClassifier(classes=[0, 1], intercept=False), count, delta=delta)
    logits = np.log(chances) - np.log1p(-np.array(chances))
    # The trained model is not uncertain about 1: it is moved by a joint feature that all have.
    for t, row in enumerate(logits):
        model.model._rows.add([(t, 1)], np.array([[row[0]]]))
    names = [(t, 1) for t in range(len(chances))] + [(t, 0) for t in range(len(chances))]
    drawn = np.vstack([logits[:, 1:] - logits[:, :1], np.zeros((len(chances), count - 1))])
    model.__setstate__(model.__getstate__() | {"drawn": {"names": names, "values": drawn}})
    return model


@pytest.mark.lecture("bayes")
def test_the_worked_rounds():
    golden = GOLDEN["bayes_mixture"]
    model = with_chances(rm.BayesMixture, [each["model_probabilities"] for each in golden["rounds"]])
    assert model.model_weights == near(golden["initial_state"]["posterior"])
    for t, expected in enumerate(golden["rounds"]):
        with case(t):
            found = model.predict_proba_one({t: 1.0})
            assert found[1] == near(expected["mixture"])
            assert -math.log(found[expected["y"]]) == near(expected["log_loss"])
            model.learn_one({t: 1.0}, expected["y"])
            assert model.model_weights == near(expected["after"]["posterior"])


def test_delta_is_the_exponent_of_the_evidence():
    chances = np.random.default_rng(0).uniform(0.1, 0.9, size=(5, 3))
    model = with_chances(rm.BayesMixture, chances.tolist(), delta=0.4)
    for t in range(5):
        model.learn_one({t: 1.0}, t % 2)
    evidence = np.prod([row if t % 2 else 1 - row for t, row in enumerate(chances)], axis=0) ** 0.4
    assert model.model_weights == near((evidence / evidence.sum()).tolist())


class Frozen(rm.BayesMixture):
    def learn_one(self, x, y):
        pass


class Halved(rm.BayesMixture):
    def learn_one(self, x, y):
        before = self._evidence
        super().learn_one(x, y)
        vars(self)["_evidence"] = before + (self._evidence - before) / 2


class Random(rm.BayesMixture):
    def learn_one(self, x, y):
        super().learn_one(x, y)
        vars(self)["_evidence"] = 3 * np.random.default_rng(self.n_seen).normal(size=self.M)


def regret(kind, name, delta=1.0):
    """The log loss of the mixture less that of the best model."""
    draw = np.random.default_rng(0)
    chances = CHANCES[name](draw)
    model, losses, best = with_chances(kind, chances, delta), 0.0, np.zeros(len(chances[0]))
    for t, row in enumerate(chances):
        found = model.predict_proba_one({t: 1.0})
        y = LABELS[name](draw, found, t)
        losses -= math.log(found[y])
        best -= np.log(row if y else 1 - row)
        model.learn_one({t: 1.0}, y)
    return losses - best.min()


CHANCES = {
    "one is right": lambda draw: np.tile([0.1, 0.1, 0.9, 0.1], (60, 1)),
    "noise": lambda draw: draw.uniform(0.02, 0.98, size=(60, 4)),
    "against the mixture": lambda draw: draw.uniform(0.02, 0.98, size=(60, 4)),
    "two take turns": lambda draw: np.tile([0.01, 0.99, 0.5, 0.4], (60, 1)),
}
LABELS = {
    "one is right": lambda draw, found, t: 1,
    "noise": lambda draw, found, t: int(draw.integers(2)),
    "against the mixture": lambda draw, found, t: min(found, key=found.get),
    "two take turns": lambda draw, found, t: t // 5 % 2,
}


@pytest.mark.lecture("bayes")
@pytest.mark.parametrize("name", CHANCES)
@pytest.mark.parametrize("delta", [1.0, 0.5])
def test_the_log_loss_is_within_the_logarithm_of_the_number_of_models_over_delta(name, delta):
    assert regret(rm.BayesMixture, name, delta) <= math.log(4) / delta + 1e-9


@pytest.mark.parametrize("kind", [Frozen, Halved, Random])
def test_the_bound_is_broken_by_other_weights(kind):
    assert regret(kind, "one is right") > math.log(4) + 0.1


def trained(rounds=60):
    model = rm.LogLinearClassifier(0.3)
    for x, y in stream(rounds=rounds, labels="ab"):
        model.learn_one(x, y)
    return model


def test_the_first_model_is_the_trained_one_and_the_others_are_drawn_around_it():
    model = trained()
    x = {"f1": 0.4, "f2": -1.0, "new": 2.0}
    assert rm.BayesMixture(model, 1).predict_proba_one(x) == near(model.predict_proba_one(x))
    assert rm.BayesMixture(model, 20, sigma=0.0).predict_proba_one(x) == near(model.predict_proba_one(x))
    mixture = rm.BayesMixture(model, 2001, sigma=0.3)
    mixture.learn_one({"f1": 1.0}, "a")
    drawn = mixture._drawn.values
    assert abs(drawn.mean()) < 0.02 and drawn.std() == pytest.approx(0.3, rel=0.03)
    assert abs(np.corrcoef(drawn)[0, 1]) < 0.1


def test_what_was_drawn_depends_on_the_names_only():
    """Predictions of features that nobody has learned are those of the models that learn them."""
    one, other = rm.BayesMixture(trained(), sigma=1.0), rm.BayesMixture(trained(), sigma=1.0)
    x = {"f1": 0.4, "new": 2.0, "newer": -1.0}
    before = one.predict_proba_one(x)
    one._deviations([("new", "a")])
    other.learn_one({"newer": 0.0, "new": 0.0}, "a")
    reset = other.__getstate__() | {"evidence": np.zeros(50)}
    other.__setstate__(reset)
    assert other.predict_proba_one(x) == near(before)


def test_the_trained_model_stays_as_it_is():
    model = trained()
    before = pickle.dumps(model)
    mixture = rm.BayesMixture(model)
    for x, y in stream(rounds=20, labels="abc"):
        mixture.learn_one(x, y)
    assert pickle.dumps(model) == before == pickle.dumps(mixture.model)
    assert set(mixture.predict_proba_one({})) == {"a", "b", "c"}


def test_copies_go_on_bit_for_bit():
    model = rm.BayesMixture(trained(), 5)
    rounds = list(stream(rounds=40, labels="ab"))
    for x, y in rounds[:20]:
        model.learn_one(x, y)
    twins = [snapshot.loads(snapshot.dumps(model)), model.clone(include_attributes=True)]
    twins.append(pickle.loads(pickle.dumps(model)))
    for x, y in rounds[20:]:
        for each in (model, *twins):
            each.learn_one(x | {"late": 1.0}, y)
    assert {snapshot.dumps(each) for each in twins} == {snapshot.dumps(model)}
    assert model.clone().predict_proba_one(x) == near(rm.BayesMixture(trained(), 5).predict_proba_one(x))


def test_what_is_refused_changes_nothing():
    model = rm.BayesMixture(trained(), 3)
    before = pickle.dumps(model)
    for x, y in (({"new": math.nan}, "a"), ({"new": 1.0}, None), ({"new": 1.0}, True)):
        with pytest.raises(ValueError):
            model.learn_one(x, y)
        assert pickle.dumps(model) == before
    steep = rm.LogLinearClassifier()
    steep.learn_one({"a": 1e5}, True)
    model = rm.BayesMixture(steep)
    before = pickle.dumps(model)
    with pytest.raises(OverflowError, match="the score of this example is beyond floating point"):
        model.learn_one({"a": 1e306}, True)
    assert pickle.dumps(model) == before
    with pytest.raises(TypeError, match="`model` must be a LogLinearClassifier, not a PAClassifier"):
        rm.BayesMixture(rm.PAClassifier())
    with pytest.raises(TypeError, match="not a Pipeline"):
        rm.BayesMixture(rm.StandardScaler() | trained())
    for parameters in ({"M": 0}, {"sigma": -1.0}, {"delta": 0.0}, {"delta": 2.0}, {"seed": -1}):
        (name,) = parameters
        with pytest.raises(ValueError, match=f"`{name}`"):
            rm.BayesMixture(trained(5), **parameters)
