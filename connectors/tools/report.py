"""The report of an evaluation: a progress bar on a terminal, a table, a plot."""

import os
import pathlib
import sys
from collections.abc import Iterator, Sequence
from time import monotonic
from typing import Any

from rich.console import Console
from rich.table import Column, Table

from connectors.config import Config, FileConfig
from connectors.errors import ConfigError, StartError
from connectors.files.late_labels import BACKWARD
from connectors.logs import without_controls
from connectors.model import missing_labels
from connectors.tools import evaluate, progress
from connectors.tools.check_save import check_save
from connectors.tools.result import Result
from river_margins import snapshot

KNOWN = (
    "the saved learner has learned the records of `input.file`: give a processor that starts from it another input; on"
    " these records, its predictions look better than they are"
)
UPDATE_EVERY = 256  # examples between two updates of the progress bar


def run(
    config: Config | FileConfig,
    data: str | None = None,
    names: Sequence[str] = (),
    delay: int | None = None,
    plot: pathlib.Path | None = None,
    save: pathlib.Path | None = None,
    labels: str | None = None,
    time: str | None = None,
    label_time: str | None = None,
) -> Result:
    """Evaluate the learner of a processor and show the result.

    Parameters
    ----------
    config
        The processor's file: `learner`, `record` and `start_from` count.
    data
        A file, `-` for JSON lines from standard input, or the name of one of River's data sets; default: the input file
        of the processor.
    names
        Metrics of River; default: `Accuracy` for a classifier, `MAE` for a regressor.
    delay
        A label becomes known right before the example that comes so many later, 0 or more; default: at once.
    plot
        Where to draw the metrics over the examples, by the suffix of the name.
    save
        Where to write the learner, for `start_from`.
    labels
        The file with the labels, if they come later than the records.
    time, label_time
        The fields with the time of a record and of a label, if the processor's file names none.

    Raises
    ------
    ConfigError
        There is no such metric or data set, or a metric does not fit the learner.
    StartError
        The data cannot be read, or the plot or the snapshot cannot be written.
    """
    result = evaluate.start(config, names)
    if save is not None:
        check_save(save)
    if plot is not None:
        check_plot(result, plot)
        if save is not None and save.resolve() == plot.resolve():
            raise ConfigError(f"`--save` and `--plot` name the same file, `{plot}`: name two")
    began, examples = monotonic(), 0
    for each in (result, *result.challengers.values()):
        source = evaluate.any_source_of(config, data, labels, time, label_time)
        what = pathlib.Path(source.name).name  # a long path would hide the bar
        with progress.shown(what, source.total, counts=False) as update:
            for number in evaluate.measure(each, source, delay):
                if number % UPDATE_EVERY == 0:
                    update(source.done)
        examples += each.examples
    # Names of fields and contents of records may have brackets. Without a terminal there is no window to fit in.
    is_shown = sys.stdout is not None and sys.stdout.isatty()
    console = Console(markup=False, emoji=False, width=None if is_shown else 1000)
    columns = {config.champion: result} | result.challengers
    try:
        console.print(_table(columns, source.name, examples / (monotonic() - began)))
        for sentence in _remarks(config, result, isinstance(source, evaluate.LateSource)):
            console.print(sentence, highlight=False, soft_wrap=True)
        is_input = isinstance(config, FileConfig) and os.path.realpath(source.name) == os.path.realpath(
            config.input.file
        )
        if save is not None and is_input:
            console.print(KNOWN, highlight=False, soft_wrap=True)
    finally:  # what was learned is not lost with a reader of the table that has enough, such as `grep -q`
        _write(result, save, plot)
    return result


def _remarks(config: Config | FileConfig, result: Result, are_late: bool) -> Iterator[str]:
    """Yield what must be known beside the table."""
    if result.unlabelled and not result.examples and config.labels is None and config.record.label is not None:
        yield missing_labels.warning(config.record.label, result.unlabelled)
    if result.unlabelled and config.labels is not None and not are_late:
        yield f"{result.unlabelled:,} records without a label were left out: name the file with `labels` by `--labels`"
    yield from map(without_controls, result.warnings)  # features have names of records
    if 1e7 <= result.first_time < 1e11 or result.first_time > 1e13:  # milliseconds of 1973 to 2286 lie between
        yield f"the first time is {result.first_time:.0f}, which counts milliseconds since 1970: is it in another unit?"
    if result.backward:
        yield f"{result.backward:,} {BACKWARD}"
    if len(result.kinds) > 1:
        kinds = ", ".join(f"{number:,} `{kind}`" for kind, number in result.kinds.most_common())
        yield f"could not be processed, by kind: {kinds}"
    for kind, reason in result.reasons.items():
        which = "the first one that could not be processed" if len(result.reasons) == 1 else f"the first of `{kind}`"
        yield f"{which}: {without_controls(reason)}"


def _write(result: Result, save: pathlib.Path | None, plot: pathlib.Path | None) -> None:
    path = save
    try:
        if save is not None:
            snapshot.save(result.learner, save)
        if plot is not None:  # last, so that what was learned is not lost with its picture
            path = plot
            draw(result, plot)
    except OSError as error:  # of a full disk, it has no name
        raise StartError(f"`{error.filename or path}` cannot be written: {error.strerror}") from error


def _table(results: dict[str, Result], name: str, rate: float) -> Table:
    """Return a table with a column for each model, and a header if there are several."""
    columns = [Column(title, overflow="fold") for title in ("", *results)]  # a narrow window cuts nothing off
    table, all_of = Table(*columns, title=f"progressive validation on {name}"), list(results.values())
    table.show_header = len(results) > 1
    for metric in all_of[0].metrics:
        values = [result.metrics[metric] for result in all_of]
        table.add_row(metric, *(without_controls(_shown(value)) for value in values))  # classes have names of records
    table.add_row("examples", *(f"{result.examples:,}" for result in all_of))
    table.add_row("without a label", *(f"{result.unlabelled:,}" for result in all_of))
    table.add_row("that could not be processed", *(f"{result.rejected:,}" for result in all_of))
    if all_of[0].queries is not None:
        table.add_row("labels asked for", f"{all_of[0].queries:,}")
    if all_of[0].drifts is not None:
        table.add_row("drifts", f"{all_of[0].drifts:,}")
    table.add_row("examples per second", f"{rate:,.0f}")
    return table


def _shown(metric: Any) -> str:
    """Return a metric as River shows it, with 6 decimals; in full if it is too small for these."""
    text = repr(metric).removeprefix(f"{type(metric).__name__}: ")
    is_lost = text in ("0.", "-0.") or text.startswith(("0.000", "-0.000"))
    return f"{metric.get():.6g}" if is_lost and metric.get() else text


def check_plot(result: Result, path: pathlib.Path) -> None:
    """Raise ConfigError, before the evaluation, if the plot after it would fail."""
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError as error:
        raise ConfigError("a plot needs the package `matplotlib`: `pip install 'river-margins[plot]'`") from error
    if path.suffix.removeprefix(".") not in FigureCanvasBase.get_supported_filetypes():
        raise ConfigError(f"`{path}` is not the name of a plot: use one that ends with `.png`, `.svg` or `.pdf`")
    if not result.drawable:
        raise ConfigError(f"{', '.join(f'`{name}`' for name in result.metrics)}: no single number to draw")


def draw(result: Result, path: pathlib.Path) -> None:
    """Draw each metric over the number of examples, in the format that the suffix of the file names."""
    from matplotlib.figure import Figure

    names = result.drawable
    figure = Figure(figsize=(8, 1 + 2.5 * len(names)), layout="constrained")
    numbers = [number for number, _ in result.curve]
    for n, axes in enumerate(figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]):
        axes.plot(numbers, [values[n] for _, values in result.curve])
        axes.set_ylabel(names[n])
        axes.grid(alpha=0.3)
    axes.set_xlabel("examples")
    figure.savefig(path)
