"""Commands for the file of a processor: run, lint, explain."""

import contextlib
from typing import Annotated, Any

import typer

from connectors import load, logs
from connectors.cli.arguments import File
from connectors.errors import ConfigError


def run(
    file: File,
    log_format: Annotated[logs.Format, typer.Option(help="The format of log lines, on standard error.")] = "plain",
) -> None:
    """Runs the processor of a file until SIGTERM or Ctrl-C, or the end of an input file, and commits.

    On a terminal, a line at the bottom shows its progress.
    """
    logs.set_up(log_format)
    config = load(file)
    import connectors
    from connectors.cli import live_line
    from connectors.runtime.health import Health

    state = Health(config)
    # The terminal may carry the records themselves, and the line would be in between.
    uses_terminal = isinstance(config, connectors.FileConfig) and config.uses_standard_streams
    with contextlib.nullcontext() if uses_terminal else live_line.shown(state):
        connectors.run(config, health=state)


def lint(
    file: File,
    check_broker: Annotated[
        bool,
        typer.Option(
            "--check-broker",
            help="Also checks broker and state: topics, permissions, transactions, retention, offsets, snapshots.",
        ),
    ] = False,
) -> None:
    """Checks a file and prints all problems, each with line and column."""
    try:
        config = load(file)
    except ConfigError as error:
        typer.echo(str(error))
        raise typer.Exit(error.exit_code) from error
    code = _check_broker(config) if check_broker else 0
    if code:
        raise typer.Exit(code)
    typer.echo(f"{file}: ok")


def _check_broker(config: Any) -> int:
    from connectors.config import Config
    from connectors.tools import progress
    from connectors.topics import check_broker

    if not isinstance(config, Config):
        raise ConfigError("this processor reads a file and needs no broker: leave `--check-broker` out")
    with progress.shown("partitions checked") as update:
        findings = check_broker.check(config, update)
    for finding in findings:
        typer.echo(str(finding))
    return check_broker.exit_code(findings)


def explain(file: File) -> None:
    """Explains in plain words what a processor will do, and what is guaranteed."""
    from connectors.tools import explain

    typer.echo(explain.explain(load(file)))
