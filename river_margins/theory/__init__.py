"""Bounds, regret and risk as functions of recorded numbers, and certificates of a running learner."""

from river_margins.theory import bounds, regret, risk

__all__ = ["bounds", "regret", "risk"]
