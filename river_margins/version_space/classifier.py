"""The base class of classifiers that predict with a centre of the version space."""

import math
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from river_margins.core.checks import whole
from river_margins.core.explain import contribution_table, largest_first
from river_margins.core.feature_hash import stable_name
from river_margins.core.reader import INTERCEPT, read_features
from river_margins.families.parameter_types import Classes
from river_margins.families.two_labels import TwoLabelClassifier
from river_margins.version_space.geometry import Array


class Body(Protocol):
    """A set of weight vectors that contains those that are consistent, with a centre."""

    @property
    def centre(self) -> Array:
        """The weights to predict with."""

    @property
    def inconsistent(self) -> bool:
        """Whether a cut left nothing."""

    @property
    def ended(self) -> bool:
        """Whether no further cut can change anything."""

    def grow(self, count: int) -> None:
        """Append coordinates, of which nothing is known."""

    def cut(self, direction: Array) -> bool:
        """Cut by ⟨direction, w⟩ >= 0, which the centre does not satisfy strictly; return whether anything changed."""

    def state(self) -> dict[str, Any]:
        """Return arrays and numbers."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over a state."""


class CentreClassifier(TwoLabelClassifier):
    """A classifier whose weights are the centre of a body, which every mistake cuts."""

    intercept: bool
    max_dimension: int
    _features: dict[Any, int]  # the coordinate of each feature
    _body: Body

    def _open_body(self, body: Body, classes: Classes, intercept: bool, max_dimension: int) -> None:
        self._open(classes)
        whole("max_dimension", max_dimension, 1)
        vars(self).update(intercept=intercept, max_dimension=max_dimension, _features={}, _body=body)

    @property
    def weights(self) -> dict[Any, float]:
        """The weights: the coordinates of the centre, by feature."""
        return {name: float(self._body.centre[i]) for name, i in self._features.items()}

    @property
    def inconsistent(self) -> bool:
        """Whether some label contradicted all weights that were still possible: no hyperplane separates the stream."""
        return self._body.inconsistent

    def _with_intercept(self, x: Mapping[Any, float]) -> dict[Any, float]:
        return {INTERCEPT: 1.0, **x} if self.intercept else dict(x)

    def _score(self, x: Mapping[Any, float]) -> float:
        x, centre = self._with_intercept(x), self._body.centre
        known = [(centre[self._features[name]], x[name]) for name in x if name in self._features]
        largest = max((abs(value) for _, value in known), default=0.0)
        if largest == 0.0:
            return 0.0
        # The sum is exact, so it does not depend on the order of the features, and it does not overflow on its way.
        return math.fsum(weight * (value / largest) for weight, value in known) * largest

    def explain_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        """Return what each feature of x contributes to the score, its weight times its value, the largest first."""
        weights = self.weights
        parts = {name: weights.get(name, 0.0) * value for name, value in self._with_intercept(read_features(x)).items()}
        return largest_first(parts)

    def debug_one(self, x: Mapping[Any, Any], decimals: int = 5) -> str:
        """Return a table of features, values, weights and contributions, which River's pipelines show."""
        return contribution_table(self.explain_one(x), x, decimals)

    def _learn(self, x: Mapping[Any, float], sign: float, mistake: bool) -> bool:
        x = {name: value for name, value in self._with_intercept(x).items() if value}
        if not mistake or not x or self._body.ended:
            return False
        # In an order of their own, so that the order of the features in x changes no random point and no rounding.
        new = (name for name in x if name not in self._features)
        self._enter(sorted(new, key=lambda name: repr(stable_name(name))))  # the repr of a set is that of one process
        direction = np.zeros(len(self._body.centre))
        largest = max(map(abs, x.values()))
        for name, value in x.items():
            direction[self._features[name]] = sign * (value / largest)
        return self._body.cut(direction / np.linalg.norm(direction))

    def _enter(self, names: list[Any]) -> None:
        """Give coordinates to new features."""
        needed = len(self._features) + len(names)
        if needed > self.max_dimension:
            raise ValueError(
                f"`{type(self).__name__}` would have {needed} features, more than `max_dimension` = "
                f"{self.max_dimension}: put FeatureHasher({max(self.max_dimension - self.intercept, 1)}) before it, or "
                "raise `max_dimension`, at a cost"
            )
        if needed > len(self._body.centre):
            self._body.grow(needed - len(self._body.centre))
        self._features.update(zip(names, range(len(self._features), needed), strict=True))

    def __getstate__(self) -> dict[str, Any]:
        names = [name for name in self._features if name is not INTERCEPT]
        places = [self._features[name] for name in names]
        bias = self._features.get(INTERCEPT)
        return super().__getstate__() | {"names": names, "places": places, "bias": bias, "body": self._body.state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        features = dict(zip(state["names"], state["places"], strict=True))
        if state["bias"] is not None:
            features = {INTERCEPT: state["bias"], **features}
        if sorted(features.values()) != [*range(len(features))]:
            raise ValueError(f"the coordinates of the features must be 0, 1, 2 and so on, not {state['places']!r}")
        self._body.restore(state["body"])
        if len(features) > len(self._body.centre):
            raise ValueError(f"{len(features)} features need as many weights, not {len(self._body.centre)}")
        vars(self).update(_features=dict(sorted(features.items(), key=lambda item: item[1])))
