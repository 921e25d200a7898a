from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from river import base
from typing_extensions import disjoint_base

from river_margins.preprocessing.rows import FirstStep, RowMaker

@disjoint_base
class Hashing(RowMaker):
    def __getstate__(self) -> dict[str, Any]: ...
    def __setstate__(self, state: Mapping[str, Any]) -> None: ...

class FeatureHasher(FirstStep, Hashing, base.Transformer):
    round_cost: ClassVar[str]
    guarantee: ClassVar[str]
    advice: ClassVar[str]
    n_features: int
    alternate_sign: bool
    def __init__(self, n_features: int = 1_048_576, *, alternate_sign: bool = True) -> None: ...
    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]: ...
