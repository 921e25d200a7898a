"""The Prometheus metrics of a processor.

Records and predictions are those of committed work: work that is dropped and done again counts once. They start from 0
with each process; the examples that a model has learned in its life are a metric of its partition.
"""

import itertools
import math
import pathlib
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from prometheus_client import CollectorRegistry, Counter, Histogram, Info, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from connectors.config.files_schema import FileConfig
from connectors.model.contest import ContestModel
from connectors.model.counts import DELAYS, Counts
from connectors.model.partition_model import PartitionModel
from connectors.model.rejects import KINDS, KINDS_OF_LABELS
from connectors.runtime.top_weights import TopWeights

if TYPE_CHECKING:  # its schema imports parts of Kafka, which a processor between files does not need
    from connectors.config import Config

MAX_CLASSES = 20  # each class is a time series; later classes count as OTHER
MAX_CLASS_LENGTH = 60
OTHER = "other"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
CERTIFICATES = {
    "mistakes": "Mistakes that the model has made in its life, as its guarantee counts them.",
    "mistake_bound": "Upper bound of the mistakes of the model, by the loss of the comparator of `Watched`.",
    "dual_progress": "Lower bound of |u|^2/2 + C * (hinge losses of u on the stream so far), for any fixed weights u.",
}
LONG_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200, 86_400)


class Work(Protocol):
    """The work of a processor, as other threads read it. What these properties return is never changed in place."""

    @property
    def counts(self) -> Counts:
        """The counts of committed work."""

    @property
    def models(self) -> Mapping[int, PartitionModel]:
        """The models in memory, by partition."""

    @property
    def assigned(self) -> int | None:
        """How many partitions the processor has taken over; None before the first assignment."""

    @property
    def is_ready(self) -> bool:
        """Whether all assigned partitions have the model of their committed position."""

    @property
    def paused(self) -> Mapping[int, str]:
        """What is wrong with the partitions that are paused because their state is bad."""

    @property
    def committed_offsets(self) -> Mapping[int, int]:
        """The committed offsets, by partition; those of labels by `~partition`; empty for a file, which has no lag."""

    @property
    def waiting(self) -> Mapping[int, int]:
        """How many records wait for their label, by partition; empty without `labels`."""


class NoWork:
    """The work of a processor that has not started."""

    counts = Counts()
    models: Mapping[int, PartitionModel] = {}
    assigned = None
    is_ready = False
    paused: Mapping[int, str] = {}
    committed_offsets: Mapping[int, int] = {}
    waiting: Mapping[int, int] = {}


class Metrics(Collector):
    """The metrics of one processor, in a registry of their own.

    Attributes
    ----------
    work
        The work to report, read at each scrape.
    committed
        When the last commit was made, or the processor started, by `time.monotonic`, in seconds.
    name
        The name of the processor.
    has_labels, has_queries
        Whether labels come later, and whether they are asked for.
    is_regressor
        Whether the models predict numbers: by the file, because all models may be with other processes.
    source, is_file
        The name of the input topic or file, and which of the two it is. A file is one partition and has no lag.
    labels
        The topic of labels that come later; None if there is none.
    sizes
        The sizes of the last snapshots in bytes, by partition.
    weights
        The largest weights of the models; None if nobody can ask for them.
    """

    def __init__(self, config: "Config | FileConfig") -> None:
        self.work: Work = NoWork()
        self.name = config.name
        self._ends: Mapping[int, int] = {}
        self.sizes: dict[int, int] = {}
        self.committed = time.monotonic()
        self.is_file = isinstance(config, FileConfig)
        self.weights = TopWeights() if config.metrics is not None else None
        self.is_regressor = config.is_regressor
        self.has_labels, self.has_queries = config.labels is not None, config.queries is not None
        self.source = pathlib.Path(config.input.file).name if isinstance(config, FileConfig) else config.input.topic
        self.labels = None if isinstance(config, FileConfig) or config.labels is None else config.labels.topic
        self.registry = registry = CollectorRegistry()
        has_mixing = getattr(config, "mixing", None) is not None

        def histogram(name: str, meaning: str) -> Histogram:
            return Histogram(f"river_margins_{name}_seconds", meaning, buckets=SECONDS, registry=registry)

        self.commit_seconds = histogram("commit", "Time that a commit took, snapshots included.")
        if not self.is_file:  # whose records have no timestamp
            self.record_to_commit_seconds = Histogram(
                "river_margins_record_to_commit_seconds",
                "Time from the timestamp of the oldest record of a commit to the end of the commit.",
                buckets=LONG_SECONDS, registry=registry,
            )  # fmt: skip
        self.snapshot_seconds = histogram("snapshot", "Time that making and writing one snapshot took.")
        self.restore_seconds = histogram("restore", "Time that loading the model of one partition took.")
        rebalances = "Assignments of partitions that were taken over."
        self.rebalances = Counter("river_margins_rebalances", rebalances, registry=registry)
        self.resets = Counter(
            "river_margins_resets", "Failures after which uncommitted work was done again.", registry=registry
        )
        self.mixings = Counter(
            "river_margins_mixings", "Mixings of a partition that were committed.", ["topic", "partition"],
            registry=registry if has_mixing else None,
        )  # fmt: skip
        self.mixing_refused = Counter(
            "river_margins_mixing_refused", "Published models left out of a mean, because something was wrong.",
            registry=registry if has_mixing else None,
        )  # fmt: skip
        self._mixed: dict[int, float] = {}
        Info("river_margins_processor", "What runs.", registry=registry).info(
            {
                "name": config.name,
                "client": "files" if isinstance(config, FileConfig) else config.kafka.client,
                "guarantee": config.checkpoint.guarantee,
            }
        )
        ProcessCollector(registry=registry)
        registry.register(self)

    def report(self, work: Work) -> None:
        """Report this work from now on."""
        self.work = work

    def note_ends(self, ends: Mapping[int, int]) -> None:
        """Note the last stable offset of each partition, as far as known; that of labels by `~partition`."""
        self._ends = ends

    def note_commit(self, seconds: float, oldest: float = math.inf) -> None:
        """Note a commit that took so long, with the timestamp of its oldest record, if it has one.

        Only the thread that learns may call this.
        """
        self.committed = time.monotonic()
        self.commit_seconds.observe(seconds)
        if self.weights is not None and self.weights.is_due:
            self.weights.take(self.work.models)
        if oldest < math.inf:
            self.record_to_commit_seconds.observe(max(0.0, time.time() - oldest))

    def note_snapshot(self, partition: int, seconds: float, size: int) -> None:
        """Note a snapshot of `size` bytes that took so long to make and write."""
        self.snapshot_seconds.observe(seconds)
        self.sizes[partition] = size

    def note_mixing(self, partition: int) -> None:
        """Note a mixing that was committed."""
        self.mixings.labels(self.source, str(partition)).inc()
        self._mixed[partition] = time.monotonic()

    def lag(self) -> dict[int, int]:
        """Return the records from the committed offset to the last stable one, for partitions whose end is known.

        The labels of a partition have the key `~partition`.
        """
        ends, committed = self._ends, self.work.committed_offsets
        return {n: max(0, ends[n] - committed[n]) for n in sorted(committed) if n in ends}

    def collect(self) -> Iterator[Metric]:
        yield from self._totals(self.work.counts)
        yield from self._quality(self.work.counts)
        yield from self._partitions(self.work.models)
        yield from self._certificates(self.work.models)
        yield from self._contests({n: m for n, m in self.work.models.items() if isinstance(m, ContestModel)})
        yield from self._drifts(self.work.models)
        ages = {n: time.monotonic() - self._mixed[n] for n in sorted(self.work.models) if n in self._mixed}
        if ages:
            meaning = "Time since the last mixing of a partition in this process."
            yield self._of_partitions("mixing_age_seconds", meaning, ages)
        if self.has_labels:
            yield from self._late(self.work.counts)
        if self.has_queries:
            yield from self._asked(self.work.counts)
        since = "Seconds since the last commit, or since the start; nothing is committed when nothing was read."
        yield GaugeMetricFamily("river_margins_since_commit_seconds", since, time.monotonic() - self.committed)
        meaning = "Partitions that this process has taken over."
        yield GaugeMetricFamily("river_margins_assigned_partitions", meaning, self.work.assigned or 0)
        yield self._of_partitions(
            "paused_partitions", "1 for each partition that is paused because its state is bad.",
            dict.fromkeys(sorted(self.work.paused), 1),
        )  # fmt: skip

    def _totals(self, counts: Counts) -> Iterator[Metric]:
        totals = {
            "records": (counts.read, "Records read and answered, rejected ones included."),
            "learned_records": (counts.learned, "Records learned from."),
            "shortened_outputs": (counts.shortened, "Outputs too large for the broker, replaced by a short one."),
            "unsent_outputs": (counts.unsent, "Outputs of which not even a short one fitted; they are in the log."),
        }
        for name, (value, meaning) in totals.items():
            yield CounterMetricFamily(f"river_margins_{name}", meaning, value)
        meaning = "Records rejected, by reason; those for `label`, `weight` or `id` were predicted."
        rejects = CounterMetricFamily("river_margins_rejects", meaning, labels=["reason"])
        # From 0 on: `rate` and `increase` see nothing of a series that begins with its first rejects.
        kinds = (*KINDS, *KINDS_OF_LABELS) if self.has_labels else KINDS
        for reason, number in (dict.fromkeys(kinds, 0) | counts.reasons).items():
            rejects.add_metric([reason], number)
        yield rejects
        predictions = CounterMetricFamily("river_margins_predictions", "Predictions, by class.", labels=["class"])
        for name, number in by_class(counts.classes).items():
            predictions.add_metric([name], number)
        yield predictions

    def _quality(self, counts: Counts) -> Iterator[Metric]:
        """Yield how good the predictions were that were made before their label was learned."""
        judged = "Predictions made before their label was learned."
        yield CounterMetricFamily("river_margins_judged_predictions", judged, counts.judged)
        if self.is_regressor:
            total = "Sum of |label - prediction| of judged predictions."
            mean = "Mean of |label - prediction| of judged predictions, since the start."
            yield CounterMetricFamily("river_margins_absolute_error", total, counts.error)
            yield GaugeMetricFamily("river_margins_progressive_absolute_error", mean, counts.mean_error)
        else:
            right, part = "Judged predictions that were right.", "Share of right predictions, since the start."
            yield CounterMetricFamily("river_margins_right_predictions", right, counts.right)
            yield GaugeMetricFamily("river_margins_progressive_accuracy", part, counts.accuracy)

    def _late(self, counts: Counts) -> Iterator[Metric]:
        """Yield what became of labels that come later than their records."""
        yield CounterMetricFamily("river_margins_labels", "Labels read from their own input.", counts.labels)
        early = "Labels that came before their record."
        yield CounterMetricFamily("river_margins_early_labels", early, counts.early)
        meaning = "Records whose label did not come: they waited too long, or were evicted for newer ones."
        gone = CounterMetricFamily("river_margins_expired_records", meaning, labels=["bound"])
        gone.add_metric(["within"], counts.expired)
        gone.add_metric(["pending"], counts.displaced)
        yield gone
        numbers = itertools.accumulate(counts.delays.get(limit, 0) for limit in DELAYS)
        yield HistogramMetricFamily(
            "river_margins_label_delay_seconds", "Time from a record to its label, by their times.",
            buckets=[(floatToGoString(limit), number) for limit, number in zip(DELAYS, numbers, strict=True)],
            sum_value=counts.delay,
        )  # fmt: skip
        yield self._of_partitions("waiting_records", "Records that wait for their label.", self.work.waiting)

    def _asked(self, counts: Counts) -> Iterator[Metric]:
        """Yield how many labels were asked for."""
        yield CounterMetricFamily("river_margins_queries", "Records whose label was asked for.", counts.queries)
        withheld = "Requests that `queries.at_most` did not allow, or of records nested too deeply for JSON."
        yield CounterMetricFamily("river_margins_withheld_queries", withheld, counts.withheld)

    def _partitions(self, models: Mapping[int, PartitionModel]) -> Iterator[Metric]:
        lag = self._of_partitions("lag_records", "Records from the committed offset to the last stable one.", {})
        for place, value in self.lag().items():
            lag.add_metric([self.source, str(place)] if place >= 0 else [self.labels or "", str(~place)], value)
        yield lag
        values: dict[str, tuple[str, Mapping[int, int]]] = {
            "snapshot_bytes": ("Size of the last snapshot.", self.sizes),
            "model_examples": ("Examples that the model has learned.", {n: m.examples for n, m in models.items()}),
            "model_updates": ("Updates of the model.", {n: m.updates for n, m in models.items()}),
        }
        for name, (meaning, found) in values.items():
            yield self._of_partitions(name, meaning, {n: found[n] for n in sorted(models) if n in found})

    def _certificates(self, models: Mapping[int, PartitionModel]) -> Iterator[Metric]:
        """Yield the certificates of learners in `Watched`; nothing for other learners."""
        for name, meaning in CERTIFICATES.items():
            values = {n: found for n in sorted(models) if (found := models[n].certificates.get(name)) is not None}
            if values:
                yield self._of_partitions(name, meaning, values)

    def _contests(self, models: Mapping[int, ContestModel]) -> Iterator[Metric]:
        """Yield how several models of a partition did on the same records; nothing for a single one."""
        if not models:
            return
        what = "Sum of |label - prediction| of a model." if self.is_regressor else "Wrong predictions of a model."
        families = [
            self._of_models("compared_predictions", "Predictions of a model that were judged, in its life."),
            self._of_models("compared_loss", what),
            self._of_models("challenger_examples", "Examples that a challenger has learned."),
            self._of_models("challenger_refusals", "Records whose features or label a challenger refused.", "of"),
        ]
        champion = self._of_models("champion", "1 for the model whose prediction is the output.")
        judged, loss, examples, refusals = families
        for number, model in sorted(models.items()):
            place = self.source, str(number)
            champion.add_metric([*place, model.name], 1)
            for name, found in model.committed.models.items():
                judged.add_metric([*place, name], found.judged)
                loss.add_metric([*place, name], found.loss)
            for name, challenger in model.challengers.items():
                examples.add_metric([*place, name], challenger.examples)
                for of, count in zip(("features", "label"), model.refused.get(name, (0, 0)), strict=True):
                    refusals.add_metric([*place, name, of], count)
        yield from (*families, champion)

    def _drifts(self, models: Mapping[int, PartitionModel]) -> Iterator[Metric]:
        """Yield how many drifts there were, in the life of a model whose loss is watched; nothing for others."""
        watches = {number: watch for number, model in sorted(models.items()) if (watch := model.watch) is not None}
        if watches:
            meaning = "Drifts that the detector of `drift` saw, in the life of the model."
            family = CounterMetricFamily("river_margins_drift", meaning, labels=["topic", "partition"])
            for number, watch in watches.items():
                family.add_metric([self.source, str(number)], watch.committed)
            yield family

    def _of_models(self, name: str, meaning: str, *more: str) -> GaugeMetricFamily:
        return GaugeMetricFamily(f"river_margins_{name}", meaning, labels=["topic", "partition", "model", *more])

    def _of_partitions(self, name: str, meaning: str, values: Mapping[int, float]) -> GaugeMetricFamily:
        family = GaugeMetricFamily(f"river_margins_{name}", meaning, labels=["topic", "partition"])
        for number, value in values.items():
            family.add_metric([self.source, str(number)], value)
        return family


def by_class(classes: Mapping[Any, int]) -> dict[str, int]:
    """Return counts by the names of classes; classes after the first MAX_CLASSES are counted together.

    >>> by_class({True: 3, False: 2, None: 1})
    {'true': 3, 'false': 2, 'none': 1}
    >>> by_class({n: 1 for n in range(25)})["other"]
    5
    """
    found: dict[str, int] = {}
    for index, (label, number) in enumerate(classes.items()):
        name = str(label).lower() if isinstance(label, bool | None) else str(label)[:MAX_CLASS_LENGTH]
        name = name if index < MAX_CLASSES else OTHER
        found[name] = found.get(name, 0) + number
    return found
