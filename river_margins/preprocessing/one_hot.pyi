from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from river import base

from river_margins.preprocessing.rows import FirstStep, RowMaker

class OneHotEncoder(FirstStep, RowMaker, base.Transformer):
    round_cost: ClassVar[str]
    guarantee: ClassVar[str]
    advice: ClassVar[str]
    features: Iterable[Any] | None
    def __init__(self, features: Iterable[Any] | None = None) -> None: ...
    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]: ...
    def transform_one(self, x: Mapping[Any, Any]) -> dict[Any, Any]: ...
