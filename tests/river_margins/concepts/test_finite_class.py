"""CON and the halving algorithm: worked rounds, bounds that are attained, copies, refusals."""

import copy
import itertools
import json
import math
import pickle
import random

import numpy as np
import pytest
from river import checks

import river_margins as rm
from river_margins import snapshot
from tests.helpers.cases import case
from tests.helpers.paths import ROOT

GOLDEN = {each["id"]: each for each in json.loads((ROOT / "tests/golden/concepts.json").read_text())}
BOTH = pytest.mark.parametrize("kind", [rm.CON, rm.HAL], ids=lambda kind: kind.__name__)


@pytest.mark.lecture("con", "hal")
@BOTH
def test_every_round_is_as_worked_out(kind):
    golden = GOLDEN[kind.__name__.lower()]
    model = kind(golden["parameters"]["concepts"])
    for expected in golden["rounds"]:
        mistakes = model.n_mistakes
        assert model.predict_one(expected["x"]) == expected["predict"]
        model.learn_one(expected["x"], expected["y"])
        assert (model.n_mistakes > mistakes) == expected["mistake"]
        assert model.alive == expected["after"]["alive"]


def mistakes_of(model, rounds):
    for x, y in rounds:
        model.learn_one(x, y)
    return model.n_mistakes


class Frozen(rm.CON):
    """Predicts with the first concept of the list for ever."""

    def learn_one(self, x, y):
        self._facts["n_mistakes"] += self.predict_one(x) != y


def bound(kind, count):
    return math.floor(math.log2(count)) if kind is rm.HAL else count - 1


def realizable(seed):
    """A random class of labelings of 6 points, and rounds that one of its members labels."""
    draw = random.Random(seed)
    concepts = [[draw.random() < 0.5 for _ in range(6)] for _ in range(draw.randrange(2, 40))]
    right = draw.choice(concepts)
    return concepts, [(x, right[x]) for x in draw.choices(range(6), k=30)]


@BOTH
def test_the_bound_holds_on_realizable_streams(kind):
    for seed in range(100):
        concepts, rounds = realizable(seed)
        model = kind(concepts)
        assert mistakes_of(model, rounds) <= bound(kind, len(concepts))
        assert not model.inconsistent
    assert any(mistakes_of(Frozen(concepts), rounds) > 5 for concepts, rounds in map(realizable, range(100)))


@pytest.mark.lecture("con")
def test_singletons_attain_the_bound_of_con():
    """Point by point, the first concept that is left claims the point, and is wrong."""
    singletons = [[x == j for x in range(9)] for j in range(9)]
    assert mistakes_of(rm.CON(singletons), [(x, False) for x in range(8)]) == 8


@pytest.mark.lecture("hal")
def test_all_labelings_attain_the_bound_of_halving():
    """An adversary says the opposite of each prediction, and some labeling agrees with it."""
    for k in range(1, 7):
        model = rm.HAL([*itertools.product([False, True], repeat=k)])
        for x in range(k):
            model.learn_one(x, not model.predict_one(x))
        assert (model.n_mistakes, len(model.alive), model.inconsistent) == (k, 1, False)


def test_halving_holds_with_weights_and_many_labels():
    for seed in range(100):
        draw = random.Random(seed)
        concepts = [[draw.choice("abc") for _ in range(5)] for _ in range(12)]
        weights, right = [draw.uniform(0.1, 3.0) for _ in concepts], draw.randrange(12)
        model = rm.HAL(concepts, weights=weights)
        mistakes = mistakes_of(model, [(x, concepts[right][x]) for x in draw.choices(range(5), k=20)])
        assert mistakes <= math.log2(sum(weights) / weights[right])


def test_a_tie_is_true_or_the_largest_label():
    assert rm.HAL([[False], [True]]).predict_one(0) is True
    assert rm.HAL([[-1], [1]]).predict_one(0) == 1
    assert rm.HAL([[-1], [1]], weights=[2.0, 1.0]).predict_one(0) == -1


@BOTH
def test_concepts_are_functions_or_tables(kind):
    assert kind([lambda x: x["a"] > 0, lambda x: False]).predict_one({"a": 1.0}) is True
    assert kind([{"p": "yes", "q": "no"}]).predict_one("q") == "no"
    assert kind([["yes", "no"]]).predict_one(np.arange(2)[1]) == "no"


@BOTH
def test_labels_that_no_concept_gives_remove_none(kind):
    model = kind([[True, False], [True, True]])
    model.learn_one(0, False)
    assert (model.inconsistent, model.alive, model.n_seen, model.n_mistakes) == (True, [0, 1], 1, 1)
    strict = kind([[True, False], [True, True]], strict=True)
    with pytest.raises(ValueError, match="no concept agrees with the label False of 0"):
        strict.learn_one(0, False)
    assert (strict.inconsistent, strict.n_seen) == (False, 0)


@BOTH
def test_what_is_refused(kind):
    for concepts in ([], "abc", {"a": 1}, ["abc"], [1]):
        with case(concepts), pytest.raises(TypeError, match="`concepts` must"):
            kind(concepts)
    model = kind([[True, False]])
    for y in (1, None, math.nan):
        with case(y), pytest.raises(ValueError, match="a label such as True is needed"):
            model.learn_one(0, y)
    for x in (2, -1, "a"):
        with case(x), pytest.raises(ValueError, match=f"x = {x!r} is not in a table"):
            model.predict_one(x)
    assert model.n_seen == 0
    for weights, name in (([1.0], "weights"), ([1.0, 0.0], r"weights\[1\]")):
        with case(weights), pytest.raises(ValueError, match=f"`{name}` must"):
            rm.HAL([[True], [False]], weights=weights)


# The contract of what is none of River's kinds: River's general checks, and copies that go on alike.
DUPLICATES = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "clone": lambda model: model.clone(include_attributes=True),
    "snapshot": lambda model: snapshot.loads(snapshot.dumps(model)),
}


@BOTH
def test_copies_go_on_alike(kind):
    for check in checks.yield_checks(kind([[True, False]])):
        check(kind([[True, False]]))
    concepts, rounds = realizable(3)
    model = kind(concepts)
    mistakes_of(model, rounds[:4])
    twins = {name: duplicate(model) for name, duplicate in DUPLICATES.items()}
    assert model.clone().alive == [*range(len(concepts))]
    mistakes_of(model, rounds[4:])
    for name, twin in twins.items():
        with case(name):
            mistakes_of(twin, rounds[4:])
            assert twin.__getstate__() == model.__getstate__()


@BOTH
def test_functions_are_not_written_to_a_snapshot(kind):
    with pytest.raises(snapshot.SnapshotError, match="cannot be written to a snapshot"):
        snapshot.dumps(kind([lambda x: True]))
    with pytest.raises(ValueError, match="`alive` must have positions in a list of 1 concepts"):
        kind([[True]]).__setstate__({"alive": [1], "n_seen": 0, "n_mistakes": 0, "inconsistent": False})


def test_weights_of_numpy_are_a_list_of_numbers():
    model = rm.HAL([[False, True], [True, True]], weights=np.array([1.0, 2.0]))
    assert model.weights == [1.0, 2.0]
    assert snapshot.difference(snapshot.dumps(model), model) == []
