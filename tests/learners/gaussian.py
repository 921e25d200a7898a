"""Learners that keep a Gaussian over weights.

`tests/river_margins/families/test_gaussian.py` has them in every task with every covariance.
"""

from functools import partial

import river_margins as rm
from tests.learners.entry import Free, Learner, Rows

FULL = {"covariance": "full"}

LEARNERS = [
    Learner(
        "AROW",
        rm.AROWClassifier,
        sections={"binary": "12.3", "multiclass": "3.7"},
        references=(Rows("arow", names={"bias_eta": "intercept"}),),
        spaces=("diagonal",),
    ),
    Learner(
        "AROW with a matrix",
        rm.AROWClassifier,
        sections={"binary": "12.3"},
        golden={"arow": FULL},
        references=(Rows("AROW", settings=FULL),),
        bounds=("mistakes_of_arow",),
        free={"r": Free(-3, 3, 2)},
        spaces=("full",),
    ),
    Learner("AROW regression", rm.AROWRegressor, sections={"regression": "12.3"}, spaces=("diagonal", "full")),
    Learner(
        "NAROW",
        rm.NAROWClassifier,
        sections={"binary": "12.4"},
        spaces=("diagonal",),
    ),
    Learner(
        "NAROW with a matrix",
        rm.NAROWClassifier,
        sections={"binary": "12.4"},
        golden={"narow": FULL | {"b": 2.0}},
        bounds=("mistakes_of_narow",),
        free={"b": Free(-3, 3, -2)},
        spaces=("full",),
    ),
    Learner(
        "NHERD",
        partial(rm.NHERDClassifier, C=1.0),
        sections={"binary": "12.5"},
        golden={"nherd": FULL},
        references=(Rows("NHERD", settings=FULL),),
        spaces=("diagonal", "full"),
    ),
    Learner(
        "CW",
        rm.CWClassifier,
        sections={"binary": "12.2"},
        golden={"cw_stdev": FULL | {"phi": 1.0}},
        references=(Rows("CW", settings=FULL),),
        spaces=("diagonal", "full"),
    ),
    Learner(
        "CW in variances",
        partial(rm.CWClassifier, form="variance"),
        sections={"binary": "12.1"},
        golden={"cw_var": FULL | {"phi": 1.0}},
        references=(Rows("cw"),),
        spaces=("diagonal",),
    ),
    Learner(
        "SCW-I",
        rm.SCWClassifier,
        sections={"binary": "12.6"},
        golden={"scw_i": FULL | {"phi": 1.0, "C": 0.25}},
        references=(Rows("SCW", settings=FULL),),
        spaces=("diagonal", "full"),
    ),
    Learner(
        "SCW-II",
        partial(rm.SCWClassifier, mode=2),
        sections={"binary": "12.6", "multiclass": "3.7"},
        golden={"scw_ii": FULL | {"phi": 1.0, "C": 0.25}},
        spaces=("full",),
    ),
    Learner(
        "AROW that forgets",
        partial(rm.AROWClassifier, half_life=20),
        sections={"binary": "12.3", "multiclass": "3.7"},
        spaces=("diagonal", "full"),
    ),
    Learner(
        "AROW regression that forgets",
        partial(rm.AROWRegressor, half_life=20),
        sections={"regression": "12.3"},
        spaces=("diagonal", "full"),
    ),
    Learner(
        "SCW-I that forgets",
        partial(rm.SCWClassifier, half_life=20),
        sections={"binary": "12.6"},
        spaces=("diagonal", "full"),
    ),
    Learner(
        "NAROW that forgets",
        partial(rm.NAROWClassifier, half_life=20),
        sections={"binary": "12.4", "multiclass": "3.7"},
        spaces=("diagonal", "full"),
    ),
]
