"""Online margin learners as River estimators: compiled, on dicts of features, and faithful to the papers.

>>> import river_margins as rm
>>> model = rm.StandardScaler() | rm.PAClassifier(C=0.1)
>>> model.learn_one({"length": 3.0, "links": 7.0}, True)
>>> model.predict_one({"length": 2.0, "links": 8.0})
True
"""

import importlib
import importlib.util
import sys
from typing import TYPE_CHECKING, Any

try:
    from river_margins import pipeline as pipeline
except ImportError as error:
    if importlib.util.find_spec("river_margins.pipeline") is not None:
        error.add_note("`pip check` tells whether a package that river_margins needs is missing or too old")
        raise
    raise ImportError(  # as in a clone after `pip install .`, where Python finds the sources first
        f"`{__path__[0]}` holds sources that are not compiled: start Python in another folder to use the package that "
        "is installed, or run `pip install -e .` there"
    ) from error
from river_margins.core.reader import INTERCEPT
from river_margins.families.active import MarginSampler, RandomizedSelectiveSampler, SelectiveSampler, ShareSampler
from river_margins.families.auto import AutoClassifier, AutoRegressor
from river_margins.families.calibrated import Calibrated
from river_margins.families.coin_betting import CoinBettingClassifier, CoinBettingRegressor
from river_margins.families.composed import MarginClassifier, MarginRegressor
from river_margins.families.confidence_weighted import CWClassifier, SCWClassifier
from river_margins.families.gaussian import (
    AROWClassifier,
    AROWRegressor,
    NAROWClassifier,
    NHERDClassifier,
)
from river_margins.families.gradient import (
    AdalineClassifier,
    AdalineRegressor,
    OGDClassifier,
    OGDRegressor,
    PegasosClassifier,
)
from river_margins.families.kernel import KernelPAClassifier, KernelPARegressor, KernelPerceptron
from river_margins.families.kernel_budget import BPAClassifier, Forgetron, Projectron, RandomizedBudgetPerceptron
from river_margins.families.kernel_gradient import BOGDClassifier, FOGDClassifier
from river_margins.families.maximum_margin import ALMAClassifier, ROMMAClassifier
from river_margins.families.mira import MIRAClassifier
from river_margins.families.multiplicative import BalancedWinnow, Winnow
from river_margins.families.one_class import PAOneClass
from river_margins.families.passive_aggressive import (
    AveragedPAClassifier,
    PAClassifier,
    PAMultiLabelClassifier,
    PARegressor,
)
from river_margins.families.perceptrons import (
    AveragedPerceptron,
    MarginPerceptron,
    Perceptron,
    PNormPerceptron,
    PocketPerceptron,
    ShiftingPerceptron,
    VotedPerceptron,
)
from river_margins.families.second_order import IELLIPClassifier, KernelSecondOrderPerceptron, SecondOrderPerceptron
from river_margins.families.sparse import AdaGradRDAClassifier, FOBOSClassifier, FTRLProximalClassifier
from river_margins.families.structured import StructuredPA
from river_margins.families.tagger import SequenceTagger
from river_margins.preprocessing import TFIDF, BagOfWords, FeatureHasher, Interactions, OneHotEncoder, StandardScaler
from river_margins.rules import (
    PA,
    PA1,
    PA2,
    ALMARule,
    AROWRule,
    CoinBettingRule,
    CWRule,
    CWVarianceRule,
    FOBOSRule,
    GradientDescent,
    IELLIPRule,
    LeastMeanSquares,
    MarginPerceptronRule,
    MIRARule,
    NAROWRule,
    NHERDRule,
    NORMARule,
    OriginalMIRARule,
    PegasosRule,
    PerceptronRule,
    ROMMARule,
    Rule,
    SCW1Rule,
    SCW2Rule,
    SecondOrderPerceptronRule,
    Seen,
    ShiftingPerceptronRule,
    Step,
    Subgradient,
    SupportClassPA,
)
from river_margins.spaces import (
    AdaptiveThreshold,
    AveragedLinear,
    CoinBetting,
    Diagonal,
    DualAveraging,
    Full,
    Kernel,
    Linear,
    Multiplicative,
    PNorm,
    PocketLinear,
    ProximalLeader,
    RandomFourier,
    SecondOrderKernel,
    SoftThreshold,
    VotedLinear,
)
from river_margins.spaces.budgets import OldestRemoval, RandomRemoval, SmallestRemoval
from river_margins.spaces.kernel_functions import RBF, Laplace, LinearKernel, Polynomial

if TYPE_CHECKING:
    from river_margins.adaptation import BayesMixture, DiscriminativeRidge, LogLinearClassifier, OneStepAdaptation
    from river_margins.concepts import CON, ELIM, HAL, Hedge
    from river_margins.conversions import Averaged, AveragedRegressor, Conservative, OnlineToBatch, OnlineToPAC
    from river_margins.networks import HedgeBackpropClassifier, OnlineMLPClassifier, OnlineMLPRegressor
    from river_margins.theory.watched import Watched
    from river_margins.version_space import (
        CenterOfGravityClassifier,
        EllipsoidClassifier,
        VersionSpace,
        VolumetricCenterClassifier,
    )

# What few programs use is imported with the first use of its name: {room: its public classes}. Functions and other
# tools are names of their room only, such as `snapshot.save`.
ROOMS: dict[str, tuple[str, ...]] = {
    "adaptation": ("BayesMixture", "DiscriminativeRidge", "LogLinearClassifier", "OneStepAdaptation"),
    "concepts": ("CON", "ELIM", "HAL", "Hedge"),
    "conversions": ("Averaged", "AveragedRegressor", "Conservative", "OnlineToBatch", "OnlineToPAC"),
    "evaluate": (),
    "networks": ("HedgeBackpropClassifier", "OnlineMLPClassifier", "OnlineMLPRegressor"),
    "snapshot": (),
    "svmlight": (),
    "theory": ("Watched",),
    "version_space": (
        "CenterOfGravityClassifier",
        "EllipsoidClassifier",
        "VersionSpace",
        "VolumetricCenterClassifier",
    ),
}
_ROOM_OF = {name: room for room, names in ROOMS.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in ROOMS:
        return importlib.import_module(f"river_margins.{name}")
    if name in _ROOM_OF:
        return getattr(importlib.import_module(f"river_margins.{_ROOM_OF[name]}"), name)
    if name == "__version__":
        return _version()
    # With `name` and `obj`, Python asks "Did you mean ...?".
    raise AttributeError(f"module 'river_margins' has no attribute {name!r}", name=name, obj=sys.modules[__name__])


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("river-margins")
    except metadata.PackageNotFoundError:  # the sources, not installed
        return "unknown"


def __dir__() -> list[str]:
    return sorted({*globals(), *ROOMS, *__all__})  # what an editor completes


__all__ = [
    "CON",
    "ELIM",
    "HAL",
    "INTERCEPT",
    "PA",
    "PA1",
    "PA2",
    "RBF",
    "TFIDF",
    "ALMAClassifier",
    "ALMARule",
    "AROWClassifier",
    "AROWRegressor",
    "AROWRule",
    "AdaGradRDAClassifier",
    "AdalineClassifier",
    "AdalineRegressor",
    "AdaptiveThreshold",
    "AutoClassifier",
    "AutoRegressor",
    "Averaged",
    "AveragedLinear",
    "AveragedPAClassifier",
    "AveragedPerceptron",
    "AveragedRegressor",
    "BOGDClassifier",
    "BPAClassifier",
    "BagOfWords",
    "BalancedWinnow",
    "BayesMixture",
    "CWClassifier",
    "CWRule",
    "CWVarianceRule",
    "Calibrated",
    "CenterOfGravityClassifier",
    "CoinBetting",
    "CoinBettingClassifier",
    "CoinBettingRegressor",
    "CoinBettingRule",
    "Conservative",
    "Diagonal",
    "DiscriminativeRidge",
    "DualAveraging",
    "EllipsoidClassifier",
    "FOBOSClassifier",
    "FOBOSRule",
    "FOGDClassifier",
    "FTRLProximalClassifier",
    "FeatureHasher",
    "Forgetron",
    "Full",
    "GradientDescent",
    "Hedge",
    "HedgeBackpropClassifier",
    "IELLIPClassifier",
    "IELLIPRule",
    "Interactions",
    "Kernel",
    "KernelPAClassifier",
    "KernelPARegressor",
    "KernelPerceptron",
    "KernelSecondOrderPerceptron",
    "Laplace",
    "LeastMeanSquares",
    "Linear",
    "LinearKernel",
    "LogLinearClassifier",
    "MIRAClassifier",
    "MIRARule",
    "MarginClassifier",
    "MarginPerceptron",
    "MarginPerceptronRule",
    "MarginRegressor",
    "MarginSampler",
    "Multiplicative",
    "NAROWClassifier",
    "NAROWRule",
    "NHERDClassifier",
    "NHERDRule",
    "NORMARule",
    "OGDClassifier",
    "OGDRegressor",
    "OldestRemoval",
    "OneHotEncoder",
    "OneStepAdaptation",
    "OnlineMLPClassifier",
    "OnlineMLPRegressor",
    "OnlineToBatch",
    "OnlineToPAC",
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
    "SCW1Rule",
    "SCW2Rule",
    "SCWClassifier",
    "SecondOrderKernel",
    "SecondOrderPerceptron",
    "SecondOrderPerceptronRule",
    "Seen",
    "SelectiveSampler",
    "SequenceTagger",
    "ShareSampler",
    "ShiftingPerceptron",
    "ShiftingPerceptronRule",
    "SmallestRemoval",
    "SoftThreshold",
    "StandardScaler",
    "Step",
    "StructuredPA",
    "Subgradient",
    "SupportClassPA",
    "VersionSpace",
    "VolumetricCenterClassifier",
    "VotedLinear",
    "VotedPerceptron",
    "Watched",
    "Winnow",
]
