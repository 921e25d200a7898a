from typing import final

@final
class RowStore: ...
