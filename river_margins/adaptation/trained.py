"""Estimators around a model that was trained before."""

import inspect
from typing import Any, Self

from river_margins.core.estimator import Estimator


class AroundTrained(Estimator):
    """An estimator whose parameter `model` keeps what it has learned when the estimator is cloned."""

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """Return an estimator with the same parameters, the trained model among them.

        `new_params` replaces some. With `include_attributes`, it has learned the same after that model, too.
        """
        parameters = {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}
        fresh = type(self)(**parameters | (new_params or {}))
        if include_attributes:
            fresh.__setstate__(self.__getstate__())  # type: ignore[attr-defined]
        return fresh
