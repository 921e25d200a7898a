"""What the conversions share: a copy of a classifier with its state, and whether it is mistaken."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from river import base, compose

from river_margins.core.checks import short
from river_margins.core.described import Described
from river_margins.core.estimator import Estimator
from river_margins.tasks.labels import plain

NO_CLASSIFIERS = base.Regressor | base.MultiLabelClassifier | base.Transformer | base.Clusterer


class ClassifierWrapper(Described, Estimator, base.Classifier):
    """A classifier that holds a copy of another one, `learner`, and predicts with it."""

    learner: Any
    n_seen: int

    def _wrap(self, learner: Any, **parameters: Any) -> None:
        vars(self).update(learner=copied(checked(type(self), learner)), n_seen=0, **parameters)

    @property
    def _multiclass(self) -> bool:
        return getattr(self.learner, "_multiclass", False)

    @property
    def _mutable_attributes(self) -> set[str]:
        return set()

    def _more_tags(self) -> set[str]:
        return getattr(self.learner, "_more_tags", set)()

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river_margins.families.passive_aggressive import PAClassifier
        from river_margins.families.perceptrons import Perceptron

        yield {"learner": PAClassifier(C=0.5)}
        yield {"learner": Perceptron()}

    def _predictor(self) -> Any:
        """Return the classifier that predicts."""
        return self.learner

    def predict_one(self, x: Mapping[Any, Any]) -> Any:  # type: ignore[override]  # takes no keywords
        """Predict the label of x."""
        return self._predictor().predict_one(x)

    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:  # type: ignore[override]  # takes no keywords
        """Return the probabilities by class, as the classifier that predicts has them."""
        return self._predictor().predict_proba_one(x)

    def score_one(self, x: Mapping[Any, Any]) -> Any:
        """Return the signed score, or a dict of scores by class, if the classifier has scores."""
        return self._predictor().score_one(x)

    def explain_one(self, x: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return what each feature contributes to the score, as the classifier that predicts does."""
        explained: dict[Any, Any] = self._predictor().explain_one(x)
        return explained

    def debug_one(self, x: Mapping[Any, Any], decimals: int = 5) -> str:
        """Return a table of features, values, weights and contributions, as the classifier that predicts does."""
        table: str = self._predictor().debug_one(x, decimals)
        return table

    @property
    def n_updates(self) -> int:
        """The updates of the classifier that learns, if it counts them."""
        updates: int = self.learner.n_updates
        return updates

    def check_label(self, y: Any) -> None:
        """Raise the ValueError that `learn_one` would raise for the label y, without learning anything."""
        if hasattr(self.learner, "check_label"):
            self.learner.check_label(y)

    def _recipe(self) -> dict[str, Any]:
        return super()._recipe() | {"learner": self.learner.clone()}

    def __getstate__(self) -> dict[str, Any]:
        return {"learner": state_of(self.learner), "n_seen": self.n_seen}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(learner=restored(self.learner, state["learner"]), n_seen=state["n_seen"])


def checked(conversion: type, learner: Any) -> Any:
    """Return a classifier; raise TypeError, naming what to do, for anything else."""
    if isinstance(learner, compose.Pipeline):
        raise TypeError(
            "`learner` must be a classifier, not a pipeline: convert its last step, as in "
            f"`StandardScaler() | {conversion.__name__}(PAClassifier())`"
        )
    suits = isinstance(learner, base.Estimator) and hasattr(learner, "predict_one") and hasattr(learner, "learn_one")
    if not suits or isinstance(learner, NO_CLASSIFIERS):
        raise TypeError(f"`learner` must be a classifier, such as Perceptron(), not {short(learner)}")
    return learner


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


def is_mistaken(model: Any, x: Mapping[Any, Any], y: Any) -> bool:
    """Return whether a classifier is wrong on an example.

    A margin of at most 0 is a mistake where the classifier has scores, also if a tie has the right label; without
    scores, a mistake is a wrong label.
    """
    if not hasattr(model, "score_one"):
        return model.predict_one(x) != y
    score, y = model.score_one(x), plain(y)
    if isinstance(score, dict):
        return y not in score or score[y] <= max((of for label, of in score.items() if label != y), default=-1e400)
    return bool(score <= 0 if y == positive_label(model) else score >= 0)


def positive_label(model: Any) -> Any:
    """Return the label of scores above 0 of a classifier with one weight vector."""
    classes = getattr(model, "classes", None)
    return True if classes is None else classes[1]
