"""Commands to try a processor without a cluster: a local Kafka, and the demo."""

import signal
import sys
from typing import Annotated

import typer

from connectors.errors import ConnectorError


def kafka(
    brokers: Annotated[int, typer.Option(help="How many brokers to run.", min=1, max=3)] = 1,
    version: Annotated[str, typer.Option(help="Which Apache Kafka.")] = "4.3.0",
    port: Annotated[int, typer.Option(help="Where the first broker listens; 0 takes any free port.")] = 9092,
) -> None:
    """Runs a local Apache Kafka until Ctrl-C; no Java or Docker is needed."""
    from connectors.kafka import local

    try:
        local.serve(brokers, version, port)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def demo() -> None:
    """Runs a processor, kills it, starts it again, and proves that its output is exact."""
    from connectors.tools.demo import topics as demonstration

    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # else its processor would stay
    if not demonstration.run():
        raise typer.Exit(ConnectorError.exit_code)
