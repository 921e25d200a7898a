from typing import final

from river_margins.spaces.gaussian import Gaussian

@final
class Diagonal(Gaussian):
    def __init__(self, a: float = 1.0, *, half_life: float | None = None) -> None: ...
