"""The classes that can be a step of `learner:`, described by their own attributes and docstrings."""

import inspect
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from connectors.config.classes import find_class, known_classes, nearest_class, our_classes
from connectors.errors import ConfigError
from river_margins import registered
from river_margins.core.described import Described, at_a_glance


@dataclass(frozen=True)
class Entry:
    """A class that a file can name, with the sentences in which it describes itself."""

    name: str
    kind: type
    summary: str
    parameters: str
    round_cost: str
    guarantee: str
    advice: str


def entries() -> list[Entry]:
    """Return an entry for every estimator of the library; River documents its own."""
    return [_entry(name, kind) for name, kind in our_classes().items() if issubclass(kind, Described)]


def steps() -> list[Entry]:
    """Those that a file can feed: sets of labels, points without labels and sequences are for Python."""
    from river import base

    fed = base.Classifier | base.Regressor | base.Transformer
    return [entry for entry in entries() if issubclass(entry.kind, fed)]


def _entry(name: str, kind: type[Described]) -> Entry:
    text = _docstring(kind)
    parameters = _parameters(kind)[1:-1].replace("*, ", "")
    summary = " ".join(text.partition("\n\n")[0].split())
    return Entry(name, kind, summary, parameters, kind.round_cost, kind.guarantee, kind.advice)


def show_all() -> None:
    """Prints one line for each; wide enough to be searched where it is not for a terminal."""
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False)
    for title in ("name", "what it does", "parameters", "cost of a round", "guarantee"):
        table.add_column(title, style="bold" if title == "name" else None, no_wrap=title == "name", overflow="fold")
    for entry in sorted(steps(), key=lambda entry: entry.name.lower()):
        table.add_row(entry.name, entry.summary, entry.parameters, entry.round_cost, entry.guarantee)
    terminal = Console()
    console = terminal if terminal.file.isatty() else Console(width=1000)
    console.print(table, markup=False, highlight=False)
    console.print("All about one: river-margins learners NAME. River's transformers go by their full names,")
    console.print("such as river.preprocessing.MaxAbsScaler.", highlight=False)
    if others := registered.names():
        console.print(f"Of other packages: {', '.join(others)}.", markup=False, highlight=False)


def show(name: str) -> None:
    """Print the signature and the docstring of a class that a file can name, rules and spaces included."""
    kind = find_class(name)
    if kind is None:
        try:
            registered.find_class(name)
        except ImportError as error:
            raise ConfigError(str(error)) from error
        hint = nearest_class(name, [*known_classes(), *registered.names()])
        listed = f"{hint} `river-margins learners` lists all" if hint else "; `river-margins learners` lists them"
        raise ConfigError(f"there is no class `{name}`{listed}")
    print(name + _parameters(kind) + "\n\n" + _description(kind))


def _description(kind: type) -> str:
    if issubclass(kind, Described):
        return _docstring(kind) or at_a_glance(kind)
    return inspect.getdoc(kind) or ""


def _docstring(kind: type) -> str:
    """Return the docstring of the class, and not of a base class: `python -OO` removes only the former."""
    return inspect.cleandoc(kind.__doc__ or "")


def _parameters(kind: Any) -> str:
    """Return the parameters with their defaults; a file has no types, and the docstring says what each may be."""
    signature = inspect.signature(kind)
    bare = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=signature.empty))
