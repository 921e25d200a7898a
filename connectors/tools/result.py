"""The result of an evaluation: metrics, counts, and what is odd about the data."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from river import base

from connectors.config import Config, FileConfig
from connectors.config.learner import last_step
from connectors.errors import ConfigError
from connectors.labels.merging import NO_TIME
from connectors.model.partition_model import PartitionModel, no_decoder
from connectors.model.rejects import Reject
from connectors.snapshots.models import Builder
from connectors.tools import measures, river_names
from connectors.tools.odd_values import OddFeatures, OddLabels
from river_margins import snapshot

MOST_POINTS = 1000
MANY_CLASSES = 20  # numbers with decimals: what a measurement gives, and a class seldom is


@dataclass
class Result:
    """The result of an evaluation.

    Attributes
    ----------
    metrics
        River's metrics, by their names.
    learner
        The learner after the last example.
    challengers
        The results of the challengers, by name, each as if it were alone on the same data.
    examples, unlabelled, rejected
        How many examples were measured, had no label, and could not be processed. Labels in a file of their own that
        cannot be used count as not processed, too.
    kinds, reasons
        How many could not be processed, by kind, and the first one of each kind: which one, and why.
    backward, first_time
        With labels in a file of their own: how many records and labels were taken after one with a later time, and the
        first time of all.
    queries
        How many labels were asked for; None without `queries`.
    drifts
        How many drifts there were; None for a model that nothing watches.
    absent
        The paths of the listed features that no record has had, by the names of the features.
    odd_features
        Looks for features whose texts are no categories.
    curve
        Points of a plot: the number of examples so far, and the values of the `drawable` metrics.
    drawable
        The names of the metrics whose value is one number.
    """

    metrics: dict[str, Any]
    learner: Any
    challengers: dict[str, "Result"] = field(default_factory=dict)
    examples: int = 0
    unlabelled: int = 0
    rejected: int = 0
    kinds: Counter[str] = field(default_factory=Counter, repr=False)
    reasons: dict[str, str] = field(default_factory=dict)
    backward: int = 0
    first_time: float = NO_TIME
    queries: int | None = None
    drifts: int | None = None
    absent: dict[str, str] = field(default_factory=dict, repr=False)
    odd_features: OddFeatures = field(default_factory=OddFeatures, repr=False)
    curve: list[tuple[int, list[float]]] = field(default_factory=list, repr=False)  # of up to 2,000 points
    _watched: Config | FileConfig | None = field(default=None, repr=False)  # the file, whose drift detector it runs
    _step: int = field(default=1, repr=False)

    def __post_init__(self) -> None:
        self.drawable = [name for name, metric in self.metrics.items() if measures.is_number(metric)]
        is_classifier, found = isinstance(self.learner, base.Classifier), self.metrics.values()
        self._in_classes = [metric for metric in found if not is_classifier or metric.requires_labels]
        self._in_probabilities = [metric for metric in found if metric not in self._in_classes]
        last = last_step(self.learner)
        weights = getattr(getattr(last, "classifier", last), "class_weight", None)  # also of a learner around another
        self._named_labels = measures.NamedLabels(self.metrics, weights)
        self._unmeasured, self._fractions = 0, set[float]()  # different labels with decimals, the first ones of many
        self._odd_labels = OddLabels(weights is not None) if is_classifier else None

    @property
    def needs_probabilities(self) -> bool:
        """Whether there is a metric of probabilities."""
        return bool(self._in_probabilities)

    @property
    def warnings(self) -> list[str]:
        """What is odd about the metrics and the weights of classes, in sentences."""
        if self._in_classes and 1 < self.examples == self._unmeasured:
            return [f"no prediction was measured: all {self.examples:,} were made before the first label was known"]
        said = self._named_labels.warnings()
        if isinstance(self.learner, base.Classifier) and len(self._fractions) == MANY_CLASSES:
            said.append("many labels are numbers with decimals, and each number is a class here: use a regressor")
        if self.absent and self.examples:  # what a path does not find is absent, also where it was mistyped
            paths = ", ".join(f"`{path}`" for path in sorted(self.absent.values()))
            said.append(f"`record.features`: no record has a value at {paths}")
        said += [] if self._odd_labels is None else self._odd_labels.warnings()
        return said + self.odd_features.warnings(self.learner)

    def judge(self, label: Any, prediction: Any, probabilities: Any) -> None:
        """Measure a prediction, whose probabilities are None if no metric needs them, and count an example."""
        for said, metrics in ((prediction, self._in_classes), (probabilities, self._in_probabilities)):
            for metric in metrics if said is not None and said != {} else ():
                try:
                    metric.update(label, said)
                except (ArithmeticError, TypeError, ValueError) as error:  # such as the logarithm of a negative number
                    raise ConfigError(self._why_not(metric, label, said, error)) from error
        self._unmeasured += prediction is None
        if type(label) is float and not label.is_integer() and len(self._fractions) < MANY_CLASSES:
            self._fractions.add(label)
        self._named_labels.see(label)
        if self._odd_labels is not None:
            self._odd_labels.see(label, prediction)
        self.note_one()

    def _why_not(self, metric: Any, label: Any, said: Any, error: Exception) -> str:
        """Say which metric cannot measure, and for text labels of a metric of two, how to name the positive one."""
        from river.metrics.base import BinaryMetric  # only here: `produce` imports this module, and needs no metrics

        name = next(name for name, each in self.metrics.items() if each is metric)
        why = f"the metric `{name}` cannot measure the prediction {said!r} of {label!r}: {error}"
        if isinstance(label, str) and isinstance(metric, BinaryMetric):
            why += f'; name the label you mean: `--metric "{river_names.with_parameters(name, pos_val=label)}"`'
        return why

    def make_model(self, saved: dict[str, bytes], decode: Callable[..., None] = no_decoder) -> PartitionModel:
        """Return the model that predicts and learns; `saved` gets its first snapshot.

        With `drift` in the file, it is the whole one of the processor: a drift may make a challenger the champion.
        """
        if self._watched is None:
            saved[""] = snapshot.dumps(self.learner)
            return PartitionModel(self.learner, "", 0, lambda name: snapshot.loads(saved[name]), decode)
        model = Builder(self._watched, saved.__getitem__, decode).start()
        saved[""] = model.dumps({})
        return model

    def reject(self, place: str, kind: str, reason: Reject | str) -> None:
        """Count a record that could not be processed, and keep the reason of the first one of its kind."""
        self.rejected += 1
        self.kinds[kind] += 1
        self.reasons.setdefault(kind, f"{place}: {reason}")

    def note_end(self, model: PartitionModel) -> None:
        """Note the learner at the end, and how many drifts there were."""
        self.learner, self.drifts = model.learner, None if model.watch is None else model.watch.past.drifts

    def note_one(self) -> None:
        """Count an example and add a point to the curve; drop every second point when there are too many."""
        self.examples += 1
        if self.examples % self._step == 0:
            self.curve.append((self.examples, [self.metrics[name].get() for name in self.drawable]))
            if len(self.curve) == 2 * MOST_POINTS:
                self._step *= 2
                del self.curve[::2]
