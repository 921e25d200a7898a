from math import inf as inf
from typing import Any, ClassVar, final

from typing_extensions import disjoint_base

from river_margins.core.recipe import Recipe

@final
class Seen:
    margin: float
    target: float
    gain: float
    size: float
    weight: float
    wrong: bool
    equality: bool
    t: int
    k: int
    def __init__(
        self,
        margin: float = 0.0,
        target: float = 1.0,
        gain: float = 1.0,
        *,
        size: float = 0.0,
        weight: float = 1.0,
        wrong: bool = False,
        t: int = 1,
        k: int = 0,
        equality: bool = False,
    ) -> None: ...
    @property
    def loss(self) -> float: ...

@final
class Step:
    step: float
    scale: float
    radius: float
    shrink: float
    inflate: float
    def __init__(
        self,
        step: float = 0.0,
        scale: float = 1.0,
        radius: float = inf,
        *,
        shrink: float = 0.0,
        inflate: float = 1.0,
    ) -> None: ...

@disjoint_base
class Rule(Recipe):
    weighted: ClassVar[bool]
    looks_ahead: ClassVar[bool]
    shrinks_without_limit: ClassVar[bool]
    needs: ClassVar[frozenset[str]]
    spaces: ClassVar[tuple[str, ...] | None]
    tasks: ClassVar[tuple[str, ...]]
    def step(self, seen: Seen) -> Any: ...
