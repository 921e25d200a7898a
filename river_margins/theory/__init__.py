"""Bounds, regret and risk as functions of recorded numbers, and certificates of a running learner."""

from typing import TYPE_CHECKING, Any

from river_margins.theory import bounds, regret, risk

if TYPE_CHECKING:
    from river_margins.theory.certificates import DualProgress, MistakeBound, Watched, margin_reached

__all__ = ["DualProgress", "MistakeBound", "Watched", "bounds", "margin_reached", "regret", "risk"]


def __getattr__(name: str) -> Any:
    if name in __all__:  # certificates need the conversions, which need `risk`
        from river_margins.theory import certificates

        return getattr(certificates, name)
    raise AttributeError(f"module 'river_margins.theory' has no attribute {name!r}")
