"""The base class of classifiers of two labels that are written in Python: labels, counts, and reading of examples."""

import math
from collections.abc import Mapping
from typing import Any

from river import base

from river_margins.core.described import Described
from river_margins.core.estimator import Estimator
from river_margins.core.reader import read_features
from river_margins.families.multiplicative import BalancedWinnow
from river_margins.families.parameter_types import Classes

__all__ = ["TwoLabelClassifier"]


class TwoLabelClassifier(Described, Estimator, base.Classifier):
    """A classifier of two labels. A subclass says how it scores an example, and how it learns a sign."""

    classes: Classes
    _checks: BalancedWinnow  # has learned nothing; checks labels, so that all learners refuse alike
    _counts: dict[str, int]

    def _score(self, x: Mapping[Any, float]) -> float:
        """Return the score of an example: at least 0 predicts the positive label."""
        raise NotImplementedError

    def _learn(self, x: Mapping[Any, float], sign: float, mistake: bool) -> bool:
        """Learn the sign of an example, and return whether the model changed. If this raises, nothing has changed."""
        raise NotImplementedError

    def _open(self, classes: Classes) -> None:
        checks = BalancedWinnow(classes=classes, intercept=False)
        counts = {"n_seen": 0, "n_mistakes": 0, "n_updates": 0}
        vars(self).update(classes=checks.classes, _checks=checks, _counts=counts)

    @property
    def _multiclass(self) -> bool:
        return False

    @property
    def _mutable_attributes(self) -> set[str]:
        return set()

    @property
    def n_seen(self) -> int:
        """The number of rounds."""
        return self._counts["n_seen"]

    @property
    def n_mistakes(self) -> int:
        """The number of rounds whose margin was at most 0."""
        return self._counts["n_mistakes"]

    @property
    def n_updates(self) -> int:
        """The number of rounds that changed the model."""
        return self._counts["n_updates"]

    def _labels(self) -> list[Any]:
        """Return the positive and the negative label."""
        return list(self._checks.predict_proba_one({})) if self.classes is not None else [True, False]

    def learn_one(self, x: Mapping[Any, Any], y: Any) -> None:
        """Learn from one example.

        Parameters
        ----------
        x
            Features: a dict from hashable names to finite numbers. A missing feature counts as 0.
        y
            The label.

        Raises
        ------
        ValueError
            If a feature is not a finite number, or the label is neither of the two. Nothing is learned.
        """
        self._checks.check_label(y)
        read, sign = read_features(x), 1.0 if y == self._labels()[0] else -1.0
        mistake = sign * self._score(read) <= 0.0
        updated = self._learn(read, sign, mistake)
        self._counts["n_seen"] += 1
        self._counts["n_mistakes"] += mistake
        self._counts["n_updates"] += updated

    def score_one(self, x: Mapping[Any, Any]) -> float:
        """Return the score: at least 0 predicts the positive label."""
        return self._score(read_features(x))

    def predict_one(self, x: Mapping[Any, Any]) -> Any:  # type: ignore[override]  # takes no keywords
        """Predict the positive label if the score is at least 0, else the negative one."""
        positive, negative = self._labels()
        return positive if self.score_one(x) >= 0.0 else negative

    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:  # type: ignore[override]  # takes no keywords
        """Return the sigmoid of the score: a ranking, not calibrated probabilities."""
        positive, negative = self._labels()
        score = self.score_one(x)
        likely = 0.5 + 0.5 * math.tanh(score / 2.0)
        if score < 0.0:
            likely = min(likely, math.nextafter(0.5, 0.0))  # a score just below 0 is not a tie
        return {positive: likely, negative: 1.0 - likely}

    def explain_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        """Return what each feature contributes to the score; raise a TypeError if the score is not a sum of them."""
        raise TypeError(
            f"a score of `{type(self).__name__}` is not a sum over features: use a learner with plain weights, such as "
            "PAClassifier, to see what each contributes"
        )

    def check_label(self, y: Any) -> None:
        """Raise the ValueError that `learn_one` would raise for the label y, without learning anything."""
        self._checks.check_label(y)

    def __getstate__(self) -> dict[str, Any]:
        return dict(self._counts)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._counts.update({name: state[name] for name in self._counts})
