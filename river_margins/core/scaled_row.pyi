from typing import final

@final
class Passed: ...
