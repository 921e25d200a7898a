from collections.abc import Sequence
from typing import Any

from river_margins.core.transformed_row import TransformedRow

class JsonRows:
    id: str | int | None
    label: Any
    row: TransformedRow
    def __init__(self, id: str | None, label: str | None, features: Sequence[str] | None) -> None: ...
    @property
    def features(self) -> dict[str, float]: ...
    def read(self, value: bytes, start: int = 0) -> bool: ...
    def show(self, fields: dict[str, Any]) -> None: ...
