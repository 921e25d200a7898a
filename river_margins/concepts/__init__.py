"""Finite classes of concepts and of experts: consistent, halving, elimination, exponential weights."""

from river_margins.concepts.elimination import ELIM
from river_margins.concepts.finite_class import CON, HAL
from river_margins.concepts.hedge import Hedge
from river_margins.concepts.prefixes import bisection_adversary

__all__ = ["CON", "ELIM", "HAL", "Hedge", "bisection_adversary"]
