from collections.abc import Sequence
from typing import Any, final

from numpy.typing import ArrayLike

@final
class Batch:
    @property
    def length(self) -> int: ...
    def __init__(
        self, names: Sequence[Any], values: ArrayLike, columns: ArrayLike | None, starts: ArrayLike
    ) -> None: ...

def frame_batch(X: Any) -> Batch: ...
def csr_batch(X: Any) -> Batch: ...
