"""How far to move: one small class per update rule."""

from river_margins.rules.base import Rule, Seen, Step
from river_margins.rules.gradient import (
    FOBOSRule,
    GradientDescent,
    LeastMeanSquares,
    NORMARule,
    PegasosRule,
    Subgradient,
)
from river_margins.rules.joint import MIRARule, OriginalMIRARule, SupportClassPA
from river_margins.rules.maximum_margin import ALMARule, ROMMARule
from river_margins.rules.passive_aggressive import PA, PA1, PA2
from river_margins.rules.perceptron import PerceptronRule

__all__ = [
    "PA",
    "PA1",
    "PA2",
    "ALMARule",
    "FOBOSRule",
    "GradientDescent",
    "LeastMeanSquares",
    "MIRARule",
    "NORMARule",
    "OriginalMIRARule",
    "PegasosRule",
    "PerceptronRule",
    "ROMMARule",
    "Rule",
    "Seen",
    "Step",
    "Subgradient",
    "SupportClassPA",
]
