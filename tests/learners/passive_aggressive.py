"""The passive-aggressive family."""

from functools import partial

import river_margins as rm
from tests.learners.entry import CLASSES, Free, Learner, Rows

AGGRESSIVENESS, TUBE = Free(-3, 3, -2), Free(-3, 0)

LEARNERS = [
    Learner(
        "PA",
        partial(rm.PAClassifier, mode=0),
        sections={"binary": "5.2", "multiclass": "5.8"},
        golden={"pa": {}, "pa_multiclass_0": {"classes": CLASSES}},
        references=(Rows("PA"), Rows("M_PA")),
        problem="PA",
        bounds=(
            "squares_on_separable_streams",
            "mistakes_on_separable_streams",
            "path_on_separable_streams",
            "squares_on_rows_of_one_length",
        ),
    ),
    Learner(
        "PA-I",
        partial(rm.PAClassifier, mode=1),
        sections={"binary": "5.3", "multiclass": "5.8"},
        golden={"pa_i": {"C": 0.25}, "pa_multiclass_1": {"C": 0.25, "classes": CLASSES}},
        references=(Rows("PA1"), Rows("M_PA1")),
        problem="PA-I",
        free={"C": AGGRESSIVENESS},
        bounds=(
            "mistakes_of_capped_steps",
            "dual_progress",
        ),
    ),
    Learner(
        "PA-II",
        partial(rm.PAClassifier, mode=2),
        sections={"binary": "5.4", "multiclass": "5.8"},
        golden={"pa_ii": {"C": 0.5}, "pa_multiclass_2": {"C": 0.5, "classes": CLASSES}},
        references=(Rows("PA2"), Rows("M_PA2")),
        problem="PA-II",
        free={"C": AGGRESSIVENESS},
        bounds=(
            "squares_of_damped_steps",
            "mistakes_of_damped_steps",
        ),
    ),
    Learner(
        "averaged PA-I",
        rm.AveragedPAClassifier,
        sections={"binary": "5.3", "multiclass": "5.8"},
        bounds=("mistakes_of_capped_steps",),
        free={"C": AGGRESSIVENESS},
        spaces=("averagedlinear",),
    ),
    Learner(
        "averaged PA-I that forgets",
        partial(rm.AveragedPAClassifier, half_life=20),
        sections={"binary": "5.3", "multiclass": "5.8"},
        bounds=("mistakes_of_capped_steps",),
        free={"C": AGGRESSIVENESS},
        spaces=("averagedlinear",),
    ),
    Learner(
        "PA regression",
        partial(rm.PARegressor, mode=0),
        sections={"regression": "5.7"},
        golden={"pa_regression_0": {"eps": 0.5}},
        problem="PA",
        free={"eps": TUBE},
        bounds=(
            "squares_on_separable_streams",
            "path_on_separable_streams",
            "squares_on_rows_of_one_length",
        ),
    ),
    Learner(
        "PA-I regression",
        partial(rm.PARegressor, mode=1),
        sections={"regression": "5.7"},
        golden={"pa_regression_1": {"C": 0.25, "eps": 0.5}},
        problem="PA-I",
        free={"C": AGGRESSIVENESS, "eps": TUBE},
        bounds=("dual_progress",),
    ),
    Learner(
        "PA-II regression",
        partial(rm.PARegressor, mode=2),
        sections={"regression": "5.7"},
        golden={"pa_regression_2": {"C": 0.5, "eps": 0.5}},
        problem="PA-II",
        free={"C": AGGRESSIVENESS, "eps": TUBE},
        bounds=("squares_of_damped_steps",),
    ),
]
