from os import PathLike
from typing import Any, BinaryIO

__all__ = ["read"]

def read(source: str | PathLike[str] | BinaryIO) -> tuple[Any, Any]: ...
