"""Commands that send records to a processor and read what it has committed: `produce` and `tail`."""

import contextlib
import itertools
import os
import sys
from typing import Annotated

import typer

from connectors.cli.arguments import File


def produce(
    file: File,
    data: Annotated[
        str,
        typer.Argument(
            help="A .jsonl or .csv file, perhaps .gz or .zst, or - for JSON lines from standard input, or a data set of"
            " River, such as Phishing.",
            show_default=False,
        ),
    ],
    rate: Annotated[
        float | None,
        typer.Option(help="Records per second.  [default: as fast as possible]", min=0.001, show_default=False),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="How many records to send.  [default: all]", min=1, show_default=False)
    ] = None,
) -> None:
    """Sends the records of a file or of a River data set to the input topic of a processor.

    The field `record.id` is the key of a record. A record counts as sent when all in-sync replicas have it.
    """
    from connectors.config import load_topics
    from connectors.tools import produce

    config = load_topics(file)
    counts = produce.produce(config, data, rate, limit)
    typer.echo(f"{counts.sent:,} records sent to `{config.input.topic}`")
    if counts.skipped:
        typer.echo(f"{counts.skipped:,} rows are no records; the first one: {counts.reason}", err=True)


def tail(
    file: File,
    rejects: Annotated[
        bool, typer.Option("--rejects/--output", help="Read the topic of the rejects, or of the predictions.")
    ] = False,
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", help="Start with the oldest record instead of the next one.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option(help="End after so many records.  [default: none]", min=1, show_default=False)
    ] = None,
) -> None:
    """Prints the committed output of a processor as JSON lines, until Ctrl-C."""
    from connectors.config import load_topics
    from connectors.tools import tail

    lines = tail.tail(load_topics(file), rejects, from_beginning)
    with contextlib.suppress(KeyboardInterrupt), contextlib.closing(lines):
        try:
            for line in itertools.islice(lines, limit):
                print(line.decode(), flush=True)
        except BrokenPipeError:  # the reader of a pipe, such as `head`, has enough; nothing is left to flush to it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
