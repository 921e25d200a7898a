"""Commands for learners: evaluate one, list all."""

import pathlib
from typing import Annotated

import typer

from connectors import load
from connectors.cli.arguments import File


def evaluate(
    file: File,
    data: Annotated[
        str | None,
        typer.Option(
            help="A .jsonl, .csv, .svm, .parquet or .arrow file, or - for JSON lines from standard input, or a data set"
            " of River, such as Phishing.",
            show_default="the input file of the processor",
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="A metric of River, such as F1 or \"F1(pos_val='yes')\"; may be given several times.",
            show_default="Accuracy, or MAE",
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            help="A file with labels that come later than the records, as the section `labels` says.",
            show_default="the file of that section, if `--data` is not given",
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(help="The field with the time of a record, if `record.time` names none.", show_default=False),
    ] = None,
    label_time: Annotated[
        str | None,
        typer.Option(help="The field with the time of a label, if `labels.time` names none.", show_default=False),
    ] = None,
    delay: Annotated[
        int | None,
        typer.Option(help="How many examples later each label becomes known; 0 and 1 mean no delay.", min=0),
    ] = None,
    plot: Annotated[
        pathlib.Path | None, typer.Option(help="Draws the metrics over the examples into this .png, .svg or .pdf file.")
    ] = None,
    save: Annotated[
        pathlib.Path | None, typer.Option(help="Writes the learner as a snapshot, for `start_from`.")
    ] = None,
) -> None:
    """Measures how well the learner of a file does: each example is predicted before it is learned."""
    config = load(file)
    from connectors.tools import report

    report.run(config, data, metric or [], delay, plot, save, labels, time, label_time)


def compare(file: File) -> None:
    """Compares `learner` with each of the `challengers` by the last checkpoint, and prints which is better.

    It uses only the records on which both models were judged. It compares twice: over all of these, and over the last
    10,000 judged records of each partition. The loss of a record is 1 for a wrong class and 0 for the right one, or the
    absolute error of a number.
    """
    config = load(file)
    from connectors.cli.tables import show_table
    from connectors.tools import compare as comparison

    titles, rows, promotion = comparison.table(config)
    show_table(titles, rows)
    if promotion:
        typer.echo(promotion, err=True)


def learners(
    name: Annotated[
        str | None, typer.Argument(help="Show the full description of this learner.", show_default=False)
    ] = None,
) -> None:
    """Lists the learners that a file can name: parameters, cost of a round, guarantee."""
    from connectors.config import catalogue

    catalogue.show(name) if name else catalogue.show_all()
