from typing import final

@final
class ScaledRow: ...
