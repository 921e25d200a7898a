"""The perceptron and its variants."""

from collections.abc import Iterator
from typing import Any

from river_margins.core.pairs import no_price
from river_margins.families.composed import MarginClassifier
from river_margins.families.parameter_types import Classes, ClassWeight, Rivals
from river_margins.rules import MarginPerceptronRule, PerceptronRule, ShiftingPerceptronRule
from river_margins.spaces import AveragedLinear, PNorm, PocketLinear, VotedLinear

__all__ = [
    "AveragedPerceptron",
    "MarginPerceptron",
    "PNormPerceptron",
    "Perceptron",
    "PocketPerceptron",
    "ShiftingPerceptron",
    "VotedPerceptron",
]


class Perceptron(MarginClassifier):
    """The perceptron: add every misclassified example to the weights of its class.

    If the margin m = y⟨w, x⟩ <= 0, then w' = w + lr·y·x. With many classes, the margin is measured against the
    best-scoring wrong class s, w_y' = w_y + lr·x and w_s' = w_s - lr·x. `rivals` can spread the step over all wrong
    classes that score at least as high as y.

    Parameters
    ----------
    lr
        The step size, > 0; 1 by default. From zero weights it only rescales them, but for rounding.
    tie_update
        Whether a margin of exactly 0 also causes an update (default). With False, only a wrong predicted label does, as
        in LIBOL. `n_mistakes` counts a margin of 0 in both cases.
    classes
        Classes known beforehand; their order breaks ties. Two classes share one weight vector: [negative, positive].
    class_weight
        A factor of the sample weight for each class: a mapping from labels to numbers > 0, in which a missing label has
        1. Or "balanced": n/(k·n_y), at most n_y, for the label y, with the n examples and k labels seen so far, n_y of
        them with y. None (default) is 1 for all.
    rivals
        With more than two classes, the wrong classes whose weights change: "max" (default) is the best-scoring one;
        "uniform" is all that score at least as high as the true class, in equal shares; "proportional" is the same
        classes, in proportion to their lead. The shares add up to 1.
    intercept
        Whether to add a constant feature of value 1; True by default.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    For every stream and every u, let R be the length of the longest example, L the sum of the hinge losses of u over
    the mistakes, and M = `n_mistakes`. Then M <= L + R²|u|²/2 + R|u|·sqrt(L + R²|u|²/4). If u separates with margin 1,
    M <= R²|u|². With many classes, R² becomes 2R². With `tie_update=False` this holds for M = `n_updates`.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), rm.Perceptron(), metrics.Accuracy())
    Accuracy: 83.67%

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
        class_weight: ClassWeight = None,
        rivals: Rivals = "max",
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(lr=lr, tie_update=tie_update)
        super().__init__(
            PerceptronRule(lr, tie_update=tie_update),
            classes=classes,
            class_weight=class_weight,
            rivals=rivals,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lr", "tie_update", "class_weight"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"lr": 0.5, "tie_update": False, "intercept": True}
        yield {"rivals": "proportional", "class_weight": "balanced"}


class MarginPerceptron(MarginClassifier):
    """The perceptron with a margin: add every example to the weights of its class until its margin exceeds a constant.

    If the margin m = y⟨w, x⟩ <= `margin`, then w' = w + lr·y·x. With many classes, y·x is the difference between the
    class and its best-scoring rival, as in `Perceptron`.

    Parameters
    ----------
    margin
        The margin to exceed, >= 0; 1 by default. With 0 it is `Perceptron(lr)`.
    lr
        The step size, > 0; 0.03 by default. Only margin/lr matters, but for the scale of the weights.
    classes
        Classes known beforehand; their order breaks ties. Two classes share one weight vector: [negative, positive].
    class_weight
        A factor of the sample weight for each class: a mapping from labels to numbers > 0, in which a missing label has
        1. Or "balanced": n/(k·n_y), at most n_y, for the label y, with the n examples and k labels seen so far, n_y of
        them with y. None (default) is 1 for all.
    intercept
        Whether to add a constant feature of value 1; True by default.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    If u separates with margin 1, it makes at most |u|²·(R² + 2·margin/lr) updates, R the length of the longest example.
    With many classes, R² becomes 2R².

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.MarginPerceptron()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.51%

    References
    ----------
    Krauth, W. and Mézard, M., 1987. Learning algorithms with optimal stability in neural networks.
    Duda, R., Hart, P. and Stork, D., 2001. Pattern Classification, section 5.5.
    """

    round_cost = "The number of features in x times the number of classes."
    guarantee = "At most |u|²·(R² + 2·margin/lr) updates if u separates with margin 1."
    advice = "Use it to study margins; PAClassifier adapts its step to the example."

    margin: float
    lr: float

    def __init__(
        self,
        margin: float = 1.0,
        *,
        lr: float = 0.03,
        classes: Classes = None,
        class_weight: ClassWeight = None,
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(margin=margin, lr=lr)
        super().__init__(
            MarginPerceptronRule(margin, lr=lr),
            classes=classes,
            class_weight=class_weight,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"margin", "lr", "class_weight"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"margin": 0.5, "lr": 0.5, "intercept": False}


class AveragedPerceptron(MarginClassifier):
    """The perceptron, predicting with the mean of its weights over all rounds.

    It learns as `Perceptron` does: if the margin m = y⟨w, x⟩ <= 0, then w' = w + lr·y·x. After k rounds it predicts
    with (w_1 + ... + w_k)/k, where w_i are the weights after round i. `n_mistakes` counts the mistakes of w, not of the
    mean. A sample weight also counts the round that many times in the mean.

    Parameters
    ----------
    lr
        The step size, > 0; 1 by default. It only rescales the weights, but for rounding.
    burn_in
        The number of first rounds that the mean leaves out, >= 0; 0 by default. Until then, w itself predicts.
    half_life
        The number of rounds after which the weights of a round count half in the mean, >= 1; None (default) counts all
        rounds equally. Without it the mean follows a change of concept only when the new concept has lasted longer.
    tie_update
        Whether a margin of exactly 0 also causes an update (default). With False, only a wrong label predicted by w
        does.
    classes
        Classes known beforehand; their order breaks ties. Two classes share one weight vector: [negative, positive].
    class_weight
        A factor of the sample weight for each class: a mapping from labels to numbers > 0, in which a missing label has
        1. Or "balanced": n/(k·n_y), at most n_y, for the label y, with the n examples and k labels seen so far, n_y of
        them with y. None (default) is 1 for all.
    intercept
        Whether to add a constant feature of value 1; True by default.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    `n_mistakes` obeys the bounds of `Perceptron`. For losses that are convex in w, such as the hinge loss, the loss of
    the mean weights on any set of examples is at most the mean of the losses of the w_i.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), rm.AveragedPerceptron(), metrics.Accuracy())
    Accuracy: 88.47%

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
    half_life: float | None
    tie_update: bool

    def __init__(
        self,
        lr: float = 1.0,
        *,
        burn_in: int = 0,
        half_life: float | None = None,
        tie_update: bool = True,
        classes: Classes = None,
        class_weight: ClassWeight = None,
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(lr=lr, burn_in=burn_in, half_life=half_life, tie_update=tie_update)
        super().__init__(
            PerceptronRule(lr, tie_update=tie_update),
            AveragedLinear(burn_in, half_life=half_life),
            classes=classes,
            class_weight=class_weight,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lr", "tie_update", "class_weight"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"lr": 0.5, "burn_in": 20, "intercept": True}
        yield {"half_life": 20, "intercept": False, "class_weight": "balanced"}


class ShiftingPerceptron(MarginClassifier):
    """The perceptron with weights that decay at each update, so that it can follow a change of concept.

    If the margin m = y⟨w, x⟩ <= 0, then w' = (1 - lam_k)·w + lam_k·y·x with lam_k = lam/(lam + k), where k is the
    number of updates before. Among k updates, update j has about the weight (j/k)^(lam-1): the memory is a share of
    the past, and not a fixed number of rounds. lam = 1 is the perceptron. With many classes, y·x is the difference
    between the class and its best-scoring rival, as in `Perceptron`. `MarginClassifier(ShiftingPerceptronRule(lam),
    Kernel(...))` is its form with a kernel.

    Parameters
    ----------
    lam
        How fast old updates lose their weight, > 0; 2 by default. Larger values follow a change sooner and are noisier.
    tie_update
        Whether a margin of exactly 0 also causes an update (default). With False, only a wrong predicted label does.
    classes
        Classes known beforehand; their order breaks ties. Two classes share one weight vector: [negative, positive].
    intercept
        Whether to add a constant feature of value 1; True by default.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    For every stream and every sequence of u that may change between rounds, let U be the length of the last u, S its
    path length Σ |u_(k+1) - u_k| over the mistakes, R the length of the longest example, and L the sum of the hinge
    losses of u over the mistakes. With lam >= 1 and K = lam·R·(U + S)/sqrt(2·lam - 1): n_mistakes <= lam·L + K²/2 +
    K·sqrt(lam·L + K²/4). With many classes, R² becomes 2R². With `tie_update=False` this holds for `n_updates`. The
    constants are not those of the paper: `tests/bounds/test_shifting.py` has the proof.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.ShiftingPerceptron(intercept=False)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 76.38%

    References
    ----------
    Cavallanti, G., Cesa-Bianchi, N. and Gentile, C., 2007. Tracking the best hyperplane with a simple budget
    perceptron. Machine Learning 69.
    """

    round_cost = "The number of features in x times the number of classes."
    guarantee = "A bound on the mistakes in terms of any u that may move: its path length counts like its length."
    advice = "Use it to study drift with a guarantee; `half_life` in a Gaussian learner predicts better."
    _no_class_weight = no_price("`class_weight`")

    lam: float
    tie_update: bool

    def __init__(
        self,
        lam: float = 2.0,
        *,
        tie_update: bool = True,
        classes: Classes = None,
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(lam=lam, tie_update=tie_update)
        super().__init__(
            ShiftingPerceptronRule(lam, tie_update=tie_update),
            classes=classes,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lam", "tie_update"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"lam": 4, "tie_update": False, "intercept": False}


class PNormPerceptron(MarginClassifier):
    """The perceptron for targets with few relevant features: weights are powers of sums of examples.

    If the margin m = y⟨w, x⟩ <= 0, then θ' = θ + lr·y·x, and w is the gradient of |θ|_p²/2: w_i =
    θ_i·(|θ_i|/|θ|_p)^(p-2). p = 2 is the perceptron; the larger p, the more it resembles a multiplicative learner. With
    many classes, y·x is the difference between the class and its best-scoring rival, as in `Perceptron`.

    Parameters
    ----------
    p
        The norm that measures examples, >= 2; 4 by default. 2·ln(number of features) suits sparse targets best.
    lr
        The step size, > 0; 1 by default. It only rescales the weights, but for rounding.
    tie_update
        Whether a margin of exactly 0 also causes an update (default). With False, only a wrong predicted label does.
    classes
        Classes known beforehand; their order breaks ties. Two classes share one weight vector: [negative, positive].
    class_weight
        A factor of the sample weight for each class: a mapping from labels to numbers > 0, in which a missing label has
        1. Or "balanced": n/(k·n_y), at most n_y, for the label y, with the n examples and k labels seen so far, n_y of
        them with y. None (default) is 1 for all.
    intercept
        Whether to add a constant feature of value 1; True by default.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    If u separates with margin 1: n_mistakes <= (p - 1)·|u|_q²·X², where X is the largest p-norm of an example and 1/p +
    1/q = 1. With p = 2·ln(d) for d features, this is O(|u|_1²·max|x_i|²·ln d). With `tie_update=False` it holds for
    `n_updates`.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), rm.PNormPerceptron(), metrics.Accuracy())
    Accuracy: 81.67%

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
        class_weight: ClassWeight = None,
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(p=p, lr=lr, tie_update=tie_update)
        super().__init__(
            PerceptronRule(lr, tie_update=tie_update),
            PNorm(p),
            classes=classes,
            class_weight=class_weight,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lr", "tie_update", "class_weight"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"p": 3, "tie_update": False, "intercept": True, "class_weight": "balanced"}


class VotedPerceptron(MarginClassifier):
    """The perceptron, predicting by a vote of its weights from all rounds.

    It learns as `Perceptron` does. Each weight vector votes for the class that it predicts, once for every round in
    which it was the current one; a vector whose scores tie abstains. With two classes, the score is the share of votes
    for True minus the share against; with many, the score of each class is its share of votes. `n_mistakes` counts the
    mistakes of the current weights, and `weights` shows them.

    Parameters
    ----------
    lr
        The step size, > 0; 1 by default. It changes no vote, but for rounding.
    tie_update
        Whether a margin of exactly 0 also causes an update (default). With False, only a wrong label predicted by the
        current weights does.
    classes
        Classes known beforehand; their order breaks ties. Two classes share one weight vector: [negative, positive].
    class_weight
        A factor of the sample weight for each class: a mapping from labels to numbers > 0, in which a missing label has
        1. Or "balanced": n/(k·n_y), at most n_y, for the label y, with the n examples and k labels seen so far, n_y of
        them with y. None (default) is 1 for all.
    intercept
        Whether to add a constant feature of value 1; True by default.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    Freund and Schapire: after one pass over T independent examples, the probability that a further example is
    misclassified is at most 2/(T + 1) times the expected mistake bound for T + 1 rounds.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), rm.VotedPerceptron(), metrics.Accuracy())
    Accuracy: 87.67%

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
        class_weight: ClassWeight = None,
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(lr=lr, tie_update=tie_update)
        super().__init__(
            PerceptronRule(lr, tie_update=tie_update),
            VotedLinear(),
            classes=classes,
            class_weight=class_weight,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lr", "tie_update", "class_weight"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"lr": 0.5, "tie_update": False, "intercept": True, "class_weight": "balanced"}


class PocketPerceptron(MarginClassifier):
    """The perceptron, predicting with the weights that had the longest run of correct predictions.

    It learns as `Perceptron` does. A round with a margin above 0 extends the run of the current weights; any other
    round ends the run. Weights whose run is the longest so far go to the pocket. With the ratchet, they must also
    classify more of the latest examples correctly than the weights in the pocket. `n_mistakes` counts the mistakes of
    the weights that learn, and `weights` shows the pocket.

    Parameters
    ----------
    ratchet
        Whether new weights must also be better on the latest examples (default); False is the first form of the paper.
    window
        The number of latest examples for the ratchet, >= 1; 200 by default. They take the place of the training set in
        the paper.
    lr
        The step size, > 0; 1 by default. It only rescales the weights, but for rounding.
    tie_update
        Whether a margin of exactly 0 also causes an update (default). With False, only a wrong predicted label does.
    classes
        Classes known beforehand; their order breaks ties. Two classes share one weight vector: [negative, positive].
    class_weight
        A factor of the sample weight for each class: a mapping from labels to numbers > 0, in which a missing label has
        1. Or "balanced": n/(k·n_y), at most n_y, for the label y, with the n examples and k labels seen so far, n_y of
        them with y. None (default) is 1 for all.
    intercept
        Whether to add a constant feature of value 1; True by default.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    Gallant: for examples drawn at random from a finite set, the probability that the weights in the pocket have the
    fewest possible errors on the set tends to 1. No bound for a finite number of rounds is known.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), rm.PocketPerceptron(), metrics.Accuracy())
    Accuracy: 87.35%

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
        ratchet: bool = True,
        *,
        window: int = 200,
        lr: float = 1.0,
        tie_update: bool = True,
        classes: Classes = None,
        class_weight: ClassWeight = None,
        intercept: bool = True,
        max_features: int | None = None,
    ) -> None:
        vars(self).update(ratchet=ratchet, window=window, lr=lr, tie_update=tie_update)
        super().__init__(
            PerceptronRule(lr, tie_update=tie_update),
            PocketLinear(ratchet, window),
            classes=classes,
            class_weight=class_weight,
            intercept=intercept,
            max_features=max_features,
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lr", "tie_update", "class_weight"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"window": 20}
        yield {"ratchet": False, "intercept": False, "class_weight": "balanced"}
