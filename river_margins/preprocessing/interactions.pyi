from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from river import base
from typing_extensions import disjoint_base

from river_margins.preprocessing.rows import FirstStep, RowMaker

@disjoint_base
class Plan:
    def __init__(self, keys: list[Any]) -> None: ...

@disjoint_base
class Products(RowMaker): ...

class Interactions(FirstStep, Products, base.Transformer):
    round_cost: ClassVar[str]
    guarantee: ClassVar[str]
    advice: ClassVar[str]
    degree: int
    interaction_only: bool
    pairs: tuple[tuple[Any, Any], ...] | None
    def __init__(
        self, degree: int = 2, *, interaction_only: bool = False, pairs: Sequence[Sequence[Any]] | None = None
    ) -> None: ...
    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]: ...
