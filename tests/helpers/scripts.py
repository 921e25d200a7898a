"""Scripts of the repository that are not part of a package, as modules."""

import contextlib
import importlib.util
import sys
from collections.abc import Iterator
from types import ModuleType

from tests.helpers.paths import ROOT


@contextlib.contextmanager
def script(path: str) -> Iterator[ModuleType]:
    """Imports the script at a path below the root of the repository; forgets it at the end."""
    found = ROOT / path
    spec = importlib.util.spec_from_file_location(found.stem, found)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[found.stem] = module  # where dataclasses look up the annotations of their module
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        del sys.modules[found.stem]
