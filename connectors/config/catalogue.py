"""What can be a step of `learner:`, in the words of its docstring: there is no second list to keep up."""

import inspect
import re
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from connectors.config.learner import known_names
from connectors.errors import ConfigError
from connectors.suggest import did_you_mean


@dataclass(frozen=True)
class Entry:
    """A class that a file can name; `cost`, `guarantee` and `advice` are sentences of the `Notes` in its docstring."""

    name: str
    kind: type
    summary: str
    parameters: str
    cost: str
    guarantee: str
    advice: str


def entries() -> list[Entry]:
    """Every estimator of ours; River's have pages of their own."""
    from river import base

    found = known_names().items()
    return [_entry(name, kind) for name, kind in found if "." not in name and issubclass(kind, base.Estimator)]


def steps() -> list[Entry]:
    """Those that a file can feed: sets of labels, points without labels and sequences are for Python."""
    from river import base

    fed = base.Classifier | base.Regressor | base.Transformer
    return [entry for entry in entries() if issubclass(entry.kind, fed)]


def _entry(name: str, kind: type) -> Entry:
    text = inspect.getdoc(kind) or ""
    parameters = _parameters(kind).strip("()").replace("*, ", "")
    summary = " ".join(text.partition("\n\n")[0].split())
    return Entry(name, kind, summary, parameters, *(said(text, word) for word in ("Cost:", "Guarantee:", "Take it")))


def said(text: str, beginning: str) -> str:
    """Returns the rest of the sentence that begins so, or nothing.

    >>> said("Cost: the features\\n  of x. Guarantee: none at 0.5.", "Cost:")
    'the features of x'
    """
    sentence = re.search(rf"(?:^|[.-] ){beginning} (.+?)\.(?= |$)", " ".join(text.split()))
    return sentence[1] if sentence else ""


def show_all() -> None:
    """Prints one line for each; wide enough to be searched where it is not for a terminal."""
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False)
    for title in ("name", "what it does", "parameters", "cost of a round", "guarantee"):
        table.add_column(title, style="bold" if title == "name" else None, no_wrap=title == "name")
    for entry in steps():
        table.add_row(entry.name, entry.summary, entry.parameters, entry.cost, entry.guarantee)
    terminal = Console()
    console = terminal if terminal.is_terminal else Console(width=1000)
    console.print(table, markup=False, highlight=False)
    console.print("All about one: river-margins learners NAME. Steps of river.preprocessing and river.compose go by")
    console.print("their full names, such as river.preprocessing.MinMaxScaler.", highlight=False)


def show(name: str) -> None:
    """Prints the signature and the docstring of a class that a file can name, rules and spaces included."""
    known = known_names()
    if name not in known:
        raise ConfigError(f"there is no class `{name}`{did_you_mean(name, known)}; `river-margins learners` lists them")
    print(_heading(known[name], name) + "\n\n" + (inspect.getdoc(known[name]) or ""))


def _heading(kind: Any, name: str) -> str:
    try:
        return f"{name}{_parameters(kind)}"
    except ValueError:  # compiled rules and spaces have no signature, but know the names
        return f"{name}({', '.join(kind._parameter_names)})"


def _parameters(kind: Any) -> str:
    """Return the parameters with their defaults; a file has no types, and the docstring says what each may be."""
    signature = inspect.signature(kind)
    bare = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=signature.empty))
