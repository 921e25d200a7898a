"""Discriminative ridge regression: weights of a reranker, from the qualities of the candidates."""

import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from river import base

from river_margins.adaptation.joint import Joint, joint_of, put, weights_of
from river_margins.core.checks import positive, share, whole
from river_margins.core.described import Described
from river_margins.core.estimator import Estimator
from river_margins.core.reader import read_features
from river_margins.networks.examples import Array, Rows, checked, finite
from river_margins.tasks.labels import plain

__all__ = ["DiscriminativeRidge"]

NBest = Sequence[Mapping[Any, float]]


class DiscriminativeRidge(Described, Estimator, base.Estimator):
    """Reranking of n-best lists by weights whose differences of scores fit the differences of qualities.

    A round has candidates k with features h_k, and then their qualities u_k. Let b be the candidate with the highest
    quality, R the matrix of the rows h_b - h_k, and d the vector of all u_b - u_k. Ridge regression gives
    v = (RᵀR + beta·I)⁻¹Rᵀd, and the weights move towards it: w' = (1 - alpha)·w + alpha·v.

    With `recursive=True` all rounds count: w = (Σ RᵀR + beta·I)⁻¹ Σ Rᵀd, where each round multiplies the sums before it
    by `forgetting`.

    Parameters
    ----------
    beta
        Regularisation, > 0; 1 by default.
    alpha
        How far the weights move in a round, above 0 and at most 1; 0.1 by default. `recursive=True` does not use it.
    recursive
        Whether to solve the regression of all rounds instead of one; False by default.
    forgetting
        What the sums of former rounds are multiplied by, above 0 and at most 1; 1 by default. `recursive=False` does
        not use it.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    Of equal scores, and of equal qualities, the first candidate counts as the best. A list of one candidate, or of
    equal qualities, has v = 0, and moves the weights towards 0. With `recursive=True` a list of one candidate only
    forgets, and equal qualities ask for equal scores. Features that a list does not have have v = 0, too.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.DiscriminativeRidge(alpha=0.5)
    >>> hypotheses = [{"length": 1.0, "fluency": 0.0}, {"length": 0.0, "fluency": 1.0}]
    >>> model.predict_one(hypotheses)
    0
    >>> model.learn_one(hypotheses, [0.2, 0.8])
    >>> model.predict_one(hypotheses), round(model.weights["fluency"], 3)
    (1, 0.1)

    References
    ----------
    Martínez-Gómez, P., Sanchis-Trilles, G. and Casacuberta, F., 2012. Online adaptation strategies for statistical
    machine translation in post-editing scenarios. Pattern Recognition 45.
    """

    round_cost = "Solving a system of as many equations as the list has features; with `recursive`, as all lists have."
    guarantee = "None on the quality; with `recursive`, the weights are those of ridge regression on all rounds."
    advice = "Use it to rerank n-best lists, such as translations, if each candidate gets a quality afterwards."

    beta: float
    alpha: float
    recursive: bool
    forgetting: float
    n_seen: int
    _rows: Rows
    _squares: Array  # Σ RᵀR
    _targets: Array  # Σ Rᵀd

    def __init__(
        self, beta: float = 1.0, *, alpha: float = 0.1, recursive: bool = False, forgetting: float = 1.0
    ) -> None:
        vars(self).update(beta=positive("beta", beta), alpha=share("alpha", alpha), recursive=recursive)
        vars(self).update(forgetting=share("forgetting", forgetting), n_seen=0, _rows=Rows(1))
        vars(self).update(_squares=np.zeros((0, 0)), _targets=np.zeros(0))

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"alpha", "forgetting"}

    def _change(self, name: str, value: Any) -> None:
        vars(self)[name] = share(name, value)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"alpha": 0.5}
        yield {"recursive": True, "forgetting": 0.9}

    @property
    def weights(self) -> Mapping[Any, float]:
        """The weights by feature."""
        return dict(zip(self._rows.places, self._rows.values[:, 0].tolist(), strict=True))

    def score_one(self, x: NBest) -> list[float]:
        """Return the score of each candidate."""
        found = _read(x)
        weights = weights_of(self._rows, found.names)[:, 0]
        scores: list[float] = finite(self, lambda: found.scores(weights)).tolist()
        return scores

    def predict_one(self, x: NBest) -> int:
        """Return the number of the candidate with the highest score; the first is 0."""
        return int(np.argmax(self.score_one(x)))

    def learn_one(self, x: NBest, y: Sequence[float]) -> None:
        """Learn the qualities of the candidates of a list.

        Parameters
        ----------
        x
            The features of each candidate: dicts from hashable names to finite numbers.
        y
            The quality of each candidate, higher is better.

        Raises
        ------
        ValueError
            If a list is empty, the lists differ in length, or a number is not finite. Nothing is learned.
        OverflowError
            If the step would take a weight beyond floating point. Nothing is learned.
        """
        found, qualities = _read(x), np.array([_quality(each) for each in y])
        if len(qualities) != found.size:
            raise ValueError(f"{found.size} candidates, but {len(qualities)} qualities: each candidate needs one")
        features = np.zeros((found.size, len(found.names)))
        features[found.candidates, found.columns] = found.values
        best = int(np.argmax(qualities))
        with np.errstate(over="ignore", invalid="ignore"):
            R, d = features[best] - features, qualities[best] - qualities
            squares, targets = R.T @ R, R.T @ d
        if not (np.isfinite(squares).all() and np.isfinite(targets).all()):
            raise OverflowError("the squares of `DiscriminativeRidge` would become infinite: scale the features")
        self._accumulate(found.names, squares, targets) if self.recursive else self._move(found.names, R, d)
        vars(self)["n_seen"] += 1

    def _move(self, names: list[Any], R: Array, d: Array) -> None:
        # As least squares, with a row sqrt(beta) for each weight: in the sum RᵀR + beta·I, rounding can hide beta.
        # By QR: `lstsq` leaves out what is small beside the largest feature.
        count = len(names)
        with np.errstate(over="ignore", invalid="ignore"):
            Q, triangle = np.linalg.qr(np.vstack([R, math.sqrt(self.beta) * np.eye(count)]))
            solution = np.linalg.solve(triangle, Q[: len(R)].T @ d)
        if not np.isfinite(solution).all():
            raise OverflowError("a weight of `DiscriminativeRidge` would become infinite: scale the features")
        old = weights_of(self._rows, names)[:, 0]
        self._rows.values[:] *= 1.0 - self.alpha
        put(self._rows, names, ((1.0 - self.alpha) * old + self.alpha * solution)[:, None])

    def _accumulate(self, names: list[Any], squares: Array, targets: Array) -> None:
        size = len(self._targets)
        places = [self._rows.places.get(name, -1) for name in names]
        new = [name for name, place in zip(names, places, strict=True) if place < 0]
        places = [place if place >= 0 else size + new.index(name) for name, place in zip(names, places, strict=True)]
        all_squares = self.forgetting * np.pad(self._squares, (0, len(new)))
        all_targets = self.forgetting * np.pad(self._targets, (0, len(new)))
        with np.errstate(over="ignore"):
            all_squares[np.ix_(places, places)] += squares
            all_targets[places] += targets
        solution = _ridge(all_squares, all_targets, self.beta)
        if new:
            self._rows.add(new, np.zeros((len(new), 1)))
        self._rows.values[:, 0] = solution
        vars(self).update(_squares=all_squares, _targets=all_targets)

    def __getstate__(self) -> dict[str, Any]:
        return {
            "n_seen": self.n_seen,
            "rows": self._rows.state(),
            "squares": self._squares.copy(),
            "targets": self._targets.copy(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        size = len(state["rows"]["names"]) if self.recursive else 0
        found = {"_squares": checked(state["squares"], (size, size)), "_targets": checked(state["targets"], (size,))}
        self._rows.restore(state["rows"])
        vars(self).update(found, n_seen=whole("n_seen", state["n_seen"]))


def _read(x: NBest) -> Joint:
    if isinstance(x, Mapping) or not x:
        raise ValueError(f"a list of one candidate or more is needed, each a dict of features, not {x!r}")
    return joint_of([read_features(candidate) for candidate in x])


def _quality(value: Any) -> float:
    number = plain(value)
    if not (isinstance(number, Real | Decimal) and math.isfinite(number)):
        raise ValueError(f"a quality must be a finite number, not {value!r}")
    return float(number)


def _ridge(squares: Array, targets: Array, beta: float) -> Array:
    """Return (squares + beta·I)⁻¹ targets; raise OverflowError if it is not finite, or beta is lost in the sum."""
    try:
        solution = np.linalg.solve(squares + beta * np.eye(len(targets)), targets)
    except np.linalg.LinAlgError:
        solution = np.full(len(targets), np.inf)
    if not (np.isfinite(solution).all() and np.isfinite(squares).all()):  # an infinite square has a solution of 0
        raise OverflowError("a weight of `DiscriminativeRidge` would become infinite: scale the features")
    return np.asarray(solution)
