"""Perceptrons."""

from functools import partial

import river_margins as rm
from tests.helpers import python_rules as rules
from tests.learners.entry import CLASSES, WITHOUT_TIES, Free, Learner, Rows, written_in_python

LEARNERS = [
    Learner(
        "perceptron",
        rm.Perceptron,
        sections={"binary": "4.1", "multiclass": "4.9"},
        golden={
            "perceptron": {},
            "perceptron_slides_2d": {},
            "perceptron_tie_plus": WITHOUT_TIES,
            "multiclass_perceptron_max": {"classes": CLASSES},
        },
        references=(Rows("Perceptron", settings=WITHOUT_TIES), Rows("M_PerceptronM", settings=WITHOUT_TIES)),
        bounds=(
            "mistakes_of_a_perceptron",
            "weights_of_a_perceptron",
            "mistakes_on_separable_streams",
        ),
        free={"lr": Free(-3, 3)},
    ),
    *(
        Learner(
            f"{rivals} perceptron",
            partial(rm.Perceptron, rivals=rivals),
            sections={"multiclass": "4.9"},
            golden={f"multiclass_perceptron_{rivals}": {"classes": CLASSES}},
            bounds=("mistakes_of_a_perceptron", "weights_of_a_perceptron", "mistakes_on_separable_streams"),
            free={"lr": Free(-3, 3)},
        )
        for rivals in ("uniform", "proportional")
    ),
    Learner(
        "averaged perceptron",
        rm.AveragedPerceptron,
        sections={"binary": "4.5", "multiclass": "4.9"},
        golden={"averaged_perceptron": {}},
        bounds=("mistakes_of_a_perceptron", "mistakes_on_separable_streams"),
        free={"lr": Free(-3, 3)},
        spaces=("averagedlinear",),
    ),
    Learner(
        "averaged perceptron that forgets",
        partial(rm.AveragedPerceptron, half_life=20),
        sections={"binary": "4.5", "multiclass": "4.9"},
        bounds=("mistakes_of_a_perceptron", "mistakes_on_separable_streams"),
        free={"lr": Free(-3, 3)},
        spaces=("averagedlinear",),
    ),
    Learner(
        "voted perceptron",
        rm.VotedPerceptron,
        sections={"binary": "4.5", "multiclass": "4.9"},
        bounds=("mistakes_of_a_perceptron", "mistakes_on_separable_streams"),
        free={"lr": Free(-3, 3)},
        spaces=("votedlinear",),
    ),
    *(
        Learner(
            name,
            partial(rm.PocketPerceptron, ratchet),
            sections={"binary": "4.6", "multiclass": "4.9"},
            golden={golden: {}},
            bounds=("mistakes_of_a_perceptron", "mistakes_on_separable_streams"),
            free={"lr": Free(-3, 3)},
            spaces=("pocketlinear",),
        )
        for name, ratchet, golden in (
            ("pocket perceptron", False, "pocket"),
            ("pocket perceptron with a ratchet", True, "pocket_ratchet"),
        )
    ),
    Learner(
        "shifting perceptron",
        rm.ShiftingPerceptron,
        sections={"binary": "4.10", "multiclass": "4.10"},
        golden={"shifting_perceptron": {"lam": 2.0}},
    ),
    Learner(
        "p-norm perceptron",
        rm.PNormPerceptron,
        sections={"binary": "6.5", "multiclass": "3.7"},
        golden={"pnorm_perceptron": {}},
        spaces=("pnorm",),
        norm=4,
    ),
    Learner(
        "margin perceptron",
        rm.MarginPerceptron,
        sections={"binary": "4.2", "multiclass": "3.7"},
        golden={"margin_perceptron": {"lr": 0.5, "margin": 0.5}},
        bounds=("updates_with_a_margin",),
        free={"lr": Free(-3, 3), "margin": Free(-3, 3, 2)},
    ),
    Learner(
        "margin perceptron in Python",
        written_in_python(rules.MarginPerceptron),
        sections={"binary": "4.2", "multiclass": "3.7"},
        golden={"margin_perceptron": {"lr": 0.5, "margin": 0.5}},
        bounds=("updates_with_a_margin",),
        free={"lr": Free(-3, 3), "margin": Free(-3, 3, 2)},
    ),
]
