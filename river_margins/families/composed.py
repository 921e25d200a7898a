"""A classifier and a regressor for any rule in any space; the named estimators are built on them."""

from collections.abc import Iterator, Mapping
from typing import Any

from river import base

from river_margins.core.checks import not_negative, one_of
from river_margins.core.described import Described
from river_margins.core.frames import numbers_of
from river_margins.core.learner import Learner
from river_margins.families.parameter_types import Classes, ClassWeight, Rivals
from river_margins.rules import PA1, PA2, PerceptronRule, Rule
from river_margins.rules.all_classes import AllClassesRule
from river_margins.spaces import Kernel, Multiplicative, RandomFourier
from river_margins.spaces.base import Space
from river_margins.tasks.classes import RIVALS, task_of
from river_margins.tasks.labels import label_list
from river_margins.tasks.regression import Regression

__all__ = ["MarginClassifier", "MarginRegressor"]


class MarginClassifier(Described, Learner, base.MiniBatchClassifier):  # type: ignore[misc]  # takes no further keywords
    """A classifier made of a rule and a space: every rule works with every space that suits it.

    The type of the first label decides the form. Bools share one weight vector, and a score of 0 predicts True. Any
    other labels have one weight vector for each class, in the order in which the classes appear.

    Parameters
    ----------
    rule
        The rule that decides how far to move, for instance `PA1(C=0.1)` or a `Rule` of your own.
    space
        The space in which the weights live; None (default) is `Linear()`.
    classes
        Classes known beforehand; their order breaks ties. Two classes share one weight vector: [negative, positive].
    class_weight
        A factor of the sample weight for each class: a mapping from labels to numbers > 0, in which a missing label has
        1. Or "balanced": n/(k·n_y), at most n_y, for the label y, with the n examples and k labels seen so far, n_y of
        them with y. None (default) is 1 for all.
    rivals
        With more than two classes, the wrong classes whose weights change: "max" (default) is the best-scoring one;
        "uniform" is all that score at least as high as the true class, in equal shares; "proportional" is the same
        classes, in proportion to their lead. The shares add up to 1.
    intercept
        Whether to add a constant feature of value 1, named `INTERCEPT` in `weights`. None (default) adds it where
        weights are linear or Gaussian, and not to kernels, random features and multiplicative weights.
    max_features
        The number of buckets that features are hashed into, >= 1, by a hash that is the same in every process; None
        (default) keeps every feature.

    Raises
    ------
    ValueError, TypeError
        If a parameter is outside its range. The message names the parameter.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.MarginClassifier(rm.PA1(C=0.01))
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 79.02%
    """

    round_cost = "The cost of the rule and the space."
    guarantee = "The guarantee of the rule."
    advice = "Use it for a rule and a space that have no named estimator, or for a rule of your own."

    rule: Rule
    space: Space | None
    classes: Classes
    class_weight: ClassWeight
    rivals: Rivals
    intercept: bool | None
    max_features: int | None

    def __init__(
        self,
        rule: Rule,
        space: Space | None = None,
        *,
        classes: Classes = None,
        class_weight: ClassWeight = None,
        rivals: Rivals = "max",
        intercept: bool | None = None,
        max_features: int | None = None,
    ) -> None:
        classes = label_list("classes", classes)
        vars(self).update(
            rule=rule, space=space, classes=classes, rivals=rivals, intercept=intercept, max_features=max_features
        )
        one_of("rivals", rivals, RIVALS)
        self._open(rule, space, task_of(classes, rivals), has_intercept(intercept, space), max_features)
        if rivals != "max" and isinstance(rule, AllClassesRule):
            raise ValueError(
                f"`{rule!r}` finds a step for each class itself, so `rivals={rivals!r}` has nothing to share out: "
                "leave `rivals` out"
            )
        vars(self).update(class_weight=self._weigh_classes(class_weight))

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"rule", "class_weight"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"rule": PA1(0.1)}
        yield {"rule": PerceptronRule(), "intercept": True, "max_features": 64, "class_weight": "balanced"}

    @property
    def _multiclass(self) -> bool:
        return True

    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:  # type: ignore[override]  # takes no keywords
        """Return the sigmoid (two classes) or softmax of the scores: a ranking, not calibrated probabilities.

        Known classes are equally probable before the first label; without `classes` these are True and False.
        """
        return self._probabilities(x)

    def predict_proba_many(self, X: Any) -> Any:
        """Return `predict_proba_one` for the rows of a data frame, as a frame with one column for each class."""
        numbers = numbers_of(X)
        rows = self._predict_batch(numbers.batch(), probabilities=True)
        return numbers.frame_of({label: [row[label] for row in rows] for label in self.predict_proba_one({})})


class MarginRegressor(Described, Learner, base.MiniBatchRegressor):
    """A regressor made of a rule and a space; an error of at most `eps` causes no update.

    Parameters
    ----------
    rule
        The rule that decides how far to move, for instance `PA1(C=0.1)` or a `Rule` of your own.
    space
        The space in which the weights live; None (default) is `Linear()`.
    eps
        The largest error that causes no update, >= 0, in units of the target; 0 by default. Nothing is learned from
        targets that all lie within eps of 0.
    intercept
        Whether to add a constant feature of value 1, named `INTERCEPT` in `weights`. None (default) adds it where
        weights are linear or Gaussian, and not to kernels, random features and multiplicative weights.
    max_features
        The number of buckets that features are hashed into, >= 1, by a hash that is the same in every process; None
        (default) keeps every feature.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.MarginRegressor(rm.PA(), eps=0.5)
    >>> model.learn_one({"a": 2.0}, 4.5)
    >>> model.predict_one({"a": 2.0})
    4.0
    """

    round_cost = "The cost of the rule and the space."
    guarantee = "The guarantee of the rule."
    advice = "Use it for a rule and a space that have no named estimator, or for a rule of your own."

    rule: Rule
    space: Space | None
    eps: float
    intercept: bool | None
    max_features: int | None

    def __init__(
        self,
        rule: Rule,
        space: Space | None = None,
        *,
        eps: float = 0.0,
        intercept: bool | None = None,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(rule=rule, space=space, eps=eps, intercept=intercept, max_features=max_features)
        not_negative("eps", eps)
        self._open(rule, space, self._task(), has_intercept(intercept, space), max_features)
        if getattr(rule, "loss", None) == "logistic":
            raise ValueError(
                f"`{rule!r}` has a loss for two classes, which does not depend on the size of a target: use "
                "loss='hinge', the absolute error beyond eps"
            )

    def _task(self) -> Regression:
        return Regression(self.eps)

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"rule", "eps"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"rule": PA1(0.1)}
        yield {"rule": PA2(0.1), "intercept": True, "max_features": 64}


def has_intercept(intercept: bool | None, space: Space | None) -> bool:
    """Return whether there is a constant feature; `intercept=None` leaves that to the space."""
    if intercept is None:
        return not isinstance(space, Kernel | RandomFourier | Multiplicative)
    if intercept not in (True, False):
        raise ValueError(f"`intercept` must be True, False or None, not {intercept!r}")
    return bool(intercept)
