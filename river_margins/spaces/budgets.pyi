from typing_extensions import disjoint_base

from river_margins.core.recipe import Recipe

@disjoint_base
class Budget(Recipe):
    size: int
    def __init__(self, size: int = 100) -> None: ...

class OldestRemoval(Budget): ...
class SmallestRemoval(Budget): ...

@disjoint_base
class RandomRemoval(Budget):
    seed: int
    def __init__(self, size: int = 100, seed: int = 0) -> None: ...
