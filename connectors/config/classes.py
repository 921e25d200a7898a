"""The classes that a YAML file can name.

Only names of a fixed list can be given: the public classes of `river_margins` by bare name, River's transformers and
the classes that installed packages register by full name. A file can therefore choose among learners, but never run
code of its own.
"""

import contextlib
import importlib
from collections.abc import Iterable

from connectors.suggest import did_you_mean

RIVER_MODULES = ("river.preprocessing", "river.compose", "river.feature_extraction", "river.feature_selection")
NOT_FOR_FILES = {
    "river.compose.Pipeline": "the list of steps is a pipeline already",
    # A record is predicted before it is learned. A rejected record is not learned, so all would be rejected.
    "river.preprocessing.MinMaxScaler": "it makes NaN of a feature that it has not learned, and a record with NaN is "
    "rejected: use `StandardScaler`, or `river.preprocessing.MaxAbsScaler`",
}

CLOSE = 0.75  # below, the names of other algorithms are alike: `LogisticRegression` and `OGDRegressor`


def find_class(name: str) -> type | None:
    """Return the class that a file may name so, or None. River's modules are imported only when a file names them.

    >>> find_class("PAClassifier").__name__, find_class("os.system")
    ('PAClassifier', None)
    """
    module_name, _, short_name = name.rpartition(".")
    if not module_name:
        module_name, short_name = "river_margins", name
    elif module_name not in RIVER_MODULES or name in NOT_FOR_FILES:
        from river_margins import registered

        with contextlib.suppress(ImportError):  # `report_unknown_class` says why
            return registered.find_class(name)
        return None
    module = importlib.import_module(module_name)
    found = getattr(module, short_name, None) if short_name in module.__all__ else None
    return found if isinstance(found, type) else None


def our_classes() -> dict[str, type]:
    """Return the classes of the library that a file may name, by their names."""
    import river_margins

    return _classes(river_margins.__all__)


def known_classes() -> dict[str, type]:
    """Return each class of the library and of River that a file may name. Slow: this imports all of `RIVER_MODULES`."""
    names = [f"{module}.{name}" for module in RIVER_MODULES for name in importlib.import_module(module).__all__]
    return our_classes() | _classes(names)


def nearest_class(name: str, known: Iterable[str]) -> str:
    """Return `, did you mean ...?` if a known class has the same last name, with its package or not, or a close one.

    >>> nearest_class("ROMMA", ["ROMMAClassifier", "my_package.rules.ROMMA"])
    ', did you mean `my_package.rules.ROMMA`?'
    >>> nearest_class("sklearn.romma", ["ROMMAClassifier"])
    ', did you mean `ROMMAClassifier`?'
    """
    known, short = list(known), name.rpartition(".")[2].lower()
    for each in known:
        if each.lower() == name.lower():
            return f", did you mean `{each}`?"
    for wanted in (short, f"{short}classifier", f"{short}rule"):
        for each in known:
            if each.rpartition(".")[2].lower() == wanted:
                return f", did you mean `{each}`?"
    return did_you_mean(name, known, CLOSE)


def _classes(names: Iterable[str]) -> dict[str, type]:
    found = {name: find_class(name) for name in names}
    return {name: kind for name, kind in found.items() if kind is not None}
