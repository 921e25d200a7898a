"""Learners without a learning rate: each weight bets on its next step."""

from collections.abc import Iterator
from typing import Any, Literal

from river_margins.families.composed import MarginClassifier, MarginRegressor
from river_margins.families.parameter_types import Classes, ClassWeight
from river_margins.rules import CoinBettingRule
from river_margins.spaces import CoinBetting

__all__ = ["CoinBettingClassifier", "CoinBettingRegressor"]


class CoinBettingClassifier(MarginClassifier):
    """Coin betting (ScInOL): each weight bets a part of what it has won, so that no learning rate is needed.

    For each weight, s is the sum of its steps, S the sum of their squares, M the largest |x| of its feature, the
    present x included, and r = √(S + M²). Its wealth h is 1 at first, and w = h·s/(2·r·max(r, |s|)). The step of a
    round is z = -l'(m)·y·x, and then h' = h + z·w.

    Parameters
    ----------
    loss
        "logistic" (default), ln(1 + e^-m), or "hinge", [1 - m]+.
    classes
        Classes known beforehand; their order breaks ties. Two classes share one weight vector: [negative, positive].
    class_weight
        A factor of the sample weight for each class: a mapping from labels to numbers > 0, in which a missing label has
        1. Or "balanced": n/(k·n_y), at most n_y, for the label y, with the n examples and k labels seen so far, n_y of
        them with y. None (default) is 1 for all.
    intercept
        Whether to add a constant feature of value 1; True by default.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    For any u, summed over the weights that have moved: Σ l - Σ l(u) <= Σ (1 + U·[ln(1.285·U·(r/a)^1.4427) - 1]+), with
    U = 2·r·|u| and r after the last round, and a the |x| of the first round that moved the weight. A feature in other
    units changes no score.

    `weights` are those for values no larger than M; a larger value has a smaller weight. A sample weight multiplies z;
    the bound is for those of at most 1. M and S never shrink: after one value (or one sample weight) V times as large
    as the others, a weight hardly moves for about V² rounds.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.CoinBettingClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.11%

    References
    ----------
    Kempka, M., Kotłowski, W. and Warmuth, M., 2019. Adaptive scale-invariant online algorithms for learning linear
    models, algorithm 2. ICML. For the idea: Orabona, F. and Pál, D., 2016. Coin betting and parameter-free online
    learning. NeurIPS.
    """

    round_cost = "The number of features in x times the number of classes."
    guarantee = "Regret O(√T·ln T) for any u, as if the learning rate of each weight had been tuned for u."
    advice = "Use it if no parameter can be tuned, or if features around 0 have very different scales."

    loss: Literal["logistic", "hinge"]

    def __init__(
        self,
        loss: Literal["logistic", "hinge"] = "logistic",
        *,
        classes: Classes = None,
        class_weight: ClassWeight = None,
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(loss=loss)
        rule, space = CoinBettingRule(loss), CoinBetting()
        super().__init__(
            rule, space, classes=classes, class_weight=class_weight, intercept=intercept, max_features=max_features
        )

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"loss": "hinge", "max_features": 64, "class_weight": "balanced"}

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"loss", "class_weight"}


class CoinBettingRegressor(MarginRegressor):
    """Coin betting (ScInOL) on the absolute error: neither a learning rate nor the scale of the labels is needed.

    For each weight, s is the sum of its steps, S the sum of their squares, M the largest |x| of its feature, the
    present x included, and r = √(S + M²). Its wealth h is the loss of the first example that moves it, and
    w = h·s/(2·r·max(r, |s|)). The step of a round is z = x, or -x if the prediction is too high, and then h' = h + z·w.

    Parameters
    ----------
    eps
        The largest error that causes no update, >= 0, in units of the target; 0 by default.
    intercept
        Whether to add a constant feature of value 1; True by default.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    With l = [|y - f| - eps]+ and for any u, summed over the weights that have moved: Σ l - Σ l(u) <=
    Σ (h + U·[ln(1.285·U·(r/a)^1.4427/h) - 1]+), with U = 2·r·|u| and r after the last round, the first wealth h, and a
    the |x| of the first round that moved the weight. Features in other units change no prediction, and labels in other
    units only its unit.

    `weights` are those for values no larger than M; a larger value has a smaller weight. A sample weight multiplies z;
    the bound is for those of at most 1. M and S never shrink: after one value (or one sample weight) V times as large
    as the others, a weight hardly moves for about V² rounds.

    The first label decides the wealth: after one that is next to 0 beside the others, such as 1e-9, predictions stay
    next to 0 for a thousand rounds and more, and after one V times too large, errors fall as V/t. Where the first label
    may be such a one, write `AutoRegressor([CoinBettingRegressor()])`, whose learner sees standardised labels.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.CoinBettingRegressor()
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 0.934465

    References
    ----------
    Kempka, M., Kotłowski, W. and Warmuth, M., 2019. Adaptive scale-invariant online algorithms for learning linear
    models, algorithm 2. ICML. For the idea: Orabona, F. and Pál, D., 2016. Coin betting and parameter-free online
    learning. NeurIPS.
    """

    round_cost = "The number of features in x."
    guarantee = "Regret O(√T·ln T) for any u, as if the learning rate of each weight had been tuned for u."
    advice = "Use it if scales are unknown and labels have outliers; in `AutoRegressor([...])` if they are far from 0."

    def __init__(self, eps: float = 0.0, *, intercept: bool = True, max_features: int | None = None) -> None:
        rule, space = CoinBettingRule("hinge"), CoinBetting(None)
        super().__init__(rule, space, eps=eps, intercept=intercept, max_features=max_features)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"eps": 0.5, "max_features": 64}

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"eps"}
