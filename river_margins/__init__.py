"""Online margin learners as River estimators: right to the paper, compiled, on dict features."""

from river_margins.active import RandomizedSelectiveSampler, SelectiveSampler
from river_margins.gradient import (
    AdalineClassifier,
    AdalineRegressor,
    OGDClassifier,
    OGDRegressor,
    PegasosClassifier,
)
from river_margins.margin import MarginClassifier, MarginRegressor
from river_margins.maximum_margin import ALMAClassifier, ROMMAClassifier
from river_margins.multiplicative import BalancedWinnow, Winnow
from river_margins.passive_aggressive import PAClassifier, PARegressor
from river_margins.perceptrons import AveragedPerceptron, Perceptron, PNormPerceptron, PocketPerceptron, VotedPerceptron
from river_margins.preprocessing import StandardScaler
from river_margins.reader import INTERCEPT
from river_margins.rules import (
    PA,
    PA1,
    PA2,
    ALMARule,
    FOBOSRule,
    GradientDescent,
    LeastMeanSquares,
    PegasosRule,
    PerceptronRule,
    ROMMARule,
    Rule,
    Seen,
    Step,
    Subgradient,
)
from river_margins.spaces import (
    AdaptiveThreshold,
    AveragedLinear,
    DualAveraging,
    Linear,
    Multiplicative,
    PNorm,
    PocketLinear,
    ProximalLeader,
    SoftThreshold,
    VotedLinear,
)
from river_margins.sparse import AdaGradRDAClassifier, FOBOSClassifier, FTRLProximalClassifier

__all__ = [
    "INTERCEPT",
    "PA",
    "PA1",
    "PA2",
    "ALMAClassifier",
    "ALMARule",
    "AdaGradRDAClassifier",
    "AdalineClassifier",
    "AdalineRegressor",
    "AdaptiveThreshold",
    "AveragedLinear",
    "AveragedPerceptron",
    "BalancedWinnow",
    "DualAveraging",
    "FOBOSClassifier",
    "FOBOSRule",
    "FTRLProximalClassifier",
    "GradientDescent",
    "LeastMeanSquares",
    "Linear",
    "MarginClassifier",
    "MarginRegressor",
    "Multiplicative",
    "OGDClassifier",
    "OGDRegressor",
    "PAClassifier",
    "PARegressor",
    "PNorm",
    "PNormPerceptron",
    "PegasosClassifier",
    "PegasosRule",
    "Perceptron",
    "PerceptronRule",
    "PocketLinear",
    "PocketPerceptron",
    "ProximalLeader",
    "ROMMAClassifier",
    "ROMMARule",
    "RandomizedSelectiveSampler",
    "Rule",
    "Seen",
    "SelectiveSampler",
    "SoftThreshold",
    "StandardScaler",
    "Step",
    "Subgradient",
    "VotedLinear",
    "VotedPerceptron",
    "Winnow",
]
