"""The command line: puts the commands of this package together.

A command that ends with a ConnectorError prints it as plain sentences on standard error, and the process ends with the
exit code of that error. A command imports what it needs when it runs, so that `--help` answers at once.
"""

import logging
import sys

import typer

from connectors import logs
from connectors.cli import learners, processors, records, schemas, snapshots, topics, trials
from connectors.errors import ConnectorError, exit_codes

CODES = "\n\n".join(f"{code}  {meaning}" for code, meaning in exit_codes().items())
COMMANDS = (
    processors.run,
    processors.lint,
    processors.explain,
    schemas.schema,
    learners.evaluate,
    learners.compare,
    learners.learners,
    records.produce,
    records.tail,
    records.replay_rejects,
    trials.kafka,
    trials.demo,
)

app = typer.Typer(
    help="Turns one YAML file into a Kafka stream processor that predicts and learns, exactly once.",
    epilog=f"Exit codes:\n\n0  the work is done, or a signal ended it in order\n\n{CODES}",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in COMMANDS:
    app.command()(command)
app.add_typer(snapshots.app, name="snapshots")
app.add_typer(topics.app, name="topics")


def main() -> None:
    """Run a command and turn its errors into sentences and exit codes."""
    logs.set_up(clients=logging.CRITICAL)  # a command that ends with an error says it itself, in one sentence
    try:
        app(prog_name="river-margins")
    except ConnectorError as error:
        logs.say_last(error)
        sys.exit(error.exit_code)
