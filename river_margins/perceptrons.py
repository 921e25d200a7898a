"""The perceptrons."""

from river_margins.margin import MarginClassifier
from river_margins.rules import PerceptronRule

__all__ = ["Perceptron"]


class Perceptron(MarginClassifier):
    """The perceptron: add every mistaken example to the weights of its class.

    In each round with margin m = y⟨w, x⟩ <= 0: w' = w + lr·y·x. With many classes, the margin is that against the
    best-scoring wrong class s, and w_y' = w_y + lr·x, w_s' = w_s - lr·x.

    Parameters
    ----------
    lr
        The step, > 0; 1 by default. From zero weights it only rescales them.
    tie_update
        Whether a margin of exactly 0 makes it move (default). With False it moves only when the predicted label is
        wrong, as LIBOL does; `n_mistakes` counts such rounds all the same.
    classes
        Classes known beforehand, in the order that breaks ties. Two make one weight vector: [negative, positive].
    intercept
        Whether to add a constant feature of value 1; False by default.
    max_features
        Hash the features into so many buckets; None (default) keeps them all.

    Notes
    -----
    Cost: the features of x, times the classes. Guarantee: mistakes <= R²|u|² where u separates with margin 1, and a
    bound on any stream. Take it as a baseline that has nothing to tune.

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

    def __init__(self, lr=1.0, *, tie_update=True, classes=None, intercept=False, max_features=None):
        vars(self).update(lr=lr, tie_update=tie_update)
        super().__init__(
            PerceptronRule(lr, tie_update=tie_update), classes=classes, intercept=intercept, max_features=max_features
        )

    @property
    def _mutable_attributes(self):
        return {"lr", "tie_update"}

    @classmethod
    def _unit_test_params(cls):
        yield {}
        yield {"lr": 0.5, "tie_update": False, "intercept": True}
