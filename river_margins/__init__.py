"""Online margin learners as River estimators: right to the paper, compiled, on dict features."""

from river_margins.active import RandomizedSelectiveSampler, SelectiveSampler
from river_margins.budgeted import BPAClassifier, Forgetron, Projectron, RandomizedBudgetPerceptron
from river_margins.gradient import AdalineClassifier, AdalineRegressor, OGDClassifier, OGDRegressor, PegasosClassifier
from river_margins.kernel_gradient import BOGDClassifier, FOGDClassifier
from river_margins.kernel_learners import KernelPAClassifier, KernelPARegressor, KernelPerceptron
from river_margins.margin import MarginClassifier, MarginRegressor
from river_margins.maximum_margin import ALMAClassifier, ROMMAClassifier
from river_margins.mira import MIRAClassifier
from river_margins.multilabel import PAMultiLabelClassifier
from river_margins.multiplicative import BalancedWinnow, Winnow
from river_margins.one_class import PAOneClass
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
    MIRARule,
    NORMARule,
    OriginalMIRARule,
    PegasosRule,
    PerceptronRule,
    ROMMARule,
    Rule,
    Seen,
    Step,
    Subgradient,
    SupportClassPA,
)
from river_margins.spaces import (
    AdaptiveThreshold,
    AveragedLinear,
    DualAveraging,
    Kernel,
    Linear,
    Multiplicative,
    PNorm,
    PocketLinear,
    ProximalLeader,
    RandomFourier,
    SoftThreshold,
    VotedLinear,
)
from river_margins.spaces.budgets import OldestRemoval, RandomRemoval, SmallestRemoval
from river_margins.spaces.kernel_functions import RBF, Laplace, LinearKernel, Polynomial
from river_margins.sparse import AdaGradRDAClassifier, FOBOSClassifier, FTRLProximalClassifier
from river_margins.structured import StructuredPA
from river_margins.tagger import SequenceTagger

__all__ = [
    "INTERCEPT",
    "PA",
    "PA1",
    "PA2",
    "RBF",
    "ALMAClassifier",
    "ALMARule",
    "AdaGradRDAClassifier",
    "AdalineClassifier",
    "AdalineRegressor",
    "AdaptiveThreshold",
    "AveragedLinear",
    "AveragedPerceptron",
    "BOGDClassifier",
    "BPAClassifier",
    "BalancedWinnow",
    "DualAveraging",
    "FOBOSClassifier",
    "FOBOSRule",
    "FOGDClassifier",
    "FTRLProximalClassifier",
    "Forgetron",
    "GradientDescent",
    "Kernel",
    "KernelPAClassifier",
    "KernelPARegressor",
    "KernelPerceptron",
    "Laplace",
    "LeastMeanSquares",
    "Linear",
    "LinearKernel",
    "MIRAClassifier",
    "MIRARule",
    "MarginClassifier",
    "MarginRegressor",
    "Multiplicative",
    "NORMARule",
    "OGDClassifier",
    "OGDRegressor",
    "OldestRemoval",
    "OriginalMIRARule",
    "PAClassifier",
    "PAMultiLabelClassifier",
    "PAOneClass",
    "PARegressor",
    "PNorm",
    "PNormPerceptron",
    "PegasosClassifier",
    "PegasosRule",
    "Perceptron",
    "PerceptronRule",
    "PocketLinear",
    "PocketPerceptron",
    "Polynomial",
    "Projectron",
    "ProximalLeader",
    "ROMMAClassifier",
    "ROMMARule",
    "RandomFourier",
    "RandomRemoval",
    "RandomizedBudgetPerceptron",
    "RandomizedSelectiveSampler",
    "Rule",
    "Seen",
    "SelectiveSampler",
    "SequenceTagger",
    "SmallestRemoval",
    "SoftThreshold",
    "StandardScaler",
    "Step",
    "StructuredPA",
    "Subgradient",
    "SupportClassPA",
    "VotedLinear",
    "VotedPerceptron",
    "Winnow",
]
