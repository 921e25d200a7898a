"""Commands for the records of a processor: `produce`, `tail` and `replay-rejects`."""

import contextlib
import itertools
import os
import sys
from typing import Annotated

import typer

from connectors.cli.arguments import File
from connectors.logs import without_controls

REASONS_SHOWN = 10


def produce(
    file: File,
    data: Annotated[
        str,
        typer.Argument(
            help="A .jsonl, .csv, .svm, .parquet or .arrow file, or - for JSON lines from standard input, or a data set"
            " of River, such as Phishing.",
            show_default=False,
        ),
    ],
    rate: Annotated[
        float | None,
        typer.Option(help="Records per second.", min=0.001, show_default="as fast as possible"),
    ] = None,
    limit: Annotated[int | None, typer.Option(help="How many records to send.", min=1, show_default="all")] = None,
    labels: Annotated[
        bool, typer.Option("--labels", help="The file has labels that come later; they go to the topic of the labels.")
    ] = False,
) -> None:
    """Sends the records of a file or of a River data set to the input topic, or labels to the topic of the labels.

    The field `record.id` is the key of a record, and `labels.id` that of a label. A record counts as sent when all
    in-sync replicas have it.
    """
    from connectors.config import load_topics
    from connectors.tools import produce

    config = load_topics(file)
    counts = produce.produce(config, data, rate, limit, are_labels=labels)
    what, topic = ("labels", config.topics["labels"]) if labels else ("records", config.input.topic)
    typer.echo(f"{counts.sent:,} {what} sent to `{topic}`")
    if counts.skipped:
        first = without_controls(counts.reason)  # which may quote the row
        typer.echo(f"{counts.skipped:,} rows are not records; the first one: {first}", err=True)


def tail(
    file: File,
    rejects: Annotated[
        bool, typer.Option("--rejects/--output", help="Read the topic of the rejects, or of the predictions.")
    ] = False,
    outcomes: Annotated[
        bool, typer.Option("--outcomes", help="Read the topic of the outcomes: what was predicted, and its label.")
    ] = False,
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", help="Start with the oldest record instead of the next one.")
    ] = False,
    limit: Annotated[int | None, typer.Option(help="Stop after this many records.", min=1, show_default="none")] = None,
) -> None:
    """Prints the committed output of a processor as JSON lines, until Ctrl-C."""
    from connectors.config import load_topics
    from connectors.tools import tail

    if rejects and outcomes:
        raise typer.BadParameter("`--rejects` and `--outcomes` are two topics: name one")
    what: tail.What = "rejects" if rejects else "outcomes" if outcomes else "output"
    lines = tail.tail(load_topics(file), what, from_beginning)
    with contextlib.suppress(KeyboardInterrupt), contextlib.closing(lines):
        try:
            for line in itertools.islice(lines, limit):
                print(line.decode(), flush=True)
        except BrokenPipeError:  # the reader of a pipe, such as `head`, has enough; nothing is left to flush to it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def replay_rejects(
    file: File,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be sent.")] = False,
    from_beginning: Annotated[
        bool,
        typer.Option(
            "--from-beginning",
            help="If the brokers know of no replay, send all rejects, however old. Rejects of a replay that the brokers"
            " have forgotten are sent again.",
        ),
    ] = False,
) -> None:
    """Sends each reject once to the topic that it came from, with the reason in a header `rejected`.

    It ends after the rejects that were there when it began. A reject that was sent before is not sent again.
    """
    from connectors.config import load_topics
    from connectors.tools import replay_rejects

    config = load_topics(file)
    counts = replay_rejects.replay(config, dry_run, from_beginning)
    verb = "would be sent" if dry_run else "sent"
    to = " and ".join(f"`{topic}`" for topic in replay_rejects.targets_of(config))
    typer.echo(f"{counts.sent.total():,} rejects {verb} to {to}")
    shown = counts.sent.most_common(REASONS_SHOWN)
    for reason, count in shown:
        typer.echo(f"{count:>9,}  {without_controls(reason)}")  # it may quote the record
    if others := counts.sent.total() - sum(count for _, count in shown):  # a reason that names an id occurs once
        typer.echo(f"{others:>9,}  for other reasons, {len(counts.sent):,} in all")
    for why, count in counts.left_out.items():
        typer.echo(f"{count:,} left out: {why}", err=True)
