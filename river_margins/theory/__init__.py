"""Bounds, regret and risk as functions of recorded numbers, and certificates of a running learner."""

__all__: list[str] = []
