"""Learning a disjunction by elimination of literals."""

from collections.abc import Iterator, Mapping
from typing import Any

from river_margins.families.parameter_types import Classes
from river_margins.families.two_labels import TwoLabelClassifier

__all__ = ["ELIM"]


class ELIM(TwoLabelClassifier):
    """ELIM: a disjunction of literals, from which every negative example removes those that are true on it.

    A feature z is true if its value is above 0; a missing feature is false. Each feature has two literals, z and not z.
    At first all literals are in the disjunction. It predicts True if one of them is true. A False label removes all
    literals that are true on its example; a True label changes nothing. A feature that is new after that was false in
    all examples before, so its literal "not z" is already removed.

    Parameters
    ----------
    classes
        [negative, positive] for labels that are not bools; the learner is for two classes.
    flip
        Whether each feature also has the literal "not z" (default), as if it were there a second time with its value
        flipped. With False the disjunction is monotone: it has no negated literals.

    Notes
    -----
    If the label is a disjunction of literals of n features, ELIM makes no mistake on True labels and at most n + 1 in
    all: the first one removes exactly n literals, each later one at least one of the n that are left. The disjunction
    without literals, which is always False, attains n + 1. Without negated literals n mistakes are the most.

    A True label on which no literal is true shows that the labels are not a disjunction. Then `inconsistent` is True,
    and learning goes on.

    Examples
    --------
    The target is "rain or not sun".

    >>> import river_margins as rm
    >>> model = rm.ELIM()
    >>> model.learn_one({"rain": False, "sun": True, "wind": True}, False)
    >>> model.literals
    [('rain', True), ('sun', False), ('wind', False)]
    >>> model.learn_one({"rain": False, "sun": True, "wind": False}, False)
    >>> model.literals, model.n_mistakes
    ([('rain', True), ('sun', False)], 2)

    References
    ----------
    Valiant, L., 1984. A theory of the learnable. Communications of the ACM 27.
    """

    round_cost = "The number of features in x, and of those that were true in every negative example."
    guarantee = "At most n + 1 mistakes if the label is a disjunction of literals of n features."
    advice = "Use it for boolean features and labels without noise, to read the disjunction afterwards."

    _names: dict[Any, None]  # the features, in the order of their first appearance
    _ever: set[Any]  # the features that were true in some negative example: their literal z is removed
    _always: set[Any]  # those that were true in every negative example: their literal "not z" is left
    _facts: dict[str, bool]
    flip: bool

    def __init__(self, classes: Classes = None, *, flip: bool = True) -> None:
        self._open(classes)
        vars(self).update(flip=flip, _names={}, _ever=set(), _always=set())
        vars(self).update(_facts={"negatives": False, "inconsistent": False})

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"classes": [False, True], "flip": False}

    @property
    def inconsistent(self) -> bool:
        """Whether some True label had no literal that is true: the labels are not a disjunction."""
        return self._facts["inconsistent"]

    @property
    def literals(self) -> list[tuple[Any, bool]]:
        """The literals of the features seen: (z, True) is the literal z, and (z, False) is the literal "not z"."""
        negatives = self._facts["negatives"]
        return [
            (name, value)
            for name in self._names
            for value in ((True, False) if self.flip else (True,))
            if not negatives or (name not in self._ever if value else name in self._always)
        ]

    def _score(self, x: Mapping[Any, float]) -> float:
        """Return 1 if a literal is true on x, else -1."""
        true = {name for name, value in x.items() if value > 0.0}
        negated = self.flip and (not self._facts["negatives"] or self._always - true)
        return 1.0 if true - self._ever or negated else -1.0

    def _learn(self, x: Mapping[Any, float], sign: float, mistake: bool) -> bool:
        self._names.update(dict.fromkeys(x))
        if sign > 0.0:
            self._facts["inconsistent"] |= mistake
            return False
        true, first = {name for name, value in x.items() if value > 0.0}, not self._facts["negatives"]
        always = true if first else self._always & true
        changed = first or not true <= self._ever or always != self._always
        self._facts["negatives"] = True
        self._ever.update(true)
        vars(self)["_always"] = always
        return changed

    def __getstate__(self) -> dict[str, Any]:
        features = {
            "names": list(self._names),
            "ever": [name for name in self._names if name in self._ever],
            "always": [name for name in self._names if name in self._always],
        }
        return super().__getstate__() | features | self._facts

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        names = dict.fromkeys(state["names"])
        facts = {name: bool(state[name]) for name in self._facts}
        vars(self).update(_names=names, _ever=set(state["ever"]), _always=set(state["always"]), _facts=facts)
