"""Passive-aggressive learners of classes, numbers and sets of labels."""

from collections.abc import Iterator, Mapping
from typing import Any

from river import base

from river_margins.core.described import Described
from river_margins.core.learner import Learner
from river_margins.families.composed import MarginClassifier, MarginRegressor
from river_margins.families.parameter_types import Classes, ClassWeight, Mode
from river_margins.rules import PA, PA1, PA2, Rule, SupportClassPA
from river_margins.spaces import AveragedLinear
from river_margins.tasks.labels import label_list
from river_margins.tasks.multilabel import Multilabel

__all__ = ["AveragedPAClassifier", "PAClassifier", "PAMultiLabelClassifier", "PARegressor"]


class PAClassifier(MarginClassifier):
    """Passive-aggressive classification: reach margin 1 on each example, and move as little as possible.

    With the loss l = [1 - y⟨w, x⟩]+ and q = |x|², the update is w' = w + tau·y·x, where tau is l/q (`mode=0`), min(C,
    l/q) (`mode=1`) or l/(q + 1/(2C)) (`mode=2`).

    With many classes, the margin is measured against the best-scoring wrong class s, q = 2|x|², w_y' = w_y + tau·x and
    w_s' = w_s - tau·x. With `exact=True`, the margin against every wrong class must reach 1, with one slack variable
    for the whole round: w_r' = w_r - tau_r·x, tau_r = [l_r - th]+/|x|² and w_y' = w_y + Σ tau_r·x. Here l_r is the loss
    against class r, and the threshold th follows from the losses above it.

    Parameters
    ----------
    C
        Aggressiveness, > 0. 0.01 by default, which tolerates wrong labels behind a scaler; other libraries take 1.
        `mode=0` does not use it.
    mode
        The step: 0 is PA, 1 (default) is PA-I, 2 is PA-II.
    exact
        Whether each round enforces the margin against all wrong classes; False (default) enforces it against the
        best-scoring one. Two classes that share one vector have the same update in both forms.
    classes
        Classes known beforehand; their order breaks ties. Two classes share one weight vector: [negative, positive].
    class_weight
        A factor of the sample weight for each class: a mapping from labels to numbers > 0, in which a missing label has
        1. Or "balanced": n/(k·n_y), at most n_y, for the label y, with the n examples and k labels seen so far, n_y of
        them with y. None (default) is 1 for all. `mode=0` takes none.
    intercept
        Whether to add a constant feature of value 1; True by default. Unlike in River's learner, it counts in q.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    Let R be the length of the longest example and u any vector. `mode=0`, on a stream that u separates with margin 1: Σ
    l² <= R²|u|². `mode=1`, on any stream: n_mistakes <= max(R², 1/C)·(|u|² + 2C·Σ l(u)). `mode=2`, on any stream: Σ l²
    <= (R² + 1/(2C))·(|u|² + 2C·Σ l(u)²). With many classes, R² becomes 2R², with and without `exact`.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.PAClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.67%

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
        C: float = 0.01,
        *,
        mode: Mode = 1,
        exact: bool = False,
        classes: Classes = None,
        class_weight: ClassWeight = None,
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(C=C, mode=mode, exact=exact)
        rule = SupportClassPA(C, mode) if exact else passive_aggressive_rule(C, mode)
        super().__init__(
            rule, classes=classes, class_weight=class_weight, intercept=intercept, max_features=max_features
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"C", "mode", "exact", "class_weight"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        for mode in (0, 1, 2):
            yield {"mode": mode, "C": 0.1}
        yield {"exact": True, "class_weight": "balanced"}


class AveragedPAClassifier(MarginClassifier):
    """Passive-aggressive classification, predicting with the mean of its weights over all rounds.

    It learns as `PAClassifier` does: with the loss l = [1 - y⟨w, x⟩]+ and q = |x|², w' = w + tau·y·x, where tau is l/q
    (`mode=0`), min(C, l/q) (`mode=1`) or l/(q + 1/(2C)) (`mode=2`). After k rounds it predicts with (w_1 + ... +
    w_k)/k, where w_i are the weights after round i. `n_mistakes` counts the mistakes of w, not of the mean. A sample
    weight also counts the round that many times in the mean.

    Parameters
    ----------
    C
        Aggressiveness, > 0; 0.1 by default. The mean changes little with it. `mode=0` does not use it.
    mode
        The step: 0 is PA, 1 (default) is PA-I, 2 is PA-II.
    burn_in
        The number of first rounds that the mean leaves out, >= 0; 0 by default. Until then, w itself predicts.
    half_life
        The number of rounds after which the weights of a round count half in the mean, >= 1; None (default) counts all
        rounds equally. Without it the mean follows a change of concept only when the new concept has lasted longer.
    classes
        Classes known beforehand; their order breaks ties. Two classes share one weight vector: [negative, positive].
    class_weight
        A factor of the sample weight for each class: a mapping from labels to numbers > 0, in which a missing label has
        1. Or "balanced": n/(k·n_y), at most n_y, for the label y, with the n examples and k labels seen so far, n_y of
        them with y. None (default) is 1 for all. `mode=0` takes none.
    intercept
        Whether to add a constant feature of value 1; True by default.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    `n_mistakes` obeys the bounds of `PAClassifier`. The hinge loss is convex in w, so that the loss of the mean weights
    on any set of examples is at most the mean of the losses of the w_i.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.AveragedPAClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.19%

    References
    ----------
    Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S. and Singer, Y., 2006. Online passive-aggressive algorithms.
    Journal of Machine Learning Research 7. Cesa-Bianchi, N., Conconi, A. and Gentile, C., 2004. On the generalization
    ability of on-line learning algorithms. IEEE Transactions on Information Theory 50 (the mean).
    """

    round_cost = "The number of features in x times the number of classes."
    guarantee = "Its weights w keep the bounds of `PAClassifier`."
    advice = "Use it for noisy labels, with `half_life` on a stream that drifts; hardly a parameter to tune."

    C: float
    mode: Mode
    burn_in: int
    half_life: float | None

    def __init__(
        self,
        C: float = 0.1,
        *,
        mode: Mode = 1,
        burn_in: int = 0,
        half_life: float | None = None,
        classes: Classes = None,
        class_weight: ClassWeight = None,
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(C=C, mode=mode, burn_in=burn_in, half_life=half_life)
        super().__init__(
            passive_aggressive_rule(C, mode),
            AveragedLinear(burn_in, half_life=half_life),
            classes=classes,
            class_weight=class_weight,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"C", "mode", "class_weight"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"half_life": 20}
        yield {"C": 1.0, "mode": 2, "burn_in": 20, "class_weight": "balanced"}


class PARegressor(MarginRegressor):
    """Passive-aggressive regression: come within eps of each target, and move as little as possible.

    With the loss l = [|y - f| - eps]+ and q = |x|², the update is w' = w + sign(y - f)·tau·x, where tau is l/q
    (`mode=0`), min(C, l/q) (`mode=1`) or l/(q + 1/(2C)) (`mode=2`).

    Parameters
    ----------
    C
        Aggressiveness, > 0; 1 by default, with which a step goes nearly all the way to the target: for noisy targets
        write less, such as 0.02, or `AutoRegressor()`. `mode=0` does not use it.
    mode
        The step: 0 is PA, 1 is PA-I, 2 (default) is PA-II. The steps of 0 and 2 grow with the error, so that targets of
        any scale are reached; those of 1 are at most C·|x|, which resists outliers.
    eps
        The largest error that causes no update, >= 0, in units of the target; 0 by default. Nothing is learned from
        targets that all lie within eps of 0.
    intercept
        Whether to add a constant feature of value 1; True by default.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    Let R be the length of the longest example. If some u is within eps of every target, `mode=0` keeps Σ l² <= R²|u|².
    `mode=2`, on any stream and for any u: Σ l² <= (R² + 1/(2C))·(|u|² + 2C·Σ l(u)²). `n_mistakes` counts predictions
    with an error above eps.

    River's learner of this name maps each target y to 2y - 1 and so learns another function. This one follows the
    paper.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.PARegressor()
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 0.457071

    References
    ----------
    Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S. and Singer, Y., 2006. Online passive-aggressive algorithms.
    Journal of Machine Learning Research 7, section 5.
    """

    round_cost = "The number of features in x."
    guarantee = "A bound on squared losses (modes 0 and 2) in terms of the losses of any fixed weights u."
    advice = "Use it if labels have next to no noise, or jump far beyond their spread; else `AutoRegressor`, or C=0.02."

    C: float
    mode: Mode

    def __init__(
        self,
        C: float = 1.0,
        *,
        mode: Mode = 2,
        eps: float = 0.0,
        intercept: bool = True,
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


class PAMultiLabelClassifier(Described, Learner, base.MultiLabelClassifier):  # type: ignore[misc]  # takes no further keywords
    """Passive-aggressive label ranking: each true label must lead each false label by a margin of 1.

    Let r be the lowest-scoring true label and s the highest-scoring false label, l = [1 - ⟨w_r, x⟩ + ⟨w_s, x⟩]+ and q =
    2|x|². The update is w_r' = w_r + tau·x and w_s' = w_s - tau·x, where tau is l/q (`mode=0`), min(C, l/q) (`mode=1`)
    or l/(q + 1/(2C)) (`mode=2`).

    A label is predicted to be true if its score is above 0. The weights of all labels add up to 0, so that 0 is the
    mean score of the labels. So it never predicts all labels, and none only where all score 0: of two labels, it
    predicts one. Examples of which all labels hold, or none, teach it nothing. To know whether each label holds,
    `multioutput.ClassifierChain(PAClassifier())` of River is much more accurate.

    Parameters
    ----------
    C
        Aggressiveness, > 0; 1 by default. `mode=0` does not use it.
    mode
        The step: 0 is PA, 1 (default) is PA-I, 2 is PA-II.
    classes
        Labels known beforehand, in order; other labels are added when they first appear. None (default) knows no label.
    intercept
        Whether to add a constant feature of value 1; True by default.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Raises
    ------
    ValueError
        If y is not a dict from labels to bools. A label that y does not name is neither true nor false in that round.
        If no label is true, or all are, the round changes no weight.

    Notes
    -----
    Let R be the length of the longest example, u any weights and l(u) their ranking loss. `mode=0`, if u ranks with
    margin 1: Σ l² <= 2R²|u|². `mode=1`, on any stream: n_mistakes <= max(2R², 1/C)·(|u|² + 2C·Σ l(u)), where a mistake
    is a round in which r does not score above s. `mode=2`, on any stream: Σ l² <= (2R² + 1/(2C))·(|u|² + 2C·Σ l(u)²).

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.PAMultiLabelClassifier(C=0.001)
    >>> evaluate.progressive_val_score(datasets.Yeast(), model, metrics.multioutput.MicroAverage(metrics.F1()))
    MicroAverage(F1): 53.60%

    References
    ----------
    Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S. and Singer, Y., 2006. Online passive-aggressive algorithms.
    Journal of Machine Learning Research 7, section 7.
    """

    round_cost = "The number of features in x times the number of labels."
    guarantee = (
        "A bound on ranking mistakes (mode 1) or squared losses (modes 0 and 2) in terms of the losses of any u."
    )
    advice = "Use it to rank labels; River's `ClassifierChain(PAClassifier())` tells whether each of them holds."
    _no_class_weight = (
        "has no `class_weight`: an example has several labels, and its loss compares two of them: give `learn_one` a "
        "sample weight `w`"
    )

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
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        rule, classes = passive_aggressive_rule(C, mode), label_list("classes", classes)
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
        """Return the sigmoid of each label's score, {label: {False: ..., True: ...}}: a ranking, not calibrated."""
        return self._probabilities(x)


def passive_aggressive_rule(C: float, mode: Mode) -> Rule:
    """Return the rule that `mode` names."""
    if mode not in (0, 1, 2):
        raise ValueError(f"`mode` must be 0 (PA), 1 (PA-I) or 2 (PA-II), not {mode!r}")
    if mode == 0:
        PA1(C)  # refuses a C out of range, which this mode does not use
        return PA()
    return PA1(C) if mode == 1 else PA2(C)
