"""River's metrics for an evaluation, and the labels that metrics, such as F1, and weights of classes name.

Only functions import River's metrics, and with them SciPy's statistics: `produce` needs neither.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from river import base

from connectors.errors import ConfigError
from connectors.tools import river_names

MOST_LABELS = 20  # that a warning lists


def make(texts: Sequence[str], learner: Any) -> dict[str, Any]:
    """Return fresh metrics that fit a learner, by their names.

    >>> import river_margins as rm
    >>> make([], rm.PAClassifier()), list(make(["rmse", "R2"], rm.PARegressor()))
    ({'Accuracy': Accuracy: 0.00%}, ['RMSE', 'R2'])
    """
    found = {}
    is_regressor = isinstance(learner, base.Regressor)
    for text in texts or ["MAE" if is_regressor else "Accuracy"]:
        name, metric = river_names.make(text, _known(), "metric", _build)
        if not metric.works_with(learner):
            raise ConfigError(f"the metric `{name}` cannot measure a {'regressor' if is_regressor else 'classifier'}")
        found[name] = metric
    return found


def is_number(metric: Any) -> bool:
    """Tell whether the value of a metric is one number; that of a confusion matrix is not."""
    try:
        return isinstance(metric.get(), int | float)
    except NotImplementedError:
        return False


def _known() -> dict[str, type]:
    """Return River's metrics by their names, without those for clusters."""
    from river import metrics

    found = river_names.classes_of(metrics, metrics.base.Metric)
    return {name: kind for name, kind in found.items() if not issubclass(kind, metrics.base.ClusteringMetric)}


def _build(kind: Any, pos_val: Any = True, **parameters: Any) -> Any:
    from river import metrics

    if pos_val is True:
        return kind(**parameters)
    if not issubclass(kind, metrics.base.BinaryMetric):
        raise TypeError(f"`{kind.__name__}` has no positive label, so no `pos_val`")
    return OfLabel(kind(**parameters), pos_val)


class OfLabel:
    """A metric of River for the labels true and false, here of one label against all others.

    River's own parameter `pos_val` does not do that: with any other value than True its F1 is always 0.

    Parameters
    ----------
    metric
        The metric.
    pos_val
        The label that is the positive one.

    >>> from river import metrics
    >>> f1 = OfLabel(metrics.F1(), "yes")
    >>> for label, prediction in [("yes", "yes"), ("no", "yes"), ("yes", None)]:
    ...     f1.update(label, prediction)
    >>> f1
    50.00%
    """

    def __init__(self, metric: Any, pos_val: Any) -> None:
        self._metric, self.pos_val = metric, pos_val
        self.requires_labels, self.works_with, self.get = metric.requires_labels, metric.works_with, metric.get

    def update(self, label: Any, said: Any) -> None:
        """Measure a prediction, or the probabilities of the labels."""
        if not self.requires_labels:
            # Before the first label, nothing is known of the labels. 1 and 0 are in a dict of True and False.
            if self.pos_val not in said and any(isinstance(label, bool) for label in said):
                return
            positive = said.get(self.pos_val, 0.0)
            said = {True: positive, False: 1.0 - positive}
        else:
            said = said == self.pos_val
        self._metric.update(label == self.pos_val, said)

    def __repr__(self) -> str:
        return repr(self._metric).removeprefix(f"{type(self._metric).__name__}: ")


class NamedLabels:
    """Looks for the labels that metrics and weights name.

    Without its positive label a metric is 0, whatever is predicted. Without its label a weight has no effect.

    Parameters
    ----------
    found
        The metrics by their names.
    class_weight
        What the learner has as `class_weight`.
    """

    def __init__(self, found: dict[str, Any], class_weight: Any = None) -> None:
        from river.metrics.base import BinaryMetric

        kinds = BinaryMetric, OfLabel
        binary = {name: metric for name, metric in found.items() if isinstance(metric, kinds)}
        self._missing = {name: getattr(metric, "pos_val", True) for name, metric in binary.items()}  # LogLoss has none
        self._weighted = set(class_weight) if isinstance(class_weight, Mapping) else set()
        self._seen: list[Any] = []

    def see(self, label: Any) -> None:
        """Note the label of an example."""
        if not self._missing and not self._weighted:
            return
        self._weighted.discard(label)
        self._missing = {name: positive for name, positive in self._missing.items() if positive != label}
        if label not in self._seen and len(self._seen) < MOST_LABELS:
            self._seen.append(label)

    def warnings(self) -> list[str]:
        """Return a sentence for each metric whose positive label never came, and for each such label with a weight."""
        if not self._seen:
            return []
        labels, one = sorted(map(repr, self._seen)), max(self._seen, key=repr)
        weights = [
            f"`class_weight` names the label {label}, and there is none; the labels are {', '.join(labels)}"
            for label in sorted(map(repr, self._weighted))
        ]
        return weights + [
            f"`{name}` is about the label {positive!r}, and there is none; the labels are {', '.join(labels)}. Name the"
            f' one you mean, such as `--metric "{river_names.with_parameters(name, pos_val=one)}"`'
            for name, positive in self._missing.items()
        ]
