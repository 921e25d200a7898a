"""Streams that a hyperplane separates, an adversary that shows the shallowest mistakes, and streams with noise."""

import math

import numpy as np


def named(row):
    return {f"f{i}": float(value) for i, value in enumerate(row)}


def separable(seed, d, U, count):
    """Vectors of length 1, their labels ±1, and the unit vector that separates them with margin 1/U."""
    draw = np.random.default_rng(seed)
    u = draw.normal(size=d)
    u /= np.linalg.norm(u)
    X = draw.normal(size=(count, d))
    X -= np.outer(X @ u, u)  # the margins are drawn apart, so that small ones are as frequent as large ones
    X /= np.maximum(np.linalg.norm(X, axis=1), 1e-12)[:, None]
    margins = (1.0 / U) ** draw.random(count) * draw.choice([-1.0, 1.0], size=count)
    X = X * np.sqrt(1.0 - margins**2)[:, None] + np.outer(margins, u) if d > 1 else np.sign(margins)[:, None]
    return X, np.sign(X @ u), u


def weights(model, d):
    return np.array([model.weights.get(f"f{i}", 0.0) for i in range(d)])


def shallowest_mistakes(model, X, y, rounds):
    """Yield, after each round, the examples that the model gets wrong by least, until it gets none wrong."""
    for _ in range(rounds):
        margins = y * (X @ weights(model, X.shape[1]))
        wrong = np.flatnonzero(margins <= 0.0)
        if not len(wrong):
            return
        i = wrong[margins[wrong].argmax()]
        model.learn_one(named(X[i]), bool(y[i] > 0))
        yield X[i], y[i]


def log_ball(d, radius=1.0):
    """The logarithm of the volume of a ball."""
    return d / 2 * math.log(math.pi) - math.lgamma(d / 2 + 1) + d * math.log(radius)
