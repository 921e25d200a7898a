"""What is proved of learners against a comparator that moves.

**The shifting perceptron.** Count the mistakes from 0. At mistake k, with example x and label y, w_{k+1} = (1 -
p_k)·w_k + p_k·y·x and p_k = lam/(lam + k). Let lam >= 1, |x| <= R, and u_k be the comparator at mistake k, with the
hinge loss l_k.

1. |w_k|² <= c/k with c = lam²R²/(2·lam - 1). As y⟨w_k, x⟩ <= 0, |w_{k+1}|² <= (k² |w_k|² + lam²R²)/(lam + k)². With
   the claim for k this is at most (ck + lam²R²)/(lam + k)², and that is at most c/(k + 1), because (ck + lam²R²)(k +
   1) - c(k + lam)² = k(c + lam²R² - 2·lam·c) + lam²(R² - c) = lam²(R² - c) <= 0.
2. Let g_k = (1 + lam/1)···(1 + lam/k), so that g_k·(1 - p_k) = g_{k-1} and g_k·p_k = g_k - g_{k-1}, with g_{-1} = 0.
   From y⟨u_k, x⟩ >= 1 - l_k, g_k⟨u_k, w_{k+1}⟩ >= g_{k-1}(⟨u_{k-1}, w_k⟩ - |u_k - u_{k-1}||w_k|) + (g_k - g_{k-1})(1
   - l_k). Summed over M mistakes: g_{M-1}⟨u_{M-1}, w_M⟩ >= g_{M-1} - Σ (g_k - g_{k-1})·l_k - Σ g_{k-1}|u_k -
   u_{k-1}||w_k|.
3. Divide by g_{M-1}. (g_k - g_{k-1})/g_{M-1} grows with k, up to lam/(lam + M - 1) <= lam/M. So does g_{k-1}/√k, and
   g_{M-2}/(g_{M-1}·√(M-1)) = √(M-1)/(M - 1 + lam) <= 1/√M. With 1. and U = |u_{M-1}|, S = Σ |u_k - u_{k-1}|, this
   leaves 1 <= √c·(U + S)/√M + lam·L/M, so M <= lam·L + K²/2 + K·√(lam·L + K²/4) with K = √c·(U + S).

With many classes the examples are difference vectors, and R² becomes 2R².
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import river_margins as rm
from river_margins.theory import bounds
from tests.bounds import kernels
from tests.bounds.runs import Run, Stream, play
from tests.learners import Form
from tests.learners.entry import Learner

SHIFTING = Learner("shifting perceptron", rm.ShiftingPerceptron, sections={"binary": "4.10", "multiclass": "4.10"})
LEAST_FRACTION = 0.3


def inequalities(run: Run, comparators: np.ndarray, lam: float):
    """Steps 1, 2 and 3 of the proof as (left, right); one row of `comparators` for each round."""
    places = np.flatnonzero(run.mistaken)
    count = len(places)
    if not count:
        return
    us = comparators[places]
    lost = np.array([run.losses_of(u)[place] for u, place in zip(us, places, strict=True)])
    moved = np.append(0.0, np.linalg.norm(np.diff(us, axis=0), axis=1))
    lengths = np.sqrt(run.sizes)
    c = lam**2 * run.longest / (2 * lam - 1)
    yield run.sizes[1:][places], c / np.arange(1, count + 1)
    g = np.append(1.0, np.cumprod(1 + lam / np.arange(1, count)))
    parts = np.diff(g, prepend=0.0)
    paid = (parts * lost).sum() + (np.append(0.0, g[:-1]) * moved * lengths[places]).sum()
    yield 1.0, us[-1] @ run.weights[-1] + paid / g[-1]
    last = np.linalg.norm(us[-1])
    yield count, bounds.shifting_perceptron_mistakes(run.length, last, moved.sum(), lost.sum(), lam)


def check(run: Run, comparators: np.ndarray, lam: float) -> float:
    """Assert the inequalities; return how nearly the last one, that of the mistakes, is reached."""
    fraction = 0.0
    for left, right in inequalities(run, comparators, lam):
        assert np.all(left <= right + 1e-9 * np.abs(right) + 1e-12), (left, right)
        fraction = np.max(left / np.maximum(right, 1e-300))
    return fraction


def segments(random, task, rounds=150, features=4):
    """A concept for each round: some that jump, some that turn slowly, and some that come back."""
    size = features * (3 if task == "multiclass" else 1)
    first, second = random.normal(size=size), random.normal(size=size)
    turn = np.arange(rounds) / rounds
    shape = random.integers(4)
    if shape == 0:
        share = (turn >= 0.5).astype(float)
    elif shape == 1:
        share = turn
    elif shape == 2:
        share = (turn * 4 % 2 >= 1).astype(float)
    else:
        share = np.zeros(rounds)
    return np.cos(share * math.pi / 2)[:, None] * first + np.sin(share * math.pi / 2)[:, None] * second


def labels_of(task, X, concepts, wrong, random):
    if task == "binary":
        labels = np.where((X * concepts).sum(axis=1) >= 0, 1.0, -1.0)
        return np.where(random.random(len(X)) < wrong, -labels, labels)
    labels = np.einsum("tkf,tf->tk", concepts.reshape(len(X), 3, -1), X).argmax(axis=1)
    return np.where(random.random(len(X)) < wrong, random.integers(3, size=len(X)), labels)


def stretched(run: Run, concepts: np.ndarray):
    """The concepts in several lengths: short ones lose much, and long ones move far."""
    for length in (0.0, 0.3, 1.0, 5.0):
        yield concepts * length
    yield np.tile(concepts.mean(axis=0), (len(concepts), 1))
    if run.task == "binary":  # with hindsight: least squares on each tenth of the stream
        ends = np.linspace(0, run.rounds, 11).astype(int)
        found = [np.linalg.lstsq(run.X[a:b], run.labels[a:b], rcond=1e-6)[0] for a, b in itertools.pairwise(ends)]
        yield np.repeat(found, np.diff(ends), axis=0)


@pytest.mark.lecture("tracking")
@pytest.mark.parametrize("task", ["binary", "multiclass"])
@settings(derandomize=True, deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    lam=st.floats(1.0, 10.0),
    wrong=st.sampled_from([0.0, 0.1, 0.5, None]),
    scale=st.floats(-6, 6),
)
def test_the_bound_holds_on_noisy_and_adversarial_streams(task, seed, lam, wrong, scale):
    random = np.random.default_rng(seed)
    concepts = segments(random, task)
    X = random.normal(size=(len(concepts), 4)) * (random.random((len(concepts), 4)) < 0.7)
    if random.random() < 0.3:  # few points, again and again
        X = X[random.integers(6, size=len(X))]
    labels = None if wrong is None else labels_of(task, X, concepts, wrong, random)
    stream = Stream(X * 10.0**scale, labels, concepts[0])
    run = play(Form(SHIFTING, task, "linear"), stream, lam=lam)
    for us in stretched(run, concepts / 10.0**scale):
        check(run, us, lam)


@settings(derandomize=True, deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), lam=st.floats(1.0, 6.0), wrong=st.sampled_from([0.0, 0.2, None]))
def test_the_bound_holds_in_the_space_of_a_kernel(seed, lam, wrong):
    random = np.random.default_rng(seed)
    points = kernels.records(random.normal(size=(12, 2)))
    Z = kernels.coordinates(rm.RBF(0.5), points)
    order = random.integers(12, size=100)
    concepts = segments(random, "binary", rounds=100, features=Z.shape[1])
    labels = None if wrong is None else labels_of("binary", Z[order], concepts, wrong, random)
    model = rm.MarginClassifier(
        rm.ShiftingPerceptronRule(lam), rm.Kernel(rm.RBF(0.5)), classes=[False, True], intercept=False
    )
    run = kernels.play(model, "binary", points, Z, order, labels, {"lam": lam})
    for us in stretched(run, concepts):
        check(run, us, lam)


@pytest.mark.parametrize("lam", [1.0, 2.0, 5.0])
def test_the_bound_is_nearly_reached_on_orthonormal_examples(lam):
    """The labels of all examples turn in mid-stream, and the comparator with them."""
    count = 40
    y = np.where(np.arange(count) % 3, 1.0, -1.0)
    X = np.vstack([np.eye(count), np.eye(count)])
    labels = np.append(y, -y)
    run = play(Form(SHIFTING, "binary", "linear"), Stream(X, labels, y), lam=lam)
    fraction = max(
        check(run, np.vstack([np.tile(y, (count, 1)), np.tile(-y, (count, 1))]) * length, lam)
        for length in (0.0, 0.02, 0.05, 0.1, 1.0)
    )
    assert fraction > LEAST_FRACTION / lam
