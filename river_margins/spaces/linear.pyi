from collections.abc import Sequence
from typing import Any

from typing_extensions import disjoint_base

from river_margins.spaces.base import Space

@disjoint_base
class Linear(Space):
    @property
    def features(self) -> Sequence[Any]: ...
    def weight(self, key: Any, block: int) -> float: ...
    def __getstate__(self) -> dict[str, Any]: ...
    def __setstate__(self, state: dict[str, Any]) -> None: ...
