"""Where weights live."""

from river_margins.spaces.linear import Linear

__all__ = ["Linear"]
