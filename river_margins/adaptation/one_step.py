"""One AdaGrad or AdaDelta step for each validated example, from a model that was trained before."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any, Literal, Protocol

import numpy as np
from river import base

from river_margins.adaptation.backends import Ours, Torch
from river_margins.adaptation.log_linear import LogLinearClassifier
from river_margins.adaptation.trained import AroundTrained
from river_margins.core.checks import is_bare, one_of, positive, whole
from river_margins.core.described import Described
from river_margins.networks.backprop import OnlineMLP, OnlineMLPClassifier, OnlineMLPRegressor

__all__ = ["OneStepAdaptation"]

ADAGRAD_EPS = 1e-8
RHO, ADADELTA_EPS = 0.95, 1e-6


class TorchModule(Protocol):
    """A `torch.nn.Module`, as far as it is needed here."""

    def parameters(self) -> Iterator[Any]: ...
    def state_dict(self) -> Any: ...
    def __call__(self, *inputs: Any) -> Any: ...


Optimizer = Literal["adagrad", "adadelta"]


class OneStepAdaptation(Described, AroundTrained, base.Estimator):
    """Adaptation of a trained model: one step of AdaGrad or AdaDelta on each example that somebody has validated.

    With g, the gradient of the loss of the example, and for each weight on its own, AdaGrad is G += g² and
    w -= lr·g/(sqrt(G) + 1e-8). AdaDelta is E = 0.95·E + 0.05·g², v = -sqrt(S + 1e-6)/sqrt(E + 1e-6)·g,
    S = 0.95·S + 0.05·v² and w += v. G, E and S are 0 at first, and are kept from round to round.

    Parameters
    ----------
    model
        The trained model: an `OnlineMLPClassifier`, `OnlineMLPRegressor` or `LogLinearClassifier`, or a
        `torch.nn.Module`, which needs `pip install 'river-margins[torch]'`. It stays as it is; a copy adapts.
    loss
        loss(module, x, y), a scalar tensor, for a torch module. None (default) is for the other models, which have a
        loss of their own.
    optimizer
        "adagrad" (default) or "adadelta".
    lr
        Learning rate of AdaGrad, > 0; 0.01 by default. AdaDelta has none.
    n_steps
        The number of steps on each example, >= 1; 1 by default.

    Raises
    ------
    ValueError, TypeError
        If a parameter is outside its range.
    ImportError
        If `model` is not a model of this library, and torch is not installed.

    Attributes
    ----------
    adapted
        The copy that adapts.

    Notes
    -----
    A round costs as much as all weights, also those of features that x does not have. This is not a River classifier or
    regressor, because the model may be anything. Snapshots hold it with models of this library. They refuse a torch
    module.

    Examples
    --------
    >>> import river_margins as rm
    >>> trained = rm.LogLinearClassifier(lr=1.0, classes=["a", "b"])
    >>> trained.learn_one({"x": 1.0}, "a")
    >>> model = rm.OneStepAdaptation(trained, lr=0.5)
    >>> for _ in range(3):
    ...     model.learn_one({"x": 1.0}, "b")
    >>> trained.predict_one({"x": 1.0}), model.predict_one({"x": 1.0})
    ('a', 'b')

    References
    ----------
    Peris, Á. and Casacuberta, F., 2019. Online learning for effort reduction in interactive neural machine translation.
    Computer Speech and Language 58. Duchi, J., Hazan, E. and Singer, Y., 2011. Adaptive subgradient methods. Journal of
    Machine Learning Research 12. Zeiler, M., 2012. ADADELTA: an adaptive learning rate method. arXiv:1212.5701.
    """

    round_cost = "The number of all weights of the model."
    guarantee = "None for networks: the loss is not convex in the weights."
    advice = "Use it if a trained model is corrected by its users, one example at a time."

    model: OnlineMLPClassifier | OnlineMLPRegressor | LogLinearClassifier | TorchModule
    loss: Callable[[Any, Any, Any], Any] | None
    optimizer: Optimizer
    lr: float
    n_steps: int
    n_seen: int
    adapted: Any
    _of: Ours | Torch
    _moments: list[list[Any]]  # two for each array of weights: G, or E and S

    def __init__(
        self,
        model: OnlineMLPClassifier | OnlineMLPRegressor | LogLinearClassifier | TorchModule,
        loss: Callable[[Any, Any, Any], Any] | None = None,
        *,
        optimizer: Optimizer = "adagrad",
        lr: float = 0.01,
        n_steps: int = 1,
    ) -> None:
        one_of("optimizer", optimizer, ("adagrad", "adadelta"))
        ours = is_bare(model, OnlineMLP | LogLinearClassifier)
        backend = Ours(loss) if ours else Torch(model, loss)
        vars(self).update(model=backend.duplicate(model), loss=loss, optimizer=optimizer, lr=positive("lr", lr))
        vars(self).update(n_steps=whole("n_steps", n_steps, 1), n_seen=0, _of=backend)
        adapted = backend.duplicate(model)
        moments = [[backend.zeros(array), backend.zeros(array)] for array in backend.parameters(adapted)]
        vars(self).update(adapted=adapted, _moments=moments)

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lr"}

    def _change(self, name: str, value: Any) -> None:
        vars(self)[name] = positive(name, value)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"model": LogLinearClassifier()}
        yield {"model": OnlineMLPRegressor((3,)), "optimizer": "adadelta"}

    def predict_one(self, x: Any) -> Any:
        """Return the prediction of the adapted model; for a torch module, what it returns for x, without gradients."""
        return self._of.predict(self.adapted, x)

    def learn_one(self, x: Any, y: Any) -> None:
        """Take `n_steps` gradient steps on one example.

        Parameters
        ----------
        x
            An example, as the model or the loss takes it.
        y
            What was validated: the label, the target, or the corrected output.

        Raises
        ------
        ValueError
            If the model refuses the example. Nothing is learned.
        OverflowError
            If a step would take a weight beyond floating point. Nothing is learned.
        """
        before, moments = self._of.state(self.adapted), self._moments
        try:
            with self._of.without_gradients(), np.errstate(over="ignore", invalid="ignore"):
                prepared = self._of.prepare(self.adapted, x, y)
                for _ in range(self.n_steps):
                    moments = self._step(moments, self._of.gradients(self.adapted, prepared, y))
        except BaseException:
            self._of.restore(self.adapted, before)
            raise
        vars(self).update(_moments=moments, n_seen=self.n_seen + 1)

    def _step(self, moments: list[list[Any]], gradients: list[Any]) -> list[list[Any]]:
        """Take one step along the gradients, and return the moments after it."""
        weights, after = [], []
        for w, g, pair in zip(self._of.parameters(self.adapted), gradients, moments, strict=True):
            v, moved = self._moved([self._of.grown(each, w) for each in pair], g)
            weights.append(w + v)
            after.append(moved)
        if not all(self._of.is_finite(array) for array in itertools.chain(weights, *after)):
            raise OverflowError("a weight of `OneStepAdaptation` would become infinite: scale the features")
        self._of.write(self.adapted, weights)
        return after

    def _moved(self, moments: list[Any], g: Any) -> tuple[Any, list[Any]]:
        """Return the step of an array of weights, and its moments after the step."""
        first, second = moments
        if self.optimizer == "adagrad":
            squares = first + g * g
            return -self.lr * g / (squares**0.5 + ADAGRAD_EPS), [squares, second]
        squares = RHO * first + (1 - RHO) * g * g
        v = -((second + ADADELTA_EPS) ** 0.5) / (squares + ADADELTA_EPS) ** 0.5 * g
        return v, [squares, RHO * second + (1 - RHO) * v * v]

    def __getstate__(self) -> dict[str, Any]:
        moments = [[self._of.copied(each) for each in pair] for pair in self._moments]
        return {"n_seen": self.n_seen, "adapted": self._of.state(self.adapted), "moments": moments}

    def __setstate__(self, state: dict[str, Any]) -> None:
        adapted = self._of.duplicate(self.model)
        self._of.restore(adapted, state["adapted"])
        arrays = self._of.parameters(adapted)
        pairs = zip(state["moments"], arrays, strict=True)
        moments = [[self._of.checked(each, w) for each in pair] for pair, w in pairs]
        vars(self).update(adapted=adapted, _moments=moments, n_seen=whole("n_seen", state["n_seen"]))
