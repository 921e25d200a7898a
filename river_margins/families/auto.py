"""Learners that need no tuning: many experts learn side by side, and those that were right lately decide."""

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from river import base, compose

from river_margins.core.checks import below_one, positive, sample_weight, short
from river_margins.core.described import Described
from river_margins.core.estimator import Estimator
from river_margins.core.experts import Experts, NumberExperts
from river_margins.families.by_row import ByRow, ClassifierByRow
from river_margins.families.coin_betting import CoinBettingRegressor
from river_margins.families.composed import MarginRegressor
from river_margins.families.confidence_weighted import SCWClassifier
from river_margins.families.delegating import state_of
from river_margins.families.gaussian import AROWClassifier, AROWRegressor
from river_margins.families.gradient import OGDClassifier, OGDRegressor
from river_margins.families.passive_aggressive import AveragedPAClassifier, PAClassifier, PARegressor
from river_margins.families.sparse import AdaGradRDAClassifier, FTRLProximalClassifier
from river_margins.rules import PA1
from river_margins.spaces import AveragedLinear

__all__ = ["AutoClassifier", "AutoRegressor"]

ANY_REGRESSOR = MarginRegressor(PA1())  # all refuse the same labels
# Of labels, in a state; the first is the sum of their weights.
MOMENTS = ("count", "mean", "squares", "error", "lowest", "highest")


def usual_classifiers() -> list[base.Classifier]:
    """Return the experts of an `AutoClassifier` that is given none."""
    bounds = (0.01, 0.1, 1.0)
    return [
        *(PAClassifier(C) for C in bounds),
        *(AveragedPAClassifier(C) for C in bounds),
        *(AROWClassifier(r) for r in (0.1, 1.0, 10.0)),
        *(SCWClassifier(C) for C in (0.1, 1.0)),
        *(FTRLProximalClassifier(alpha) for alpha in (0.1, 1.0)),
        *(OGDClassifier(lr, loss="logistic") for lr in (0.1, 1.0)),
        AdaGradRDAClassifier(1.0, loss="logistic"),
    ]


def usual_regressors() -> list[base.Regressor]:
    """Return the experts of an `AutoRegressor` that is given none. They see labels of mean 0 and variance 1."""
    bounds = (0.01, 0.1, 1.0)
    return [
        *(PARegressor(C, mode=1, eps=0.01) for C in (0.001, *bounds)),
        *(MarginRegressor(PA1(C), AveragedLinear(), eps=0.01) for C in bounds),
        *(AROWRegressor(r, eps=0.0, a=1.0) for r in (0.1, 1.0, 10.0)),
        *(OGDRegressor(lr) for lr in (0.01, 0.1)),
        CoinBettingRegressor(),
    ]


class _Auto(Described, Estimator):
    """Experts with weights: a weight falls with the losses of its expert, but stays at least `share`/N."""

    round_cost = "That of all experts together."
    guarantee = (
        "Weighted losses <= (eta·losses + ln N + k·ln(N/share) + T·ln(1/(1-share)))/(1-exp(-eta)), k changes of expert."
    )

    portfolio: Sequence[Any] | None
    _experts: Experts
    _kind_of_experts: type[Experts] = Experts

    def _open(
        self, portfolio: Sequence[Any] | None, eta: float, share: float, usual: Callable[[], list[Any]], kind: type[Any]
    ) -> None:
        if portfolio is None:
            chosen = usual()
        elif not isinstance(portfolio, Sequence) or not portfolio:
            raise TypeError(f"`portfolio` must be a list of River {kind.__name__.lower()}s, not {short(portfolio)}")
        else:
            chosen = [_copy(each, kind) for each in portfolio]
        experts = self._kind_of_experts(chosen, positive("eta", eta), below_one("share", share))
        vars(self).update(portfolio=portfolio, _experts=experts)

    def _check_weight(self, w: float) -> None:
        sample_weight(w)
        for expert in self._experts.members:
            for model in _with_inner(expert):
                if hasattr(model, "_check_weight"):
                    model._check_weight(w)
                elif not _takes_weights(model):
                    raise ValueError(
                        f"`{type(model).__name__}` of the portfolio takes no sample weight, here {w}: leave it out"
                    )

    @property
    def _mutable_attributes(self) -> set[str]:
        return set()

    @property
    def experts(self) -> list[tuple[float, Any]]:
        """The experts with their weights, which add up to 1: those that are trusted most come first."""
        return sorted(zip(self._experts.weights, self._experts.members, strict=True), key=lambda pair: -pair[0])

    def explain_one(self, x: Mapping[Any, Any]) -> Any:
        """Raise a TypeError: what experts say together is not a sum over features."""
        raise TypeError(
            f"a score of `{type(self).__name__}` is not a sum over features, but what many experts say: explain one of "
            "its `experts`"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {"weights": self._experts.weights, "experts": [state_of(each) for each in self._experts.members]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._experts.weights = state["weights"]
        members = self._experts.members
        for i, (expert, inner) in enumerate(zip(members, state["experts"], strict=True)):
            if isinstance(expert, Estimator):
                expert.__setstate__(inner)  # type: ignore[attr-defined]
            else:
                members[i] = inner


def _with_inner(model: Any) -> Iterator[Any]:
    """Yield a model, and before it those to which pipelines and wrappers, also those of River, hand a weight on."""
    if isinstance(model, compose.Pipeline):
        inner = [*model.steps.values()][-1]
    elif isinstance(model, base.Wrapper):
        inner = model._wrapped_model
    else:
        inner = getattr(model, "classifier", getattr(model, "learner", None))
    if inner is not None:
        yield from _with_inner(inner)
    yield model


def _takes_weights(model: Any) -> bool:
    """Tell whether a model takes a weight, or hands it to the model within it, as pipelines and River's wrappers do."""
    taken = inspect.signature(model.learn_one).parameters
    is_open = any(each.kind is each.VAR_KEYWORD for each in taken.values())
    return "w" in taken or (is_open and isinstance(model, compose.Pipeline | base.Wrapper))


def _copy(expert: Any, kind: type[Any]) -> Any:
    if isinstance(expert, kind):
        return expert.clone()
    advice = f": write {expert.__name__}()" if isinstance(expert, type) else ""
    raise TypeError(f"`portfolio` must hold River {kind.__name__.lower()}s, not {short(expert)}{advice}")


class Voting(ClassifierByRow, _Auto, base.MiniBatchClassifier):
    """Classifiers with weights: the label with the most weight is predicted. A subclass says how weights change."""

    _labels: list[Any]

    @property
    def _multiclass(self) -> bool:
        return all(expert._multiclass for expert in self._experts.members)

    def predict_one(self, x: Mapping[Any, Any]) -> Any:  # type: ignore[override]  # takes no keywords
        """Predict the label with the most weight; None before the first label."""
        return self._experts.leader(x, self._labels)

    def score_one(self, x: Mapping[Any, Any]) -> Any:
        """Return the weight for True less that for False, or a dict of weights by class; {} before the first label."""
        return _score(self._experts.votes(x, self._labels))

    def predict_score_one(self, x: Mapping[Any, Any]) -> tuple[Any, Any]:
        """Return the results of `predict_one` and `score_one` for x, and ask the experts once."""
        votes = self._experts.votes(x, self._labels)
        return _leader(votes), _score(votes)

    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:  # type: ignore[override]  # takes no keywords
        """Return the weight of the experts for each label: a vote. `Calibrated(AutoClassifier())` calibrates it.

        True and False both have a share unless there are other labels: one half each before the first label.
        """
        votes: dict[Any, float] = self._experts.votes(x, self._labels)
        if not votes:  # an active learner that asks where probabilities are equal must ask now
            return {True: 0.5, False: 0.5}
        if all(isinstance(label, bool) for label in votes):  # wrappers of River read the share of True
            for label in (True, False):
                votes.setdefault(label, 0.0)
        return votes

    def check_label(self, y: Any) -> None:
        """Raise the ValueError that `learn_one` would raise for the label y, without learning anything."""
        refusal = None
        for expert in self._experts.members:
            last = [*expert.steps.values()][-1] if isinstance(expert, compose.Pipeline) else expert
            if not hasattr(last, "check_label"):
                return  # a model of River: only learning shows whether it takes the label
            try:
                last.check_label(y)
            except ValueError as error:
                refusal = error
            else:
                return  # one expert that takes it is enough to learn it
        if refusal is not None:
            raise refusal

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"labels": list(self._labels)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._labels[:] = dict.fromkeys(state["labels"])


class AutoClassifier(Voting):
    """Many classifiers learn side by side, and vote with weights that follow their mistakes: no parameter needs tuning.

    A wrong prediction multiplies the weight of an expert by exp(-eta). Then all weights share a small part, so that an
    expert that was bad is back soon after a drift. The label with the most weight is predicted.

    Parameters
    ----------
    portfolio
        The experts, a list of River classifiers; clones of them learn. None (default) is 16: `PAClassifier`, its mean
        over all rounds, `AROWClassifier`, `SCWClassifier`, `FTRLProximalClassifier`, `OGDClassifier` and
        `AdaGradRDAClassifier`, most of them with several values of their main parameter.
    eta
        How fast weights fall, > 0; 0.5 by default.
    share
        The part of all weights that is shared equally in each round, at least 0 and below 1; 0.001 by default. With 0,
        the best expert of all rounds prevails.

    Raises
    ------
    TypeError, ValueError
        If a parameter is outside its range. An example is refused only if all experts refuse it.

    Notes
    -----
    Take N experts, T rounds, and any sequence of experts that changes k times and makes L mistakes. The weight of the
    experts that are wrong, summed over all rounds, is at most
    (eta·L + ln N + k·ln(N/share) + T·ln(1/(1 - share)))/(1 - exp(-eta)). The vote makes at most twice as many
    mistakes: where it is wrong, at least half of the weight is.

    Each example must come once: if one is learned several times in a row, as in River's ensembles, the experts that
    follow the noise prevail.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.AutoClassifier()
    >>> score = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    >>> score.get() > 0.89
    True

    References
    ----------
    Herbster, M. and Warmuth, M., 1998. Tracking the best expert. Machine Learning 32 (fixed share).
    """

    round_cost = "That of all experts together."
    guarantee = (
        "Weighted losses <= (eta·L + ln N + k·ln(N/share) + T·ln(1/(1-share)))/(1-exp(-eta)), k changes of expert."
    )
    advice = "Use it if there is no time to tune, or if nobody knows when the stream changes."

    eta: float
    share: float

    def __init__(
        self,
        portfolio: Sequence[base.Classifier | compose.Pipeline] | None = None,
        *,
        eta: float = 0.5,
        share: float = 0.001,
    ) -> None:
        vars(self).update(eta=eta, share=share, _labels=[])
        self._open(portfolio, eta, share, usual_classifiers, base.Classifier)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"portfolio": [PAClassifier(C=0.1), AROWClassifier()], "share": 0.0}

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Let every expert predict and learn, and change the weights.

        Parameters
        ----------
        x
            Features: a dict from hashable names to finite numbers. A missing feature counts as 0.
        y
            The label.
        w
            Sample weight, >= 0, for the experts; a mistake on this example counts as so many.
        """
        if w != 1.0:
            self._check_weight(w)
        self._experts.learn_label(x, y, self._labels, w)

    def predict_learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> Any:
        """Predict, then learn, and read x once: the result of `predict_one`, followed by `learn_one`.

        An expert that cannot read x has no vote here, where `predict_one` raises its error.
        """
        if w != 1.0:
            self._check_weight(w)
        return self._experts.learn_label(x, y, self._labels, w, True)


def _leader(votes: dict[Any, float]) -> Any:
    return max(votes, key=votes.__getitem__) if votes else None


def _score(votes: dict[Any, float]) -> Any:
    if votes and all(isinstance(label, bool) for label in votes):
        return votes.get(True, 0.0) - votes.get(False, 0.0)
    return votes


class AutoRegressor(ByRow, _Auto, base.MiniBatchRegressor):
    """Many regressors learn side by side, and predict with weights that follow their errors: nothing needs tuning.

    The experts learn labels that are standardised by the mean and the variance of all labels so far. The loss of an
    expert is its absolute error in units of twice the mean absolute error of the combined prediction, at most 1; it
    multiplies the weight of the expert by exp(-eta·loss). The first label counts in the mean error as 0, and each
    new error has a share of at least 1/1000 in it, so that it follows a drift. Then all weights share a small part. The
    weighted mean of the experts is predicted. The numbers of the experts are limited to the range of all labels so far,
    widened by its own width on both sides.

    Parameters
    ----------
    portfolio
        The experts, a list of River regressors; clones of them learn. None (default) is 13: `PARegressor`, its mean
        over all rounds, `AROWRegressor` and `OGDRegressor` with the squared loss, each with several values of its
        main parameter, and `CoinBettingRegressor`.
    eta
        How fast weights fall, > 0; 1 by default.
    share
        The part of all weights that is shared equally in each round, at least 0 and below 1; 0.001 by default.

    Raises
    ------
    TypeError, ValueError
        If a parameter is outside its range. An example is refused only if all experts refuse it.

    Notes
    -----
    Take N experts, T rounds, and any sequence of experts that changes k times and has the losses L in all. The losses
    of all experts, weighted and summed over all rounds, are at most
    (eta·L + ln N + k·ln(N/share) + T·ln(1/(1 - share)))/(1 - exp(-eta)).

    If the labels jump far beyond their spread, their variance stays large for as long as the stream was before, and the
    experts learn less exactly. `PARegressor` alone follows such a jump at once.

    Each example must come once: if one is learned several times in a row, as in River's ensembles, the experts that
    follow the noise prevail.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.AutoRegressor()
    >>> score = evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    >>> score.get() < 0.3
    True

    References
    ----------
    Herbster, M. and Warmuth, M., 1998. Tracking the best expert. Machine Learning 32 (fixed share).
    """

    round_cost = "That of all experts together."
    guarantee = (
        "Weighted losses <= (eta·L + ln N + k·ln(N/share) + T·ln(1/(1-share)))/(1-exp(-eta)), k changes of expert."
    )
    advice = "Use it if there is no time to tune, if nobody knows when the stream changes, or if labels are far from 0."

    eta: float
    share: float
    _experts: NumberExperts
    _kind_of_experts = NumberExperts

    def __init__(
        self,
        portfolio: Sequence[base.Regressor | compose.Pipeline] | None = None,
        *,
        eta: float = 1.0,
        share: float = 0.001,
    ) -> None:
        vars(self).update(eta=eta, share=share)
        self._open(portfolio, eta, share, usual_regressors, base.Regressor)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"portfolio": [PARegressor(C=0.1), AROWRegressor()], "share": 0.0}

    def learn_one(self, x: Mapping[Any, Any], y: float, w: float = 1.0) -> None:
        """Let every expert predict and learn, and change the weights.

        Parameters
        ----------
        x
            Features: a dict from hashable names to finite numbers. A missing feature counts as 0.
        y
            The label.
        w
            Sample weight, >= 0, for the experts, their losses, and the mean and the variance of the labels.
        """
        if w != 1.0:
            self._check(y, w)
        self._experts.learn_number(x, y, w)

    def predict_learn_one(self, x: Mapping[Any, Any], y: float, w: float = 1.0) -> float:
        """Predict, then learn, and read x once: the result of `predict_one`, followed by `learn_one`.

        An expert that cannot read x has no part in it, where `predict_one` raises its error.
        """
        if w != 1.0:
            self._check(y, w)
        return self._experts.learn_number(x, y, w, True)

    def _check(self, y: float, w: float) -> None:
        self.check_label(y)
        self._check_weight(w)

    def predict_one(self, x: Mapping[Any, Any]) -> float:
        """Predict the weighted mean of the experts; 0 before the first label."""
        return self._experts.predict_number(x)

    def score_one(self, x: Mapping[Any, Any]) -> float:
        """Return the prediction."""
        return self.predict_one(x)

    def check_label(self, y: Any) -> None:
        """Raise the ValueError that `learn_one` would raise for the label y, without learning anything."""
        ANY_REGRESSOR.check_label(y)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | dict(zip(MOMENTS, self._experts.moments, strict=True))

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        without = {"lowest": -math.inf, "highest": math.inf}  # states of earlier versions have neither
        self._experts.moments = tuple((without | state)[name] for name in MOMENTS)
