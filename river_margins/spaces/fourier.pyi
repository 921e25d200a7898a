from collections.abc import Sequence
from typing import Any

from typing_extensions import disjoint_base

from river_margins.spaces.base import Space

@disjoint_base
class RandomFourier(Space):
    gamma: float | None
    components: int
    seed: int
    def __init__(self, gamma: float | None = None, components: int = 100, seed: int = 0) -> None: ...
    @property
    def features(self) -> Sequence[Any]: ...
    @property
    def supports(self) -> Any: ...
    def __getstate__(self) -> dict[str, Any]: ...
    def __setstate__(self, state: dict[str, Any]) -> None: ...

def name_of(key: object) -> str: ...
