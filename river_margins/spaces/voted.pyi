from typing import Any, final

from river_margins.spaces.linear import Linear

@final
class VotedLinear(Linear):
    def __getstate__(self) -> dict[str, Any]: ...
    def __setstate__(self, state: dict[str, Any]) -> None: ...
