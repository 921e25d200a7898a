"""The command line: puts the commands of this package together.

A command that ends with a ConnectorError prints it as plain sentences on standard error, and the process ends with the
exit code of that error. A command imports what it needs when it runs, so that `--help` answers at once.
"""

import errno
import gc
import io
import logging
import os
import signal
import sys
from importlib import metadata, util
from typing import Annotated

import typer

from connectors import logs
from connectors.cli import learners, processors, records, schemas, snapshots, topics, trials
from connectors.errors import ConnectorError, exit_codes

# Packages whose versions decide what a processor does, and the modules by which one sees that they are installed.
USED = {"river": "river", "kafka-python": "kafka", "confluent-kafka": "confluent_kafka"}
CODES = "\n\n".join(f"{code}  {meaning}" for code, meaning in exit_codes().items())
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
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
    epilog=f"Exit codes:\n\n0  the work is done, or a signal ended it after a last commit\n\n{CODES}\n\n"
    "130  a second Ctrl-C, before the last commit was made",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        import river_margins

        python = ".".join(map(str, sys.version_info[:3]))
        others = [f"{name} {metadata.version(name)}" for name in USED if util.find_spec(USED[name])]
        print(f"river-margins {river_margins.__version__} ({', '.join([f'Python {python}', *others])})")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Prints the versions in use.")
    ] = False,
) -> None:
    """Has no work of its own: each option does its own."""


for command in COMMANDS:
    app.command()(command)
app.add_typer(snapshots.app, name="snapshots")
app.add_typer(topics.app, name="topics")


def main() -> None:
    """Run a command and turn its errors into sentences and exit codes."""
    # The first process of a container: there, a signal without a handler does nothing, and `run` sets its own later.
    if os.getpid() == 1:
        signal.signal(signal.SIGTERM, lambda *_: os._exit(128 + signal.SIGTERM))
    gc.set_threshold(50_000)  # most objects come with modules and stay: to walk through them takes a tenth of `lint`
    for stream in (sys.stdout, sys.stderr):  # in a locale that is not UTF-8, what it cannot show is written in its code
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    logs.set_up(clients=logging.CRITICAL)  # a command that ends with an error says it itself, in one sentence
    try:
        _run()
    except ConnectorError as error:
        logs.say_last(error)
        sys.exit(error.exit_code)
    finally:
        for stream in (sys.stdout, sys.stderr):
            logs.drop_unwritten(stream)


def _run() -> None:
    """Run a command. Raise ConnectorError if standard output, or a file of its own, has no room."""
    try:
        try:
            app(prog_name="river-margins")
        except SystemExit:  # with which each command ends; what it has printed can still be in memory
            if sys.stdout is not None:
                sys.stdout.flush()
            raise
    except BrokenPipeError:  # the reader, such as `head`, has enough
        sys.exit(1)
    except OSError as error:
        if error.errno not in NO_ROOM or error.filename is not None:
            raise
        raise ConnectorError(f"standard output or a temporary file cannot be written: {error.strerror}") from None
