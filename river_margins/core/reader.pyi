from typing import final

class _Intercept: ...

INTERCEPT: _Intercept

@final
class Row: ...

@final
class Reader:
    def __init__(self, intercept: bool = False, max_features: int | None = None) -> None: ...
