"""Update rules: one small class for each. A rule says how far the weights move in a round."""

from river_margins.rules.all_classes import MIRARule, OriginalMIRARule, SupportClassPA
from river_margins.rules.base import Rule, Seen, Step
from river_margins.rules.gaussian import (
    AROWRule,
    CWRule,
    CWVarianceRule,
    IELLIPRule,
    NAROWRule,
    NHERDRule,
    SCW1Rule,
    SCW2Rule,
    SecondOrderPerceptronRule,
)
from river_margins.rules.gradient import (
    CoinBettingRule,
    FOBOSRule,
    GradientDescent,
    LeastMeanSquares,
    NORMARule,
    PegasosRule,
    Subgradient,
)
from river_margins.rules.maximum_margin import ALMARule, ROMMARule
from river_margins.rules.passive_aggressive import PA, PA1, PA2
from river_margins.rules.perceptron import MarginPerceptronRule, PerceptronRule, ShiftingPerceptronRule

__all__ = [
    "PA",
    "PA1",
    "PA2",
    "ALMARule",
    "AROWRule",
    "CWRule",
    "CWVarianceRule",
    "CoinBettingRule",
    "FOBOSRule",
    "GradientDescent",
    "IELLIPRule",
    "LeastMeanSquares",
    "MIRARule",
    "MarginPerceptronRule",
    "NAROWRule",
    "NHERDRule",
    "NORMARule",
    "OriginalMIRARule",
    "PegasosRule",
    "PerceptronRule",
    "ROMMARule",
    "Rule",
    "SCW1Rule",
    "SCW2Rule",
    "SecondOrderPerceptronRule",
    "Seen",
    "ShiftingPerceptronRule",
    "Step",
    "Subgradient",
    "SupportClassPA",
]
