"""The passive-aggressive learners."""

from collections.abc import Iterator
from typing import Any

from river_margins.families.margin import MarginClassifier, MarginRegressor
from river_margins.families.parameter_types import Classes, Mode
from river_margins.rules import PA, PA1, PA2, Rule, SupportClassPA

__all__ = ["PAClassifier", "PARegressor"]


class PAClassifier(MarginClassifier):
    """Passive-aggressive classification: reach margin 1 on each example, and move as little as possible.

    With the loss l = [1 - y⟨w, x⟩]+ and q = |x|²: w' = w + tau·y·x, where tau is l/q (`mode=0`), min(C, l/q)
    (`mode=1`) or l/(q + 1/(2C)) (`mode=2`). With many classes the margin is that against the best-scoring wrong class
    s, q = 2|x|², and w_y' = w_y + tau·x, w_s' = w_s - tau·x. With `exact=True` all wrong classes have to keep their
    distance of 1 at once, with one slack for the round: w_r' = w_r - tau_r·x, tau_r = [l_r - th]+/|x|², w_y' = w_y +
    Σ tau_r·x, where l_r is the loss against class r and the threshold th follows from those above it.

    Parameters
    ----------
    C
        Aggressiveness, > 0; 1 by default. `mode=0` has no use for it.
    mode
        Which step: 0 for PA, 1 (default) for PA-I, 2 for PA-II.
    exact
        Whether each round meets the demands of all wrong classes, or (False, the default) of the best-scoring one. Two
        classes in one vector make no difference.
    classes
        Classes known beforehand, in the order that breaks ties. Two make one weight vector: [negative, positive].
    intercept
        Whether to add a constant feature of value 1; False by default. It counts in q, unlike in River's learner.
    max_features
        Hash the features into so many buckets; None (default) keeps them all.

    Notes
    -----
    With R the longest example and u any vector: `mode=0` on a stream that u separates with margin 1, Σ l² <= R²|u|².
    `mode=1` on any stream, n_mistakes <= max(R², 1/C)·(|u|² + 2C·Σ l(u)). `mode=2` on any stream,
    Σ l² <= (R² + 1/(2C))·(|u|² + 2C·Σ l(u)²). With many classes R² becomes 2R², whether `exact` or not.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.PAClassifier(C=0.01)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.19%

    References
    ----------
    Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S. and Singer, Y., 2006. Online passive-aggressive algorithms.
    Journal of Machine Learning Research 7, sections 3 and 7. `exact`: Matsushima, S., Shimizu, N., Yoshida, K.,
    Ninomiya, T. and Nakagawa, H., 2010. Exact passive-aggressive algorithm for multiclass classification using support
    class. SIAM International Conference on Data Mining.
    """

    round_cost = "The number of features in x times the number of classes."
    guarantee = (
        "A bound on mistakes (mode 1) or squared losses (modes 0 and 2) in terms of the losses of any fixed weights u."
    )
    advice = "Start here; it has one parameter, and a small C tolerates noisy labels."

    C: float
    mode: Mode
    exact: bool

    def __init__(
        self,
        C: float = 1.0,
        *,
        mode: Mode = 1,
        exact: bool = False,
        classes: Classes = None,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(C=C, mode=mode, exact=exact)
        rule = SupportClassPA(C, mode) if exact else passive_aggressive_rule(C, mode)
        super().__init__(rule, classes=classes, intercept=intercept, max_features=max_features)

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"C", "mode", "exact"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        for mode in (0, 1, 2):
            yield {"mode": mode, "C": 0.1}
        yield {"exact": True}


class PARegressor(MarginRegressor):
    """Passive-aggressive regression: come within eps of each target, and move as little as possible.

    With the loss l = [|y - f| - eps]+ and q = |x|²: w' = w + sign(y - f)·tau·x, where tau is l/q (`mode=0`),
    min(C, l/q) (`mode=1`) or l/(q + 1/(2C)) (`mode=2`).

    Parameters
    ----------
    C
        Aggressiveness, > 0; 1 by default. `mode=0` has no use for it.
    mode
        Which step: 0 for PA, 1 (default) for PA-I, 2 for PA-II.
    eps
        Half the width of the tube in which nothing is learned, >= 0, in units of the target; 0.1 by default.
    intercept
        Whether to add a constant feature of value 1; False by default.
    max_features
        Hash the features into so many buckets; None (default) keeps them all.

    Notes
    -----
    With R the longest example: if some u is within eps of every target, `mode=0` keeps Σ l² <= R²|u|². `mode=2` on any
    stream and for any u, Σ l² <= (R² + 1/(2C))·(|u|² + 2C·Σ l(u)²). `n_mistakes` counts predictions outside the tube.
    River's learner of this name maps targets through 2y - 1 and so learns another function; this one follows the paper.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.PARegressor(C=1.0, mode=2, intercept=True)
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 0.473048

    References
    ----------
    Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S. and Singer, Y., 2006. Online passive-aggressive algorithms.
    Journal of Machine Learning Research 7, section 5.
    """

    round_cost = "The number of features in x."
    guarantee = "A bound on squared losses (modes 0 and 2) in terms of the losses of any fixed weights u."
    advice = "Start here for numeric targets; C limits each step."

    C: float
    mode: Mode

    def __init__(
        self,
        C: float = 1.0,
        *,
        mode: Mode = 1,
        eps: float = 0.1,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(C=C, mode=mode)
        super().__init__(passive_aggressive_rule(C, mode), eps=eps, intercept=intercept, max_features=max_features)

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"C", "mode", "eps"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        for mode in (0, 1, 2):
            yield {"mode": mode, "C": 0.1}


def passive_aggressive_rule(C: float, mode: Mode) -> Rule:
    """The rule of a mode."""
    if mode not in (0, 1, 2):
        raise ValueError(f"`mode` must be 0 (PA), 1 (PA-I) or 2 (PA-II), not {mode!r}")
    if mode == 0:
        PA1(C)  # a C out of range is refused in every mode
        return PA()
    return PA1(C) if mode == 1 else PA2(C)
