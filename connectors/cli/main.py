"""The commands, a line of work each.

Whatever ends a command with a ConnectorError is printed as one plain sentence on standard error, and the process ends
with the exit code of that error.
"""

import contextlib
import pathlib
import sys
from typing import Annotated, Any

import typer

from connectors import logs
from connectors.cli import snapshots as snapshot_commands
from connectors.errors import ConfigError, ConnectorError, exit_codes

CODES = "\n\n".join(f"{code}  {meaning}" for code, meaning in exit_codes().items())

app = typer.Typer(
    help="Turns one YAML file into a Kafka stream processor that predicts and learns, exactly once.",
    epilog=f"Exit codes:\n\n0  the work is done, or a signal ended it in order\n\n{CODES}",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(snapshot_commands.app, name="snapshots")
File = Annotated[pathlib.Path, typer.Argument(help="The YAML file of the processor.", show_default=False)]


@app.command()
def run(
    file: File,
    log_format: Annotated[logs.Format, typer.Option(help="How log lines look, on standard error.")] = "plain",
) -> None:
    """Runs the processor of a file until SIGTERM or Ctrl-C, or the end of an input file, and commits.

    On a terminal, a line at the bottom shows how it does.
    """
    logs.set_up(log_format)
    from connectors import config

    found = config.load_any(file)
    from connectors.cli import live_line
    from connectors.files import processor as files
    from connectors.runtime import health
    from connectors.topics import processor

    watch = health.Watch(found)
    if isinstance(found, config.FileConfig):
        with contextlib.nullcontext() if found.uses_standard_streams else live_line.shown(watch):
            files.run(found, watch=watch)
    else:
        with live_line.shown(watch):
            processor.run(found, watch=watch)


@app.command()
def lint(
    file: File,
    check_broker: Annotated[
        bool, typer.Option("--check-broker", help="Also asks the broker: topics, permissions, transactions, retention.")
    ] = False,
) -> None:
    """Checks a file and prints all that is wrong with it, with line and column."""
    from connectors import config

    try:
        found = config.load_any(file)
    except ConfigError as error:
        typer.echo(str(error))
        raise typer.Exit(error.exit_code) from error
    code = 0
    if check_broker:
        code = _check_broker(found)
    if code:
        raise typer.Exit(code)
    typer.echo(f"{file}: ok")


def _check_broker(found: Any) -> int:
    from connectors import config
    from connectors.topics import check_broker

    if not isinstance(found, config.Config):
        raise ConfigError("this processor reads a file, there is no broker to ask: leave `--check-broker` out")
    findings = check_broker.check(found)
    for finding in findings:
        typer.echo(str(finding))
    return check_broker.exit_code(findings)


@app.command()
def explain(file: File) -> None:
    """Says in plain words what a processor will do, and what is guaranteed."""
    from connectors import config
    from connectors.tools import explain

    typer.echo(explain.explain(config.load_any(file)))


@app.command()
def evaluate(
    file: File,
    data: Annotated[
        str | None,
        typer.Option(
            help="A .jsonl or .csv file, perhaps .gz or .zst, or - for JSON lines from standard input, or a data set"
            " of River, such as phishing.  [default: the input file of the processor]",
            show_default=False,
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="A metric of River, such as F1; may be given several times.  [default: Accuracy, or MAE]",
            show_default=False,
        ),
    ] = None,
    delay: Annotated[int | None, typer.Option(help="How many examples later a label becomes known.", min=0)] = None,
    plot: Annotated[
        pathlib.Path | None, typer.Option(help="Draws the metrics over the examples into this .png file.")
    ] = None,
    save: Annotated[
        pathlib.Path | None, typer.Option(help="Writes the learner as a snapshot, for `start_from`.")
    ] = None,
) -> None:
    """Shows how well the learner of a file does: each example is predicted before it is learned."""
    from connectors import config
    from connectors.tools import report

    report.run(config.load_any(file), data, metric or [], delay, plot, save)


@app.command()
def learners(
    name: Annotated[str | None, typer.Argument(help="Show all about this one.", show_default=False)] = None,
) -> None:
    """Lists the learners that a file can name: parameters, cost of a round, guarantee."""
    from connectors.config import catalogue

    catalogue.show(name) if name else catalogue.show_all()


@app.command()
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


@app.command()
def demo() -> None:
    """Shows the processor at work, killed and started again, and proves its output exact."""
    from connectors.tools.demo import topics as demonstration

    if not demonstration.run():
        raise typer.Exit(ConnectorError.exit_code)


def main() -> None:
    """Runs a command and turns its errors into sentences and exit codes."""
    logs.set_up()
    try:
        app(prog_name="river-margins")
    except ConnectorError as error:
        logs.say_last(error)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
