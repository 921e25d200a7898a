"""Random features: the linear learner on features that stand for a kernel."""

import hashlib
import math

import numpy as np
import pytest

import river_margins as rm
from river_margins import snapshot
from tests.helpers.hash_seeds import said_by_processes
from tests.helpers.rounds import stream


def features_by_hand(x, gamma, components, seed):
    """z(x), written anew: SplitMix64 from a hash of seed and name, Box & Muller."""
    phases = np.zeros(components)
    for name, value in x.items():
        state = int.from_bytes(hashlib.blake2b(f"{seed}:{name}".encode(), digest_size=8).digest(), "little")
        for i in range(components):
            numbers = []
            for _ in range(2):
                state = (state + 0x9E3779B97F4A7C15) % 2**64
                z = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
                z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
                numbers.append((z ^ (z >> 31)) >> 11)
            radius = math.sqrt(-2 * math.log((numbers[0] + 1) / 2**53))
            phases[i] += math.sqrt(2 * gamma) * radius * math.cos(2 * math.pi * numbers[1] / 2**53) * value
    return np.concatenate([np.cos(phases), np.sin(phases)]) / math.sqrt(components)


def test_gradient_descent_on_random_features_is_gradient_descent_on_them():
    fourier = rm.FOGDClassifier(0.3, components=15, lr=0.2, seed=4)
    linear = rm.OGDClassifier(0.2, schedule="constant", intercept=False)
    losses, rows = [], []
    for x, y in stream(rounds=80, features=4):
        z = features_by_hand(x, 0.3, 15, 4)
        row = dict(enumerate(z.tolist()))
        fourier.learn_one(x, y)
        if rows:
            losses.append(max(0.0, 1 - (1 if y else -1) * linear.score_one(row)))
        linear.learn_one(row, y)
        rows.append(z if y else -z)
        assert fourier.score_one(x) == pytest.approx(linear.score_one(row), abs=1e-9)
    for strength in (0.1, 1.0, 3.0):  # Σ l(w) - Σ l(u) <= U²/(2·lr) + lr/2·updates
        u = strength * np.sum(rows, axis=0)
        others = sum(max(0.0, 1 - row @ u) for row in rows)
        assert 1 + sum(losses) - others <= u @ u / 0.4 + 0.1 * fourier.n_updates


def test_random_features_estimate_the_kernel():
    """The mean over seeds is the kernel, the deviation at most 1/sqrt(D)."""
    x, z = {"a": 0.5, "b": -1.0}, {"a": -0.3, 7: 0.4}
    found = []
    for seed in range(300):
        model = rm.FOGDClassifier(0.3, components=25, lr=1.0, seed=seed)
        model.learn_one(x, True)
        found.append(model.score_one(z))
    assert np.mean(found) == pytest.approx(rm.RBF(0.3)(x, z), abs=4 / math.sqrt(25 * 300))
    assert np.std(found) <= 1.15 / math.sqrt(25)


def test_random_features_do_not_depend_on_the_order_of_the_names():
    one, other = rm.FOGDClassifier(seed=1), rm.FOGDClassifier(seed=1)
    one.learn_one({"a": 1.0, "b": 2.0}, True)
    other.learn_one({"b": 2.0}, False)
    fresh = rm.FOGDClassifier(seed=1)
    fresh.learn_one({"b": 2.0, "a": 1.0}, True)
    assert fresh.score_one({"c": 1.0, "a": 0.5}) == pytest.approx(one.score_one({"a": 0.5, "c": 1.0}), abs=1e-12)


@pytest.mark.parametrize(("name", "same"), [(np.str_("a"), "a"), (np.float64(0.5), 0.5), ((np.str_("a"), 1), ("a", 1))])
def test_equal_names_have_the_same_frequencies(name, same):
    one, other = rm.FOGDClassifier(0.3, components=10), rm.FOGDClassifier(0.3, components=10)
    one.learn_one({name: 1.0}, True)
    other.learn_one({same: 1.0}, True)
    assert one.score_one({same: 0.3}) == other.score_one({same: 0.3})
    assert snapshot.loads(snapshot.dumps(one)).score_one({same: 0.3}) == one.score_one({same: 0.3})


def test_a_set_as_a_name_has_the_same_frequencies_in_every_process():
    name = "frozenset(['a', 'b', 'c', 1.0])"
    code = f"from river_margins.spaces.fourier import name_of; print(name_of({name}), name_of(('s', {name})))"
    assert len(said_by_processes(code)) == 1
    with pytest.raises(TypeError, match="its repr differs between processes"):
        rm.FOGDClassifier(0.1).learn_one({("s", object()): 1.0}, True)
