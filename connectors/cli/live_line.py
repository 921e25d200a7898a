"""The line at the bottom of a terminal that shows the progress of a running processor."""

import contextlib
import logging
import sys
import time
from collections.abc import Iterator

from rich.console import Console
from rich.live import Live
from rich.text import Text

from connectors.logs import is_terminal
from connectors.model.contest import ContestModel
from connectors.model.standings import OfModel
from connectors.runtime.health import Health

REFRESH_EVERY = 0.5  # seconds
WINDOW = 5.0  # seconds over which records per second are counted
# Loggers with a line for each commit. The live line shows the commits too, and they would scroll the terminal.
COMMIT_LOGGERS = ("connectors.topics.commit", "connectors.topics.assignment", "connectors.files.processor.commit")


@contextlib.contextmanager
def shown(health: Health) -> Iterator[None]:
    """Show the line on standard error while the block runs, if that is a terminal; log lines appear above it."""
    console = Console(stderr=True)
    # With FORCE_COLOR, rich takes a file for a terminal, too; a dumb terminal cannot show the line.
    if not (is_terminal() and console.is_interactive):
        yield
        return
    health.request_lag()
    handlers = [h for h in logging.getLogger().handlers if isinstance(h, logging.StreamHandler)]
    for name in COMMIT_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)
    with Live(console=console, get_renderable=Line(health).text, refresh_per_second=1 / REFRESH_EVERY):
        console.show_cursor()  # `Live` hides it, and a second Ctrl-C would leave it hidden
        for handler in handlers:
            handler.setStream(sys.stderr)  # `Live` has replaced it: what is written appears above the line
        yield
    for handler in handlers:
        handler.setStream(sys.stderr)
    for name in COMMIT_LOGGERS:
        logging.getLogger(name).setLevel(logging.NOTSET)


class Line:
    """The text of the line, from the metrics of a processor."""

    def __init__(self, health: Health) -> None:
        self._metrics = health.metrics
        self._before: list[tuple[float, int]] = []

    def text(self) -> Text:
        """Return the line for this moment."""
        metrics, counts = self._metrics, self._metrics.work.counts
        parts = [self._place()]
        parts += [f"{counts.read:,} records", f"{self._rate(counts.read):,.0f}/s"]
        if counts.rejected:
            parts.append(f"{counts.rejected:,} rejects")
        if not metrics.is_file:
            lag = metrics.lag()
            parts.append(f"lag {sum(lag.values()):,}" if lag else "lag ?")
        if metrics.is_regressor:
            parts += [f"mean error {counts.mean_error:.4g}"] if counts.mean_error is not None else []
        elif counts.accuracy is not None:
            parts.append(f"accuracy {counts.accuracy:.2%}")
        parts += self._challengers()
        if counts.checkpoints:
            parts.append(f"last commit {time.monotonic() - metrics.committed:.0f} s ago")
        return Text(" | ".join(parts), no_wrap=True, overflow="ellipsis")

    def _challengers(self) -> list[str]:
        """Return how all models did on the same records, in their life."""
        models = [model for model in self._metrics.work.models.values() if isinstance(model, ContestModel)]
        totals: dict[str, OfModel] = {}
        for model in models:
            for name in (model.name, *model.challengers):
                found, total = model.committed.models.get(name, OfModel()), totals.setdefault(name, OfModel())
                total.judged += found.judged
                total.loss += found.loss
        is_regressor = self._metrics.is_regressor
        return [
            f"{name} {total.loss / total.judged:.4g}" if is_regressor else f"{name} {1 - total.loss / total.judged:.2%}"
            for name, total in totals.items()
            if total.judged
        ]

    def _place(self) -> str:
        assigned = self._metrics.work.assigned
        if self._metrics.is_file:
            return self._metrics.source
        return f"{assigned} partitions" if assigned is not None else "waiting for partitions"

    def _rate(self, read: int) -> float:
        now = time.monotonic()
        self._before = [entry for entry in self._before if entry[0] > now - WINDOW] + [(now, read)]
        since, earlier = self._before[0]
        return (read - earlier) / (now - since) if now > since else 0.0
