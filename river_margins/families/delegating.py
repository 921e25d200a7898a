"""The base classes of estimators that hold another model, `learner`, and predict with it."""

import copy
from collections.abc import Mapping
from typing import Any

from river import base, compose

from river_margins.core.described import Described
from river_margins.core.estimator import Estimator
from river_margins.core.explain import explanation, explanation_table


class Delegating(Described, Estimator, base.Estimator):
    """An estimator that answers with the model of `_predictor`; here this is `learner`."""

    learner: Any

    @property
    def _mutable_attributes(self) -> set[str]:
        return set()

    def _predictor(self) -> Any:
        """Return the model that predicts."""
        return self.learner

    def predict_one(self, x: Mapping[Any, Any]) -> Any:
        """Predict with the model that predicts."""
        return self._predictor().predict_one(x)

    def score_one(self, x: Mapping[Any, Any]) -> Any:
        """Return the signed score, or a dict of scores by class, if the model that predicts has scores."""
        return self._predictor().score_one(x)

    def explain_one(self, x: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return what each feature contributes to the score, as the model that predicts does."""
        return explanation(self._predictor(), x)

    def debug_one(self, x: Mapping[Any, Any], decimals: int = 5) -> str:
        """Return a table of features, values, weights and contributions, as the model that predicts does."""
        return explanation_table(self._predictor(), x, decimals)

    def check_label(self, y: Any) -> None:
        """Raise the ValueError that `learn_one` would raise for the label y, without learning anything."""
        if hasattr(self.learner, "check_label"):
            self.learner.check_label(y)


class DelegatingClassifier(Delegating, base.Classifier):  # type: ignore[misc]  # takes no keywords
    """The same for classifiers."""

    @property
    def _multiclass(self) -> bool:
        return getattr(self.learner, "_multiclass", False)

    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:  # type: ignore[override]  # takes no keywords
        """Return the probabilities by class, as the model that predicts has them."""
        return self._predictor().predict_proba_one(x)


def innermost(model: Any) -> Any:
    """Return the model with the scores: wrappers hold it as `classifier` or `learner`, pipelines as their last step."""
    if isinstance(model, compose.Pipeline):
        return innermost([*model.steps.values()][-1])
    inner = getattr(model, "classifier", getattr(model, "learner", None))
    return model if inner is None else innermost(inner)


def copied(model: Any) -> Any:
    """Return a copy that has learned the same."""
    return model.clone(include_attributes=True) if isinstance(model, Estimator) else copy.deepcopy(model)


def state_of(model: Any) -> Any:
    """Return the state of a model of ours as plain data, or a copy of a foreign one, which no snapshot can hold."""
    return model.__getstate__() if isinstance(model, Estimator) else copy.deepcopy(model)


def restored(model: Any, state: Any) -> Any:
    """Return a model with a state of `state_of`; `model` has the same parameters."""
    if not isinstance(model, Estimator):
        return copy.deepcopy(state)
    model = model.clone()
    model.__setstate__(state)  # type: ignore[attr-defined]
    return model
