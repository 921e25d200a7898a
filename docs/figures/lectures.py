"""Draws the figures of the lectures from `benchmarks/lectures.py`: `python -m docs.figures.lectures`."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import NullLocator

import river_margins as rm
from benchmarks.lectures import (
    BUDGET_LEARNERS,
    MOVING,
    STEADY,
    WITHOUT_LIMIT,
    attributes,
    bound_table,
    budgets,
    requests,
    second_order,
)
from docs.figures.make import BLUE, GREY, ORANGE, SHADES, STYLE, plt, save
from river_margins.theory import bounds

GREEN, PURPLE = "#2e7d4f", "#7a4fa3"
TWO_PANELS: dict[str, Any] = {"ncols": 2, "figsize": (8, 3.2), "layout": "constrained"}
DASHED = (0, (4, 2))

# The table of mistake bounds (Cesa-Bianchi).

COLOURS = {
    "perceptron": ORANGE,
    "PA": BLUE,
    "second-order perceptron": PURPLE,
    "ellipsoid": GREEN,
    "volumetric centre": GREY,
    "centre of gravity": "black",
}
LIMITS = {
    "perceptron": lambda dimension, norm: bounds.separable_mistakes(1.0, norm),
    "ellipsoid": bounds.ellipsoid_mistakes,
    "centre of gravity": bounds.center_of_gravity_mistakes,
}


def draw_bounds(
    path: Path,
    norms: Sequence[float] = (10, 30, 100, 300),
    dimensions: Sequence[int] = (3, 4, 6, 8),
    fixed: tuple[int, float] = (6, 100),
    size: int = 2000,
) -> None:
    figure, axes = plt.subplots(**TWO_PANELS | {"figsize": (8, 3.6)})
    by_norm = bound_table(fixed[0], norms, size)
    by_dimension = {dimension: bound_table(dimension, [fixed[1]], size) for dimension in dimensions}
    for name, colour in COLOURS.items():
        style = {"marker": "o", "markersize": 3, "color": colour, "label": name}
        axes[0].plot(norms, list(by_norm[name].values()), **style)
        axes[1].plot(dimensions, [by_dimension[dimension][name][fixed[1]] for dimension in dimensions], **style)
    for name, limit in LIMITS.items():
        style = {"color": COLOURS[name], "linestyle": DASHED, "linewidth": 1, "zorder": 1}
        axes[0].plot(norms, [limit(fixed[0], norm) for norm in norms], **style)
        axes[1].plot(dimensions, [limit(dimension, fixed[1]) for dimension in dimensions], **style)
    axes[0].set(title=f"{fixed[0]} dimensions", xlabel="length U of the shortest separator")
    axes[1].set(title=f"U = {fixed[1]:g}", xlabel="dimensions")
    for ax, ticks in zip(axes, (norms, dimensions), strict=True):
        ax.set(xscale="log", yscale="log", ylabel="mistakes", xticks=ticks, xticklabels=[f"{tick:g}" for tick in ticks])
        ax.xaxis.set_minor_locator(NullLocator())
    axes[0].plot([], color=GREY, linestyle=DASHED, linewidth=1, label="bound, in the colour of its learner")
    figure.legend(*axes[0].get_legend_handles_labels(), frameon=False, loc="outside lower center", ncols=4, fontsize=8)
    save(figure, path)


# The cone of consistent hyperplanes (Cesa-Bianchi).


def cone(dimension: int, examples: int, *, central: bool, seed: int = 0) -> list[float]:
    """Return the logarithm of the share of the box that is consistent, before the first example and after each.

    With `central` the hyperplane of each example goes through the centroid, which is what a mistake of the centre of
    gravity does at least; without it the examples are random.
    """
    draw, space = np.random.default_rng(seed), rm.VersionSpace(dimension)
    u = draw.normal(size=dimension)
    found = [0.0]
    for _ in range(examples):
        x = draw.normal(size=dimension)
        if central:
            c = space.centroid
            x -= (x @ c) / (c @ c) * c if c @ c > 0 else 0.0
        space.add(x, 1.0 if u @ x > 0 else -1.0)
        found.append(space.log_volume - dimension * np.log(2))
    return found


BOX = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])


def cut(corners: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return the corners of the part of a convex polygon where ⟨a, w⟩ >= 0."""
    kept = []
    for start, end in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        at_start, at_end = a @ start, a @ end
        if at_start >= 0:
            kept.append(start)
        if at_start * at_end < 0:
            kept.append(start + (end - start) * at_start / (at_start - at_end))
    return np.array(kept)


def draw_cone(path: Path, examples: int = 40) -> None:
    figure, (plane, volumes) = plt.subplots(**TWO_PANELS)
    draw, space, u = np.random.default_rng(6), rm.VersionSpace(2), np.array([0.55, 0.8])
    corners = BOX
    plane.fill(*corners.T, color="#eef4f9", label="before the first example")
    shades = iter(["#cfe2f1", *SHADES])
    for t in range(1, 17):
        x = draw.normal(size=2)
        y = np.sign(u @ x)
        space.add(x, y)
        corners = cut(corners, y * x)
        if t in (1, 2, 4, 16):
            label = f"after {t} example{'s' if t > 1 else ''}"
            plane.fill(*corners.T, color=next(shades), label=label)
    plane.plot([0, u[0]], [0, u[1]], color=ORANGE, label="the target u")
    plane.plot(*space.centroid, "o", color="white", markeredgecolor="black", ms=5, label="centroid of the last one")
    plane.set(
        title="Weights in the plane", aspect="equal", xlabel="w₁", ylabel="w₂", xticks=[-1, 0, 1], yticks=[-1, 0, 1]
    )
    plane.legend(frameon=False, fontsize=7.5, loc="center left", bbox_to_anchor=(1.0, 0.5))
    for dimension, colour in ((2, SHADES[0]), (4, SHADES[1]), (6, SHADES[2])):
        for central, style in ((False, DASHED), (True, "-")):
            found = np.array(cone(dimension, examples, central=central)) / np.log(10)
            label = f"{dimension} dimensions" if central else None
            volumes.plot(found, color=colour, linestyle=style, label=label)
    rate = np.arange(examples + 1) * np.log10(1 - 1 / np.e)
    volumes.plot(rate, color=ORANGE, linewidth=1, label="(1 - 1/e)ᵗ, the bound")
    volumes.plot([], color=GREY, label="cuts through the centroid")
    volumes.plot([], color=GREY, linestyle=DASHED, label="random examples")
    volumes.set(
        title="Share of the box that is consistent",
        xlabel="examples t",
        ylabel="log₁₀ of the volume",
        xlim=(0, examples),
    )
    volumes.legend(frameon=False, fontsize=7.5, loc="lower left")
    save(figure, path)


def draw_budgets(path: Path, rounds: int = 6000) -> None:
    figure, axes = plt.subplots(**TWO_PANELS)
    for which, style in zip(BUDGET_LEARNERS, ("-", DASHED), strict=True):
        for found, colour in zip(budgets(rounds, learner=which).values(), (BLUE, ORANGE), strict=True):
            limits = [limit if limit != WITHOUT_LIMIT else 1600 for limit in found]
            axes[0].plot(limits, list(found.values()), marker="o", markersize=4, linestyle=style, color=colour)
    axes[0].set(title="Error by budget", xlabel="kept examples", ylabel="error", xscale="log", ylim=(0, 0.3))
    axes[0].set(xticks=limits, xticklabels=[*map(str, limits[:-1]), "no limit"])
    axes[0].xaxis.set_minor_locator(NullLocator())
    for which, style in zip(BUDGET_LEARNERS, ("-", DASHED), strict=True):
        axes[0].plot([], color=GREY, linestyle=style, label=which)
    axes[0].legend(frameon=False)
    found = second_order(rounds)
    names = [*found[STEADY]][::-1]
    for name, colour, offset in ((STEADY, BLUE, 0.2), (MOVING, ORANGE, -0.2)):
        values = [found[name][which] for which in names]
        axes[1].barh(np.arange(len(names)) + offset, values, 0.36, color=colour, label=name)
    axes[1].set(title="Features of unequal scale", xlabel="error", yticks=range(len(names)), yticklabels=names)
    axes[1].tick_params(axis="y", length=0)
    figure.legend(*axes[1].get_legend_handles_labels(), frameon=False, loc="outside lower center", ncols=2)
    save(figure, path)


# Selective sampling (Cesa-Bianchi), as it goes.


def draw_sampling(path: Path, rounds: int = 10_000, window: int = 250) -> None:
    figure, axes = plt.subplots(**TWO_PANELS)
    for c, colour in zip((0.2, 1.0, 5.0, None), (*SHADES, ORANGE), strict=True):
        asked, wrong = requests(rounds, c)
        label = "all labels" if c is None else f"c = {c:g}"
        t = np.arange(window, rounds + 1, window)
        if c is not None:
            axes[0].plot(t, asked.reshape(-1, window).mean(axis=1), color=colour, label=label)
        axes[1].plot(t, wrong.cumsum()[t - 1] / t, color=colour, label=label)
    axes[0].set(title=f"Share of labels requested, by {window} rounds", xlabel="round", ylim=(0, 0.6), xlim=(0, rounds))
    axes[1].set(title="Errors so far", xlabel="round", ylim=(0, 0.2), xlim=(0, rounds))
    axes[1].axhline(0.05, color=GREY, linewidth=0.8, linestyle=(0, (1, 2)))
    axes[1].text(rounds, 0.047, "flipped labels", color=GREY, ha="right", va="top", fontsize=8)
    for ax in axes:
        ax.legend(frameon=False)
    save(figure, path)


def draw_winnow(
    path: Path, rounds: int = 8000, dimensions: Sequence[int] = (50, 100, 200, 400, 800, 1600, 3200)
) -> None:
    figure, axes = plt.subplots(**TWO_PANELS)
    found = attributes(rounds, dimensions)
    for name, colour in (("Winnow", BLUE), ("perceptron", ORANGE)):
        values = [found[dimension][name] for dimension in dimensions]
        for ax in axes if name == "Winnow" else axes[:1]:
            ax.plot(dimensions, values, "o-", ms=4, color=colour, label=name)
    limit = [bounds.winnow_mistakes(d, theta=d / 2, beta=2.0, total=5.0, gap=1.0) for d in dimensions]
    axes[1].plot(dimensions, limit, color=BLUE, linestyle=DASHED, linewidth=1, label="bound, 4 + 15·log₂ d")
    axes[0].set(title=f"Mistakes in {rounds:,} rounds", xlabel="features, of which 5 matter", ylim=(0, None))
    axes[1].set(
        title="Winnow alone, on a logarithmic axis", xlabel="features, of which 5 matter", xscale="log", ylim=(0, None)
    )
    axes[1].set(xticks=dimensions, xticklabels=[str(d) for d in dimensions])
    axes[1].minorticks_off()
    for ax in axes:
        ax.legend(frameon=False)
    save(figure, path)


FIGURES = {
    "lectures-bounds.svg": draw_bounds,
    "lectures-cone.svg": draw_cone,
    "lectures-budgets.svg": draw_budgets,
    "lectures-sampling.svg": draw_sampling,
    "lectures-winnow.svg": draw_winnow,
}


def main(folder: Path) -> None:
    with plt.rc_context(STYLE):
        for name, draw in FIGURES.items():
            draw(folder / name)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
