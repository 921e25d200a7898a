"""Progressive validation, in one call of the model for each example."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from river import base, evaluate
from river.active.base import ActiveLearningClassifier
from river.metrics.base import BinaryMetric, ClassificationMetric, Metric

from river_margins.pipeline import count_rounds

__all__ = ["progressive"]

Given = TypeVar("Given", bound=Metric)


def progressive(dataset: Iterable[Any], model: Any, metric: Given) -> Given:
    """Predict, measure and learn each example in turn: the result of River's `progressive_val_score`, in less time.

    `predict_learn_one` reads each example once. For a metric of a confusion matrix alone, such as Accuracy or F1, equal
    pairs of label and prediction are counted, and the metric is updated at the end. Models without `predict_learn_one`
    are left to River's function, and what it measures in another way: probabilities, anomalies, labels on request.

    Parameters
    ----------
    dataset
        Pairs of an example and its label, such as a data set of River. A third item may be {"w": weight}. For labels
        that come later, use River's function with `delay`.
    model
        A classifier or regressor, or a pipeline that ends with one.
    metric
        A metric of River, or several: `metrics.Accuracy() + metrics.F1()`. It is updated.

    Returns
    -------
    The metric.

    Raises
    ------
    ValueError
        If the metric is not for this kind of model, or the model refuses an example. Model and metric then have learned
        and measured the examples before it.
    TypeError
        If an argument is a class instead of an object of it, the metric or the data set a text, or the data set a
        frame, an array or a list of examples without labels.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, metrics
    >>> from river_margins.evaluate import progressive
    >>> progressive(datasets.Phishing(), rm.StandardScaler() | rm.PAClassifier(), metrics.Accuracy())
    Accuracy: 89.67%
    """
    _refuse_mistaken(dataset, model, metric)
    if not (hasattr(model, "predict_learn_one") and metric.works_with(model) and _needs_labels(model, metric)):
        # copied: River takes the weight out of the dict, and a list of rounds would have none the next time
        rounds = ((x, y, *(dict(each or {}) for each in extra)) for x, y, *extra in dataset)
        evaluate.progressive_val_score(rounds, model, metric)
        return metric
    if type(metric).update in (ClassificationMetric.update, BinaryMetric.update):
        _count(dataset, model, metric)
        return metric
    for y, prediction in _rounds(dataset, model):
        if prediction is not None:
            metric.update(y, prediction)
    return metric


def _refuse_mistaken(dataset: Any, model: Any, metric: Any) -> None:
    """Raise TypeError for arguments of which Python itself would say something puzzling."""
    if hasattr(dataset, "learn_one") and not hasattr(model, "learn_one"):
        raise TypeError("the data set comes first, then the model: `progressive(dataset, model, metric)`")
    for name, given in (("dataset", dataset), ("model", model), ("metric", metric)):
        if isinstance(given, type):
            raise TypeError(f"`{name}` is the class {given.__name__}, and an object is needed: {given.__name__}()")
    if isinstance(dataset, str):
        raise TypeError(f"`dataset` is the text {dataset!r}, and a data set is needed, such as datasets.Phishing()")
    if isinstance(dataset, list | tuple) and dataset and isinstance(dataset[0], Mapping):
        raise TypeError(
            "`dataset` must yield pairs of an example and its label, as in zip(examples, labels), not examples"
        )
    if not hasattr(metric, "works_with"):
        raise TypeError(f"`metric` must be a metric of River, such as metrics.Accuracy(), not {metric!r}")
    whole: Any = dataset[0] if isinstance(dataset, list | tuple) and dataset else dataset  # of (X, y)
    # a shuffled array, or a column, of pairs is a data set
    if hasattr(whole, "columns") or (getattr(whole, "ndim", 0) > 0 and getattr(whole, "dtype", "object") != "object"):
        raise TypeError(
            f"`dataset` must yield pairs of an example and its label, and {_kind_of(dataset)} does not: "
            "river.stream.iter_frame(X, y) and iter_array(X, y) make them"
        )


def _kind_of(dataset: Any) -> str:
    held = f" of {type(dataset[0]).__name__}" if isinstance(dataset, list | tuple) else ""
    return f"{type(dataset).__name__}{held}"


def _rounds(dataset: Iterable[Any], model: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each label with the prediction that was made before it was learned."""
    both = model.predict_learn_one
    for x, y, *extra in dataset:
        yield y, both(x, y, **(extra[0] if extra else {}))


def _count(dataset: Iterable[Any], model: Any, metric: Any) -> None:
    """Count equal pairs of label and prediction, then update the metric once for each, with the count as the weight."""
    counts: dict[tuple[Any, Any], int] = {}
    try:
        count_rounds(dataset, model, counts)
    finally:  # an error leaves the metric with the examples before it
        for (y, prediction), count in counts.items():
            if prediction is not None:
                metric.update(y, prediction, w=float(count))
                metric.cm.n_samples += count - 1


def _needs_labels(model: Any, metric: Any) -> bool:
    """Tell whether River compares labels, or numbers, with what `predict_one` returns, after each example."""
    if isinstance(model, base.AnomalyDetector | base.AnomalyFilter | ActiveLearningClassifier):
        return False
    if isinstance(model, base.Classifier):
        return bool(metric.requires_labels)
    return isinstance(model, base.Regressor)
