from collections.abc import Mapping
from typing import Any, Literal

from typing_extensions import disjoint_base

@disjoint_base
class ClassWeights:
    @property
    def parameter(self) -> dict[Any, float] | Literal["balanced"]: ...
    @property
    def balanced(self) -> bool: ...
    def __init__(self, parameter: Mapping[Any, float] | str) -> None: ...
