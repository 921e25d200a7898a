"""What an adaptation needs of the model that it adapts: of one of this library, or of a module of PyTorch."""

import contextlib
import copy
from typing import Any

import numpy as np

from river_margins.core.checks import short
from river_margins.networks.examples import Array, checked


class Ours:
    """Models of this library."""

    def __init__(self, loss: Any) -> None:
        if loss is not None:
            raise ValueError(f"`loss` must be None for a model of this library, which has its own, not {loss!r}")

    def duplicate(self, model: Any) -> Any:
        """Return a copy."""
        return model.clone(include_attributes=True)

    def predict(self, model: Any, x: Any) -> Any:
        """Return what the model predicts for x."""
        return model.predict_one(x)

    def prepare(self, model: Any, x: Any, y: Any) -> Any:
        """Check an example, and make room for its features and its label; return what `gradients` needs."""
        model.check_label(y)
        return model._prepare(x, y)

    def gradients(self, model: Any, prepared: Any, y: Any) -> list[Array]:
        """Return the gradients of the loss by the arrays of weights."""
        found: list[Array] = model._full_gradients(prepared, y)
        return found

    def parameters(self, model: Any) -> list[Array]:
        """Return the arrays of weights."""
        found: list[Array] = model.parameters()
        return found

    def write(self, model: Any, weights: list[Array]) -> None:
        """Change the weights."""
        for array, values in zip(model.parameters(), weights, strict=True):
            array[...] = values

    def zeros(self, weights: Array) -> Array:
        """Return zeros in the shape of an array of weights."""
        return np.zeros(weights.shape)

    def grown(self, moment: Array, weights: Array) -> Array:
        """Return a moment with zeros for the rows and columns that the weights have got since."""
        return np.pad(moment, [(0, new - old) for new, old in zip(weights.shape, moment.shape, strict=True)])

    def is_finite(self, array: Array) -> bool:
        """Tell whether all numbers are finite."""
        return bool(np.isfinite(array).all())

    def without_gradients(self) -> Any:
        """Return a context in which arithmetic on weights is not recorded."""
        return contextlib.nullcontext()

    def state(self, model: Any) -> Any:
        """Return what the model has learned."""
        return model.__getstate__()

    def restore(self, model: Any, state: Any) -> None:
        """Give the model what it had learned."""
        model.__setstate__(state)

    def copied(self, moment: Array) -> Array:
        """Return a copy of a moment."""
        return moment.copy()

    def checked(self, moment: Any, weights: Array) -> Array:
        """Return a copy of a moment of a state; raise ValueError if it does not fit the weights."""
        return checked(moment, weights.shape)


class Torch:
    """Modules of PyTorch, with the same methods."""

    def __init__(self, model: Any, loss: Any) -> None:
        known = "an OnlineMLPClassifier, OnlineMLPRegressor, LogLinearClassifier or torch.nn.Module"
        try:
            import torch
        except ImportError as error:
            raise ImportError(
                f"`model` must be {known}, and {short(model)} is none of the first three; a torch.nn.Module needs "
                "PyTorch: pip install 'river-margins[torch]'"
            ) from error
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"`model` must be {known}, not {short(model)}")
        if not callable(loss):
            raise TypeError(f"`loss` must be a function loss(module, x, y) for a torch module, not {loss!r}")
        self.torch, self.loss = torch, loss

    def duplicate(self, model: Any) -> Any:
        return copy.deepcopy(model)

    def predict(self, model: Any, x: Any) -> Any:
        with self.torch.no_grad():
            return model(x)

    def prepare(self, model: Any, x: Any, y: Any) -> Any:
        return x

    def gradients(self, model: Any, x: Any, y: Any) -> list[Any]:
        weights = self.parameters(model)
        with self.torch.enable_grad():
            found = self.torch.autograd.grad(self.loss(model, x, y), weights, allow_unused=True)
        return [self.zeros(w) if g is None else g for g, w in zip(found, weights, strict=True)]

    def parameters(self, model: Any) -> list[Any]:
        return [each for each in model.parameters() if each.requires_grad]

    def write(self, model: Any, weights: list[Any]) -> None:
        with self.torch.no_grad():
            for each, values in zip(self.parameters(model), weights, strict=True):
                each.copy_(values)

    def zeros(self, weights: Any) -> Any:
        return self.torch.zeros_like(weights, requires_grad=False)

    def grown(self, moment: Any, weights: Any) -> Any:
        return moment

    def is_finite(self, array: Any) -> bool:
        return bool(self.torch.isfinite(array).all())

    def without_gradients(self) -> Any:
        return self.torch.no_grad()

    def state(self, model: Any) -> Any:
        return {name: each.detach().clone() for name, each in model.state_dict().items()}

    def restore(self, model: Any, state: Any) -> None:
        model.load_state_dict(state)

    def copied(self, moment: Any) -> Any:
        return moment.clone()

    def checked(self, moment: Any, weights: Any) -> Any:
        if moment.shape != weights.shape:
            raise ValueError(f"the state has a moment of the shape {moment.shape} for weights {weights.shape}")
        return moment.clone()
