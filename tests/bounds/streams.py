"""Streams that put a bound under strain, and the comparators u that make its right-hand side small."""

import math

import numpy as np
from hypothesis import strategies as st
from scipy.optimize import nnls

from tests.bounds.guarantees import Bound
from tests.bounds.runs import LABELS, Run, Stream, held
from tests.learners import SEVERAL, Learner

PASSES = 3


# ---------------------------------------------------------------------------------------------------- rows


def dense(random, count, dimension):
    return random.normal(size=(count, dimension))


def sparse(random, count, dimension):
    return random.normal(size=(count, dimension)) * (random.random((count, dimension)) < 0.4)


def orthonormal(random, count, dimension):
    return np.eye(dimension)[np.arange(count) % dimension]


def repeated(random, count, dimension):
    return np.tile(random.normal(size=dimension), (count, 1))


def near_duplicates(random, count, dimension):
    return repeated(random, count, dimension) + 1e-9 * random.normal(size=(count, dimension))


def lengths_far_apart(random, count, dimension):
    return random.normal(size=(count, dimension)) * 10.0 ** random.uniform(-6, 6, size=(count, 1))


SHAPES = [dense, sparse, orthonormal, repeated, near_duplicates, lengths_far_apart]


# -------------------------------------------------------------------------------------------------- labels


def leads(task, X, separator):
    """The label that a separator gives each row, and the vector along which it leads by most narrowly."""
    if task == "binary":
        labels = np.where(X @ separator >= 0, 1.0, -1.0)
        return labels, labels[:, None] * separator
    W = separator.reshape(-1, X.shape[1])
    order = np.argsort(X @ W.T, axis=1)
    if task == "multilabel":  # of three: the best holds, or the two best do, in turn
        worst, middle, best = order.T
        two = np.arange(len(X)) % 2
        along = W[np.where(two, middle, best)] - W[np.where(two, worst, middle)]
        return np.where(two, 7 - 2**worst, 2**best), along
    return order[:, -1], W[order[:, -1]] - W[order[:, -2]]


def set_apart(random, task, X, separator, closest):
    """The rows, some of them moved so close to the border that they lead by `closest` times their length."""
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    _, along = leads(task, X, separator)
    squares = (along**2).sum(axis=1, keepdims=True)
    chosen = random.random((len(X), 1)) < 0.3
    return np.where(chosen, X + (closest * lengths - (X * along).sum(axis=1, keepdims=True)) / squares * along, X)


@st.composite
def streams(draw, task, bound: Bound, tube: float):
    """A stream on which the bound holds, several passes long."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count, dimension = random.integers(1, 30), random.integers(1, 7)  # not drawn: hypothesis prefers short streams
    X = draw(st.sampled_from(SHAPES))(random, count, dimension)
    separator = random.normal(size=dimension * (3 if task in SEVERAL else 1))
    if task == "one-class":
        return around(random, X, separator, tube, bound.separable)
    if bound.separable and task != "regression":
        X = set_apart(random, task, X, separator, 10.0 ** draw(st.floats(-9, 0)))
    lengths = np.linalg.norm(X, axis=1)
    if bound.even:
        X = X[lengths > 0] / lengths[lengths > 0, None]
    labels = draw_labels(draw, random, task, X, separator, tube, bound.separable)
    if bound.separable and task != "regression":
        _, along = leads(task, X, separator)
        kept = (X * along).sum(axis=1) > 1e-9 * np.linalg.norm(X, axis=1)
        X, labels = X[kept], labels[kept]
    order = np.concatenate([random.permutation(len(X)) for _ in range(draw(st.integers(1, PASSES)))])
    scale = 10.0 ** draw(st.floats(-6, 6))
    return Stream(X[order] * scale, None if labels is None else labels[order], separator / scale)


def draw_labels(draw, random, task, X, separator, tube, separable):
    noise = 0.0 if separable else draw(st.sampled_from([0.0, 0.2, 0.5, 1.0, None]))
    if noise is None:
        return None  # the adversary's turn
    wrong = random.random(len(X)) < noise
    if task == "regression":
        return X @ separator + random.uniform(-1, 1, size=len(X)) * np.where(wrong, 10.0, 0.999 * tube)
    labels, _ = leads(task, X, separator)
    if task == "multilabel":
        return np.where(wrong, random.integers(1, 7, size=len(X)), labels)
    return np.where(wrong, -labels if task == "binary" else random.integers(len(LABELS[task]), size=len(X)), labels)


def around(random, X, centre, radius, separable):
    """Points within a radius of a centre, or, where they need not be, some of them far off."""
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    away = X / np.where(lengths > 0, lengths, 1.0) * radius * random.random((len(X), 1)) ** 0.1 * (1 - 1e-9)
    far = 1.0 if separable else np.where(random.random((len(X), 1)) < 0.3, 100.0, 1.0)
    return Stream(np.tile(centre + away * far, (PASSES, 1)), np.zeros(PASSES * len(X)), centre)


@st.composite
def parameters(draw, learner: Learner, length: float, but=()):
    """The learner's free parameters, in the units of the stream."""
    return {
        name: 10.0 ** draw(st.floats(free.low, free.high)) * length**free.power
        for name, free in learner.free.items()
        if name not in but
    }


# --------------------------------------------------------------------------------------------- comparators


def demands(run: Run):
    """What zero loss asks of u, as rows with ⟨row, u⟩ >= target."""
    if run.task == "binary":
        return run.X * run.labels[:, None], np.ones(run.rounds)
    if run.task == "regression":
        tube = run.parameters.get("eps", 0.0) * (1 - 1e-9)
        return np.vstack([run.X, -run.X]), np.concatenate([run.labels, -run.labels]) - tube
    if run.task == "multilabel":
        holds = held(run.labels)
        units = np.eye(holds.shape[1])
        rows = [np.vstack([units[y] - units[k] for y in np.flatnonzero(h) for k in np.flatnonzero(~h)]) for h in holds]
    else:
        units = np.eye(len(LABELS["multiclass"]))
        rows = [np.vstack([units[y] - unit for k, unit in enumerate(units) if k != y]) for y in run.labels]
    rows = [np.einsum("ij,k->ijk", row, x).reshape(len(row), -1) for row, x in zip(rows, run.X, strict=True)]
    return np.vstack(rows), np.ones(sum(map(len, rows)))


def shortest(run: Run, separator):
    """The shortest u without loss (the hard-margin solution), by Lawson & Hanson's least-distance programming."""
    if run.task != "regression":
        separator = separator / run.margins_of(separator).min()
    rows, targets = demands(run)
    lengths, size = np.linalg.norm(rows, axis=1), np.linalg.norm(separator)
    rows, targets, lengths = rows[lengths > 0], targets[lengths > 0], lengths[lengths > 0]
    system = np.vstack([rows.T / lengths, targets / lengths / size])
    try:
        solution, _ = nnls(system, np.append(np.zeros(len(separator)), 1.0))
    except RuntimeError:  # no convergence: too near the end of double precision
        return separator
    rest = system @ solution - np.append(np.zeros(len(separator)), 1.0)
    found = -rest[:-1] / rest[-1] * size if rest[-1] < 0 else separator
    if run.task != "regression" and run.margins_of(found).min() > 0:
        found = found / run.margins_of(found).min()
    free_of_loss = run.losses_of(found).max() <= 1e-12 * max(1.0, np.abs(run.labels).max())
    return found if free_of_loss and np.linalg.norm(found) < size else separator


def closest(run: Run, centre):
    """The centre that all points are near to, moved towards the origin as long as they stay so."""
    tried = [share * centre for share in np.linspace(0.0, 1.0, 50)]
    return next([u] for u in [*tried, centre] if run.losses_of(u).max() == 0.0 or u is centre)


def ridges(run: Run):
    """Regularised least squares on the labels: good comparators where none is without loss."""
    targets = run.labels
    if run.task in SEVERAL:
        targets = held(run.labels) if run.task == "multilabel" else np.eye(len(LABELS["multiclass"]))[run.labels]
    for strength in (1e-6, 1e-2, 1.0):
        inner = run.X.T @ run.X
        yield np.linalg.solve(inner + strength * run.longest * np.eye(len(inner)), run.X.T @ targets).T.ravel()


def comparators(run: Run, stream: Stream, bound: Bound):
    """Vectors u to compare with; the bound holds for all of them, and is narrowest for the best."""
    if not run.rounds or run.longest == 0.0:
        return []
    if run.task == "one-class":
        return closest(run, stream.separator) if bound.separable else [t * stream.separator for t in (0.0, 0.5, 1.0)]
    if bound.separable:
        return [shortest(run, stream.separator)]
    strengths = [0.0, 1e-3, 1e-1, 1.0, 1e1, 1e3]
    found = [*(strength * stream.separator for strength in strengths), *ridges(run)]
    ball = bound.ball(run) if bound.ball else math.inf
    return [u * min(1.0, ball / size) if (size := np.linalg.norm(u)) else u for u in found]
