"""From an online learner to one hypothesis with a certificate: penalised risk."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from river import base

from river_margins.conversions.wrapper import ClassifierWrapper
from river_margins.core.checks import inside_unit, one_of, whole
from river_margins.core.explain import explanation, explanation_table
from river_margins.core.learner import Learner
from river_margins.families.delegating import copied, restored, state_of
from river_margins.spaces import (
    AdaptiveThreshold,
    AveragedLinear,
    DualAveraging,
    PocketLinear,
    SoftThreshold,
    VotedLinear,
)
from river_margins.theory.risk import bernstein_risk, hoeffding_risk

__all__ = ["OnlineToBatch"]

RISKS = {"bernstein": bernstein_risk, "hoeffding": hoeffding_risk}


class Hypothesis(NamedTuple):
    """A copy of the learner, the round after which it was made, and its mistakes since then."""

    model: Any
    born: int
    errors: int


class OnlineToBatch(ClassifierWrapper):
    """Predict with the best hypothesis that a classifier has had, by its errors on later examples plus a penalty.

    H_t is the classifier after t rounds. After n rounds, it has r_t errors per example on the s = n - t later ones. The
    best one has the least bound on its risk, with L = ln(n(n + 1)/delta): r_t + L/s + sqrt((L/s)² + 2·r_t·L/s) for
    `penalty="bernstein"`, r_t + sqrt(L/(2s)) for "hoeffding".

    Parameters
    ----------
    learner
        Any classifier, of this library or of River. The wrapper works on a copy, which keeps what the classifier has
        learned.
    penalty
        "bernstein" (default), which is smaller for hypotheses with few errors, or "hoeffding".
    delta
        The probability with which the certificate may fail, above 0 and below 1; 0.05 by default.
    max_hypotheses
        The number of hypotheses that are kept, >= 2; 100 by default. When there are more, the one whose neighbours are
        the nearest in time is dropped, so that the others are spread over all rounds.

    Attributes
    ----------
    learner
        The copy that learns.
    best_, risk_bound_
        A copy of the best hypothesis, and the bound on its risk, at most 1.
    n_seen
        The number of rounds.

    Notes
    -----
    On independent examples of one distribution, for any n fixed beforehand, the risk of the best hypothesis, its
    probability of a wrong label, is at most `risk_bound_`, with probability 1 - delta. The certificate holds for all
    kept hypotheses at once, so it does not matter which are dropped. H_n has seen no later example and is not chosen.

    A step before that learns, such as StandardScaler, changes what a hypothesis predicts, and nothing is certified. Let
    the step learn other examples first, and give the wrapper what `transform_one` of it returns.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets
    >>> model = rm.StandardScaler() | rm.OnlineToBatch(rm.Perceptron(), penalty="hoeffding")
    >>> for x, y in datasets.Phishing():
    ...     model.learn_one(x, y)
    >>> round(model["OnlineToBatch"].risk_bound_, 3)
    0.187

    References
    ----------
    Cesa-Bianchi, N., Conconi, A. and Gentile, C., 2004. On the generalization ability of on-line learning algorithms.
    IEEE Transactions on Information Theory 50.
    """

    round_cost = "A prediction of each kept hypothesis, a learning step, and a copy of the classifier after an update."
    guarantee = "With probability 1 - delta on independent examples, a risk of at most `risk_bound_`."
    advice = "Use it to deploy one fixed classifier with a certificate of its risk, on data that do not drift."

    penalty: Literal["bernstein", "hoeffding"]
    delta: float
    max_hypotheses: int
    _hypotheses: list[Hypothesis]

    def __init__(
        self,
        learner: base.Estimator,
        *,
        penalty: Literal["bernstein", "hoeffding"] = "bernstein",
        delta: float = 0.05,
        max_hypotheses: int = 100,
    ) -> None:
        one_of("penalty", penalty, tuple(RISKS))
        inside_unit("delta", delta)
        whole("max_hypotheses", max_hypotheses, 2)
        self._wrap(learner, penalty=penalty, delta=delta, max_hypotheses=max_hypotheses)
        vars(self).update(_hypotheses=[Hypothesis(copied(self.learner), 0, 0)])

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        first, second = super()._unit_test_params()
        yield first | {"max_hypotheses": 5}
        yield second | {"penalty": "hoeffding", "delta": 0.1, "max_hypotheses": 5}

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Test all kept hypotheses on an example, and let the classifier learn it with the sample weight w."""
        self.check_label(y)
        tested = [each._replace(errors=each.errors + (each.model.predict_one(x) != y)) for each in self._hypotheses]
        updates = updates_of(self.learner)
        self.learner.learn_one(x, y, **({} if w == 1.0 else {"w": w}))
        n = self.n_seen + 1
        if updates is None or updates_of(self.learner) != updates:
            tested.append(Hypothesis(copied(self.learner), n, 0))
        if len(tested) > self.max_hypotheses:
            # Neither the first nor the last one, which may stay for ever: most are copied after an update only.
            gaps = [after.born - before.born for before, after in zip(tested[:-2], tested[2:], strict=True)]
            del tested[1 + gaps.index(min(gaps))]
        vars(self).update(n_seen=n, _hypotheses=tested)

    def _bound(self, hypothesis: Hypothesis) -> float:
        """Return the bound on the risk of a hypothesis."""
        tests = self.n_seen - hypothesis.born
        if tests == 0:
            return math.inf
        log = math.log(self.n_seen * (self.n_seen + 1) / self.delta)
        return RISKS[self.penalty](hypothesis.errors / tests, tests, log)

    def _best(self) -> Hypothesis:
        return min(self._hypotheses, key=self._bound)

    def _predictor(self) -> Any:
        return self._best().model

    def predict_one(self, x: Mapping[Any, Any]) -> Any:  # type: ignore[override]  # takes no keywords
        """Predict with the best hypothesis; with the classifier that learns while the best one knows no label."""
        found = super().predict_one(x)
        return self.learner.predict_one(x) if found is None else found

    def score_one(self, x: Mapping[Any, Any]) -> Any:
        """Return the score of the model that predicts."""
        found = super().score_one(x)
        return self.learner.score_one(x) if found == {} else found

    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:  # type: ignore[override]  # takes no keywords
        """Return the probabilities by class of the best hypothesis; 0 for a class that it does not know."""
        known = self.learner.predict_proba_one(x)
        found = self._predictor().predict_proba_one(x)
        # A hypothesis of before the first label names nothing, or True and False, which need not be among the labels.
        knows_labels = bool(found) and found.keys() <= known.keys()
        return dict.fromkeys(known, 0.0) | found if knows_labels else known

    def _explained(self, x: Mapping[Any, Any]) -> Any:
        """Return the model whose prediction `predict_one` returns."""
        best = self._predictor()
        return self.learner if best.predict_one(x) is None else best

    def explain_one(self, x: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return what each feature contributes to the score, as the model that predicts does."""
        return explanation(self._explained(x), x)

    def debug_one(self, x: Mapping[Any, Any], decimals: int = 5) -> str:
        """Return a table of features, values, weights and contributions, as the model that predicts does."""
        return explanation_table(self._explained(x), x, decimals)

    @property
    def best_(self) -> Any:
        """A copy of the hypothesis with the least bound; the earliest of several."""
        return copied(self._best().model)

    @property
    def risk_bound_(self) -> float:
        """A bound on the risk of `best_` that holds with probability 1 - delta, at most 1."""
        return min(1.0, self._bound(self._best()))

    def __getstate__(self) -> dict[str, Any]:
        kept = [[state_of(each.model), each.born, each.errors] for each in self._hypotheses]
        return super().__getstate__() | {"hypotheses": kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        kept = [Hypothesis(restored(self.learner, model), born, errors) for model, born, errors in state["hypotheses"]]
        vars(self).update(_hypotheses=kept)


def updates_of(learner: Any) -> int | None:
    """Return the number of updates of a learner whose predictions change with an update only; None for others."""
    space = getattr(learner, "space", None)
    predicts_apart = isinstance(space, AveragedLinear | PocketLinear | VotedLinear)
    shrinks = isinstance(space, AdaptiveThreshold | DualAveraging | SoftThreshold)  # each weight, in each round
    # Rules that look ahead predict with the variances, which then grow in each round.
    forgets = getattr(space, "half_life", None) is not None and learner.rule.looks_ahead
    return learner.n_updates if isinstance(learner, Learner) and not (predicts_apart or shrinks or forgets) else None
