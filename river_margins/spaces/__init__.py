"""Where weights live."""

from river_margins.spaces.linear import Linear
from river_margins.spaces.sparse import AdaptiveThreshold, DualAveraging, ProximalLeader, SoftThreshold

__all__ = ["AdaptiveThreshold", "DualAveraging", "Linear", "ProximalLeader", "SoftThreshold"]
