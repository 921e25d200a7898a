from collections.abc import Sequence
from typing import Any

from typing_extensions import disjoint_base

from river_margins.tasks.base import Labels

@disjoint_base
class Multiclass(Labels):
    def __init__(self, labels: Sequence[Any] = (), rivals: str = "max") -> None: ...
