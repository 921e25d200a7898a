from typing_extensions import disjoint_base

from river_margins.rules.base import Rule, Seen, Step

class PA(Rule):
    def step(self, seen: Seen) -> Step: ...

@disjoint_base
class Bounded(Rule):
    @property
    def C(self) -> float: ...
    def __init__(self, C: float = 1.0) -> None: ...

class PA1(Bounded):
    def step(self, seen: Seen) -> Step: ...

class PA2(Bounded):
    def step(self, seen: Seen) -> Step: ...
