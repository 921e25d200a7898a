"""The classes of other packages that snapshots and files may name: those that an installed package registers.

A package registers rules, spaces, kernels and learners of its own as entry points, in its `pyproject.toml`:

    [project.entry-points.river_margins]
    FixedStep = "my_package.rules:FixedStep"

Snapshots and files name the class `my_package.rules.FixedStep`, and can name no other class of that package. So
who installs packages decides what can be imported, and a file does not.
"""

import contextlib
import functools
from typing import TYPE_CHECKING

from river_margins.core.estimator import Estimator
from river_margins.core.recipe import Recipe

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "river_margins"


@functools.cache
def _entry_points() -> "dict[str, EntryPoint]":
    from importlib.metadata import entry_points  # slow to import, and needed for classes of others only

    return {point.value.replace(":", "."): point for point in entry_points(group=GROUP)}


def names() -> list[str]:
    """Return the names of the registered classes."""
    return sorted(_entry_points())


def find_class(name: str) -> type | None:
    """Return the registered class of a name, or None.

    Raises
    ------
    ImportError
        The class is registered, and its package cannot be imported, or it is not an estimator, rule, space or kernel
        built on those of this library, which are all that a snapshot can hold.
    """
    point = _entry_points().get(name)
    if point is None:
        return None
    try:
        found = point.load()
    except Exception as error:  # whatever the module raises
        raise ImportError(f"`{name}` is registered as an entry point, but cannot be imported: {error}") from error
    if not _fits(found):
        raise ImportError(
            f"`{name}` is registered as an entry point, but is not built on an estimator, rule, space or kernel "
            f"of river_margins: {found!r}"
        )
    return found


def name_of(kind: type) -> str | None:
    """Return the name under which a class is registered, or None."""
    name = f"{kind.__module__}.{kind.__qualname__}"
    if name in _entry_points():
        return name if _fits(kind) else None
    for other in names():  # a package may register it where it imports it, such as `my_package.FixedStep`
        if other.rpartition(".")[2] == kind.__name__:
            with contextlib.suppress(ImportError):
                if find_class(other) is kind:
                    return other
    return None


def _fits(found: object) -> bool:
    return isinstance(found, type) and issubclass(found, Estimator | Recipe)
