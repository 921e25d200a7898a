from collections.abc import Mapping
from typing import Any, overload

from river import compose
from typing_extensions import disjoint_base

from river_margins.core.described import Described
from river_margins.core.estimator import Estimator
from river_margins.pipeline import Pipeline

@disjoint_base
class RowMaker(Estimator):
    def learn_one(self, x: Any) -> None: ...
    def transform_one(self, x: Any) -> dict[Any, Any]: ...
    def __getstate__(self) -> dict[str, Any]: ...
    def __setstate__(self, state: Mapping[str, Any]) -> None: ...

class FirstStep(Described):
    @overload  # type: ignore[override]
    def __or__(self, other: Pipeline) -> Pipeline: ...
    @overload
    def __or__(self, other: compose.Pipeline) -> compose.Pipeline: ...
    @overload
    def __or__(self, other: Any) -> Pipeline: ...
