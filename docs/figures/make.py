"""Draws the figures of the documentation: `make figures`. The same libraries give the same bytes."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from river import datasets, preprocessing
from sklearn.datasets import load_digits
from sklearn.svm import LinearSVC

import river_margins as rm

matplotlib.use("Agg")
import matplotlib.pyplot as plt

BLUE, ORANGE, GREY = "#1f6fb4", "#d1590b", "#6b6b6b"
PLAIN = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
SHARES = np.linspace(0, 1, 101)
SHADES = "#a9cbe6", "#5597cd", "#0f4a80"
STYLE = {
    "svg.hashsalt": "river_margins",  # or the names inside the file would be random
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "xtick.color": GREY,
    "ytick.color": GREY,
    "lines.linewidth": 1.6,
    "figure.facecolor": "white",  # not transparent: black text must stay legible on a dark page
}


@dataclass(frozen=True)
class Stream:
    """Examples as rows, labels as -1 and +1, one round after the other."""

    X: np.ndarray
    y: np.ndarray

    def first(self, rounds: int | None) -> "Stream":
        return Stream(self.X[:rounds], self.y[:rounds])

    def repeated(self, times: int) -> "Stream":
        return Stream(np.tile(self.X, (times, 1)), np.tile(self.y, times))


@dataclass(frozen=True)
class Curve:
    """Mistakes of a learner up to each round, and the most that its theorem allows."""

    name: str
    mistakes: np.ndarray
    bound: np.ndarray


def phishing() -> Stream:
    """River's Phishing, with the constant feature 1 that `intercept=True` adds."""
    rows = [[*x.values(), 1.0] for x, _ in datasets.Phishing()]
    return Stream(np.array(rows, dtype=float), np.array([1 if y else -1 for _, y in datasets.Phishing()]))


def zeros() -> Stream:
    """Is it a zero? scikit-learn's handwritten digits: a hyperplane answers without a mistake."""
    digits = load_digits()
    return Stream(digits.data / 16, np.where(digits.target == 0, 1, -1))


def play(model: Any, stream: Stream) -> tuple[np.ndarray, np.ndarray]:
    """The margin of each round before learning, and the mistakes up to it."""
    margins, mistakes = [], []
    for row, y in zip(stream.X.tolist(), stream.y.tolist(), strict=True):
        x = dict(enumerate(row))
        margins.append(y * (model.score_one(x) or 0.0))  # before the first label there is no score yet
        model.learn_one(x, y > 0)
        mistakes.append(model.n_mistakes)
    return np.array(margins), np.array(mistakes)


def perceptron_bound(u: np.ndarray, stream: Stream) -> np.ndarray:
    """The theorem for the perceptron after each round. Its losses are those of all rounds, not of the mistakes only:
    nobody knows those beforehand."""
    length, loss = longest(stream) * (u @ u), losses(u, stream).cumsum()
    return loss + length / 2 + np.sqrt(length * (loss + length / 4))


def pa_i_bound(u: np.ndarray, stream: Stream, C: float) -> np.ndarray:
    """The theorem for PA-I after each round."""
    return np.maximum(longest(stream), 1 / C) * (u @ u + 2 * C * losses(u, stream).cumsum())


def longest(stream: Stream) -> np.ndarray:
    """R² up to each round."""
    return np.maximum.accumulate((stream.X**2).sum(axis=1))


def losses(u: np.ndarray, stream: Stream) -> np.ndarray:
    return np.maximum(0.0, 1.0 - stream.y * (stream.X @ u))


def comparators(stream: Stream) -> list[np.ndarray]:
    """Linear support vector machines of many strengths, trained on the whole stream: the theorems hold for any u, and
    these are nearly the ones for which they say most. One that is right everywhere is also stretched to margin 1."""
    found = []
    for C in 2.0 ** np.arange(-12, 9, 2):
        machine = LinearSVC(loss="hinge", fit_intercept=False, C=C, random_state=0, tol=1e-3, max_iter=1_000_000)
        u = machine.fit(stream.X, stream.y).coef_[0]
        smallest = (stream.y * (stream.X @ u)).min()
        found += [u, u / smallest] if smallest > 0 else [u]
    return found


def curves(stream: Stream, passes: int = 1, C: float = 0.1) -> list[Curve]:
    """Perceptron and PA-I, each beside the lowest bound that any of the comparators gives in that round."""
    candidates, stream = comparators(stream), stream.repeated(passes)
    perceptron = np.min([perceptron_bound(u, stream) for u in candidates], axis=0)
    pa_i = np.min([pa_i_bound(u, stream, C) for u in candidates], axis=0)
    return [
        Curve("perceptron", play(rm.Perceptron(intercept=False), stream)[1], perceptron),
        Curve(f"PA-I, C = {C:g}", play(rm.PAClassifier(C=C, intercept=False), stream)[1], pa_i),
    ]


def margins(model: rm.PAClassifier, rounds: int | None) -> np.ndarray:
    """The margins of River's Phishing, scaled as the stream goes, before each is learned."""
    scaler, rows, labels = preprocessing.StandardScaler(), [], []
    for x, y in list(datasets.Phishing())[:rounds]:
        scaler.learn_one(x)
        rows.append([*scaler.transform_one(x).values()])
        labels.append(1 if y else -1)
    return play(model, Stream(np.array(rows), np.array(labels)))[0]


def draw_bounds(path: Path, rounds: int | None = None) -> None:
    panels = (
        ("Phishing: no vector is right everywhere", phishing(), 1),
        ("Digits, thirty times over: is it a 0?", zeros(), 30),
    )
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    for ax, (title, stream, passes) in zip(axes, panels, strict=True):
        for curve, colour in zip(curves(stream.first(rounds), passes), (ORANGE, BLUE), strict=True):
            shown = np.linspace(0, len(curve.mistakes) - 1, 200).astype(int)
            ax.plot(shown + 1, curve.bound[shown], color=colour, linestyle=(0, (4, 2)), label=f"{curve.name}: bound")
            ax.plot(shown + 1, curve.mistakes[shown], color=colour, label=f"{curve.name}: mistakes")
        ax.set(title=title, xlabel="round", ylabel="mistakes up to this round", xlim=(0, None), ylim=(0, None))
        ax.margins(x=0)
    axes[0].legend(frameon=False, loc="upper left", handlelength=2.6)
    save(figure, path)


def draw_margins(path: Path, rounds: int | None = None) -> None:
    models = {
        "PA": rm.PAClassifier(mode=0, intercept=False),
        "PA-I, C = 0.01": rm.PAClassifier(C=0.01, intercept=False),
    }
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained", sharey=True)
    for ax, (title, model) in zip(axes, models.items(), strict=True):
        first = 1
        for part, shade in zip(np.array_split(margins(model, rounds), 3), SHADES, strict=True):
            ax.plot(np.quantile(part, SHARES), SHARES, color=shade, label=f"rounds {first} to {first + len(part) - 1}")
            first += len(part)
        for margin, meaning, height in ((0, "← mistakes", 0.98), (1, "← moves", 0.91)):
            ax.axvline(margin, color=GREY, linewidth=0.8, linestyle=(0, (1, 2)))
            place = {"ha": "right", "va": "top", "fontsize": 8}
            ax.text(margin - 0.1, height, meaning, color=GREY, bbox=PLAIN, **place)
        ax.set(title=title, xlabel="margin m before learning", xlim=(-4, 5), ylim=(0, 1))
    axes[0].set_ylabel("share of rounds with margin at most m")
    axes[0].legend(frameon=False, loc="center left", fontsize=8, handlelength=1.5)
    save(figure, path)


def save(figure: Any, path: Path) -> None:
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=200)
    plt.close(figure)


def main(folder: Path) -> None:
    with plt.rc_context(STYLE):
        draw_bounds(folder / "bounds.svg")
        draw_margins(folder / "margins.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
