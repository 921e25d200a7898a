"""One step per example: AdaGrad and AdaDelta as their papers have them, on models of this library and of PyTorch."""

import copy
import decimal
import math
import pickle
import sys

import numpy as np
import pytest

import river_margins as rm
from river_margins import snapshot
from tests.helpers.cases import case
from tests.helpers.rounds import stream


def near(value):
    return pytest.approx(value, abs=1e-9, rel=1e-9)


def by_formula(optimizer, rounds, lr, n_steps):
    """Two weights of the labels a and b for one feature: Duchi et al. 2011, and Zeiler 2012, algorithm 1."""
    w, first, second = np.zeros(2), np.zeros(2), np.zeros(2)
    for x, y in rounds:
        for _ in range(n_steps):
            shares = np.exp(w * x) / np.exp(w * x).sum()
            g = x * (shares - np.array([y == "a", y == "b"]))
            if optimizer == "adagrad":
                first += g**2
                w = w - lr * g / (np.sqrt(first) + 1e-8)
            else:
                first = 0.95 * first + 0.05 * g**2
                v = -np.sqrt(second + 1e-6) / np.sqrt(first + 1e-6) * g
                second = 0.95 * second + 0.05 * v**2
                w = w + v
    return w


@pytest.mark.lecture("one-step")
@pytest.mark.parametrize("n_steps", [1, 3])
@pytest.mark.parametrize("optimizer", ["adagrad", "adadelta"])
def test_the_steps_are_those_of_the_papers(optimizer, n_steps):
    rounds = [(1.0, "a"), (-0.5, "b"), (2.0, "b"), (0.3, "a")]
    trained = rm.LogLinearClassifier(classes=["a", "b"], intercept=False)
    model = rm.OneStepAdaptation(trained, optimizer=optimizer, lr=0.1, n_steps=n_steps)
    for x, y in rounds:
        model.learn_one({"x": x}, y)
    expected = by_formula(optimizer, rounds, 0.1, n_steps)
    assert [model.adapted.weights["x", label] for label in "ab"] == near(expected)
    assert trained.weights == {} == model.model.weights


MODELS = {
    "log-linear": lambda: rm.LogLinearClassifier(0.1),
    "classifier": lambda: rm.OnlineMLPClassifier((4,)),
    "regressor": lambda: rm.OnlineMLPRegressor((4,)),
}
models = pytest.mark.parametrize("name", MODELS)


def rounds_for(name, count=60, seed=0, sign=1.0):
    """Rounds whose label, a bool or a number, follows from two features."""
    for x, _ in stream(seed, count):
        score = sign * (2 * x.get("f0", 0.0) - x.get("f1", 0.0))
        yield x, score if name == "regressor" else score > 0


def trained(name, rounds=150):
    model = MODELS[name]()
    for x, y in rounds_for(name, rounds):
        model.learn_one(x, y)
    return model


def loss(model, x, y):
    if isinstance(y, float):
        return (model.predict_one(x) - y) ** 2
    return -math.log(model.predict_proba_one(x)[y])


@pytest.mark.lecture("one-step")
@pytest.mark.parametrize("optimizer", ["adagrad", "adadelta"])
@models
def test_after_a_shift_adapting_costs_less_than_not_adapting(name, optimizer):
    fixed = trained(name)
    # AdaDelta starts with steps of 0.001, so that it takes some rounds to get going.
    model = rm.OneStepAdaptation(fixed, optimizer=optimizer, lr=0.1, n_steps=1 if optimizer == "adagrad" else 3)
    losses = []
    for x, y in rounds_for(name, 150, seed=1, sign=-1.0):
        losses.append((loss(model.adapted, x, y), loss(fixed, x, y)))
        model.learn_one(x, y)
    adapted, unadapted = np.array(losses).sum(axis=0)
    assert adapted < 0.8 * unadapted


@models
def test_new_features_and_labels_join(name):
    model = rm.OneStepAdaptation(trained(name, 20), lr=0.5)
    label = 3.0 if name == "regressor" else True
    before = model.predict_one({"new": 1.0})
    for _ in range(5):
        model.learn_one({"new": 1.0}, label)
    assert model.predict_one({"new": 1.0}) in (True, pytest.approx(3.0, abs=abs(3.0 - before)))
    if name != "regressor":
        several = rm.OneStepAdaptation(MODELS[name]())
        for y in "abc":
            several.learn_one({"x": 1.0}, y)
        assert set(several.adapted.predict_proba_one({})) == set("abc")


@pytest.mark.parametrize("optimizer", ["adagrad", "adadelta"])
@models
def test_copies_go_on_bit_for_bit(name, optimizer):
    model = rm.OneStepAdaptation(trained(name, 20), optimizer=optimizer)
    rounds = list(rounds_for(name, 30, seed=2))
    for x, y in rounds[:15]:
        model.learn_one(x, y)
    twins = [snapshot.loads(snapshot.dumps(model)), model.clone(include_attributes=True), copy.deepcopy(model)]
    for x, y in rounds[15:]:
        for each in (model, *twins):
            each.learn_one(x | {"late": 1.0}, y)
    assert {snapshot.dumps(each) for each in twins} == {snapshot.dumps(model)}
    fresh = rm.OneStepAdaptation(trained(name, 20), optimizer=optimizer)
    assert snapshot.dumps(model.clone()) == snapshot.dumps(fresh)  # the trained model is a parameter
    assert model.clone({"lr": 0.5}).lr == 0.5
    changed = model.clone({"model": {"lr": 0.7}}).model
    assert changed.lr == 0.7 and changed.n_seen == 20


@models
def test_what_is_refused_changes_nothing(name):
    model = rm.OneStepAdaptation(trained(name, 20), lr=0.1)
    before = snapshot.dumps(model)
    for x, y in (({"new": math.nan}, True), ({"new": 1.0}, None), ({"new": 1.0}, "text")):
        with case((x, y)), pytest.raises(ValueError):
            model.learn_one(x, y)
        assert snapshot.dumps(model) == before
    if name == "log-linear":
        with pytest.raises(OverflowError, match="OneStepAdaptation"):
            model.learn_one({"new": 1e200, "f0": 1.0}, True)  # the square of the gradient
        assert snapshot.dumps(model) == before


def test_parameters_out_of_range_are_named():
    model = rm.LogLinearClassifier()
    for parameters in ({"lr": 0.0}, {"n_steps": 0}, {"optimizer": "adam"}, {"loss": print}):
        (name,) = parameters
        with pytest.raises(ValueError, match=f"`{name}`"):
            rm.OneStepAdaptation(model, **parameters)


def test_without_pytorch_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # so that importing it fails
    with pytest.raises(ImportError, match=r"pip install 'river-margins\[torch\]'"):
        rm.OneStepAdaptation(rm.PAClassifier())


# ------------------------------------------------------------------------------------------------------- PyTorch


@pytest.fixture
def torch():
    try:
        import torch
    except ImportError:
        pytest.skip("needs PyTorch: pip install 'river-margins[torch]'")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    return torch


WORDS, LENGTH = 12, 5


def attention(torch):
    """A model that writes a sentence word by word: each place attends to the words of the source."""

    class Attention(torch.nn.Module):
        def __init__(self, size=24):
            super().__init__()
            self.words = torch.nn.Embedding(WORDS, size)
            self.places = torch.nn.Embedding(LENGTH, size)
            self.queries = torch.nn.Embedding(LENGTH, size)
            self.out = torch.nn.Linear(size, WORDS)

        def forward(self, source):
            places = self.places.weight[: source.shape[-1]]
            keys, values = self.words(source) + places, self.words(source)
            weights = torch.softmax(self.queries.weight @ keys.mT / keys.shape[-1] ** 0.5, dim=-1)
            return self.out(weights @ values)

    return Attention()


def sentences(torch, count, dictionary, seed):
    """Sources, and targets with their words translated, in reverse order."""
    draw = torch.Generator().manual_seed(seed)
    sources = torch.randint(WORDS, (count, LENGTH), generator=draw)
    return sources, dictionary[sources].flip(-1)


@pytest.fixture
def post_editing(torch):
    """A trained model, its loss, and pairs of another domain, which translates a third of the words otherwise."""
    home = torch.arange(WORDS).roll(1)
    away = home.clone()
    away[:4] = home[:4].roll(1)
    module = attention(torch)

    def loss(module, source, target):
        return torch.nn.functional.cross_entropy(module(source).flatten(0, -2), target.flatten())

    optimizer = torch.optim.Adam(module.parameters(), lr=0.02)
    for step in range(200):
        optimizer.zero_grad()
        loss(module, *sentences(torch, 32, home, step)).backward()
        optimizer.step()
    return module, loss, list(zip(*sentences(torch, 150, away, 1000), strict=True))


def wrong_words(model, source, target):
    return int((model(source).argmax(-1) != target).sum())


@pytest.mark.lecture("transformer")
@pytest.mark.parametrize("optimizer", ["adagrad", "adadelta"])
def test_a_translator_that_is_corrected_after_a_shift_does_better(torch, post_editing, optimizer):
    """One step for each pair. AdaDelta, whose first steps are short, lowers the loss before the words change."""
    module, loss, pairs = post_editing
    before = {name: each.clone() for name, each in module.state_dict().items()}
    model = rm.OneStepAdaptation(module, loss, optimizer=optimizer, lr=0.05)
    wrong, losses = np.zeros(2), np.zeros(2)
    for source, target in pairs:
        both = model.adapted, module
        wrong += [wrong_words(each, source, target) for each in both]
        losses += [loss(each, source, target).item() for each in both]
        model.learn_one(source, target)
    assert 0.2 < wrong[1] / (LENGTH * len(pairs)) < 0.5  # it was good at home
    assert losses[0] < 0.8 * losses[1]
    if optimizer == "adagrad":
        assert wrong[0] < 0.5 * wrong[1]
    assert all(torch.equal(each, before[name]) for name, each in module.state_dict().items())


def test_a_step_of_a_module_is_that_of_pytorch(torch, post_editing):
    module, loss, pairs = post_editing
    model, twin = rm.OneStepAdaptation(module, loss, lr=0.05), copy.deepcopy(module)
    optimizer = torch.optim.Adagrad(twin.parameters(), lr=0.05, eps=1e-8)
    for source, target in pairs[:20]:
        model.learn_one(source, target)
        optimizer.zero_grad()
        loss(twin, source, target).backward()
        optimizer.step()
    for ours, theirs in zip(model.adapted.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


def test_a_module_is_copied_and_refused_by_snapshots(torch, post_editing):
    module, loss, pairs = post_editing
    model = rm.OneStepAdaptation(module, loss, lr=0.05)
    for source, target in pairs[:5]:
        model.learn_one(source, target)
    twins = [model.clone(include_attributes=True), copy.deepcopy(model)]
    for source, target in pairs[5:10]:
        for each in (model, *twins):
            each.learn_one(source, target)
    for twin in twins:
        assert torch.equal(twin.predict_one(pairs[0][0]), model.predict_one(pairs[0][0]))
    with pytest.raises(snapshot.SnapshotError, match="`OneStepAdaptation` cannot be written to a snapshot"):
        snapshot.dumps(model)


def test_a_step_of_a_module_beyond_floating_point_changes_nothing(torch, post_editing):
    module, loss, pairs = post_editing
    model = rm.OneStepAdaptation(module, lambda module, x, y: 1e30 * loss(module, x, y))
    before = model.predict_one(pairs[0][0])
    with pytest.raises(OverflowError, match="OneStepAdaptation"):
        model.learn_one(*pairs[0])
    assert torch.equal(model.predict_one(pairs[0][0]), before)
    for bad in (None, 3):
        with pytest.raises(TypeError, match="`loss` must be a function"):
            rm.OneStepAdaptation(module, bad)
    with pytest.raises(TypeError, match=r"`model` must be .* not a PAClassifier"):
        rm.OneStepAdaptation(rm.PAClassifier(), loss)
    assert pickle.loads(pickle.dumps(module.state_dict())).keys() == module.state_dict().keys()


def test_a_target_of_any_type_of_number_is_learned():
    one, other = (rm.OneStepAdaptation(rm.OnlineMLPRegressor()) for _ in range(2))
    one.learn_one({"a": 1.0}, decimal.Decimal("2.5"))
    other.learn_one({"a": 1.0}, 2.5)
    assert snapshot.dumps(one) == snapshot.dumps(other)
