"""Weights that are exactly 0."""

from functools import partial

import river_margins as rm
from tests.learners.entry import Free, Learner, Rows

RATE, SIZE = Free(-2, 2, -1), Free(-3, 0, 1)
NAMES = {"eta": "lr", "lambda": "lam"}

LEARNERS = [
    Learner(
        "FTRL-proximal",
        partial(rm.FTRLProximalClassifier, loss="hinge"),
        sections={"binary": "12.12", "multiclass": "3.7"},
        golden={"ftrl_proximal": {"alpha": 0.5, "l1": 0.1}},
        bounds=("regret_of_the_proximal_leader",),
        free={"alpha": RATE, "beta": Free(-2, 1, 1), "l1": SIZE, "l2": Free(-3, 0, 2)},
        spaces=("proximalleader",),
    ),
    Learner(
        "logistic FTRL-proximal",
        partial(rm.FTRLProximalClassifier, l1=0.1),
        sections={"binary": "12.12", "multiclass": "3.7"},
        spaces=("proximalleader",),
    ),
    Learner(
        "AdaGrad-RDA",
        rm.AdaGradRDAClassifier,
        sections={"binary": "12.13", "multiclass": "3.7"},
        golden={"adagrad_rda": {"lr": 1.0, "lam": 0.05}},
        references=(Rows("ada-rda", names=NAMES),),
        bounds=("regret_of_dual_averaging",),
        free={"lr": RATE, "delta": Free(-2, 1, 1), "lam": SIZE},
        spaces=("dualaveraging",),
    ),
    Learner(
        "FOBOS",
        rm.FOBOSClassifier,
        sections={"binary": "12.14", "multiclass": "3.7"},
        golden={"fobos_l1": {"lr": 0.5, "lam": 0.1}},
        bounds=("regret_of_splitting",),
        free={"lr": Free(-2, 2, -2), "lam": SIZE},
        spaces=("softthreshold",),
    ),
    Learner(
        "AdaGrad-FOBOS",
        partial(rm.FOBOSClassifier, schedule="adagrad"),
        sections={"binary": "12.14", "multiclass": "3.7"},
        references=(Rows("ada-fobos", settings={"lam": 0.0}, names=NAMES), Rows("ada-fobos-l1", names=NAMES)),
        bounds=("regret_of_adaptive_splitting",),
        free={"lr": RATE, "delta": Free(-2, 1, 1), "lam": SIZE},
        spaces=("adaptivethreshold",),
    ),
]
