"""What the conversions share: a copy of a classifier with its state, and whether it is mistaken."""

from collections.abc import Iterator, Mapping
from typing import Any

from river import base, compose

from river_margins.core.checks import short
from river_margins.core.learner import Learner
from river_margins.families.delegating import DelegatingClassifier, copied, innermost, restored, state_of
from river_margins.families.two_labels import TwoLabelClassifier
from river_margins.tasks.labels import plain

NO_CLASSIFIERS = base.Regressor | base.MultiLabelClassifier | base.Transformer | base.Clusterer


class ClassifierWrapper(DelegatingClassifier):
    """A classifier that holds a copy of another one, `learner`, and predicts with it."""

    n_seen: int

    def _wrap(self, learner: Any, **parameters: Any) -> None:
        vars(self).update(learner=copied(checked(type(self), learner)), n_seen=0, **parameters)

    def _more_tags(self) -> set[str]:
        return getattr(self.learner, "_more_tags", set)()

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river_margins.families.passive_aggressive import PAClassifier
        from river_margins.families.perceptrons import Perceptron

        yield {"learner": PAClassifier(C=0.5)}
        yield {"learner": Perceptron()}

    @property
    def n_updates(self) -> int:
        """The updates of the classifier that learns, if it counts them."""
        updates: int = self.learner.n_updates
        return updates

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


def is_mistaken(model: Any, x: Mapping[Any, Any], y: Any) -> bool:
    """Return whether a classifier is wrong on an example.

    A margin of at most 0 is a mistake where the classifier has scores, also if a tie has the right label; without
    scores, a mistake is a wrong label.
    """
    if not has_scores(model):
        return model.predict_one(x) != y
    score, y = model.score_one(x), plain(y)
    if isinstance(score, dict):
        return y not in score or score[y] <= max((of for label, of in score.items() if label != y), default=-1e400)
    return bool(score <= 0 if y == positive_label(model) else score >= 0)


def has_scores(model: Any) -> bool:
    """Return whether a model has scores, and all that it delegates to: wrappers of River hide those of a learner."""
    if isinstance(model, compose.Pipeline):
        return has_scores([*model.steps.values()][-1])
    inner = getattr(model, "classifier", getattr(model, "learner", None))
    return hasattr(model, "score_one") and (inner is None or has_scores(inner))


def positive_label(model: Any) -> Any:
    """Return the label of scores above 0 of a classifier with one weight vector."""
    inner = innermost(model)
    classes = getattr(inner, "classes", None)
    # Others with one score, such as networks, score True against False, in whatever order `classes` names them.
    return classes[1] if classes is not None and isinstance(inner, Learner | TwoLabelClassifier) else True
