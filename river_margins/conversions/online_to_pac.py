"""From a mistake bound to a certificate: an online learner that stops when it has been right for long enough."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from river import base

from river_margins.conversions.wrapper import ClassifierWrapper
from river_margins.core.checks import inside_unit, sample_weight, whole
from river_margins.families.delegating import copied

__all__ = ["OnlineToPAC"]


class OnlineToPAC(ClassifierWrapper):
    """Learn from mistakes until the classifier has been right for long enough, and then stop.

    Stage i ends with a mistake, from which the classifier learns, or after m_i = ln(1/delta_i)/epsilon examples,
    rounded up, without one. In the second case the hypothesis is final. delta_i is delta/2^i, or delta/(M + 1) with a
    known bound M on the mistakes.

    Parameters
    ----------
    learner
        Any classifier, of this library or of River. The wrapper works on a copy, which keeps what the classifier has
        learned.
    epsilon
        The risk to reach, the probability of a wrong label, above 0 and below 1; 0.05 by default.
    delta
        The probability with which the risk may be larger, above 0 and below 1; 0.05 by default.
    mistake_bound
        The largest number of mistakes of the classifier, >= 0; None (default) if it is not known.

    Attributes
    ----------
    learner
        The copy that learns.
    done, hypothesis_
        Whether the hypothesis is final, and a copy of it; None until then.
    stage, n_used
        The number of the stage, from 1, and of the examples that were used.
    n_seen
        The number of rounds; those after the end change nothing.

    Notes
    -----
    On independent examples of one distribution, `hypothesis_` has a risk above epsilon with probability at most delta.
    If the classifier makes at most M mistakes, as on examples that a concept of its class labels, then there are at
    most M + 1 stages, and `sample_size(M)` examples are enough. Without such an M it may never be done.

    A step before that learns, such as StandardScaler, changes what a hypothesis predicts, and nothing is certified. Let
    the step learn other examples first, and give the wrapper what `transform_one` of it returns.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.OnlineToPAC(rm.Perceptron(), epsilon=0.1, delta=0.05)
    >>> [model.stage_length(stage) for stage in (1, 2, 3, 4)], model.sample_size(3)
    ([37, 44, 51, 58], 190)

    References
    ----------
    Angluin, D., 1988. Queries and concept learning. Machine Learning 2.
    Littlestone, N., 1989. From on-line to batch learning. COLT.
    """

    round_cost = "A prediction, and on a mistake a learning step of the classifier."
    guarantee = "With probability 1 - delta on independent examples, a final risk of at most epsilon."
    advice = "Use it for a fixed classifier with a certificate if a perfect one exists in its class."

    epsilon: float
    delta: float
    mistake_bound: int | None
    done: bool
    stage: int
    n_used: int
    _right: int

    def __init__(
        self,
        learner: base.Estimator,
        *,
        epsilon: float = 0.05,
        delta: float = 0.05,
        mistake_bound: int | None = None,
    ) -> None:
        for name, value in (("epsilon", epsilon), ("delta", delta)):
            if inside_unit(name, value) < 1e-300:
                raise ValueError(f"`{name}` must be at least 1e-300, not {value!r}: a stage would never end")
        if mistake_bound is not None:
            whole("mistake_bound", mistake_bound)
        self._wrap(learner, epsilon=epsilon, delta=delta, mistake_bound=mistake_bound)
        vars(self).update(done=False, stage=1, n_used=0, _right=0)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        first, second = super()._unit_test_params()
        yield first
        yield second | {"epsilon": 0.2, "mistake_bound": 50}

    def stage_length(self, stage: int) -> int:
        """Return how many examples without a mistake end everything in a stage, from 1."""
        log = math.log(1 / self.delta)
        log += stage * math.log(2) if self.mistake_bound is None else math.log(self.mistake_bound + 1)
        return math.ceil(log / self.epsilon)

    def sample_size(self, mistakes: int) -> int:
        """Return how many examples are enough for a classifier that makes at most so many mistakes."""
        return sum(self.stage_length(stage) for stage in range(1, mistakes + 2))

    @property
    def hypothesis_(self) -> Any:
        """A copy of the final classifier; None before `done`."""
        return copied(self.learner) if self.done else None

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Use an example: if the label of the classifier is wrong, let it learn, with the sample weight w."""
        self.check_label(y)
        sample_weight(w)
        if self.done:
            vars(self).update(n_seen=self.n_seen + 1)
            return
        stage, right = self.stage, self._right + 1
        if self.learner.predict_one(x) != y:
            self.learner.learn_one(x, y, **({} if w == 1.0 else {"w": w}))
            stage, right = stage + 1, 0
        done = right >= self.stage_length(stage)
        vars(self).update(n_seen=self.n_seen + 1, n_used=self.n_used + 1, stage=stage, _right=right, done=done)

    def __getstate__(self) -> dict[str, Any]:
        counts = {"done": self.done, "stage": self.stage, "n_used": self.n_used, "right": self._right}
        return super().__getstate__() | counts

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        vars(self).update(done=state["done"], stage=state["stage"], n_used=state["n_used"], _right=state["right"])
