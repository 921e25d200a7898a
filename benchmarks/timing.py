"""Times contenders side by side: each once a round, in shuffled order; what counts is the ratio within a round."""

import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich.progress import track

ROUNDS = 15


@dataclass(frozen=True)
class Contender:
    """A name, and what is timed: a call on a whole stream. `share` says on which part of it, where it is slow."""

    name: str
    run: Callable[[Any], None]
    share: float = 1.0


def times(contenders: list[Contender], stream: Any, what: str) -> dict[str, list[float]]:
    """CPU microseconds an example of each contender, round by round."""
    found: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    order = list(contenders)
    for _ in track(range(ROUNDS), description=what):
        random.shuffle(order)
        for contender in order:
            part = stream if contender.share == 1.0 else stream[: int(len(stream) * contender.share)]
            start = time.process_time()
            contender.run(part)
            found[contender.name].append((time.process_time() - start) / length(part) * 1e6)
    return found


def length(stream: Any) -> int:
    return int(stream[0].shape[0]) if isinstance(stream, tuple) else len(stream)


def table(title: str, streams: list[tuple[str, Any]], contenders: list[Contender]) -> list[str]:
    """A Markdown table: median time, and the median of the ratios to the first contender with their quartiles."""
    columns = [times(contenders, stream, f"{title}: {name}") for name, stream in streams]
    lines = [f"### {title}", "", "| µs an example | " + " | ".join(name for name, _ in streams) + " |"]
    lines.append("|---" * (len(streams) + 1) + "|")
    for contender in contenders:
        cells = [cell(column[contender.name], column[contenders[0].name]) for column in columns]
        lines.append(f"| {contender.name} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def cell(figures: list[float], reference: list[float]) -> str:
    median = f"{statistics.median(figures):.3g}"
    if figures is reference:
        return median
    low, middle, high = statistics.quantiles([a / b for a, b in zip(reference, figures, strict=True)], n=4)
    return f"{median} ({middle:.3g}x, {low:.3g}-{high:.3g})"
