"""Probabilities that hold: of the predictions with a probability of 0.8, four in five are right."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from river import base, compose

from river_margins import river_internals
from river_margins.core.checks import positive, sample_weight, short
from river_margins.core.described import Described
from river_margins.core.estimator import Estimator
from river_margins.core.explain import explanation, explanation_table
from river_margins.core.learner import Learner
from river_margins.families.auto import Voting
from river_margins.families.by_row import ClassifierByRow
from river_margins.families.delegating import innermost
from river_margins.families.parameter_types import ScoringClassifier
from river_margins.families.two_labels import TwoLabelClassifier
from river_margins.tasks.labels import plain

__all__ = ["Calibrated"]

PRECISION = 0.3  # of each parameter before the first label, in rounds with a probability of one half
STEEPNESS = 6.0  # of the second function of the lead, in units of its root mean square
LARGEST_LEAD = 1e150  # whose square is finite
LARGEST_LOGIT = 1e6
LARGEST_JUMP = 100.0  # of a lead that is learned, in units of the root mean square of those before
LATELY = 16  # rounds in which the largest lead of late falls to a half, unless there are larger ones


class Calibrated(Described, ClassifierByRow, Estimator, base.MiniBatchClassifier):
    """Probabilities from the scores of a classifier, by a logistic regression that learns beside it.

    With the scores f of all classes, the lead of a class is its score minus the best score of the others. The
    probability of class k is proportional to exp(a·f_k + c·tanh(6·lead_k/r) + b_k), where r is the root mean square of
    the lead of the best class. Two classes that share one weight vector have the scores f/2 and -f/2. The first term is
    Platt's. The second one lets probabilities level off: with a tenth of wrong labels they end near 0.9, however large
    the scores become.

    a, c and all b_k follow from one Newton step in each round, on the log loss of the scores before the classifier
    learns the label; a is at least 0. Older rounds count less and less.

    Parameters
    ----------
    classifier
        The classifier that learns the labels. The wrapper works on a copy, which keeps what the classifier has learned.
    half_life
        The number of rounds after which a label counts half in the probabilities, > 0; 1000 by default. The classifier
        forgets as it does on its own.

    Attributes
    ----------
    classifier
        The copy that learns.

    Notes
    -----
    `predict_one` is the most probable class, which may differ from the prediction of the classifier. `score_one` is the
    score of the classifier. Before the first label, classes that are known have equal probabilities. A scaler goes in
    front of this wrapper, and not within it.

    Scores that are votes, those of `AutoClassifier` and `Hedge`, are equal wherever all experts agree. Their
    probabilities are coarse, and tell little if a label is rare.

    If a label comes less than once in a hundred examples, give the classifier a `class_weight`, and raise `half_life`,
    so that some tens of its examples are remembered. Otherwise the probabilities rank much worse than the scores do.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.Calibrated(rm.AROWClassifier(intercept=True))
    >>> round(evaluate.progressive_val_score(datasets.Phishing(), model, metrics.LogLoss()).get(), 3)
    0.265

    References
    ----------
    Platt, J., 1999. Probabilistic outputs for support vector machines and comparisons to regularized likelihood
    methods, equation 1. Advances in Large Margin Classifiers.
    """

    round_cost = "Two scores and one learning step of the classifier, and the number of classes."
    guarantee = "None in the worst case; on data that do not drift, the best probabilities of this form."
    advice = "Use it if you need probabilities and not only labels: for costs, thresholds or rankings of risks."

    classifier: Any
    half_life: float
    _calibration: "_Calibration"

    def __init__(self, classifier: ScoringClassifier, *, half_life: float = 1000) -> None:
        if not (isinstance(classifier, Estimator) and isinstance(classifier, base.Classifier)):
            advice = ""
            if isinstance(classifier, compose.Pipeline):
                advice = ". Wrap the last step of a pipeline: `StandardScaler() | Calibrated(PAClassifier())`"
            raise TypeError(
                "`classifier` must be a classifier of this library, such as PAClassifier(), not "
                f"{short(classifier)}{advice}"
            )
        vars(self).update(
            classifier=classifier.clone(include_attributes=True),
            half_life=positive("half_life", half_life),
            _calibration=_Calibration(),
        )

    @property
    def _multiclass(self) -> bool:
        return self.classifier._multiclass

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"classifier", "half_life"}

    def _more_tags(self) -> set[str]:
        return self.classifier._more_tags()

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river_margins.families.gaussian import AROWClassifier
        from river_margins.families.passive_aggressive import PAClassifier

        yield {"classifier": PAClassifier(C=0.1, intercept=True)}
        yield {"classifier": AROWClassifier(intercept=False), "half_life": 100}

    def _change(self, name: str, value: Any) -> None:
        if name == "half_life":
            vars(self).update(half_life=positive("half_life", value))
            return
        if type(value) is not type(self.classifier):
            raise ValueError(
                f"`classifier` is a {type(self.classifier).__name__}: use clone for another one, {value!r}"
            )
        present = river_internals.parameters(self.classifier)
        wanted = river_internals.parameters(value)
        self.classifier.mutate({name: value for name, value in wanted.items() if value != present[name]})

    def _scores(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        """Return the scores by class; {} before the first label if no class is known."""
        score = self.classifier.score_one(x)
        if isinstance(score, dict):
            return score
        # The positive label comes first. Experts list their labels as they came: at first, one alone.
        inner = innermost(self.classifier)
        # Learners name their labels at once for an example without features. Joint features may need those of x.
        given = {} if isinstance(inner, Learner | TwoLabelClassifier) else x
        votes = isinstance(inner, Voting)
        positive, negative = (True, False) if votes else self.classifier.predict_proba_one(given)
        return {positive: score / 2, negative: -score / 2}

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn from one example: the probabilities from the score before this round, then the classifier.

        Parameters
        ----------
        x
            Features: a dict from hashable names to finite numbers. A missing feature counts as 0.
        y
            The label.
        w
            Sample weight, >= 0, for the classifier and the probabilities.

        Raises
        ------
        ValueError
            If the classifier refuses the example, the label or the weight. Nothing is learned.
        OverflowError
            If the move would take the weights beyond floating point. Nothing is learned.
        """
        w = sample_weight(w)
        scores, learned = self._scores(x), _labels_learned(self.classifier)
        if w == 1.0:
            self.classifier.learn_one(x, y)  # some classifiers take no sample weight
        else:
            self.classifier.learn_one(x, y, w=w)
        if w > 0.0 and (learned is None or _labels_learned(self.classifier) != learned):
            self._calibration.learn(scores, plain(y), w, 0.5 ** (1.0 / self.half_life))

    def predict_one(self, x: Mapping[Any, Any]) -> Any:  # type: ignore[override]  # takes no keywords
        """Predict the most probable class, of equal ones that with the best score; None if no class is known."""
        scores = self._scores(x)
        probabilities = self._calibration.probabilities(scores)
        return max(probabilities, key=lambda label: (probabilities[label], scores[label])) if probabilities else None

    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:  # type: ignore[override]  # takes no keywords
        """Return the calibrated probabilities by class."""
        scores = self._scores(x)
        return self._calibration.probabilities(scores) if scores else self.classifier.predict_proba_one(x)

    def score_one(self, x: Mapping[Any, Any]) -> Any:
        """Return the score of the classifier: signed, or a dict by class."""
        return self.classifier.score_one(x)

    def explain_one(self, x: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return what each feature contributes to the score, as the classifier does."""
        return explanation(self.classifier, x)

    def debug_one(self, x: Mapping[Any, Any], decimals: int = 5) -> str:
        """Return a table of features, values, weights and contributions, as the classifier does."""
        return explanation_table(self.classifier, x, decimals)

    def check_label(self, y: Any) -> None:
        """Raise the ValueError that `learn_one` would raise for the label y, without learning anything."""
        self.classifier.check_label(y)

    def _recipe(self) -> dict[str, Any]:
        return {"classifier": self.classifier.clone(), "half_life": self.half_life}

    def __getstate__(self) -> dict[str, Any]:
        return {"calibration": self._calibration.state(), "classifier": self.classifier.__getstate__()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._calibration.restore(state["calibration"])
        self.classifier.__setstate__(state["classifier"])


def _labels_learned(classifier: Any) -> int | None:
    """Return how many labels a sampler has learned, which leaves out those it did not ask for; None for others."""
    return classifier.n_queries - classifier.n_open if hasattr(classifier, "query_one") else None


def _missing_curvature(weight: float, chance: float) -> float:
    """Return what the curvature lacks in the step of a weight above 1.

    The chance of the label grows during the step, and the curvature with it: copies of the example stop when the label
    is probable, and one long step would not.
    """
    return max(weight - 1.0, 0.0) * max(0.25 - chance, 0.0)


class _Calibration:
    """A logistic regression on leads of scores: two slopes that all classes share, and a constant for each class.

    The step of a round is Newton's on the log loss of all rounds so far, each discounted by its age, plus `PRECISION`/2
    times the squared parameters. The curvature of the constants is taken class by class: twice the sum of p(1 - p),
    which is exact for two classes and never too small. That of the slopes with the constants is kept, too. Where the
    leads of many examples are alike, only the difference of slopes and constants shows, and without it both would run
    away.
    """

    def __init__(self) -> None:
        self.slopes = (0.0, 0.0)
        self.curvature = (0.0, 0.0, 0.0)  # of the first slope, of both, of the second slope
        self.rounds = 0.0  # the discounted sum of the weights
        self.squares = 0.0  # that of the squared leads of the best class
        self.top = 0.0  # the largest lead of late
        self.constants: dict[Any, tuple[float, float]] = {}  # by class, with their curvatures
        self.crossed: dict[Any, tuple[float, float]] = {}  # by class: of its constant with both slopes

    def probabilities(self, scores: Mapping[Any, float]) -> dict[Any, float]:
        """Return the probabilities by class."""
        return self._softmax(self._functions(scores, self._unit())[0])

    def _unit(self) -> float:
        mean = self.squares / self.rounds if self.squares > 0.0 else 0.0  # 0 also if it is too small for a float
        return math.sqrt(mean) if mean > 0.0 else math.inf

    def _prior(self) -> float:
        """Return the prior of the first slope: in units of the lead, so that the unit of the scores does not matter."""
        return PRECISION * self.squares / self.rounds if self.rounds > 0.0 else 0.0

    def _functions(self, scores: Mapping[Any, float], unit: float) -> tuple[dict[Any, tuple[float, float]], float]:
        """Return the two functions of the lead of each class, and the lead of the best class."""
        if len(scores) < 2:
            return dict.fromkeys(scores, (0.0, 0.0)), 0.0
        second, best = sorted(scores.values())[-2:]
        leads = {label: score - (second if score == best else best) for label, score in scores.items()}
        found = {
            label: (max(scores[label] - best, -LARGEST_LEAD), math.tanh(STEEPNESS * (lead / unit)))
            for label, lead in leads.items()
        }
        return found, best - second

    def _softmax(self, functions: Mapping[Any, tuple[float, float]]) -> dict[Any, float]:
        first, second = self.slopes
        none = (0.0, 0.0)
        logits = {
            label: min(max(first * f, -LARGEST_LOGIT), LARGEST_LOGIT) + second * g + self.constants.get(label, none)[0]
            for label, (f, g) in functions.items()
        }
        highest = max(logits.values(), default=0.0)
        shares = {label: math.exp(logit - highest) for label, logit in logits.items()}
        total = math.fsum(shares.values())
        return {label: part / total for label, part in shares.items()}

    def learn(self, scores: Mapping[Any, float], y: Any, weight: float, discount: float) -> None:
        """Take one step towards the label y of an example with these scores."""
        scores = {**scores, y: scores.get(y, 0.0)}
        _, lead = self._functions(scores, math.inf)
        limit = LARGEST_JUMP * self._unit()
        if lead > limit:  # else the square of one huge lead would hide all others for many half-lives
            scores, lead = {label: score * (limit / lead) for label, score in scores.items()}, limit
        # A tie says nothing about the size of leads.
        top = max(lead, self.top * 0.5 ** (1.0 / LATELY)) if lead > 0.0 else self.top
        # A huge lead that came first would hide all others for as long: it has no other beside which it is huge.
        most = LARGEST_JUMP * top / self._unit()
        share = min(most * most, 1.0) if self.squares > 0.0 else 1.0
        rounds, squares = discount * self.rounds + weight, discount * share * self.squares + weight * lead * lead
        if not math.isfinite(squares + rounds):  # nothing can be learned from a lead beyond `LARGEST_LEAD`
            return
        old_prior = self._prior()
        ff, fg, gg = self.curvature
        root = math.sqrt(share)
        self.curvature = ff * share, fg * root, gg
        self.crossed = {label: (with_f * root, with_g) for label, (with_f, with_g) in self.crossed.items()}
        self.rounds, self.squares, self.top = rounds, squares, top
        functions, _ = self._functions(scores, self._unit())
        chances = self._softmax(functions)
        self._move(functions, chances, y, weight, discount, old_prior)

    def _move(
        self,
        functions: Mapping[Any, tuple[float, float]],
        chances: Mapping[Any, float],
        y: Any,
        weight: float,
        discount: float,
        old_prior: float,
    ) -> None:
        first, second = self.slopes
        f_mean = math.fsum(chances[label] * f for label, (f, _) in functions.items())
        g_mean = math.fsum(chances[label] * g for label, (_, g) in functions.items())
        ff, fg, gg = (discount * part for part in self.curvature)
        crossed: dict[Any, tuple[float, float]] = {}
        for label, (f, g) in functions.items():
            f, g, chance = f - f_mean, g - g_mean, weight * chances[label]
            ff, fg, gg = ff + chance * f * f, fg + chance * f * g, gg + chance * g * g
            with_f, with_g = self.crossed.get(label, (0.0, 0.0))
            crossed[label] = discount * with_f + chance * f, discount * with_g + chance * g
        f_prior, g_prior = self._prior(), PRECISION
        f, g = functions[y][0] - f_mean, functions[y][1] - g_mean
        # Where leads grow, so does the prior: a slope for small leads would make the next probabilities 0 and 1.
        f_pull = weight * f - (f_prior - discount * old_prior) * first
        g_pull = weight * g - (1.0 - discount) * g_prior * second
        more = _missing_curvature(weight, chances[y])
        f_all, both, g_all = ff + f_prior + more * f * f, fg + more * f * g, gg + g_prior + more * g * g
        pulls = {}
        for label, chance in chances.items():  # eliminate the constants
            constant, curvature = self.constants.get(label, (0.0, 0.0))
            curvature = discount * curvature + 2.0 * weight * chance * (1.0 - chance)
            self.constants[label] = constant, curvature
            pull = weight * ((label == y) - chance) - (1.0 - discount) * PRECISION * constant
            all_of_it = curvature + PRECISION + 2.0 * more
            pulls[label] = pull, all_of_it
            with_f, with_g = crossed[label]
            f_all, f_pull = f_all - with_f * (with_f / all_of_it), f_pull - with_f * (pull / all_of_it)
            g_all, g_pull = g_all - with_g * (with_g / all_of_it), g_pull - with_g * (pull / all_of_it)
            both -= with_f * (with_g / all_of_it)
        if all(map(math.isfinite, (ff, fg, gg))):  # also where rounding leaves no step: what is huge must fade
            self.curvature, self.crossed = (ff, fg, gg), crossed
        determinant = f_all * g_all - both * both
        if 0.0 < determinant < math.inf:
            # The first is not below 0: with a sampler, only labels of small scores are seen, and the effect of their
            # noise would grow with the score. That of the second is the same for all but the smallest scores.
            slopes = (
                first + (g_all * f_pull - both * g_pull) / determinant,
                second + (f_all * g_pull - both * f_pull) / determinant,
            )
            if slopes[0] < 0.0:  # the best second one beside a first of 0: that of the free step would offset the first
                slopes = 0.0, second + (g_pull + both * first) / g_all
            if all(map(math.isfinite, slopes)):
                self.slopes = slopes
                for label, (pull, all_of_it) in pulls.items():
                    with_f, with_g = crossed[label]
                    pulls[label] = pull - with_f * (slopes[0] - first) - with_g * (slopes[1] - second), all_of_it
        for label, (pull, all_of_it) in pulls.items():
            constant, curvature = self.constants[label]
            self.constants[label] = constant + pull / all_of_it, curvature

    def state(self) -> dict[str, Any]:
        """Return all numbers, as plain data."""
        return {
            "slopes": list(self.slopes),
            "curvature": list(self.curvature),
            "rounds": self.rounds,
            "squares": self.squares,
            "top": self.top,
            "labels": list(self.constants),
            "constants": [constant for constant, _ in self.constants.values()],
            "curvatures": [curvature for _, curvature in self.constants.values()],
            "crossed": [part for label in self.constants for part in self.crossed.get(label, (0.0, 0.0))],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over the numbers of a state; raise ValueError if they are not finite."""
        # states of earlier versions have neither
        top, crossed = state.get("top", LARGEST_LEAD), state.get("crossed", [0.0] * (2 * len(state["labels"])))
        numbers = [*state["slopes"], *state["curvature"], state["rounds"], state["squares"], top]
        numbers += [*state["constants"], *state["curvatures"], *crossed]
        if not all(map(math.isfinite, numbers)):
            raise ValueError("the numbers of a calibration must be finite")
        first, second = state["slopes"]
        ff, fg, gg = state["curvature"]
        self.slopes, self.curvature = (first, second), (ff, fg, gg)
        self.rounds, self.squares, self.top = state["rounds"], state["squares"], top
        pairs = zip(state["constants"], state["curvatures"], strict=True)
        self.constants = dict(zip(state["labels"], pairs, strict=True))
        self.crossed = dict(zip(state["labels"], zip(crossed[::2], crossed[1::2], strict=True), strict=True))
