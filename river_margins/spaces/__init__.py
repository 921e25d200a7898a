"""Where weights live."""

from river_margins.spaces.base import INTERCEPT
from river_margins.spaces.linear import Linear

__all__ = ["INTERCEPT", "Linear"]
