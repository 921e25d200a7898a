from collections.abc import Sequence
from typing import Any

from typing_extensions import disjoint_base

from river_margins.tasks.base import Labels

@disjoint_base
class Binary(Labels):
    def __init__(self, negative: Any, positive: Any) -> None: ...

def binary_task(labels: Sequence[Any]) -> Binary: ...
