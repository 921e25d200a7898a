"""Learners that adapt a trained model to its users: log-linear models, reranking, mixtures, one step per example."""

from river_margins.adaptation.log_linear import LogLinearClassifier
from river_margins.adaptation.mixture import BayesMixture
from river_margins.adaptation.one_step import OneStepAdaptation
from river_margins.adaptation.ridge import DiscriminativeRidge

__all__ = ["BayesMixture", "DiscriminativeRidge", "LogLinearClassifier", "OneStepAdaptation"]
