"""Where weights live."""

from river_margins.spaces.averaged import AveragedLinear
from river_margins.spaces.linear import Linear
from river_margins.spaces.multiplicative import Multiplicative
from river_margins.spaces.pnorm import PNorm
from river_margins.spaces.pocket import PocketLinear
from river_margins.spaces.sparse import AdaptiveThreshold, DualAveraging, ProximalLeader, SoftThreshold
from river_margins.spaces.voted import VotedLinear

__all__ = [
    "AdaptiveThreshold",
    "AveragedLinear",
    "DualAveraging",
    "Linear",
    "Multiplicative",
    "PNorm",
    "PocketLinear",
    "ProximalLeader",
    "SoftThreshold",
    "VotedLinear",
]
