"""The parts that both demos share: a processor as a process of its own, and a screen."""

import pathlib
import signal
import subprocess
import sys
import time
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from connectors.errors import ConnectorError

EXAMPLES = pathlib.Path(__file__).parent  # `deploy/examples` of a clone links to the same files
INSTALLED = EXAMPLES.parents[2]  # the folder of this very package


class Processor:
    """`river-margins run` as a process of its own, which logs to a file."""

    def __init__(self, file: pathlib.Path, log: pathlib.Path) -> None:
        self.log = log
        command = [sys.executable, "-m", "connectors", "run", str(file)]
        with log.open("wb") as output:
            # `-m` looks in the working directory first, where the sources of a clone may lie, which are not compiled
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=INSTALLED
            )
        self.pid = self._process.pid

    def has_ended(self) -> bool:
        """Tell whether the process has ended with exit code 0; raise ConnectorError for any other exit code."""
        code = self._process.poll()
        if code:
            raise ConnectorError(f"the processor ended with exit code {code}:\n{self.last_lines()}")
        return code is not None

    def last_lines(self) -> str:
        """Return the end of the log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])

    def end(self, number: signal.Signals) -> int:
        """Send a signal, wait for the end of the process and return its exit code."""
        self._process.send_signal(number)
        return self._process.wait(60)

    def close(self) -> None:
        """Kill the process if it still runs."""
        if self._process.poll() is None:
            self.end(signal.SIGKILL)


class Screen:
    """Shows a demo as a table on a terminal, and elsewhere as lines."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, refresh_per_second=8) if console.is_terminal else None
        self._began = time.monotonic()
        self._next_line = 0.0

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def event(self, text: str) -> None:
        """Print a line with the seconds since the start."""
        self._console.print(f"{time.monotonic() - self._began:6.1f} s  {text}", highlight=False, soft_wrap=True)

    def update(self, title: str, rows: dict[str, str], total: int, done: int) -> None:
        """Show the state of the demo: on a terminal at once, elsewhere every two seconds."""
        if self._live:
            table = Table(show_header=False, min_width=64, title=title)
            for name, value in rows.items():
                table.add_row(name, value)
            table.add_row("", ProgressBar(total, done))
            self._live.update(table)
        elif time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + 2
            self.event(", ".join(f"{name} {value}" for name, value in rows.items()))
