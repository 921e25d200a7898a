"""Bounds, regret and risk as functions of recorded numbers, and certificates of a running learner."""

import importlib
import sys
from typing import TYPE_CHECKING, Any

from river_margins.theory import bounds, regret, risk

if TYPE_CHECKING:
    from river_margins.theory.certificates import DualProgress, MistakeBound, margin_reached
    from river_margins.theory.watched import Watched

__all__ = ["DualProgress", "MistakeBound", "Watched", "bounds", "margin_reached", "regret", "risk"]


def __getattr__(name: str) -> Any:
    """Import certificates with their first use: they need the conversions, which need `risk`, and River's metrics."""
    if name not in __all__:
        raise AttributeError(
            f"module 'river_margins.theory' has no attribute {name!r}", name=name, obj=sys.modules[__name__]
        )
    module = "watched" if name == "Watched" else "certificates"
    return getattr(importlib.import_module(f"river_margins.theory.{module}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})  # what an editor completes
