"""One entry a learner: what it is, and what every check needs to know of it.

The checks iterate over `LEARNERS`, or over `FORMS`: each learner in each of its tasks and spaces, ready to be made.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import river_margins as rm
from tests import python_rules as rules

CLASSES = ["k0", "k1", "k2"]


@dataclass(frozen=True)
class Rows:
    """The runs of another library that a learner must repeat (`tests/reference`), and how it is set up for them."""

    algorithm: str
    fixed: str = ""  # the part of the run's parameters that says which rule it is
    names: Mapping[str, str] = field(default_factory=dict)  # {the library's parameter: ours}
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Free:
    """A parameter that the properties draw: 10**[low, high] · R**power, with R the length of the longest example."""

    low: float
    high: float
    power: int = 0


@dataclass(frozen=True)
class Learner:
    """A rule under a name.

    `make` takes parameters by keyword and has defaults for all. `sections` maps each task, "binary", "multiclass" or
    "regression", to its section of `docs/algorithms.md`; `golden` the worked rounds to the parameters they are for.
    """

    name: str
    make: Callable[..., Any]
    sections: Mapping[str, str]
    golden: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    references: tuple[Rows, ...] = ()
    problem: str = ""
    bounds: tuple[str, ...] = ()
    free: Mapping[str, Free] = field(default_factory=dict)
    spaces: tuple[str, ...] = ("linear",)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Form:
    """A learner in one task and one space; `make` makes it afresh."""

    learner: Learner
    task: str
    space: str

    @property
    def name(self) -> str:
        return "-".join((self.learner.name, self.task, self.space))

    @property
    def bounds(self) -> tuple[str, ...]:
        return self.learner.bounds

    def make(self, **parameters: Any) -> Any:
        return self.learner.make(**({"classes": CLASSES} if self.task == "multiclass" else {}) | parameters)

    def __str__(self) -> str:
        return self.name


def written_in_python(
    rule: type[rm.Rule], estimator: type = rm.MarginClassifier, **defaults: Any
) -> Callable[..., Any]:
    """A constructor that gives the rule its parameters and the estimator the others."""

    def make(**parameters: Any) -> Any:
        parameters = defaults | parameters
        recipe = rule(**{name: parameters.pop(name) for name in rule._parameter_names if name in parameters})
        return estimator(recipe, **parameters)

    return make


AGGRESSIVENESS, TUBE = Free(-3, 3, -2), Free(-3, 0)
WITHOUT_TIES = {"tie_update": False}

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
    Learner(
        "margin perceptron",
        written_in_python(rules.MarginPerceptron),
        sections={"binary": "4.2", "multiclass": "3.7"},
        golden={"margin_perceptron": {"lr": 0.5, "margin": 0.5}},
        bounds=("updates_with_a_margin",),
        free={"lr": Free(-3, 3), "margin": Free(-3, 3, 2)},
    ),
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
        golden={"ogd_hinge": {}},
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
        "ROMMA",
        rm.ROMMAClassifier,
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
        rm.ALMAClassifier,
        sections={"binary": "6.3", "multiclass": "3.7"},
        golden={"alma2": {}},
        bounds=("updates_towards_the_largest_margin",),
        free={"alpha": Free(-1, 0)},
    ),
    Learner(
        "ALMA with a margin of 1/alpha",
        lambda alpha=0.9, **others: rm.ALMAClassifier(alpha, B=1 / alpha, **others),
        sections={"binary": "6.3"},
        references=(Rows("ALMA", "p=2"), Rows("alma2")),
    ),
    Learner(
        "squared gradient descent",
        partial(rm.OGDClassifier, loss="squared"),
        sections={"binary": "4.8"},
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

FORMS = [Form(learner, task, space) for learner in LEARNERS for task in learner.sections for space in learner.spaces]
