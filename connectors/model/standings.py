"""How several models of one partition did on the same records: in all, and on the last ones."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pydantic import TypeAdapter, ValidationError

BLOCK = 1000  # records that were judged together
BLOCKS = 10  # of these are the last ones


@dataclass
class OfModel:
    """The predictions of one model that were judged, and the sum of their losses."""

    judged: int = 0
    loss: float = 0.0


@dataclass
class OfPair:
    """The records on which two models were judged, with three sums over them.

    They are the losses of the first model, their differences to those of the other one, and the squares of these.
    A loss is 1 for a wrong class and 0 for the right one, so `squares` counts the records on which just one was right.
    """

    judged: int = 0
    loss: float = 0.0
    difference: float = 0.0
    squares: float = 0.0


@dataclass
class Tally:
    """What was counted in some records. A pair of models has both names, in alphabetical order, with a blank."""

    records: int = 0
    models: dict[str, OfModel] = field(default_factory=dict)
    pairs: dict[str, OfPair] = field(default_factory=dict)

    def add(self, losses: Sequence[tuple[str, float]]) -> None:
        """Count a record, with the losses of the models that predicted it, in alphabetical order of their names."""
        self.records += 1
        for name, loss in losses:
            model = self.models.setdefault(name, OfModel())
            model.judged += 1
            model.loss += loss
        for (one, loss), (other, its_loss) in itertools.combinations(losses, 2):
            pair, difference = self.pairs.setdefault(f"{one} {other}", OfPair()), loss - its_loss
            pair.judged += 1
            pair.loss += loss
            pair.difference += difference
            pair.squares += difference * difference

    def merge(self, other: "Tally") -> None:
        """Add what was counted in other records."""
        self.records += other.records
        for name, model in other.models.items():
            mine = self.models.setdefault(name, OfModel())
            mine.judged += model.judged
            mine.loss += model.loss
        for names, pair in other.pairs.items():
            ours = self.pairs.setdefault(names, OfPair())
            ours.judged += pair.judged
            ours.loss += pair.loss
            ours.difference += pair.difference
            ours.squares += pair.squares

    def pair(self, one: str, other: str) -> OfPair:
        """Return what was counted for two models: differences are those of `one` less those of `other`."""
        first, second = sorted((one, other))
        found = self.pairs.get(f"{first} {second}", OfPair())
        if first == one:
            return found
        return OfPair(found.judged, found.loss - found.difference, 0.0 - found.difference, found.squares)  # and no -0.0

    def keep(self, names: frozenset[str]) -> None:
        """Forget all but these models."""
        self.models = {name: model for name, model in self.models.items() if name in names}
        self.pairs = {pair: found for pair, found in self.pairs.items() if names.issuperset(pair.split(" "))}


@dataclass
class Refused:
    """Records of which a challenger refused the features, and labels that it refused after it had predicted."""

    features: int = 0
    labels: int = 0


@dataclass
class Standings:
    """What was counted since the models were there.

    Attributes
    ----------
    older, blocks
        The records before the last ones, and the last ones in blocks of `BLOCK`; the last block is being filled.
    refused
        What challengers refused, by name.

    >>> standings = Standings()
    >>> standings.judge({"pa": 1.0, "arow": 0.0})
    >>> standings.life.pair("pa", "arow")
    OfPair(judged=1, loss=1.0, difference=1.0, squares=1.0)
    """

    older: Tally = field(default_factory=Tally)
    blocks: list[Tally] = field(default_factory=lambda: [Tally()])
    refused: dict[str, Refused] = field(default_factory=dict)

    def judge(self, losses: Mapping[str, float]) -> None:
        """Count a record by the losses of the models that predicted it."""
        block = self.blocks[-1]
        block.add(sorted(losses.items()))
        if block.records == BLOCK:
            self.blocks.append(Tally())
            if len(self.blocks) > BLOCKS:
                self.older.merge(self.blocks.pop(0))

    def of_refused(self, name: str) -> Refused:
        """Return the counts of what a challenger refused."""
        return self.refused.setdefault(name, Refused())

    @property
    def recent(self) -> Tally:
        """What was counted in the last records, at most `BLOCK * BLOCKS` and, if they came, a block less at least."""
        found = Tally()
        for block in self.blocks:
            found.merge(block)
        return found

    @property
    def life(self) -> Tally:
        """What was counted in all."""
        found = self.recent
        found.merge(self.older)
        return found

    def keep(self, names: frozenset[str]) -> None:
        """Forget all but these models."""
        for tally in (self.older, *self.blocks):
            tally.keep(names)
        self.refused = {name: refused for name, refused in self.refused.items() if name in names}


@dataclass
class Contest:
    """What a snapshot tells about several models.

    Attributes
    ----------
    champion
        The name of the model that the snapshot holds; the others are its parts.
    examples
        How many examples each model has learned.
    standings
        How they did.
    """

    champion: str
    examples: dict[str, int]
    standings: Standings

    @property
    def value(self) -> dict[str, Any]:
        """The same as values that JSON has."""
        return asdict(self)


_CONTEST = TypeAdapter(Contest)


def contest_of(about: Mapping[str, Any]) -> Contest | None:
    """Return what a snapshot tells about several models, or None for one with a single model. Raise ValueError."""
    if "contest" not in about:
        return None
    try:
        return _CONTEST.validate_python(about["contest"])
    except ValidationError as error:
        raise ValueError(f"its data about the models are not well formed: {error.errors()[0]['msg']}") from None
