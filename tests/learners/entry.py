"""What an entry of the list of learners says."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import river_margins as rm

CLASSES = ["k0", "k1", "k2"]
GAUSSIAN = ("diagonal", "full")
SEVERAL = ("multiclass", "multilabel")  # tasks with a weight vector for each class


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

    `make` takes parameters by keyword and has defaults for all. `sections` maps each task, "binary", "multiclass",
    "regression", "multilabel" or "one-class", to its section of `docs/algorithms.md`; `golden` the worked rounds to the
    parameters they are for.
    """

    name: str
    make: Callable[..., Any]
    sections: Mapping[str, str]
    golden: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    references: tuple[Rows, ...] = ()
    problem: str = ""
    rivals: int | None = 1  # how many of the best-scoring wrong classes the problem asks to be kept apart, None for all
    bounds: tuple[str, ...] = ()
    free: Mapping[str, Free] = field(default_factory=dict)
    spaces: tuple[str, ...] = ("linear",)
    norm: float = 2.0  # of what the space keeps, in which it tracks a length
    score_of_nothing: float = 0.0  # of an empty record, where the learner has a threshold of its own
    zero_is_a_point: str = ""  # why the zero example may have a score other than 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "make", without_intercept(self.make))

    def __str__(self) -> str:
        return self.name


def without_intercept(make: Callable[..., Any]) -> Callable[..., Any]:
    """The papers and the other libraries have no intercept, so the entries have none unless a check asks for it."""
    accepted = inspect.signature(make).parameters.values()
    has_one = any(each.name == "intercept" or each.kind is each.VAR_KEYWORD for each in accepted)
    return partial(make, intercept=False) if has_one else make


def with_gamma(learner: Learner) -> dict[str, Any]:
    """Parameters without which an RBF kernel would count the features that its first example names, zeros included."""
    accepted = inspect.signature(learner.make).parameters
    return {"kernel": rm.RBF(1.0)} if "kernel" in accepted else {"gamma": 1.0} if "gamma" in accepted else {}


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
        known = {"classes": CLASSES} if self.task in SEVERAL else {}
        kept = {"covariance": self.space} if self.space in GAUSSIAN else {}
        return self.learner.make(**known | kept | parameters)

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


WITHOUT_TIES = {"tie_update": False}
