from collections.abc import Callable, Sequence
from typing import Any

from typing_extensions import disjoint_base

from river_margins.spaces.base import Space
from river_margins.spaces.budgets import Budget

@disjoint_base
class Kernel(Space):
    budget: Budget | None
    kernel: Callable[[dict[Any, float], dict[Any, float]], float]
    def __init__(
        self,
        kernel: Callable[[dict[Any, float], dict[Any, float]], float] | None = None,
        budget: Budget | None = None,
    ) -> None: ...
    @property
    def features(self) -> Sequence[Any]: ...
    @property
    def supports(self) -> list[tuple[dict[Any, float], list[float]]]: ...
    def weight(self, key: Any, block: int) -> float: ...
    def __getstate__(self) -> dict[str, Any]: ...
    def __setstate__(self, state: dict[str, Any]) -> None: ...
