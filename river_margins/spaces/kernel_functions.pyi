from collections.abc import Mapping
from typing import Any

from typing_extensions import disjoint_base

from river_margins.core.recipe import Recipe

@disjoint_base
class KernelFunction(Recipe):
    def __call__(self, x: Mapping[Any, float], z: Mapping[Any, float]) -> float: ...

class LinearKernel(KernelFunction): ...

@disjoint_base
class Polynomial(KernelFunction):
    degree: int
    gamma: float
    c0: float
    def __init__(self, degree: int = 2, *, gamma: float = 1.0, c0: float = 1.0) -> None: ...

@disjoint_base
class RBF(KernelFunction):
    gamma: float | None
    c0: float
    def __init__(self, gamma: float | None = None, *, c0: float = 0.0) -> None: ...

@disjoint_base
class Laplace(KernelFunction):
    gamma: float
    def __init__(self, gamma: float = 1.0) -> None: ...
