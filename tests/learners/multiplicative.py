"""Multiplicative learners. A weight is 1 before its feature is learned; the worked rounds leave it out until then."""

import river_margins as rm
from tests.learners.entry import Learner


def winnow(theta=2, lr=1.0, **others):
    """A sample weight is a power of beta, as if `lr` were one."""
    return rm.Winnow(theta, beta=2.0**lr, **others)


def winnow_1(**others):
    return winnow(demotion="erase", **others)


def balanced(lr=1.0, **others):
    return rm.BalancedWinnow(2.0**lr, **others)


LEARNERS = [
    Learner(
        "Winnow",
        winnow,
        sections={"binary": "10.1"},
        golden={"winnow2": {}},
        spaces=("multiplicative",),
        score_of_nothing=-2.0,
    ),
    Learner(
        "Winnow1",
        winnow_1,
        sections={"binary": "10.1"},
        golden={"winnow1": {}},
        spaces=("multiplicative",),
        score_of_nothing=-2.0,
    ),
    Learner(
        "balanced Winnow",
        balanced,
        sections={"binary": "10.2"},
        golden={"balanced_winnow": {}},
        spaces=("multiplicative",),
        score_of_nothing=-1.0,
    ),
]
