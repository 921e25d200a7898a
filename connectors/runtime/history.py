"""The last hour of a processor, in bounded memory: its totals, and the largest weights of its models."""

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from connectors.model.contest import ContestModel
from connectors.model.counts import Counts
from connectors.runtime.metrics import Metrics, Work
from connectors.runtime.top_weights import SPAN

EVERY = 10.0  # seconds between two points
FIRST_EVERY = 0.2  # seconds, as long as there is no model
LEARNER = "learner"  # the name of a model without challengers


class Judged(NamedTuple):
    """Predictions of a model that were judged: how many, and the sum of their losses.

    A loss is 1 for a wrong class and 0 for the right one, and the absolute error for a number.
    """

    number: int = 0
    loss: float = 0.0

    def since(self, before: "Judged") -> "Judged":
        """Return what was judged after an earlier state."""
        return Judged(self.number - before.number, self.loss - before.loss)


class Point(NamedTuple):
    """The totals of a process at a time, in seconds since 1970.

    `lag` is None if it is not known. `models` has the predictions that this process has judged, and `output` those that
    were the output: each by the champion of its partition at that time.
    """

    time: float
    read: int
    learned: int
    rejected: int
    lag: int | None
    output: Judged
    models: Mapping[str, Judged]


class History:
    """The totals of a processor in the last hour.

    Parameters
    ----------
    metrics
        The metrics of the processor.

    Attributes
    ----------
    points
        The points, the oldest first. The tuple is replaced and never changed, so any thread may read it.
    """

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._last: dict[tuple[int, str], Judged] = {}
        self._judged: dict[str, Judged] = {}
        self.points: tuple[Point, ...] = ()
        self.sample()

    @property
    def has_models(self) -> bool:
        """Whether the processor has models, which may have learned before."""
        return bool(self._metrics.work.models)

    def sample(self) -> None:
        """Add a point for this moment, and forget those of more than an hour ago."""
        work, now, lag = self._metrics.work, time.time(), self._metrics.lag()
        counts = work.counts
        total = sum(lag.values()) if lag else None
        output = judged_by(counts, self._metrics.is_regressor)
        point = Point(now, counts.read, counts.learned, counts.rejected, total, output, self._models(work))
        # Not those of a later time either: a clock that was set back would keep them until it comes there again.
        self.points = (*(old for old in self.points if now - SPAN < old.time <= now), point)

    def _models(self, work: Work) -> Mapping[str, Judged]:
        models = work.models
        contests = {number: model for number, model in models.items() if isinstance(model, ContestModel)}
        if contests:
            return self._contests(contests)
        if not models:  # none was assigned yet, or all are with other processes now
            return self.points[-1].models if self.points else {}
        return {LEARNER: judged_by(work.counts, self._metrics.is_regressor)}

    def _contests(self, contests: Mapping[int, ContestModel]) -> dict[str, Judged]:
        """Return what the models of this process did since it has them: partitions come and go with their past."""
        found = dict(self._judged)
        for number, model in contests.items():
            for name in (model.name, *model.challengers):
                of_model = model.committed.models.get(name)
                now = Judged(of_model.judged, of_model.loss) if of_model else Judged()
                before, total = self._last.get((number, name), now), found.get(name, Judged())
                found[name] = Judged(
                    total.number + max(0, now.number - before.number), total.loss + max(0.0, now.loss - before.loss)
                )
                self._last[number, name] = now
        self._last = {place: judged for place, judged in self._last.items() if place[0] in contests}
        self._judged = found
        return found


def judged_by(counts: Counts, is_regressor: bool) -> Judged:
    """Return what the counts of a processor tell of its predictions."""
    return Judged(counts.judged, counts.error if is_regressor else counts.judged - counts.right)


@contextlib.contextmanager
def following(history: History) -> Iterator[None]:
    """Add a point as soon as there is a model, and then every ten seconds, in a thread, while the block runs."""
    ended = threading.Event()
    thread = threading.Thread(target=_follow, args=[history, ended], name="history", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _follow(history: History, ended: threading.Event) -> None:
    while not history.has_models:
        if ended.wait(FIRST_EVERY):
            return
    history.sample()
    while not ended.wait(EVERY):
        history.sample()
