"""The passive-aggressive rules on other labels: sets of labels, none at all, and many classes at once."""

from functools import partial

import river_margins as rm
from tests.learners.entry import CLASSES, Free, Learner
from tests.learners.passive_aggressive import AGGRESSIVENESS

RADIUS = Free(-3, 0)
KNOWN = {"classes": CLASSES}
A_POINT = "the origin is a point as any other, and its score the distance of the centre from it"

LEARNERS = [
    Learner(
        "PA on sets of labels",
        partial(rm.PAMultiLabelClassifier, mode=0),
        sections={"multilabel": "5.10"},
        golden={"pa_multilabel": KNOWN},
        problem="PA",
        bounds=("squares_on_separable_streams", "mistakes_on_separable_streams", "path_on_separable_streams"),
    ),
    Learner(
        "PA-I on sets of labels",
        partial(rm.PAMultiLabelClassifier, mode=1),
        sections={"multilabel": "5.10"},
        problem="PA-I",
        free={"C": AGGRESSIVENESS},
        bounds=("mistakes_of_capped_steps", "dual_progress"),
    ),
    Learner(
        "PA-II on sets of labels",
        partial(rm.PAMultiLabelClassifier, mode=2),
        sections={"multilabel": "5.10"},
        problem="PA-II",
        free={"C": AGGRESSIVENESS},
        bounds=("squares_of_damped_steps", "mistakes_of_damped_steps"),
    ),
    Learner(
        "PA for one class",
        partial(rm.PAOneClass, mode=0),
        sections={"one-class": "5.11"},
        zero_is_a_point=A_POINT,
        golden={"pa_uniclass_0": {"eps": 1.0}},
        problem="PA",
        free={"eps": RADIUS},
        bounds=("squares_on_separable_streams", "path_on_separable_streams"),
    ),
    Learner(
        "PA-I for one class",
        partial(rm.PAOneClass, mode=1),
        sections={"one-class": "5.11"},
        zero_is_a_point=A_POINT,
        golden={"pa_uniclass_1": {"C": 0.5, "eps": 1.0}},
        problem="PA-I",
        free={"C": Free(-3, 3), "eps": RADIUS},
        bounds=("dual_progress",),
    ),
    Learner(
        "PA-II for one class",
        partial(rm.PAOneClass, mode=2),
        sections={"one-class": "5.11"},
        zero_is_a_point=A_POINT,
        golden={"pa_uniclass_2": {"C": 0.5, "eps": 1.0}},
        problem="PA-II",
        free={"C": Free(-3, 3), "eps": RADIUS},
        bounds=("squares_of_damped_steps",),
    ),
    Learner(
        "PA-I for one class, learned radius",
        partial(rm.PAOneClass, learn_radius=True),
        sections={"one-class": "5.11"},
        zero_is_a_point=A_POINT,
    ),
    Learner(
        "exact PA",
        partial(rm.PAClassifier, mode=0, exact=True),
        sections={"binary": "5.2", "multiclass": "5.8"},
        problem="PA",
        rivals=None,
        bounds=("squares_on_separable_streams", "mistakes_on_separable_streams", "path_on_separable_streams"),
    ),
    Learner(
        "exact PA-I",
        partial(rm.PAClassifier, mode=1, exact=True),
        sections={"binary": "5.3", "multiclass": "5.8"},
        problem="PA-I",
        rivals=None,
        free={"C": AGGRESSIVENESS},
        bounds=("mistakes_of_capped_steps",),
    ),
    Learner(
        "exact PA-II",
        partial(rm.PAClassifier, mode=2, exact=True),
        sections={"binary": "5.4", "multiclass": "5.8"},
        problem="PA-II",
        rivals=None,
        free={"C": AGGRESSIVENESS},
        bounds=("squares_of_damped_steps", "mistakes_of_damped_steps"),
    ),
    Learner(
        "MIRA",
        rm.MIRAClassifier,
        sections={"binary": "6.4", "multiclass": "6.4"},
        golden={"pa_i": {"C": 0.25}, "pa_multiclass_1": {"C": 0.25, **KNOWN}},
        problem="MIRA",
        free={"C": AGGRESSIVENESS},
        bounds=("mistakes_of_capped_steps", "dual_progress"),
    ),
    Learner(
        "MIRA for all classes",
        partial(rm.MIRAClassifier, best=None),
        sections={"binary": "6.4", "multiclass": "6.4"},
        problem="MIRA",
        rivals=None,
        free={"C": AGGRESSIVENESS},
        bounds=("mistakes_of_many_capped_steps",),
    ),
    Learner(
        "original MIRA",
        partial(rm.MIRAClassifier, original=True),
        sections={"binary": "6.4", "multiclass": "6.4"},
        golden={"mira_original": {}},
        problem="original MIRA",
        rivals=None,
        bounds=("length_that_never_grows",),
    ),
]
