"""The perceptrons."""

from collections.abc import Iterator
from typing import Any

from river_margins.families.margin import MarginClassifier
from river_margins.families.parameter_types import Classes, Rivals
from river_margins.rules import PerceptronRule
from river_margins.spaces import AveragedLinear, PNorm, PocketLinear, VotedLinear

__all__ = ["AveragedPerceptron", "PNormPerceptron", "Perceptron", "PocketPerceptron", "VotedPerceptron"]


class Perceptron(MarginClassifier):
    """The perceptron: add every mistaken example to the weights of its class.

    In each round with margin m = y⟨w, x⟩ <= 0: w' = w + lr·y·x. With many classes, the margin is that against the
    best-scoring wrong class s, and w_y' = w_y + lr·x, w_s' = w_s - lr·x; or all wrong classes that score at least as
    high as y share the step.

    Parameters
    ----------
    lr
        The step, > 0; 1 by default. From zero weights it only rescales them.
    tie_update
        Whether a margin of exactly 0 makes it move (default). With False it moves only when the predicted label is
        wrong, as LIBOL does; `n_mistakes` counts such rounds all the same.
    classes
        Classes known beforehand, in the order that breaks ties. Two make one weight vector: [negative, positive].
    rivals
        Of more than two classes, which wrong ones move, with shares that add up to 1: "max" (default), the best-scoring
        one; "uniform", all that score at least as high as the true one, alike; "proportional", these by their lead.
    intercept
        Whether to add a constant feature of value 1; False by default.
    max_features
        Hash the features into so many buckets; None (default) keeps them all.

    Notes
    -----
    For every stream and every u, with R the longest example, L the sum of u's hinge losses over the mistakes and
    M = `n_mistakes`: M <= L + R²|u|²/2 + R|u|·sqrt(L + R²|u|²/4). Where u separates with margin 1, M <= R²|u|². With
    many classes R² becomes 2R².

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), rm.Perceptron(), metrics.Accuracy())
    Accuracy: 79.18%

    References
    ----------
    Rosenblatt, F., 1958. The perceptron: a probabilistic model for information storage and organization in the brain.
    Psychological Review 65.
    Novikoff, A., 1962. On convergence proofs for perceptrons (the bound).
    Freund, Y. and Schapire, R., 1999. Large margin classification using the perceptron algorithm (its noisy form).
    Crammer, K. and Singer, Y., 2003. Ultraconservative online algorithms for multiclass problems (many classes).
    """

    round_cost = "The number of features in x times the number of classes."
    guarantee = "At most R²|u|² mistakes if u separates with margin 1, and a bound on any stream."
    advice = "Use it as a baseline; it has nothing to tune."

    lr: float
    tie_update: bool

    def __init__(
        self,
        lr: float = 1.0,
        *,
        tie_update: bool = True,
        classes: Classes = None,
        rivals: Rivals = "max",
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(lr=lr, tie_update=tie_update)
        super().__init__(
            PerceptronRule(lr, tie_update=tie_update),
            classes=classes,
            rivals=rivals,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lr", "tie_update"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"lr": 0.5, "tie_update": False, "intercept": True}
        yield {"rivals": "proportional"}


class AveragedPerceptron(MarginClassifier):
    """The perceptron, predicting with the mean of all weights it has had.

    It learns as `Perceptron` does: in each round with margin m = y⟨w, x⟩ <= 0, w' = w + lr·y·x. After k rounds it
    predicts with (w_1 + ... + w_k)/k, where w_i is what round i left. `n_mistakes` counts the mistakes of w, not of the
    mean; a sample weight is also how often a round counts in the mean.

    Parameters
    ----------
    lr
        The step, > 0; 1 by default. It only rescales the weights.
    burn_in
        The rounds that are left out of the mean, >= 0; 0 by default. Until they are over, w itself predicts.
    tie_update
        Whether a margin of exactly 0 makes it move (default); with False only a wrong label by w does.
    classes
        Classes known beforehand, in the order that breaks ties. Two make one weight vector: [negative, positive].
    intercept
        Whether to add a constant feature of value 1; False by default.
    max_features
        Hash the features into so many buckets; None (default) keeps them all.

    Notes
    -----
    `n_mistakes` obeys the bounds of `Perceptron`. For losses that are convex in w, such as the hinge loss, the mean of
    the weights loses on any set of examples at most the mean of what the w_i lose there.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), rm.AveragedPerceptron(), metrics.Accuracy())
    Accuracy: 84.15%

    References
    ----------
    Freund, Y. and Schapire, R., 1999. Large margin classification using the perceptron algorithm.
    Collins, M., 2002. Discriminative training methods for hidden Markov models (the mean in place of the vote).
    """

    round_cost = "The number of features in x times the number of classes."
    guarantee = "Its weights w keep the mistake bound of the perceptron."
    advice = "Prefer it to the perceptron; the mean is steadier than the last weights."

    lr: float
    burn_in: int
    tie_update: bool

    def __init__(
        self,
        lr: float = 1.0,
        *,
        burn_in: int = 0,
        tie_update: bool = True,
        classes: Classes = None,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(lr=lr, burn_in=burn_in, tie_update=tie_update)
        super().__init__(
            PerceptronRule(lr, tie_update=tie_update),
            AveragedLinear(burn_in),
            classes=classes,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lr", "tie_update"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"lr": 0.5, "burn_in": 20, "intercept": True}


class PNormPerceptron(MarginClassifier):
    """The perceptron for targets with few relevant features: its weights are sums of examples, raised to a power.

    In each round with margin m = y⟨w, x⟩ <= 0: θ' = θ + lr·y·x, and w is the slope of |θ|_p²/2: w_i =
    θ_i·(|θ_i|/|θ|_p)^(p-2). p = 2 is the perceptron; the larger p, the more it resembles a multiplicative learner. With
    many classes y·x is the difference between the class and its best-scoring rival, as in `Perceptron`.

    Parameters
    ----------
    p
        The norm in which examples are short, >= 2; 4 by default. 2·ln(number of features) suits sparse targets best.
    lr
        The step, > 0; 1 by default. It only rescales the weights.
    tie_update
        Whether a margin of exactly 0 makes it move (default); with False only a wrong predicted label does.
    classes
        Classes known beforehand, in the order that breaks ties. Two make one weight vector: [negative, positive].
    intercept
        Whether to add a constant feature of value 1; False by default.
    max_features
        Hash the features into so many buckets; None (default) keeps them all.

    Notes
    -----
    Where u separates with margin 1: n_mistakes <= (p - 1)·|u|_q²·X², with X the largest p-norm of an example and
    1/p + 1/q = 1. With p = 2·ln(d) for d features that is O(|u|_1²·max|x_i|²·ln d).

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), rm.PNormPerceptron(), metrics.Accuracy())
    Accuracy: 78.62%

    References
    ----------
    Grove, A., Littlestone, N. and Schuurmans, D., 2001. General convergence results for linear discriminant updates.
    Gentile, C., 2003. The robustness of the p-norm algorithms. Machine Learning 53.
    """

    round_cost = "The number of features in x times the number of classes."
    guarantee = "At most (p - 1)·|u|_q²·X² mistakes if u separates with margin 1."
    advice = "Use it if few of many features matter and examples are dense."

    p: float
    lr: float
    tie_update: bool

    def __init__(
        self,
        p: float = 4,
        *,
        lr: float = 1.0,
        tie_update: bool = True,
        classes: Classes = None,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(p=p, lr=lr, tie_update=tie_update)
        super().__init__(
            PerceptronRule(lr, tie_update=tie_update),
            PNorm(p),
            classes=classes,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lr", "tie_update"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"p": 3, "tie_update": False, "intercept": True}


class VotedPerceptron(MarginClassifier):
    """The perceptron, predicting by a vote of all weights it has had.

    It learns as `Perceptron` does. Each weight vector votes for the class it predicts, once for every round in which it
    was in force; one whose scores tie abstains. The score is the share of the votes for True less the share against, or
    for each class the share of its votes. `n_mistakes` counts those of the last weights, which are also what `weights`
    shows.

    Parameters
    ----------
    lr
        The step, > 0; 1 by default. It changes no vote.
    tie_update
        Whether a margin of exactly 0 makes it move (default); with False only a wrong label by the last weights does.
    classes
        Classes known beforehand, in the order that breaks ties. Two make one weight vector: [negative, positive].
    intercept
        Whether to add a constant feature of value 1; False by default.
    max_features
        Hash the features into so many buckets; None (default) keeps them all.

    Notes
    -----
    Freund and Schapire: after one pass over independent examples a further one is predicted wrong with a probability of
    at most 2/(T + 1) times the expected bound on the mistakes of T + 1 rounds.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), rm.VotedPerceptron(), metrics.Accuracy())
    Accuracy: 83.91%

    References
    ----------
    Freund, Y. and Schapire, R., 1999. Large margin classification using the perceptron algorithm. Machine Learning 37.
    """

    round_cost = "To predict: the features of all mistaken examples; to learn: the features of x."
    guarantee = "The mistake bound of the perceptron."
    advice = "Use it to study the theorem; `AveragedPerceptron` predicts about as well and costs far less."

    lr: float
    tie_update: bool

    def __init__(
        self,
        lr: float = 1.0,
        *,
        tie_update: bool = True,
        classes: Classes = None,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(lr=lr, tie_update=tie_update)
        super().__init__(
            PerceptronRule(lr, tie_update=tie_update),
            VotedLinear(),
            classes=classes,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lr", "tie_update"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"lr": 0.5, "tie_update": False, "intercept": True}


class PocketPerceptron(MarginClassifier):
    """The perceptron, predicting with the weights that had the longest run of right answers.

    It learns as `Perceptron` does. A round with a margin above 0 makes the run of the present weights longer, any other
    ends it. Weights whose run beats the record go to the pocket; with the ratchet only if they are also right on more
    of the latest examples than those in it. `n_mistakes` counts those of the weights that learn, `weights` shows the
    pocket.

    Parameters
    ----------
    ratchet
        Whether new weights have to be better on the latest examples too; False by default.
    window
        How many of the latest examples that are, >= 1; 200 by default. They stand for the training set of the paper.
    lr
        The step, > 0; 1 by default. It only rescales the weights.
    tie_update
        Whether a margin of exactly 0 makes it move (default); with False only a wrong label does.
    classes
        Classes known beforehand, in the order that breaks ties. Two make one weight vector: [negative, positive].
    intercept
        Whether to add a constant feature of value 1; False by default.
    max_features
        Hash the features into so many buckets; None (default) keeps them all.

    Notes
    -----
    Gallant: with examples drawn at random from a finite set, the probability that the pocket holds weights with the
    fewest possible errors on it tends to 1. There is no bound for any finite number of rounds.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), rm.PocketPerceptron(ratchet=True), metrics.Accuracy())
    Accuracy: 82.47%

    References
    ----------
    Gallant, S., 1990. Perceptron-based learning algorithms. IEEE Transactions on Neural Networks 1.
    """

    round_cost = "The features of x times the classes; with the ratchet, sometimes the features of the whole window."
    guarantee = "In the limit, the fewest possible errors on examples drawn from a finite set."
    advice = "Use it for noisy data that no hyperplane separates."

    ratchet: bool
    window: int
    lr: float
    tie_update: bool

    def __init__(
        self,
        ratchet: bool = False,
        *,
        window: int = 200,
        lr: float = 1.0,
        tie_update: bool = True,
        classes: Classes = None,
        intercept: bool = False,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(ratchet=ratchet, window=window, lr=lr, tie_update=tie_update)
        super().__init__(
            PerceptronRule(lr, tie_update=tie_update),
            PocketLinear(ratchet, window),
            classes=classes,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lr", "tie_update"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"ratchet": True, "window": 20, "intercept": True}
