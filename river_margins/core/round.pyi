from typing import final

@final
class Round: ...
