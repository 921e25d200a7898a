"""Estimators around a model that was trained before."""

import inspect
from typing import Any, Self

from river_margins.core.estimator import Estimator


class AroundTrained(Estimator):
    """An estimator whose parameter `model` keeps what it has learned when the estimator is cloned."""

    model: Any

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """Return an estimator with the same parameters, the trained model among them.

        `new_params` replaces some; a dict for the model changes parameters of it. With `include_attributes`, it has
        learned the same after that model, too.
        """
        parameters = {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}
        for name, value in (new_params or {}).items():
            if isinstance(value, tuple) and isinstance(value[0], type):  # how River writes an estimator
                value = value[1]
            changes = name == "model" and isinstance(value, dict)
            parameters[name] = self.model.clone(value, include_attributes=True) if changes else value
        fresh = type(self)(**parameters)
        if include_attributes:
            fresh.__setstate__(self.__getstate__())  # type: ignore[attr-defined]
        return fresh
