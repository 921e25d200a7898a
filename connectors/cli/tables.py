"""Tables of a command's results."""

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import typer

from connectors.logs import without_controls


def show_table(titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table on a terminal, and elsewhere lines with tabs, for scripts."""
    cells = [["" if value is None else without_controls(str(value)) for value in row] for row in rows]
    if sys.stdout is None or not sys.stdout.isatty():
        typer.echo("\n".join("\t".join(line) for line in [titles, *cells]))
        return
    from rich.console import Console
    from rich.table import Column, Table

    # In a narrow window a cell takes several lines: the end of a snapshot's name is what its commands need.
    table = Table(*(Column(title, overflow="fold") for title in titles))
    for line in cells:
        table.add_row(*line)
    Console(markup=False, emoji=False).print(table)  # names of features may have brackets
