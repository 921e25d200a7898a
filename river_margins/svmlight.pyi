from os import PathLike
from typing import Any, BinaryIO

def read(source: str | PathLike[str] | BinaryIO) -> tuple[Any, Any]: ...

class Text:
    def parsed(self) -> tuple[Any, Any]: ...
