"""Spaces: the ways to keep, score, measure and move weights."""

from river_margins.spaces.averaged import AveragedLinear
from river_margins.spaces.coin_betting import CoinBetting
from river_margins.spaces.diagonal import Diagonal
from river_margins.spaces.fourier import RandomFourier
from river_margins.spaces.full import Full
from river_margins.spaces.kernel import Kernel
from river_margins.spaces.linear import Linear
from river_margins.spaces.multiplicative import Multiplicative
from river_margins.spaces.pnorm import PNorm
from river_margins.spaces.pocket import PocketLinear
from river_margins.spaces.second_order_kernel import SecondOrderKernel
from river_margins.spaces.sparse import AdaptiveThreshold, DualAveraging, ProximalLeader, SoftThreshold
from river_margins.spaces.voted import VotedLinear

__all__ = [
    "AdaptiveThreshold",
    "AveragedLinear",
    "CoinBetting",
    "Diagonal",
    "DualAveraging",
    "Full",
    "Kernel",
    "Linear",
    "Multiplicative",
    "PNorm",
    "PocketLinear",
    "ProximalLeader",
    "RandomFourier",
    "SecondOrderKernel",
    "SoftThreshold",
    "VotedLinear",
]
