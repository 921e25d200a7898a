"""Two ways to adapt a classifier to its users, side by side: generative and discriminative."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from river_margins.adaptation.log_linear import LogLinearClassifier
from river_margins.core.checks import positive
from river_margins.networks.examples import Array

__all__ = ["Errors", "progressive_errors"]


class Errors(NamedTuple):
    """Whether each prediction was wrong, by round: arrays of bools.

    Attributes
    ----------
    generative
        Naive Bayes.
    discriminative
        The log-linear model with the same features.
    """

    generative: np.ndarray
    discriminative: np.ndarray


def progressive_errors(
    rounds: Iterable[tuple[Mapping[Any, float], Hashable]],
    features: Sequence[Any],
    classes: Sequence[Hashable],
    *,
    kappa: float = 0.6,
    lr: float = 0.3,
) -> Errors:
    """Let a generative and a discriminative model predict each example of a stream and then learn it.

    The generative one is naive Bayes on features that are on or off. Its statistics s, the share of each class and of
    each feature with each class, move by s = (1 - g)·s + g·(those of the example), with g = (t + 2)^(-kappa) in round
    t = 0, 1, … This is stepwise EM where nothing is hidden. The discriminative one is `LogLinearClassifier(lr)`.

    Parameters
    ----------
    rounds
        Examples with labels; a feature is on if its value is not 0.
    features
        The names of all features.
    classes
        All labels.
    kappa
        The exponent of g, above 0.5 and at most 1; 0.6 by default. 1 counts all rounds nearly alike; smaller values
        forget old rounds.
    lr
        Learning rate of the log-linear model, > 0; 0.3 by default.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Examples
    --------
    >>> from river_margins.adaptation.comparison import progressive_errors
    >>> rounds = [({"red": 1.0}, "stop"), ({"green": 1.0}, "go")] * 10
    >>> found = progressive_errors(rounds, ["red", "green"], ["go", "stop"])
    >>> int(found.generative.sum()), int(found.discriminative.sum())
    (1, 2)

    References
    ----------
    Ng, A. and Jordan, M., 2001. On discriminative vs. generative classifiers. NIPS. Cappé, O. and Moulines, E., 2009.
    Online expectation-maximization algorithm for latent data models. Journal of the Royal Statistical Society B 71.
    """
    if not 0.5 < positive("kappa", kappa) <= 1.0:
        raise ValueError(f"`kappa` must be a number above 0.5 and at most 1, not {kappa!r}")
    discriminative = LogLinearClassifier(lr, classes=classes)
    # One row for each class: of the class itself, and then of each feature together with the class.
    statistics = np.full((len(classes), 1 + len(features)), 0.5 / len(classes))
    statistics[:, 0] *= 2.0
    wrong = []
    for t, (x, y) in enumerate(rounds):
        on = np.array([x.get(name, 0.0) != 0.0 for name in features])
        likeliest = classes[int(np.argmax(_log_joint(statistics, on)))]
        wrong.append((likeliest != y, discriminative.predict_one(x) != y))
        discriminative.learn_one(x, y)
        of_example = np.outer([label == y for label in classes], [True, *on])
        g = (t + 2.0) ** -kappa
        statistics = (1.0 - g) * statistics + g * of_example
    found = np.array(wrong).reshape(-1, 2)
    return Errors(found[:, 0], found[:, 1])


def _log_joint(statistics: Array, on: np.ndarray) -> Array:
    """Return ln p(class) + Σ ln p(feature | class) for each class, where no probability is below 0.001."""
    share = np.maximum(statistics[:, :1], 1e-3)
    chance = np.clip(statistics[:, 1:] / share, 1e-3, 1.0 - 1e-3)
    return np.asarray(np.log(share[:, 0]) + np.where(on, np.log(chance), np.log(1.0 - chance)).sum(axis=1))
