"""Finite classes of concepts, and those that are consistent with the labels so far: CON and the halving algorithm."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from river import base

from river_margins.core.checks import positive
from river_margins.core.described import Described
from river_margins.core.estimator import Estimator
from river_margins.tasks.labels import is_missing, label_list, plain, same_kind

__all__ = ["CON", "HAL"]

Concept = Callable[[Any], Any] | Mapping[Any, Any] | Sequence[Any]


class FiniteClass(Described, Estimator, base.Estimator):
    """A class of concepts. Every label removes the concepts that disagree with it, whatever was predicted."""

    concepts: Sequence[Concept]
    strict: bool
    _alive: list[int]
    _facts: dict[str, Any]

    def _open(self, concepts: Sequence[Concept], strict: bool) -> None:
        if not isinstance(concepts, Sequence) or isinstance(concepts, str) or not concepts:
            raise TypeError(f"`concepts` must be a list of functions or of tables {{x: label}}, not {concepts!r}")
        for concept in concepts:
            if isinstance(concept, str) or not (callable(concept) or isinstance(concept, Mapping | Sequence)):
                raise TypeError(f"`concepts` must hold functions or tables {{x: label}}, not {concept!r}")
        facts = {"n_seen": 0, "n_mistakes": 0, "inconsistent": False}
        vars(self).update(concepts=concepts, strict=strict, _alive=[*range(len(concepts))], _facts=facts)

    def _choose(self, labels: Sequence[Any]) -> Any:
        """Return the prediction, given the label that each alive concept predicts."""
        raise NotImplementedError

    @property
    def _mutable_attributes(self) -> set[str]:
        return set()

    @property
    def alive(self) -> list[int]:
        """The positions, in `concepts`, of those that agree with all labels so far."""
        return list(self._alive)

    @property
    def inconsistent(self) -> bool:
        """Whether some label contradicted all concepts that were alive. Such a label removes none."""
        return bool(self._facts["inconsistent"])

    @property
    def n_seen(self) -> int:
        """The number of rounds."""
        return int(self._facts["n_seen"])

    @property
    def n_mistakes(self) -> int:
        """The number of wrong predictions."""
        return int(self._facts["n_mistakes"])

    def predict_one(self, x: Any) -> Any:
        """Predict the label of a point x of the domain of the concepts."""
        return self._choose(self._labels(x))

    def learn_one(self, x: Any, y: Any) -> None:
        """Remove the concepts that disagree with the label y of the point x.

        Parameters
        ----------
        x
            A point of the domain of the concepts: what their functions take, or a key or position of their tables.
        y
            Its label, one of those that concepts give.

        Raises
        ------
        ValueError
            If a table does not have x, if y is not of the kind of the labels, or, with `strict`, if no concept that
            is alive agrees. The learner is unchanged.
        """
        labels, y = self._labels(x), plain(y)
        if is_missing(y) or not same_kind(y, labels[0]):
            raise ValueError(f"label {y!r}, of type {type(y).__name__}: a label such as {labels[0]!r} is needed")
        agreeing = [j for j, label in zip(self._alive, labels, strict=True) if label == y]
        if self.strict and not agreeing:
            raise ValueError(f"no concept agrees with the label {y!r} of {x!r} and all labels before: see `strict`")
        mistake = self._choose(labels) != y
        self._alive[:] = agreeing or self._alive
        self._facts["n_seen"] += 1
        self._facts["n_mistakes"] += mistake
        self._facts["inconsistent"] |= not agreeing

    def _labels(self, x: Any) -> list[Any]:
        return [plain(_label(self.concepts[j], x)) for j in self._alive]

    def __getstate__(self) -> dict[str, Any]:
        return {"alive": list(self._alive), **self._facts}

    def __setstate__(self, state: dict[str, Any]) -> None:
        alive = state["alive"]
        if not alive or not set(alive) <= {*range(len(self.concepts))}:
            raise ValueError(f"`alive` must have positions in a list of {len(self.concepts)} concepts, not {alive!r}")
        self._alive[:] = alive
        self._facts.update({name: state[name] for name in self._facts})


def _label(concept: Concept, x: Any) -> Any:
    if callable(concept):
        return concept(x)
    if isinstance(concept, Mapping) and x in concept:
        return concept[x]
    if isinstance(concept, Sequence) and isinstance(x, int | np.integer) and 0 <= x < len(concept):
        return concept[int(x)]
    raise ValueError(f"x = {x!r} is not in a table of the concepts: learn and predict points that all tables have")


class CON(FiniteClass):
    """CON: predict with the first concept of a list that agrees with all labels so far.

    Parameters
    ----------
    concepts
        The concepts: functions x -> label, or tables of labels, as a dict {x: label} or a list with x as position.
    strict
        Whether a label that no alive concept agrees with is an error; False by default. Then the label removes no
        concept, and `inconsistent` is True from then on.

    Raises
    ------
    TypeError
        If `concepts` is not such a list, or is empty.

    Notes
    -----
    If some concept agrees with all labels, CON makes at most |C| - 1 mistakes for |C| concepts: each mistake removes at
    least one, and never the right one. Singletons attain it. The lectures call a learner conservative if it changes
    only on mistakes. This learner also removes concepts after right predictions, with the same bound.

    This is not a River classifier, because x may be of any type. Snapshots hold tables and refuse functions.

    Examples
    --------
    Prefixes: the concept j is True on the first j of three points.

    >>> import river_margins as rm
    >>> model = rm.CON([[x < j for x in range(3)] for j in range(4)])
    >>> model.predict_one(1)
    False
    >>> model.learn_one(1, True)
    >>> model.alive, model.n_mistakes, model.predict_one(2)
    ([2, 3], 1, False)

    References
    ----------
    Angluin, D., 1988. Queries and concept learning. Machine Learning 2 (the enumeration algorithm).
    """

    round_cost = "One evaluation of each concept that is consistent with the labels so far."
    guarantee = "At most |C| - 1 mistakes if one of the |C| concepts is right."
    advice = "Use it in teaching, or for a few concepts in an order of preference."

    def __init__(self, concepts: Sequence[Concept], *, strict: bool = False) -> None:
        self._open(concepts, strict)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"concepts": [[False, False], [False, True], [True, True]]}

    def _choose(self, labels: Sequence[Any]) -> Any:
        return labels[0]


class HAL(FiniteClass):
    """The halving algorithm: predict with the majority of the concepts that agree with all labels so far.

    Parameters
    ----------
    concepts
        The concepts: functions x -> label, or tables of labels, as a dict {x: label} or a list with x as position.
    weights
        The votes of the concepts, > 0, in their order; None (default) is one vote each.
    strict
        Whether a label that no alive concept agrees with is an error; False by default. Then the label removes no
        concept, and `inconsistent` is True from then on.

    Raises
    ------
    TypeError, ValueError
        If `concepts` or `weights` are not such lists.

    Notes
    -----
    If some concept agrees with all labels, the number of mistakes is at most log2 |C|, rounded down, for |C| concepts:
    in a mistake, the right label has at most half of the votes. With weights it is at most log2(W/w), for the sum W of
    all weights and the weight w of the right concept. This holds for any number of labels. The class of all labelings
    of k points attains k = log2 |C|.

    Of labels with equal votes the largest is predicted, so True before False. The vote need not be a concept of the
    class. Like `CON`, this learner also learns from right predictions.

    This is not a River classifier, because x may be of any type. Snapshots hold tables and refuse functions.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.HAL([[x < j for x in range(3)] for j in range(4)])
    >>> model.predict_one(1)
    True
    >>> model.learn_one(1, True)
    >>> model.alive, model.n_mistakes, model.predict_one(2)
    ([2, 3], 0, True)

    References
    ----------
    Littlestone, N., 1988. Learning quickly when irrelevant attributes abound: a new linear-threshold algorithm. Machine
    Learning 2, theorem 1.
    """

    round_cost = "One evaluation of each concept that is consistent with the labels so far."
    guarantee = "At most log2 |C| mistakes if one of the |C| concepts is right."
    advice = "Use it if the right concept is one of a list that is short enough to be evaluated."

    weights: Sequence[float] | None

    def __init__(
        self, concepts: Sequence[Concept], *, weights: Sequence[float] | None = None, strict: bool = False
    ) -> None:
        self._open(concepts, strict)
        weights = label_list("weights", weights)  # a list of an array, as for labels
        vars(self).update(weights=weights)
        if weights is not None:
            if len(weights) != len(concepts):
                raise ValueError(f"`weights` must have {len(concepts)} numbers, one for each concept, not {weights!r}")
            for i, weight in enumerate(weights):
                positive(f"weights[{i}]", weight)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"concepts": [[False, False], [False, True], [True, True]]}
        yield {"concepts": [[False, False], [False, True], [True, True]], "weights": [1.0, 2.0, 1.0]}

    def _choose(self, labels: Sequence[Any]) -> Any:
        votes: dict[Any, float] = {}
        for j, label in zip(self._alive, labels, strict=True):
            votes[label] = votes.get(label, 0.0) + (1.0 if self.weights is None else self.weights[j])
        return max(votes, key=lambda label: (votes[label], label))
