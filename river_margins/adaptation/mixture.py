"""Bayesian predictive adaptation: many models around a trained one, weighted by what they predicted."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from river import base

from river_margins.adaptation.joint import joint, put, weights_of
from river_margins.adaptation.log_linear import LogLinearClassifier
from river_margins.adaptation.trained import AroundTrained
from river_margins.core.checks import is_bare, not_negative, share, short, whole
from river_margins.core.described import Described
from river_margins.networks.examples import Array, Labels, Rows, checked, finite, normal, softmax
from river_margins.tasks.labels import plain

__all__ = ["BayesMixture"]


class BayesMixture(Described, AroundTrained, base.Classifier):
    """The predictive distribution of a trained log-linear model whose weights are uncertain, over M drawn models.

    Model 0 is the trained one, with the weights w₀. The others have weights drawn from N(w₀, sigma²I), once. The
    prediction is Σ aₘ·p(k|x, wₘ), where the weights a of the models are 1/M at first. In each round aₘ is multiplied by
    p(y|x, wₘ) to the power delta, and all a are divided by their sum. No single adapted model is picked.

    Parameters
    ----------
    model
        The trained model, a `LogLinearClassifier`. The mixture works on a copy, which does not learn.
    M
        The number of models, >= 1; 50 by default.
    sigma
        The standard deviation of the weights, >= 0; 0.1 by default.
    delta
        Exponent of the evidence, above 0 and at most 1; 1 (default) is Bayes' rule.
    seed
        The seed of the drawn models, a whole number >= 0; 0 by default. The same seed gives the same models in every
        process.

    Raises
    ------
    ValueError, TypeError
        If a parameter is outside its range.

    Notes
    -----
    Σ -ln p(y) of the mixture exceeds that of the best of the M models by at most ln(M)/delta, on every stream whose
    labels the model knows beforehand. Joint features that the trained model has not seen have w₀ = 0, and are drawn as
    the others. A label that is new joins with its first round.

    Examples
    --------
    >>> import river_margins as rm
    >>> trained = rm.LogLinearClassifier(classes=["a", "b"])
    >>> trained.learn_one({"x": 1.0}, "a")
    >>> model = rm.BayesMixture(trained, sigma=1.0)
    >>> for _ in range(20):
    ...     model.learn_one({"x": 1.0}, "b")
    >>> trained.predict_one({"x": 1.0}), model.predict_one({"x": 1.0})
    ('a', 'b')

    References
    ----------
    Sanchis-Trilles, G. and Casacuberta, F., 2015. Improving translation quality stability using Bayesian predictive
    adaptation. Computer Speech and Language 34.
    """

    round_cost = "M times the joint features of all labels."
    guarantee = "The log losses exceed those of the best of the M models by at most ln(M)/delta."
    advice = "Use it if a trained model meets few examples of another domain, and probabilities matter."

    model: LogLinearClassifier
    M: int
    sigma: float
    delta: float
    seed: int
    n_seen: int
    _labels: Labels
    _drawn: Rows  # sigma times the deviations of all models but the first, by joint feature
    _evidence: Array  # the logarithms of the weights of the models, the largest being 0

    def __init__(
        self, model: LogLinearClassifier, M: int = 50, *, sigma: float = 0.1, delta: float = 1.0, seed: int = 0
    ) -> None:
        if not is_bare(model, LogLinearClassifier):
            raise TypeError(f"`model` must be a LogLinearClassifier, not {short(model)}")
        copied = model.clone(include_attributes=True)
        labels = Labels(None)
        labels.known = list(copied._labels.known)
        vars(self).update(model=copied, M=whole("M", M, 1), sigma=not_negative("sigma", sigma))
        vars(self).update(delta=share("delta", delta), seed=whole("seed", seed), n_seen=0)
        vars(self).update(_labels=labels, _drawn=Rows(M - 1), _evidence=np.zeros(M))

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def _mutable_attributes(self) -> set[str]:
        return set()

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"model": LogLinearClassifier(), "M": 2}

    @property
    def model_weights(self) -> list[float]:
        """The weights a of the models, which sum to 1; the trained one comes first."""
        return [float(weight) for weight in softmax(self._evidence)]

    def _deviations(self, names: list[Any]) -> Array:
        """Return the deviations of the drawn models by joint feature; those not known are drawn, and not kept."""
        found = weights_of(self._drawn, names)
        for place, name in enumerate(names):
            if name not in self._drawn.places:
                found[place] = self.sigma * normal(self.M - 1, self.seed, name)
        return found

    def _shares(self, x: Any, labels: list[Any]) -> tuple[list[Any], Array, Array]:
        """Return the joint features with their deviations, and the probabilities of the labels by each model."""
        found = joint(self.model.phi, self.model.intercept, x, labels)
        trained = weights_of(self.model._rows, found.names)
        drawn = self._deviations(found.names)
        weights = np.hstack([trained, trained + drawn])
        shares = finite(self, lambda: np.array([softmax(found.scores(column)) for column in weights.T]))
        return found.names, drawn, shares

    def _mixed(self, x: Any) -> Array:
        shares = softmax(self._evidence) @ self._shares(x, self._labels.known)[2]
        return np.asarray(shares / shares.sum())

    def learn_one(self, x: Any, y: Any) -> None:
        """Multiply the weight of each model by the probability that it gave to the label.

        Parameters
        ----------
        x
            Features, as the trained model takes them.
        y
            The label.

        Raises
        ------
        ValueError
            If a feature or the label is refused. Nothing is learned.
        """
        self.check_label(y)
        labels = self._labels.including(y)
        names, drawn, shares = self._shares(x, labels)
        evidence = self._evidence + self.delta * log(shares[:, labels.index(plain(y))])
        put(self._drawn, names, drawn)
        self._labels.known = labels
        vars(self).update(_evidence=evidence - evidence.max(), n_seen=self.n_seen + 1)

    def predict_one(self, x: Any) -> Any:  # type: ignore[override]  # takes no keywords
        """Predict the most probable label; None before the first label if the trained model knows none."""
        return self._labels.best(self._mixed(x)) if self._labels.known else None

    def predict_proba_one(self, x: Any) -> dict[Any, float]:  # type: ignore[override]  # takes no keywords
        """Return the probability of each label, mixed over the models."""
        return self._labels.probabilities(self._mixed(x) if self._labels.known else np.zeros(0))

    def score_one(self, x: Any) -> Any:
        """Return the probability of True less that of False, or the probabilities by label; {} before the first."""
        return self._labels.scores(self._mixed(x)) if self._labels.known else {}

    def check_label(self, y: Any) -> None:
        """Raise the ValueError that `learn_one` would raise for the label y, without learning anything."""
        self._labels.check(y)

    def __getstate__(self) -> dict[str, Any]:
        return {
            "n_seen": self.n_seen,
            "labels": list(self._labels.known),
            "drawn": self._drawn.state(),
            "evidence": self._evidence.copy(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        evidence = checked(state["evidence"], (self.M,))
        self._drawn.restore(state["drawn"])
        self._labels.known = list(state["labels"])
        vars(self).update(_evidence=evidence, n_seen=whole("n_seen", state["n_seen"]))


LEAST = math.log(5e-324)  # of the logarithm of a probability that rounds to 0


def log(shares: Array) -> Array:
    """Return the logarithms of probabilities, of which those that round to 0 count as the least positive number."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(shares), LEAST)
