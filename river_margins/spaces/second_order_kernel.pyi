from collections.abc import Callable
from typing import Any, final

from river_margins.spaces.kernel import Kernel

@final
class SecondOrderKernel(Kernel):
    a: float
    max_supports: int
    def __init__(
        self,
        kernel: Callable[[dict[Any, float], dict[Any, float]], float] | None = None,
        a: float = 1.0,
        *,
        max_supports: int = 5000,
    ) -> None: ...
