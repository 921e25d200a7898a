from collections.abc import Mapping
from typing import Any, final

class _Intercept:
    def __lt__(self, other: object) -> bool: ...
    def __gt__(self, other: object) -> bool: ...

INTERCEPT: _Intercept

@final
class Row: ...

@final
class Reader:
    def __init__(
        self, intercept: bool = False, max_features: int | None = None, constant: float = 1.0, signed: bool = True
    ) -> None: ...

def read_features(x: Mapping[Any, Any]) -> dict[Any, float]: ...
