"""Neural networks that learn from one example at a time."""

from river_margins.networks.backprop import OnlineMLPClassifier, OnlineMLPRegressor
from river_margins.networks.hedge import HedgeBackpropClassifier

__all__ = ["HedgeBackpropClassifier", "OnlineMLPClassifier", "OnlineMLPRegressor"]
