"""Online margin learners as River estimators: right to the paper, compiled, on dict features."""

from river_margins.gradient import (
    AdalineClassifier,
    AdalineRegressor,
    OGDClassifier,
    OGDRegressor,
    PegasosClassifier,
)
from river_margins.margin import MarginClassifier, MarginRegressor
from river_margins.maximum_margin import ALMAClassifier, ROMMAClassifier
from river_margins.passive_aggressive import PAClassifier, PARegressor
from river_margins.perceptrons import Perceptron
from river_margins.preprocessing import StandardScaler
from river_margins.reader import INTERCEPT
from river_margins.rules import (
    PA,
    PA1,
    PA2,
    ALMARule,
    GradientDescent,
    LeastMeanSquares,
    PegasosRule,
    PerceptronRule,
    ROMMARule,
    Rule,
    Seen,
    Step,
)
from river_margins.spaces import Linear

__all__ = [
    "INTERCEPT",
    "PA",
    "PA1",
    "PA2",
    "ALMAClassifier",
    "ALMARule",
    "AdalineClassifier",
    "AdalineRegressor",
    "GradientDescent",
    "LeastMeanSquares",
    "Linear",
    "MarginClassifier",
    "MarginRegressor",
    "OGDClassifier",
    "OGDRegressor",
    "PAClassifier",
    "PARegressor",
    "PegasosClassifier",
    "PegasosRule",
    "Perceptron",
    "PerceptronRule",
    "ROMMAClassifier",
    "ROMMARule",
    "Rule",
    "Seen",
    "StandardScaler",
    "Step",
]
