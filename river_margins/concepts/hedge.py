"""Exponential weights over experts, with the rates that the regret bounds ask for."""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from river import base, compose

from river_margins.core.checks import not_negative, positive, whole
from river_margins.families.auto import Voting, usual_classifiers
from river_margins.families.gaussian import AROWClassifier
from river_margins.families.passive_aggressive import PAClassifier
from river_margins.tasks.labels import plain

__all__ = ["Hedge"]


class Hedge(Voting):
    """Hedge: classifiers learn side by side, and the weight of each falls exponentially with its mistakes.

    After the cumulative losses L_i, the weight of expert i of N is proportional to exp(-eta·L_i). A wrong prediction is
    a loss of 1. The rate in round t is eta_t = sqrt(8 ln N/t), so that nothing needs to be known beforehand.

    Parameters
    ----------
    portfolio
        The experts, a list of River classifiers; clones of them learn. None (default) is the 16 of `AutoClassifier`.
    eta
        A fixed rate, > 0. None (default) is the rate above.
    horizon
        The number of rounds T, at least 1, if it is known: the rate is then sqrt(8 ln N/T) in all rounds. None is the
        default.
    randomised
        False (default) predicts the label with the most weight. True follows one expert in each round, drawn by the
        weights: then `expected_loss` is the expected number of mistakes.
    seed
        The seed of the draws, at least 0; 0 by default. The seed and the number of the round determine the draw.

    Raises
    ------
    TypeError, ValueError
        If a parameter is outside its range, or both `eta` and `horizon` are given. An example is refused only if all
        experts refuse it.

    Notes
    -----
    Take any losses from 0 to 1, T rounds, and the losses L* of the best expert. `expected_loss`, the sum of the losses
    weighted by the weights of their round, exceeds L* by at most ln(N)/eta + eta·T/8 with a fixed rate, by at most
    sqrt(T·ln(N)/2) with the right `horizon`, and by at most 2·sqrt(T·ln(N)/2) + sqrt(ln(N)/8) with the default, for
    every T. With a fixed rate it is also at most (eta·L* + ln N)/(1 - exp(-eta)). The vote makes at most twice as many
    mistakes as `expected_loss`: where it is wrong, at least half of the weight is.

    `AutoClassifier` shares a part of the weights in each round, and follows a best expert that changes.

    Examples
    --------
    On 1250 rounds, the bound on the regret is 26.2:

    >>> import river_margins as rm
    >>> from river import datasets
    >>> model = rm.Hedge([rm.Perceptron(), rm.PAClassifier(), rm.AROWClassifier()], horizon=1250)
    >>> for x, y in datasets.Phishing():
    ...     model.learn_one(x, y)
    >>> model.losses, round(model.expected_loss - min(model.losses), 1)
    ([205.0, 263.0, 167.0], 13.8)

    Losses of any source, such as costs:

    >>> model = rm.Hedge([rm.Perceptron(), rm.PAClassifier()], eta=1.0)
    >>> model.learn_losses([0.0, 1.0])
    >>> [round(weight, 3) for weight in model.expert_weights]
    [0.731, 0.269]

    References
    ----------
    Littlestone, N. and Warmuth, M., 1994. The weighted majority algorithm. Information and Computation 108.
    Freund, Y. and Schapire, R., 1997. A decision-theoretic generalization of on-line learning. Journal of Computer and
    System Sciences 55.
    """

    round_cost = "That of all experts together."
    guarantee = "Regret at most 2·sqrt(T·ln(N)/2) + sqrt(ln(N)/8) to the best of N experts after any T rounds."
    advice = "Use it if one expert is best on the whole stream, and the regret to it must be bounded."

    eta: float | None
    horizon: int | None
    randomised: bool
    seed: int
    _losses: list[float]
    _facts: dict[str, Any]

    def __init__(
        self,
        portfolio: Sequence[base.Classifier | compose.Pipeline] | None = None,
        *,
        eta: float | None = None,
        horizon: int | None = None,
        randomised: bool = False,
        seed: int = 0,
    ) -> None:
        if eta is not None and horizon is not None:
            raise ValueError(f"`eta` = {eta!r} and `horizon` = {horizon!r} both fix the rate: give one of them")
        vars(self).update(
            eta=eta if eta is None else positive("eta", eta),
            horizon=horizon if horizon is None else whole("horizon", horizon, 1),
            randomised=randomised,
            seed=whole("seed", seed),
            _labels=[],
        )
        self._open(portfolio, 1.0, 0.0, usual_classifiers, base.Classifier)
        losses = [0.0] * len(self._experts.members)
        vars(self).update(_losses=losses, _facts={"rounds": 0, "expected_loss": 0.0})

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"portfolio": [PAClassifier(C=0.1), AROWClassifier()]}
        yield {"portfolio": [PAClassifier(C=0.1), AROWClassifier()], "horizon": 200, "randomised": True}

    @property
    def losses(self) -> list[float]:
        """The cumulative losses of the experts, in the order of `portfolio`."""
        return list(self._losses)

    @property
    def expert_weights(self) -> list[float]:
        """The weights of the experts in the next round, in the order of `portfolio`; they add up to 1."""
        return self._experts.weights

    @property
    def expected_loss(self) -> float:
        """The sum over all rounds of the losses of the experts, weighted by their weights of that round."""
        return float(self._facts["expected_loss"])

    def _rate(self) -> float:
        """Return the rate of the next round."""
        rounds = self.horizon or self._facts["rounds"] + 1
        return math.sqrt(8.0 * math.log(len(self._losses)) / rounds) if self.eta is None else self.eta

    def learn_losses(self, losses: Sequence[float]) -> None:
        """Change the weights after a round with these losses; the experts learn nothing.

        Parameters
        ----------
        losses
            The loss of each expert, from 0 to 1, in the order of `portfolio`. Divide other losses by their range.

        Raises
        ------
        ValueError
            If there are more or fewer losses than experts, or one is not a number from 0 to 1. Nothing is learned.
        """
        if len(losses) != len(self._losses):
            raise ValueError(f"{len(self._losses)} losses are needed, one for each expert, not {losses!r}")
        for i, loss in enumerate(losses):
            if not_negative(f"losses[{i}]", loss) > 1.0:
                raise ValueError(f"`losses[{i}]` must be at most 1, not {loss!r}: divide losses by their range")
        weighted = math.fsum(weight * loss for weight, loss in zip(self._experts.weights, losses, strict=True))
        self._losses[:] = [total + float(loss) for total, loss in zip(self._losses, losses, strict=True)]
        self._facts["rounds"] += 1
        self._facts["expected_loss"] += weighted
        self._follow_losses()

    def _follow_losses(self) -> None:
        # From equal weights each time: the rate of the next round applies to the losses of all rounds.
        self._experts.weights = [1.0 / len(self._losses)] * len(self._losses)
        rate = self._rate()
        self._experts.reweigh([rate * loss for loss in self._losses])

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Let every expert predict and learn, and change the weights.

        Parameters
        ----------
        x
            Features: a dict from hashable names to finite numbers. A missing feature counts as 0.
        y
            The label.
        w
            Sample weight, from 0 to 1, for the experts; a mistake on this example is a loss of w.
        """
        if w != 1.0:
            self._check_weight(w)
            if w > 1.0:
                raise ValueError(f"`w` must be at most 1, not {w!r}: the bounds are for losses from 0 to 1")
        y = plain(y)
        predictions = self._experts.predict_and_learn(x, y, w)
        self.learn_losses([0.0 if predicted == y else w for predicted in predictions])
        if y not in self._labels:
            self._labels.append(y)

    def predict_one(self, x: Mapping[Any, Any]) -> Any:  # type: ignore[override]  # takes no keywords
        """Predict the label with the most weight, or of an expert that is drawn; None before the first label."""
        if self.randomised:
            draw = random.Random(f"{self.seed} {self._facts['rounds']}")
            (drawn,) = draw.choices(self._experts.members, self._experts.weights)
            if (predicted := drawn.predict_one(x)) is not None:
                return predicted
        return super().predict_one(x)

    def predict_score_one(self, x: Mapping[Any, Any]) -> tuple[Any, Any]:
        """Return the results of `predict_one` and `score_one` for x."""
        return self.predict_one(x), self.score_one(x)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"losses": list(self._losses), **self._facts}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if len(state["losses"]) != len(self._losses):
            raise ValueError(f"{len(self._losses)} losses are needed, one for each expert, not {state['losses']!r}")
        self._losses[:] = state["losses"]
        self._facts.update({name: state[name] for name in self._facts})
