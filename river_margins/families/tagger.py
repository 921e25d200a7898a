"""A first-order sequence tagger: structured passive-aggressive learning with the Viterbi algorithm."""

import itertools
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

from river_margins.core.reader import read_features
from river_margins.families.parameter_types import CostScale, Mode
from river_margins.families.structured import Structured
from river_margins.tasks.labels import is_missing, label_list, plain

__all__ = ["SequenceTagger"]


class SequenceTagger(Structured):
    """Passive-aggressive sequence tagging: each tag depends on its position's features and the tag before it.

    The joint features of a sequence and its tags count each (feature, tag) at a position and each (tag, next tag,
    "follows") between two positions. Decoding is exact, by Viterbi's dynamic programme; cost(y, ŷ) is the number of
    wrong tags. The update is that of `StructuredPA`: with d = Φ(x, y) - Φ(x, ŷ) and l = [sqrt(cost) - ⟨w, d⟩]+, w' = w
    + tau·d, where tau is l/|d|² (`mode=0`), min(C, l/|d|²) (`mode=1`) or l/(|d|² + 1/(2C)) (`mode=2`).

    Parameters
    ----------
    C
        Aggressiveness, > 0; 1 by default. `mode=0` does not use it.
    mode
        The step: 0 is PA, 1 (default) is PA-I, 2 is PA-II.
    max_loss
        Whether to learn from the tags ŷ with the largest score plus sqrt(cost); False (default) learns from the
        predicted tags, if they are wrong.
    cost_scale
        The margin by which the correct tags must lead: "sqrt" (default) of the cost, or "linear".
    tags
        Tags known beforehand; their order breaks ties. Other tags are added when they first appear.

    Notes
    -----
    x is a sequence whose positions are hashable names, or dicts from names to numbers; y has one tag for each position.
    Decoding n positions with K tags takes n·K² steps, and with `max_loss` up to n times as many. If some u leads every
    other sequence by sqrt(cost) and R is the length of the longest d, `mode=0` makes at most R²|u|² wrong tags.
    `n_mistakes` counts sequences.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.SequenceTagger(mode=0)
    >>> for _ in range(3):
    ...     model.learn_one(["the", "dog", "barks"], ["article", "noun", "verb"])
    ...     model.learn_one(["a", "bark"], ["article", "noun"])
    >>> model.predict_one(["a", "dog", "barks"])
    ['article', 'noun', 'verb']

    References
    ----------
    Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S. and Singer, Y., 2006. Online passive-aggressive algorithms.
    Journal of Machine Learning Research 7, sections 8 and 9. Viterbi, A., 1967. Error bounds for convolutional codes
    and an asymptotically optimum decoding algorithm. IEEE Transactions on Information Theory 13.
    """

    round_cost = "Positions times tags²; with `max_loss`, up to positions² times tags²."
    guarantee = "At most R²|u|² wrong tags (mode 0, separable stream)."
    advice = "Use it for texts and other sequences with one tag for each position."

    C: float
    mode: Mode
    max_loss: bool
    cost_scale: CostScale
    tags: Sequence[Hashable] | None
    _known: list[Any]

    def __init__(
        self,
        C: float = 1.0,
        *,
        mode: Mode = 1,
        max_loss: bool = False,
        cost_scale: CostScale = "sqrt",
        tags: Sequence[Hashable] | None = None,
    ) -> None:
        tags = label_list("tags", tags)
        vars(self).update(C=C, mode=mode, max_loss=max_loss, cost_scale=cost_scale, tags=tags)
        vars(self)["_known"] = _with_new([], tags or [])
        self._open(C, mode, cost_scale)

    @property
    def _mutable_attributes(self) -> set[str]:
        return set()

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"C": 0.1}
        yield {"max_loss": True, "tags": ("a", "b")}

    def learn_one(self, x: Sequence[Any], y: Sequence[Hashable]) -> None:
        """Learn the tags of a sequence.

        Parameters
        ----------
        x
            The sequence: hashable names, or dicts from names to finite numbers.
        y
            The tags, one for each position: anything hashable but None and NaN.

        Raises
        ------
        ValueError
            If the numbers of tags and positions differ, a tag is missing, or a value is not finite; the learner is
            unchanged.
        OverflowError
            If the update would overflow; the learner is unchanged.
        """
        if len(x) != len(y):
            raise ValueError(f"{len(x)} positions, but {len(y)} tags: each position needs one")
        tags = [plain(tag) for tag in y]
        if missing := [tag for tag in tags if is_missing(tag)]:
            raise ValueError(f"{missing[0]} is not a tag: it stands for a missing one")
        before = self._known
        vars(self)["_known"] = _with_new(before, tags)
        try:
            super().learn_one(x, tags)
        except BaseException:
            vars(self)["_known"] = before
            raise

    def predict_one(self, x: Sequence[Any]) -> list[Any] | None:
        """Return the list of tags with the highest score; None before any tag is known."""
        return self._decode(x) if self._known else None

    def _features(self, x: Sequence[Any], y: Sequence[Hashable]) -> dict[Any, float]:
        counts: dict[Any, float] = {}
        for position, tag in zip(x, y, strict=True):
            for name, value in _named(position).items():
                counts[name, tag] = counts.get((name, tag), 0.0) + value
        for pair in itertools.pairwise(y):
            counts[(*pair, "follows")] = counts.get((*pair, "follows"), 0.0) + 1.0
        return counts

    def _price(self, y: Sequence[Hashable], other: Sequence[Hashable]) -> float:
        return sum(tag != wrong for tag, wrong in zip(y, other, strict=True))

    def _decode(self, x: Sequence[Any]) -> list[Any]:
        return [self._known[i] for i in viterbi(*self._potentials(x))]

    def _rival(self, x: Sequence[Any], y: Sequence[Hashable]) -> list[Any]:
        if not self.max_loss:
            return self._decode(x)
        truth = [self._known.index(tag) for tag in y]
        return [self._known[i] for i in viterbi(*self._potentials(x), truth, self._lead)]

    def _potentials(self, x: Sequence[Any]) -> tuple[list[list[float]], list[list[float]]]:
        """Return the score of each tag at each position, and of each tag after each other tag."""
        weights = self.weights
        emissions = [
            [
                math.fsum(value * weights.get((name, tag), 0.0) for name, value in _named(position).items())
                for tag in self._known
            ]
            for position in x
        ]
        transitions = [[weights.get((tag, after, "follows"), 0.0) for after in self._known] for tag in self._known]
        return emissions, transitions

    def __getstate__(self) -> dict[str, Any]:
        return {"tags": list(self._known), "differences": super().__getstate__()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self)["_known"] = _with_new([], state["tags"])
        super().__setstate__(state["differences"])


def viterbi(
    emissions: Sequence[Sequence[float]],
    transitions: Sequence[Sequence[float]],
    truth: Sequence[int] | None = None,
    lead: Callable[[int], float] = float,
) -> list[int]:
    """Return the states with the largest sum of emissions and transitions; of equal ones, the first in order.

    Parameters
    ----------
    emissions
        For each position, the score of each state.
    transitions
        transitions[a][b] is the score of state b after state a.
    truth
        The correct states. If given, lead(errors) is added, where errors is the number of positions that differ.
    lead
        A function of a whole number. It need not be additive over positions; sqrt is not.

    Examples
    --------
    >>> viterbi([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]], [[0.0, -3.0], [0.0, 0.0]])
    [1, 1, 1]
    """
    # Work backwards: for each state and each number of errors from here to the end, keep the best continuation.
    # The first of equal continuations is kept, so that reading forwards gives the first path in order.
    table: list[dict[tuple[int, int], tuple[float, tuple[int, int] | None]]] = []
    for position in reversed(range(len(emissions))):
        row: dict[tuple[int, int], tuple[float, tuple[int, int] | None]] = {}
        for state, worth in enumerate(emissions[position]):
            error = int(truth is not None and state != truth[position])
            for (following, errors), (score, _) in table[-1].items() if table else []:
                found = worth + transitions[state][following] + score
                if (place := (state, errors + error)) not in row or found > row[place][0]:
                    row[place] = found, (following, errors)
            if not table:
                row[state, error] = worth, None
        table.append(row)
    if not table:
        return []
    best = max(table[-1], key=lambda place: table[-1][place][0] + (lead(place[1]) if truth is not None else 0.0))
    path, place = [], best
    for row in reversed(table):
        path.append(place[0])
        place = row[place][1] or place
    return path


def _named(position: Any) -> dict[Any, float]:
    return read_features(position) if isinstance(position, dict) else {position: 1.0}


def _with_new(known: Sequence[Hashable], tags: Sequence[Hashable]) -> list[Any]:
    return list(dict.fromkeys([*known, *tags]))
