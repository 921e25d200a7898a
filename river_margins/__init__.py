"""Online margin learners as River estimators: right to the paper, compiled, on dict features."""

from river_margins.margin import MarginClassifier, MarginRegressor
from river_margins.passive_aggressive import PAClassifier, PARegressor
from river_margins.perceptrons import Perceptron
from river_margins.preprocessing import StandardScaler
from river_margins.reader import INTERCEPT
from river_margins.rules import PA, PA1, PA2, PerceptronRule, Rule, Seen, Step
from river_margins.spaces import Linear

__all__ = [
    "INTERCEPT",
    "PA",
    "PA1",
    "PA2",
    "Linear",
    "MarginClassifier",
    "MarginRegressor",
    "PAClassifier",
    "PARegressor",
    "Perceptron",
    "PerceptronRule",
    "Rule",
    "Seen",
    "StandardScaler",
    "Step",
]
