"""From online learners to other learners: averages, conservative copies, single hypotheses with certificates."""

from river_margins.conversions.averaged import Averaged, AveragedRegressor
from river_margins.conversions.batch import (
    BatchFit,
    batch_adaline,
    batch_perceptron,
    incremental_kernel_perceptron,
)
from river_margins.conversions.conservative import Conservative
from river_margins.conversions.cycles import Cycles, cycle
from river_margins.conversions.mixing import mix, why_no_mean
from river_margins.conversions.online_to_batch import OnlineToBatch
from river_margins.conversions.online_to_pac import OnlineToPAC
from river_margins.conversions.projections import SVM, Projection, hildreth, svm

__all__ = [
    "SVM",
    "Averaged",
    "AveragedRegressor",
    "BatchFit",
    "Conservative",
    "Cycles",
    "OnlineToBatch",
    "OnlineToPAC",
    "Projection",
    "batch_adaline",
    "batch_perceptron",
    "cycle",
    "hildreth",
    "incremental_kernel_perceptron",
    "mix",
    "svm",
    "why_no_mean",
]
