from typing import Any, Self

from typing_extensions import disjoint_base

@disjoint_base
class Estimator:
    def __setattr__(self, name: str, value: Any, /) -> None: ...
    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self: ...
