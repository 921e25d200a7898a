from typing_extensions import disjoint_base

from river_margins.rules.base import Rule

@disjoint_base
class PerceptronRule(Rule):
    @property
    def lr(self) -> float: ...
    @property
    def tie_update(self) -> bool: ...
    def __init__(self, lr: float = 1.0, *, tie_update: bool = True) -> None: ...

@disjoint_base
class UnitRule(Rule):
    @property
    def aggressive(self) -> bool: ...
    def __init__(self, aggressive: bool = False) -> None: ...
