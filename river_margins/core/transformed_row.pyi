from typing import final

@final
class TransformedRow: ...
