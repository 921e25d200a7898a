"""The progress of a command, on standard error if that is a terminal."""

import contextlib
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from connectors.logs import is_terminal


@contextlib.contextmanager
def shown(what: str, total: float | None = None, counts: bool = True) -> Iterator[Callable[..., None]]:
    """Show a bar, and yield what updates it: a function of what is done, and of the total if only the work finds it.

    With `counts` both are numbers to show. Else they are bytes, and the time that is left says more.
    """
    last = (MofNCompleteColumn(), TimeElapsedColumn()) if counts else (TimeElapsedColumn(), TimeRemainingColumn())
    columns = TextColumn("{task.description}", markup=False), BarColumn(), *last
    with Progress(*columns, console=Console(stderr=True), disable=not is_terminal(), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done, of=total: progress.update(task, completed=done, total=of)
