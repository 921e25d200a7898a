from collections.abc import Callable
from typing import Any

from typing_extensions import disjoint_base

from river_margins.spaces.kernel import Kernel

@disjoint_base
class ForgetronKernel(Kernel): ...

class SimpleRemovalKernel(Kernel): ...

@disjoint_base
class ProjectionKernel(Kernel):
    eta: float
    def __init__(self, kernel: Callable[[dict[Any, float], dict[Any, float]], float] | None, eta: float) -> None: ...
