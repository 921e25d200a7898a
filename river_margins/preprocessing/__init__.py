"""Compiled transformers: a pipeline hands their results to a compiled learner without a dict."""

from river_margins.preprocessing.hasher import FeatureHasher
from river_margins.preprocessing.one_hot import OneHotEncoder
from river_margins.preprocessing.scaler import StandardScaler

__all__ = ["FeatureHasher", "OneHotEncoder", "StandardScaler"]
