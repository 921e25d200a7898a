"""Which of several models is better: `river-margins compare`, from what the last checkpoint holds."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from connectors.config import Config, FileConfig
from connectors.drift.watch import drift_of
from connectors.errors import ConfigError, StateError
from connectors.files.processor import committed_snapshot
from connectors.model.standings import BLOCK, BLOCKS, OfPair, Standings, Tally, contest_of
from connectors.snapshots.models import champion_of
from river_margins import snapshot

LEVEL = 0.95
LIFE, RECENT = "life", f"last {BLOCK * BLOCKS:,}"
TITLES = (
    "over",
    "challenger",
    "compared",
    "loss of the champion",
    "of the challenger",
    "difference",
    "95 % interval",
    "better",
)


class Comparison(NamedTuple):
    """The champion and a challenger on the same records.

    Attributes
    ----------
    over
        Which records: all, or the last ones of each partition.
    challenger
        Its name.
    compared
        How many records both were judged on.
    loss, its_loss
        The mean loss of the champion and of the challenger on these.
    difference, low, high
        The former less the latter, and an interval for it.
    better
        The name of the better one; None if the interval contains 0.
    """

    over: str
    challenger: str
    compared: int
    loss: float
    its_loss: float
    difference: float
    low: float
    high: float
    better: str | None


def compare(config: Config | FileConfig) -> list[Comparison]:
    """Compare the learner of a processor with its challengers, over the life of both and over the last records.

    Parameters
    ----------
    config
        The processor's file. It may run meanwhile: its last checkpoint counts.

    Raises
    ------
    ConfigError
        It has no challengers.
    StateError
        It has no snapshot with challengers, or one that cannot be read.
    """
    _check_challengers(config)
    return _compare(config, _contests(config))


def _compare(config: Config | FileConfig, contests: Sequence[tuple[str, Standings]]) -> list[Comparison]:
    life, recent, is_regressor = Tally(), Tally(), config.is_regressor
    for _, each in contests:
        life.merge(each.life)
        recent.merge(each.recent)
    first = _champion(config, contests)
    found = []
    for over, tally in ((LIFE, life), (RECENT, recent)):
        for name in (config.champion if name == first else name for name in config.challengers):
            found.append(_compared(over, first, name, tally.pair(first, name), is_regressor))
    return found


def _check_challengers(config: Config | FileConfig) -> None:
    if not config.challengers:
        raise ConfigError("there are no `challengers` to compare: add them to the file, and run it")


def _champion(config: Config | FileConfig, contests: Sequence[tuple[str, Standings]]) -> str:
    """Return the name of the champion; that of the file if a drift has promoted another one in some partitions only."""
    names = {name for name, _ in contests}
    return names.pop() if len(names) == 1 else config.champion


def _contests(config: Config | FileConfig) -> list[tuple[str, Standings]]:
    """Return the name of the champion and the standings of each snapshot with challengers."""
    try:
        told = [snapshot.beside(data)[0] for data in _snapshots(config)]
        found = [
            (champion_of(config, contest, drift_of(about)), contest.standings)
            for about in told
            if (contest := contest_of(about)) is not None
        ]
    except ValueError as error:  # of which SnapshotError is one
        raise StateError(f"a snapshot of `{config.name}` cannot be read: {error}") from error
    if not found:
        raise StateError(f"no snapshot of `{config.name}` has challengers yet: run the file first")
    return found


def _promotion(config: Config | FileConfig, contests: Sequence[tuple[str, Standings]]) -> str:
    """Return a sentence about champions that are not `learner` of the file; empty without any."""
    promoted = [name for name, _ in contests if name != config.champion]
    if not promoted:
        return ""
    where = f" of {len(promoted)} of {len(contests)} partitions" if len(promoted) < len(contests) else ""
    return f"since a drift, `{promoted[0]}` is the champion{where}, instead of `{config.champion}`"


def _refusals(contests: Sequence[tuple[str, Standings]]) -> list[str]:
    """Return a sentence for each challenger that refused records or labels."""
    features: Counter[str] = Counter()
    labels: Counter[str] = Counter()
    for _, standings in contests:
        for name, refused in standings.refused.items():
            features[name] += refused.features
            labels[name] += refused.labels
    return [
        f"`{name}` refused the features of {features[name]:,} records, and {labels[name]:,} labels"
        for name in sorted(features | labels)  # without those of 0 and 0
    ]


def _left_out(config: Config | FileConfig) -> str:
    """Return a sentence about the records that nobody judges; empty without any."""
    if config.labels is None or config.labels.otherwise is None:
        return ""
    label = orjson.dumps(config.labels.otherwise).decode()
    return (
        f"records whose label did not come were learned as `{label}` and are not compared: if `{label}` hardly ever "
        "comes as a label, a learner that never predicts it looks best here"
    )


def _snapshots(config: Config | FileConfig) -> Sequence[bytes]:
    if isinstance(config, FileConfig):
        data = committed_snapshot(config)
        return [] if data is None else [data]
    from connectors.topics import snapshot_admin

    with snapshot_admin.opened(config) as admin:
        return list(admin.committed().values())


def _compared(over: str, champion: str, challenger: str, pair: OfPair, is_regressor: bool) -> Comparison:
    count = pair.judged
    if not count:
        nothing = (math.nan,) * 5
        return Comparison(over, challenger, 0, *nothing, None)
    low, high = (interval_of_mean if is_regressor else interval_of_shares)(count, pair.difference, pair.squares)
    better = challenger if low > 0 else champion if high < 0 else None
    loss, difference = pair.loss / count, pair.difference / count
    return Comparison(over, challenger, count, loss, loss - difference, difference, low, high, better)


def interval_of_shares(count: int, difference: float, squares: float) -> tuple[float, float]:
    """Return an interval for the difference of two shares of wrong predictions, made for the same records.

    Only the records count on which just one was wrong: given how many these are, the part of them on which it was the
    first one has the interval of Clopper and Pearson (1934), which holds exactly.

    Parameters
    ----------
    count
        The records.
    difference
        On how many more of them the first one was wrong than the second one.
    squares
        On how many of them just one was wrong.

    >>> interval_of_shares(100, 10.0, 10.0)
    (0.0383..., 0.1)
    """
    from scipy.stats import beta

    first, second = (squares + difference) / 2, (squares - difference) / 2
    tail = (1 - LEVEL) / 2
    low = float(beta.ppf(tail, first, second + 1)) if first else 0.0
    high = float(beta.ppf(1 - tail, first + 1, second)) if second else 1.0
    return (2 * low - 1) * squares / count + 0.0, (2 * high - 1) * squares / count  # and no -0.0


def interval_of_mean(count: int, difference: float, squares: float) -> tuple[float, float]:
    """Return an interval for the mean of differences, by Student's t, from their sum and that of their squares.

    >>> interval_of_mean(4, 4.0, 12.0)  # of 3, 1, -1, 1
    (-1.59..., 3.59...)
    """
    if count < 2:
        return -math.inf, math.inf
    from scipy.stats import t

    mean = difference / count
    variance = max(0.0, squares - count * mean * mean) / (count - 1)
    margin = float(t.ppf((1 + LEVEL) / 2, count - 1)) * math.sqrt(variance / count)
    return mean - margin, mean + margin


def table(config: Config | FileConfig) -> tuple[Sequence[str], Iterator[Sequence[Any]], str]:
    """Return the titles and the rows of a table for people, and in lines what must be known beside it."""
    _check_challengers(config)
    contests = _contests(config)
    is_regressor = config.is_regressor

    def said(value: float) -> str:
        return "" if math.isnan(value) else f"{value:.4g}" if is_regressor else f"{value:.2%}"

    rows = (
        (
            each.over, each.challenger, f"{each.compared:,}", said(each.loss), said(each.its_loss),
            said(each.difference), f"{said(each.low)} to {said(each.high)}" if each.compared else "",
            each.better or "undecided",
        )
        for each in _compare(config, contests)
    )  # fmt: skip
    told = [_promotion(config, contests), *_refusals(contests), _left_out(config)]
    return TITLES, rows, "\n".join(filter(None, told))
