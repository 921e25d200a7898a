"""Approximations of the largest margin."""

from functools import partial

import river_margins as rm
from tests.learners.entry import WITHOUT_TIES, Free, Learner, Rows

LEARNERS = [
    Learner(
        "ROMMA",
        partial(rm.ROMMAClassifier, aggressive=False),
        sections={"binary": "6.1", "multiclass": "3.7"},
        golden={"romma": {}},
        references=(Rows("ROMMA", settings=WITHOUT_TIES),),
        problem="ROMMA",
        bounds=(
            "mistakes_on_separable_streams",
            "squares_of_updates_on_separable_streams",
            "length_towards_the_shortest",
        ),
    ),
    Learner(
        "aggressive ROMMA",
        partial(rm.ROMMAClassifier, aggressive=True),
        sections={"binary": "6.2", "multiclass": "3.7"},
        golden={"aromma": {}},
        references=(Rows("aROMMA"),),
        problem="aggressive ROMMA",
        bounds=(
            "mistakes_on_separable_streams",
            "squares_of_updates_on_separable_streams",
            "length_towards_the_shortest",
        ),
    ),
    Learner(
        "ALMA",
        partial(rm.ALMAClassifier, alpha=0.9),
        sections={"binary": "6.3", "multiclass": "3.7"},
        golden={"alma2": {}},
        bounds=("updates_towards_the_largest_margin",),
        free={"alpha": Free(-1, 0)},
    ),
    Learner(
        "ALMA, p = 3",
        partial(rm.ALMAClassifier, alpha=0.9, p=3),
        sections={"binary": "6.3", "multiclass": "3.7"},
        golden={"alma3": {}},
        spaces=("pnorm",),
        norm=3,
    ),
    Learner(
        "ALMA with a margin of 1/alpha",
        lambda alpha=0.9, **others: rm.ALMAClassifier(alpha, B=1 / alpha, **others),
        sections={"binary": "6.3"},
        references=(Rows("ALMA", "p=2"), Rows("alma2")),
    ),
]
