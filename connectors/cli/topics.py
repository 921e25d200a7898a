"""`river-margins topics ...`: the topics of a processor."""

from typing import Annotated

import typer

from connectors.cli.arguments import File

app = typer.Typer(help="Creates the topics of a processor.", no_args_is_help=True)


@app.callback()
def _topics() -> None:
    """Keep `create` a command of its own: typer would drop the name of an only command."""


@app.command()
def create(
    file: File,
    partitions: Annotated[
        int | None,
        typer.Option(
            help="Partitions of each topic, except rejects and mixing, which get one.",
            min=1,
            show_default="those of the input, labels or output, if one exists, else 4",
        ),
    ] = None,
    replication_factor: Annotated[
        int | None,
        typer.Option(help="Replicas of each partition.", min=1, show_default="3, or the number of brokers"),
    ] = None,
) -> None:
    """Creates all topics that a file names: input, output, rejects and others. Topics that exist are not changed."""
    from connectors.config import load_topics
    from connectors.tools import create_topics

    config = load_topics(file)
    for outcome in create_topics.create(config, partitions, replication_factor):
        typer.echo(str(outcome))
