"""Weights that bet."""

from functools import partial

import river_margins as rm
from tests.learners.entry import Free, Learner

LEARNERS = [
    Learner(
        "coin betting",
        rm.CoinBettingClassifier,
        sections={"binary": "4.11", "multiclass": "3.7"},
        golden={"coin_betting_logistic": {}},
        bounds=("logistic_regret_of_bets",),
        spaces=("coinbetting",),
    ),
    Learner(
        "coin betting with the hinge loss",
        partial(rm.CoinBettingClassifier, "hinge"),
        sections={"binary": "4.11", "multiclass": "3.7"},
        golden={"coin_betting_hinge": {}},
        bounds=("regret_of_bets",),
        spaces=("coinbetting",),
    ),
    Learner(
        "coin betting on numbers",
        rm.CoinBettingRegressor,
        sections={"regression": "4.11"},
        golden={"coin_betting_regression": {"eps": 0.25}},
        bounds=("regret_of_bets",),
        free={"eps": Free(-3, 0)},
        spaces=("coinbetting",),
    ),
]
