"""Gradient descent."""

from functools import partial

import river_margins as rm
from tests.helpers import python_rules as rules
from tests.learners.entry import Free, Learner, Rows, written_in_python

LEARNERS = [
    Learner(
        "Adaline",
        partial(rm.AdalineRegressor, normalised=False),
        sections={"regression": "4.7"},
        golden={"adaline": {"lr": 0.25}},
        bounds=("squares_of_adaline",),
        free={"lr": Free(-3, -0.01, -2)},
    ),
    Learner(
        "Adaline in Python",
        written_in_python(rules.Adaline, rm.MarginRegressor, eps=0.0),
        sections={"regression": "4.7"},
        golden={"adaline": {"lr": 0.25}},
    ),
    Learner(
        "online gradient descent",
        rm.OGDClassifier,
        sections={"binary": "4.8", "multiclass": "3.7"},
        golden={"ogd_hinge": {"lr": 1.0}},
        references=(Rows("OGD", "loss=hinge", {"C": "lr"}), Rows("M_OGD", names={"C": "lr"})),
        bounds=("regret_in_a_ball",),
        free={"lr": Free(-3, 3, -2), "radius": Free(-3, 3, -1)},
    ),
    Learner(
        "logistic gradient descent",
        partial(rm.OGDClassifier, loss="logistic"),
        sections={"binary": "4.8", "multiclass": "3.7"},
        references=(Rows("OGD", "loss=logistic", {"C": "lr"}),),
        bounds=("logistic_regret_in_a_ball",),
        free={"lr": Free(-3, 3, -2), "radius": Free(-3, 3, -1)},
    ),
    Learner(
        "Pegasos",
        rm.PegasosClassifier,
        sections={"binary": "8.2", "multiclass": "3.7"},
        golden={"pegasos": {"lam": 0.5, "project": False}},
        bounds=("regularised_regret",),
        free={"lam": Free(-3, 3, 2)},
    ),
    Learner(
        "squared gradient descent",
        partial(rm.OGDClassifier, loss="squared"),
        sections={"binary": "4.8"},
    ),
    Learner(
        "gradient descent on absolute errors",
        partial(rm.OGDRegressor, loss="absolute"),
        sections={"regression": "4.8"},
    ),
    Learner(
        "gradient descent on a quantile",
        partial(rm.OGDRegressor, loss="quantile", quantile=0.9),
        sections={"regression": "4.8"},
        golden={"ogd_quantile": {"lr": 1.0, "quantile": 0.75, "schedule": "constant"}},
        bounds=("quantile_regret_in_a_ball",),
        free={"lr": Free(-3, 3, -2), "radius": Free(-3, 3, -1), "quantile": Free(-2, -0.05)},
    ),
    Learner("gradient descent on errors", rm.OGDRegressor, sections={"regression": "4.8"}),
    Learner(
        "Adaline as a classifier", partial(rm.AdalineClassifier, normalised=False, lr=0.01), sections={"binary": "4.7"}
    ),
    Learner(
        "normalised Adaline as a classifier", rm.AdalineClassifier, sections={"binary": "4.7", "multiclass": "3.7"}
    ),
    Learner("normalised Adaline", rm.AdalineRegressor, sections={"regression": "4.7"}),
]
