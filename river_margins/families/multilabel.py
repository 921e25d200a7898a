"""Learners of sets of labels."""

from collections.abc import Iterator, Mapping
from typing import Any

from river import base

from river_margins.core.described import Described
from river_margins.core.learner import Learner
from river_margins.families.parameter_types import Classes, Mode
from river_margins.families.passive_aggressive import passive_aggressive_rule
from river_margins.rules import Rule
from river_margins.tasks.multilabel import Multilabel

__all__ = ["PAMultiLabelClassifier"]


class PAMultiLabelClassifier(Described, Learner, base.MultiLabelClassifier):  # type: ignore[misc]  # takes no further keywords
    """Passive-aggressive label ranking: every label that holds leads every one that does not by a margin of 1.

    With r the lowest-scoring label that holds, s the highest-scoring one that does not, l = [1 - ⟨w_r, x⟩ + ⟨w_s, x⟩]+
    and q = 2|x|²: w_r' = w_r + tau·x, w_s' = w_s - tau·x, where tau is l/q (`mode=0`), min(C, l/q) (`mode=1`) or
    l/(q + 1/(2C)) (`mode=2`). A label is predicted to hold where its score is above 0: the weights of all labels add up
    to 0, so that 0 is the mean score of the labels.

    Parameters
    ----------
    C
        Aggressiveness, > 0; 1 by default. `mode=0` has no use for it.
    mode
        Which step: 0 for PA, 1 (default) for PA-I, 2 for PA-II.
    classes
        Labels known beforehand, in order; others are added when they first appear. None (default) knows none.
    intercept
        Whether to add a constant feature of value 1; False by default.
    max_features
        Hash the features into so many buckets; None (default) keeps them all.

    Raises
    ------
    ValueError
        If y is no dict from labels to bools. A label that y does not name is neither true nor false in that round;
        where no label holds, or all do, there is nothing to learn.

    Notes
    -----
    With R the longest example, l(u) the loss of the ranking and u any weights: `mode=0` where u ranks with margin 1,
    Σ l² <= 2R²|u|². `mode=1` on any stream, n_mistakes <= max(2R², 1/C)·(|u|² + 2C·Σ l(u)), a mistake being a round in
    which r does not score above s. `mode=2` on any stream, Σ l² <= (2R² + 1/(2C))·(|u|² + 2C·Σ l(u)²).

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.PAMultiLabelClassifier(C=0.001)
    >>> evaluate.progressive_val_score(datasets.Yeast(), model, metrics.multioutput.MicroAverage(metrics.F1()))
    MicroAverage(F1): 43.46%

    References
    ----------
    Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S. and Singer, Y., 2006. Online passive-aggressive algorithms.
    Journal of Machine Learning Research 7, section 7.
    """

    round_cost = "The number of features in x times the number of labels."
    guarantee = (
        "A bound on ranking mistakes (mode 1) or squared losses (modes 0 and 2) in terms of the losses of any u."
    )
    advice = "Use it if several labels can hold at once."

    C: float
    mode: Mode
    classes: Classes
    intercept: bool
    max_features: int | None
    rule: Rule

    def __init__(
        self,
        C: float = 1.0,
        *,
        mode: Mode = 1,
        classes: Classes = None,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        rule = passive_aggressive_rule(C, mode)
        vars(self).update(C=C, mode=mode, classes=classes, intercept=intercept, max_features=max_features, rule=rule)
        self._open(rule, None, Multilabel(classes or ()), intercept, max_features)

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"C", "mode"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        for mode in (0, 1, 2):
            yield {"mode": mode, "C": 0.1}

    def predict_proba_one(  # type: ignore[override]  # takes no keywords
        self, x: Mapping[Any, Any]
    ) -> dict[Any, dict[bool, float]]:
        """Sigmoid of each label's score, {label: {False: ..., True: ...}}: a ranking, not calibrated probabilities."""
        return self._probabilities(x)
