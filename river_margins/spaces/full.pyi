from typing import final

from river_margins.spaces.gaussian import Gaussian

@final
class Full(Gaussian):
    @property
    def max_dimension(self) -> int: ...
    def __init__(self, a: float = 1.0, *, max_dimension: int = 5000, half_life: float | None = None) -> None: ...
