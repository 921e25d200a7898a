from typing import final

@final
class KeptRows: ...
