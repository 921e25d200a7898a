"""Passive-aggressive learning of structured outputs, by joint features of an example and an output."""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from river import base

from river_margins.core.checks import abridged, one_of
from river_margins.core.described import Described
from river_margins.core.estimator import Estimator
from river_margins.core.learner import Learner
from river_margins.core.reader import read_features
from river_margins.families.parameter_types import CostScale, Mode
from river_margins.families.passive_aggressive import passive_aggressive_rule
from river_margins.rules import Rule
from river_margins.tasks.half_space import HalfSpace

__all__ = ["StructuredPA"]

JointFeatures = Callable[[Any, Any], Mapping[Any, float]]
Decoder = Callable[[Mapping[Any, float], Any], Any]
CostDecoder = Callable[[Mapping[Any, float], Any, Any], Any]


class _Differences(Learner, base.Estimator):  # type: ignore[misc]
    """The weights, which learn from d = Φ(x, y) - Φ(x, ŷ) and the required lead of y: ⟨w, d⟩ >= lead."""

    rule: Rule

    def __init__(self, rule: Rule) -> None:
        vars(self).update(rule=rule)
        self._open(rule, None, HalfSpace(), False, None)


class Structured(Described, Estimator, base.Estimator):
    """A learner of structured outputs; a subclass defines the joint features, the cost and the two decoders."""

    cost_scale: CostScale
    rule: Rule
    _differences: _Differences

    def _features(self, x: Any, y: Any) -> Mapping[Any, float]:
        """Return Φ(x, y)."""
        raise NotImplementedError

    def _price(self, y: Any, other: Any) -> float:
        """Return what it costs to predict `other` where y is right."""
        raise NotImplementedError

    def _decode(self, x: Any) -> Any:
        """Return the output with the highest score."""
        raise NotImplementedError

    def _rival(self, x: Any, y: Any) -> Any:
        """Return the output to learn from, given the right one."""
        raise NotImplementedError

    def _open(self, C: float, mode: Mode, cost_scale: CostScale) -> None:
        one_of("cost_scale", cost_scale, ("sqrt", "linear"))
        rule = passive_aggressive_rule(C, mode)
        vars(self).update(rule=rule, _differences=_Differences(rule))

    @property
    def n_seen(self) -> int:
        """The number of rounds."""
        return self._differences.n_seen

    @property
    def n_mistakes(self) -> int:
        """The number of rounds in which the output that y was compared with scored at least as high as y."""
        return self._differences.n_mistakes

    @property
    def n_updates(self) -> int:
        """The number of rounds in which the weights changed."""
        return self._differences.n_updates

    @property
    def weights(self) -> Mapping[Any, float]:
        """The weights, read live: {joint feature: weight}."""
        return self._differences.weights

    def score_one(self, x: Any, y: Any) -> float:
        """Return ⟨w, Φ(x, y)⟩."""
        return self._differences.score_one(self._features(x, y))

    def predict_one(self, x: Any) -> Any:
        """Return the output with the highest score."""
        return self._decode(x)

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn that y is the output for x.

        Parameters
        ----------
        x
            An example, as the joint features take it.
        y
            Its output.

        Raises
        ------
        ValueError
            If a joint feature is not finite, or the cost is not a number of at least 0; the learner is unchanged.
        OverflowError
            If the update would overflow; the learner is unchanged.
        """
        other = self._rival(x, y)
        lead = 0.0 if other == y else self._lead(self._price(y, other))
        self._differences.learn_one(_minus(self._features(x, y), self._features(x, other)), lead)

    def _lead(self, cost: float) -> float:
        """Return by how much y must lead an output of this cost."""
        if not cost >= 0:
            raise ValueError(f"a cost must be a number of at least 0, not {cost!r}")
        return float(cost) if self.cost_scale == "linear" else math.sqrt(cost)

    def __getstate__(self) -> dict[str, Any]:
        return self._differences.__getstate__()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._differences.__setstate__(state)


class StructuredPA(Structured):
    """Passive-aggressive structured prediction, for any outputs y with joint features Φ(x, y) and a decoder.

    The decoder finds ŷ, the output with the largest ⟨w, Φ(x, ŷ)⟩. With d = Φ(x, y) - Φ(x, ŷ), the loss l =
    [sqrt(cost(y, ŷ)) - ⟨w, d⟩]+ (0 if ŷ = y) and q = |d|², the update is w' = w + tau·d, where tau is l/q (`mode=0`),
    min(C, l/q) (`mode=1`) or l/(q + 1/(2C)) (`mode=2`). This is the prediction-based form. With `decode_cost` it is the
    max-loss form, which learns from the output with the largest ⟨w, Φ(x, ŷ)⟩ + sqrt(cost(y, ŷ)) instead.

    Parameters
    ----------
    phi
        phi(x, y), the joint features: a dict from hashable names to finite numbers.
    decode
        decode(w, x) returns the output with the best score under the weights w, a mapping; `w.get(name, 0.0)` reads a
        weight. A list or tuple of all possible outputs is also accepted; of equal scores, the first output is taken.
    cost
        cost(y, other), >= 0, and 0 only if they are equal; None (default) costs 1 for each other output.
    decode_cost
        decode_cost(w, x, y), for the max-loss form; True if `decode` is a list. None (default) is the prediction-based
        form.
    C
        Aggressiveness, > 0; 1 by default. `mode=0` does not use it.
    mode
        The step: 0 is PA, 1 (default) is PA-I, 2 is PA-II.
    cost_scale
        The margin by which y must lead an output: "sqrt" (default) of its cost, as in the bound, or "linear", as in
        MIRA.

    Notes
    -----
    If some u has ⟨u, Φ(x, y) - Φ(x, k)⟩ >= sqrt(cost(y, k)) for all outputs k, and R is the length of the longest d,
    `mode=0` keeps the sum of the costs of all predictions within R²|u|², in both forms. If the features cannot
    distinguish y from ŷ, d = 0 and the round changes nothing.

    This is not a River classifier, because its outputs are of none of River's kinds. Snapshots cannot hold functions,
    so they refuse this learner; `SequenceTagger` has no functions.

    Examples
    --------
    Classes that share the weights of their common traits:

    >>> import river_margins as rm
    >>> def phi(x, animal):
    ...     return {(name, trait): value for name, value in x.items() for trait in (animal, animal[-3:])}
    >>> model = rm.StructuredPA(phi, ["tomcat", "bobcat", "bulldog"], decode_cost=True, mode=0)
    >>> model.learn_one({"purrs": 1.0}, "bobcat")
    >>> model.learn_one({"purrs": 1.0}, "bobcat")
    >>> model.predict_one({"purrs": 1.0}), model.score_one({"purrs": 1.0}, "bulldog")
    ('bobcat', -0.25)

    References
    ----------
    Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S. and Singer, Y., 2006. Online passive-aggressive algorithms.
    Journal of Machine Learning Research 7, sections 8 and 9.
    """

    round_cost = "The cost of the decoder."
    guarantee = "The costs of all predictions sum to at most R²|u|² (mode 0, separable stream)."
    advice = "Use it for outputs that consist of parts, or for classes that share weights."

    phi: JointFeatures
    decode: Decoder | list[Any] | tuple[Any, ...]
    cost: Callable[[Any, Any], float] | None
    decode_cost: CostDecoder | Literal[True] | None
    C: float
    mode: Mode
    cost_scale: CostScale

    def __init__(
        self,
        phi: JointFeatures,
        decode: Decoder | list[Any] | tuple[Any, ...],
        cost: Callable[[Any, Any], float] | None = None,
        *,
        decode_cost: CostDecoder | Literal[True] | None = None,
        C: float = 1.0,
        mode: Mode = 1,
        cost_scale: CostScale = "sqrt",
    ) -> None:
        vars(self).update(
            phi=phi, decode=decode, cost=cost, decode_cost=decode_cost, C=C, mode=mode, cost_scale=cost_scale
        )
        if not callable(phi):
            raise TypeError(f"`phi` must be a function phi(x, y) that returns a dict of features, not {phi!r}")
        if not (callable(decode) or (isinstance(decode, list | tuple) and decode)):
            raise TypeError(f"`decode` must be a function decode(w, x) or a list of all outputs, not {decode!r}")
        if decode_cost is True and not isinstance(decode, list | tuple):
            raise ValueError("`decode_cost=True` tries all outputs, so `decode` must be the list of them")
        self._open(C, mode, cost_scale)

    @property
    def _mutable_attributes(self) -> set[str]:
        return set()

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"phi": _pairs, "decode": ("a", "b")}

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn that y is the output for x; raise ValueError if `decode` is a list that does not have y."""
        if not callable(self.decode) and y not in self.decode:
            raise ValueError(f"output {abridged(y)} is not in `decode`, the list of all outputs")
        super().learn_one(x, y)

    def _features(self, x: Any, y: Any) -> Mapping[Any, float]:
        return read_features(self.phi(x, y))

    def _price(self, y: Any, other: Any) -> float:
        return float(other != y) if self.cost is None else self.cost(y, other)

    def _decode(self, x: Any) -> Any:
        if callable(self.decode):
            return self.decode(self.weights, x)
        return max(self.decode, key=lambda output: self.score_one(x, output))

    def _rival(self, x: Any, y: Any) -> Any:
        if self.decode_cost is None:
            return self._decode(x)
        if callable(self.decode_cost):
            return self.decode_cost(self.weights, x, y)
        assert isinstance(self.decode, list | tuple)  # checked when the learner was made
        return max(self.decode, key=lambda output: self.score_one(x, output) + self._lead(self._price(y, output)))


def _pairs(x: dict[str, float], y: str) -> dict[tuple[str, str], float]:
    return {(name, y): value for name, value in x.items()}


def _minus(one: Mapping[Any, float], other: Mapping[Any, float]) -> dict[Any, float]:
    """Return the difference of two sparse vectors, without zeros."""
    difference = {name: one.get(name, 0.0) - other.get(name, 0.0) for name in {**one, **other}}
    return {name: value for name, value in difference.items() if value}
