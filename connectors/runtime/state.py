"""The state of a running processor as JSON, for its page. Of the file, it has the name, inputs and names of models."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import orjson

from connectors.model.contest import ContestModel
from connectors.model.counts import Counts
from connectors.runtime.health import Health
from connectors.runtime.history import LEARNER, History, Judged, judged_by
from connectors.runtime.metrics import Metrics, by_class
from connectors.runtime.top_weights import Sample

LARGEST = 1e150  # of a score that is shown, so that differences stay finite
BARS = 24  # of the histogram of scores
TAILS = (1.0, 99.0)  # percentiles: scores beyond them count in the outermost bars


def as_json(health: Health, history: History) -> bytes:
    """Return the state of a processor as a JSON object. Text that UTF-8 cannot hold becomes `?`."""
    return orjson.dumps(_state(health, history), default=str)


def _state(health: Health, history: History) -> dict[str, Any]:
    metrics, work = health.metrics, health.metrics.work
    counts, is_regressor = work.counts, metrics.is_regressor
    total, before = judged_by(counts, is_regressor), history.points[0].output
    return {
        "name": metrics.name,
        "source": _text(metrics.source),
        "is_file": metrics.is_file,
        "is_regressor": is_regressor,
        "time": time.time(),
        "is_live": health.is_live,
        "is_ready": health.is_ready,
        "assigned": work.assigned,
        "since_commit": time.monotonic() - metrics.committed if counts.checkpoints else None,
        "totals": {
            "read": counts.read,
            "predicted": counts.predicted,
            "learned": counts.learned,
            "rejected": counts.rejected,
            "labels": counts.labels if metrics.has_labels else None,
            "queries": counts.queries if metrics.has_queries else None,
        },
        "output": {"total": total._asdict(), "hour": total.since(before)._asdict()},
        "models": list(_models(metrics, history, is_regressor)),
        "classes": {} if is_regressor else {_text(name): number for name, number in by_class(counts.classes).items()},
        "scores": _histogram(counts),
        "rejects": {
            "reasons": dict(counts.reasons),
            "last": [
                {"time": at, "source": _text(source), "kind": kind, "reason": _text(reason)}
                for at, source, kind, reason in reversed(counts.last_rejects)
            ],
        },
        "partitions": list(_partitions(metrics)),
        "history": _columns(history),
    }


def _models(metrics: Metrics, history: History, is_regressor: bool) -> Iterator[dict[str, Any]]:
    """Yield how each model did: in all, and in the last hour as far as this process runs so long."""
    work, first, last = metrics.work, history.points[0].models, history.points[-1].models
    contests = [model for model in work.models.values() if isinstance(model, ContestModel)]
    if not contests:
        total, before = judged_by(work.counts, is_regressor), first.get(LEARNER, Judged())
        yield _model(LEARNER, "learner", total, total.since(before))
        return
    # There are several if a drift has promoted one in some partitions.
    champions = {model.name: "champion" for model in contests}
    others = {name: "challenger" for model in contests for name in model.challengers if name not in champions}
    for name, role in (champions | others).items():
        life = [found for model in contests if (found := model.committed.models.get(name))]
        total = Judged(sum(each.judged for each in life), sum(each.loss for each in life))
        before, now = first.get(name, Judged()), last.get(name, Judged())
        yield _model(name, role, total, now.since(before))


def _model(name: str, role: str, total: Judged, hour: Judged) -> dict[str, Any]:
    return {"name": _text(name), "role": role, "total": total._asdict(), "hour": hour._asdict()}


def _histogram(counts: Counts) -> dict[str, Any]:
    scores = [float(score) for score in tuple(counts.last_scores) if isinstance(score, int | float)]
    found = np.array([score for score in scores if abs(score) < LARGEST])  # which no NaN is
    if not found.size:
        return {"edges": [], "numbers": []}
    low, high = np.percentile(found, TAILS).tolist()
    try:
        numbers, edges = np.histogram(np.clip(found, low, high), BARS, (low, high) if low < high else None)
    except ValueError:  # the scores are too close together for so many bars
        return {"edges": [low, high], "numbers": [found.size]}
    return {"edges": edges.tolist(), "numbers": numbers.tolist()}


def _partitions(metrics: Metrics) -> Iterator[dict[str, Any]]:
    work, lag, samples = metrics.work, metrics.lag(), metrics.weights.samples if metrics.weights else {}
    models, waiting, paused, offsets = work.models, work.waiting, work.paused, work.committed_offsets
    for number in sorted({*models, *paused}):
        model = models.get(number)
        yield {
            "partition": number,
            "paused": _text(paused[number]) if number in paused else None,
            "examples": model.examples if model else None,
            "updates": model.updates if model else None,
            "offset": offsets.get(number),
            "lag": lag.get(number),
            "lag_of_labels": lag.get(~number),
            "waiting": waiting.get(number),
            "snapshot_bytes": metrics.sizes.get(number),
            "weights": _weights(samples.get(number, ())),
        }


def _weights(samples: tuple[Sample, ...]) -> dict[str, Any]:
    """Return the largest weights, each with its former values; None where it was not among the largest."""
    names = samples[-1].weights if samples else {}
    return {
        "time": [sample.time for sample in samples],
        "largest": [
            {"name": _text(name), "values": [sample.weights.get(name) for sample in samples]} for name in names
        ],
    }


def _columns(history: History) -> dict[str, Any]:
    points = history.points
    names = dict.fromkeys(name for point in points for name in point.models)
    return {
        "time": [point.time for point in points],
        "read": [point.read for point in points],
        "lag": [point.lag for point in points],
        "models": {
            _text(name): {
                "number": [point.models.get(name, Judged()).number for point in points],
                "loss": [point.models.get(name, Judged()).loss for point in points],
            }
            for name in names
        },
    }


def _text(text: str) -> str:
    return text.encode(errors="replace").decode()
