"""The types of parameters that several estimators share."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Literal, Protocol

Classes = Sequence[Hashable] | None
ClassWeight = Mapping[Any, float] | Literal["balanced"] | None
Rivals = Literal["max", "uniform", "proportional"]
Mode = Literal[0, 1, 2]  # PA, PA-I, PA-II
Covariance = Literal["diagonal", "full"]
Loss = Literal["hinge", "squared hinge", "logistic", "squared"]
Schedule = Literal["constant", "1/sqrt(t)", "1/t"]
CostScale = Literal["sqrt", "linear"]

# `RBF()` and the other kernel functions of the library are such callables too.
KernelChoice = Callable[[dict[Any, float], dict[Any, float]], float] | None


class ScoringClassifier(Protocol):
    """A classifier with scores, such as those of this library."""

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Any: ...
    def score_one(self, x: Any) -> Any: ...
    def predict_proba_one(self, x: Any) -> Any: ...
