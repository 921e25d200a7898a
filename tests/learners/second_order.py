"""Learners that look at the shape of their mistakes.

`tests/river_margins/families/test_gaussian.py` has them in every task and covariance.
"""

from functools import partial

import river_margins as rm
from tests.learners.entry import WITHOUT_TIES, Free, Learner, Rows

FULL = {"covariance": "full"}

LEARNERS = [
    Learner(
        "second-order perceptron",
        rm.SecondOrderPerceptron,
        sections={"binary": "7.1", "multiclass": "3.7"},
        references=(Rows("sop", settings=WITHOUT_TIES),),
        spaces=("diagonal",),
    ),
    Learner(
        "second-order perceptron with a matrix",
        rm.SecondOrderPerceptron,
        sections={"binary": "7.1"},
        golden={"second_order_perceptron": FULL},
        bounds=("mistakes_of_a_second_order_perceptron",),
        free={"a": Free(-3, 3, 2)},
        spaces=("full",),
    ),
    Learner(
        "IELLIP",
        rm.IELLIPClassifier,
        sections={"binary": "7.6"},
        golden={"iellip": FULL | {"b": 0.5, "c": 0.25}},
        references=(Rows("IELLIP", settings=WITHOUT_TIES | FULL),),
        bounds=("margins_after_cuts",),
        free={"c": Free(-3, -0.01)},
        spaces=("diagonal", "full"),
    ),
    Learner(
        "second-order perceptron that forgets",
        partial(rm.SecondOrderPerceptron, half_life=20),
        sections={"binary": "7.1", "multiclass": "3.7"},
        spaces=("diagonal", "full"),
    ),
    Learner(
        "IELLIP that forgets",
        partial(rm.IELLIPClassifier, half_life=20),
        sections={"binary": "7.6"},
        spaces=("diagonal", "full"),
    ),
]
