"""Compiled transformers: a pipeline hands their results to a compiled learner without a dict."""

from river_margins.preprocessing.hasher import FeatureHasher
from river_margins.preprocessing.interactions import Interactions
from river_margins.preprocessing.one_hot import OneHotEncoder
from river_margins.preprocessing.scaler import StandardScaler
from river_margins.preprocessing.words import TFIDF, BagOfWords

__all__ = ["TFIDF", "BagOfWords", "FeatureHasher", "Interactions", "OneHotEncoder", "StandardScaler"]
