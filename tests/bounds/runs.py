"""What a learner does on a stream, seen from outside: its scores, its weights and its counters, and nothing else."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tests.learners import CLASSES, SEVERAL, Form

# A set of labels is a number whose bits say which classes hold: neither none nor all of them.
SETS = [{k: bool(number >> i & 1) for i, k in enumerate(CLASSES)} for number in range(1, 2 ** len(CLASSES) - 1)]
LABELS = {"binary": [False, True], "multiclass": CLASSES, "multilabel": SETS}


@dataclass(frozen=True)
class Stream:
    """Rows and their labels; without labels an adversary answers each score with the label that suits it least."""

    X: np.ndarray
    labels: np.ndarray | None  # ±1, class numbers, real numbers, or numbers of sets of labels
    separator: np.ndarray  # flat: what the labels were made with, of length 1 or so

    @property
    def length(self) -> float:
        """R, the length of the longest row."""
        return float(np.sqrt((self.X**2).sum(axis=1).max(initial=0.0))) or 1.0


@dataclass(frozen=True)
class Run:
    """One entry a round; the scores are those before learning, one for each vector."""

    task: str
    X: np.ndarray
    labels: np.ndarray
    scores: np.ndarray
    mistaken: np.ndarray
    updated: np.ndarray
    weights: np.ndarray  # one row more than there are rounds, the first all 0
    parameters: dict[str, Any]

    @property
    def rounds(self) -> int:
        return len(self.X)

    @cached_property
    def margins(self) -> np.ndarray:
        return margins(self.task, self.scores, self.labels)

    @cached_property
    def losses(self) -> np.ndarray:
        return np.maximum(0.0, self.target - self.margins)

    @property
    def target(self) -> float:
        return -self.parameters.get("eps", 0.0) if self.task in ("regression", "one-class") else 1.0

    @cached_property
    def gains(self) -> np.ndarray:
        """|d|², by how much the margin rises for each unit of step."""
        if self.task == "one-class":
            return np.ones(self.rounds)
        return (self.X**2).sum(axis=1) * (2.0 if self.task in SEVERAL else 1.0)

    @property
    def longest(self) -> float:
        """R², or what stands for it where two classes move."""
        return float(self.gains.max(initial=0.0))

    @property
    def length(self) -> float:
        """R."""
        return float(np.sqrt(self.longest))

    @cached_property
    def sizes(self) -> np.ndarray:
        """|w|² before each round, and after the last."""
        return (self.weights**2).sum(axis=1)

    @cached_property
    def moves(self) -> np.ndarray:
        """|w' - w|² of each round."""
        return (np.diff(self.weights, axis=0) ** 2).sum(axis=1)

    def margins_of(self, u: np.ndarray) -> np.ndarray:
        if self.task == "one-class":
            return -np.linalg.norm(self.X - u, axis=1)
        return margins(self.task, self.X @ u.reshape(-1, self.X.shape[1]).T, self.labels)

    def losses_of(self, u: np.ndarray) -> np.ndarray:
        """The losses of a fixed vector on the stream."""
        return np.maximum(0.0, self.target - self.margins_of(u))


def margins(task: str, scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """How far the right answer leads; in regression and for one class, minus the distance."""
    if task == "binary":
        return labels * scores[:, 0]
    if task == "regression":
        return -np.abs(labels - scores[:, 0])
    if task == "one-class":
        return -scores[:, 0]
    if task == "multilabel":
        holds = held(labels)
        return np.where(holds, scores, np.inf).min(axis=1) - np.where(holds, -np.inf, scores).max(axis=1)
    true = np.eye(len(CLASSES), dtype=bool)[labels]
    return scores[true] - np.where(true, -np.inf, scores).max(axis=1)


def directions(run: Run) -> np.ndarray:
    """For each round d with margin ⟨w, d⟩, one row for all vectors."""
    if run.task == "binary":
        return run.X * run.labels[:, None]
    classes = np.arange(run.scores.shape[1])
    true = classes == run.labels[:, None]
    rival = classes == np.where(true, -np.inf, run.scores).argmax(axis=1)[:, None]
    return ((true * 1.0 - rival)[:, :, None] * run.X[:, None, :]).reshape(run.rounds, -1)


def held(labels: np.ndarray) -> np.ndarray:
    """Which classes a set of labels holds."""
    return (labels[:, None] >> np.arange(len(CLASSES)) & 1).astype(bool)


def worst_label(task: str, scores: np.ndarray) -> float:
    if task in SEVERAL:
        return 2 ** int(np.argmin(scores)) if task == "multilabel" else int(np.argmin(scores))
    away = -1.0 if scores[0] >= 0 else 1.0
    return 2 * away if task == "regression" else away  # outside of any tube


def play(form: Form, stream: Stream, **parameters: Any) -> Run:
    """Let the learner of a form predict and learn the rows one after the other, and write down what it shows."""
    names = range(stream.X.shape[1])
    model = form.make(**parameters, **({"classes": LABELS["binary"]} if form.task == "binary" else {}))
    scores, labels, weights, mistaken, updated = [], [], [flat(model, form.task, names)], [], []
    for number, row in enumerate(stream.X.tolist()):
        x = {name: value for name, value in enumerate(row) if value}  # a zero need not be said
        score = model.score_one(x)
        scores.append([score[k] for k in CLASSES] if form.task in SEVERAL else [score])
        label = worst_label(form.task, scores[-1]) if stream.labels is None else stream.labels[number]
        before = model.n_mistakes, model.n_updates
        model.learn_one(x, spoken(form.task, label))
        mistaken.append(model.n_mistakes > before[0])
        updated.append(model.n_updates > before[1])
        labels.append(label)
        weights.append(flat(model, form.task, names))
    blocks = len(CLASSES) if form.task in SEVERAL else 1
    return Run(
        form.task,
        stream.X,
        np.array(labels, dtype=int if form.task in SEVERAL else float),
        np.array(scores).reshape(-1, blocks),
        np.array(mistaken, dtype=bool),
        np.array(updated, dtype=bool),
        np.array(weights),
        parameters,
    )


def spoken(task, label):
    if task == "one-class":
        return None
    if task in SEVERAL:
        return CLASSES[int(label)] if task == "multiclass" else SETS[int(label) - 1]
    return float(label) if task == "regression" else bool(label > 0)


def flat(model, task, names):
    vectors = [model.weights[k] for k in CLASSES] if task in SEVERAL else [model.weights]
    return [vector.get(name, 0.0) for vector in vectors for name in names]
