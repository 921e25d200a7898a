"""Commands for snapshots: `river-margins snapshots ...`."""

import math
import pathlib
import time
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from connectors import load
from connectors.cli.arguments import File
from connectors.cli.tables import show_table
from connectors.errors import ConfigError, StartError, StateError

if TYPE_CHECKING:  # a command imports what it needs when it runs, so that `--help` answers at once
    from connectors.topics.snapshot_admin import Entry, SnapshotAdmin

app = typer.Typer(
    help="Lists, shows, exports and deletes the snapshots of a processor, and goes back to one.", no_args_is_help=True
)
Id = Annotated[
    str, typer.Argument(help="A snapshot as `list` shows it, or its last eight characters.", show_default=False)
]
TITLES = ("partition", "offset", "time", "examples", "bytes", "committed", "snapshot")


def _opened(file: pathlib.Path) -> AbstractContextManager["SnapshotAdmin"]:
    from connectors.config import FileConfig, load_topics

    config = load(file)
    if isinstance(config, FileConfig):
        raise ConfigError(
            f"`{file}` is of a processor between files, which keeps one snapshot, in "
            f"`{config.snapshots / config.name / 'files' / '0'}`: `river-margins snapshots show PATH` shows it, and "
            "`start_from` and `river_margins.snapshot.load` read it as it is"
        )
    from connectors.topics import snapshot_admin as snapshots

    return snapshots.opened(load_topics(file))


@app.command("list")
def list_(file: File) -> None:
    """Lists the snapshots of each partition, and marks those that a committed offset names."""
    with _opened(file) as admin:
        show_table(TITLES, map(_row, admin.entries()))


@app.command()
def show(
    file: Annotated[pathlib.Path, typer.Argument(help="The YAML file of the processor, or a snapshot file.")],
    id: Annotated[
        str | None,
        typer.Argument(help="A snapshot as `list` shows it, or its last eight characters; none for a snapshot file."),
    ] = None,
) -> None:
    """Shows the content of a snapshot: learner, parameters, counts. Nothing in the snapshot is run."""
    from connectors.topics import snapshot_admin as snapshots

    if id is None and file.suffix in (".yaml", ".yml"):
        raise typer.BadParameter(
            f"say which snapshot: `river-margins snapshots list {file}` shows all of a processor between topics; one "
            "between files has its snapshot in `<snapshots>/<name>/files/0`: give its path instead of the YAML file"
        )
    if id is None:
        show_table(("what", "value"), snapshots.contents(snapshots.read_file(file)))
        return
    with _opened(file) as admin:
        show_table(("what", "value"), snapshots.contents(admin.read(admin.entry(id))))


@app.command()
def export(
    file: File,
    id: Id,
    to: Annotated[pathlib.Path, typer.Option(help="The file to write.", show_default=False)],
) -> None:
    """Writes the model of a snapshot to a file that `river_margins.snapshot.load` opens."""
    from connectors.tools.check_save import check_save
    from river_margins import snapshot

    check_save(to)
    replaces = ", in place of the file that was there" if to.is_file() else ""
    with _opened(file) as admin:
        data = admin.read(admin.entry(id))
    try:
        snapshot.write_file(to, data)
    except OSError as error:
        raise StartError(f"`{to}` cannot be written: {error.strerror}") from error
    typer.echo(f"{to}: {len(data)} bytes{replaces}")


@app.command()
def prune(
    file: File, dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be deleted.")] = False
) -> None:
    """Deletes the snapshots that a processor would delete: superseded a while ago, and not kept by `snapshots.keep`."""
    with _opened(file) as admin:
        removed = admin.prune(dry_run)
    show_table(TITLES, map(_row, removed))
    typer.echo(f"{len(removed)} snapshots {'would be' if dry_run else 'were'} deleted", err=True)


@app.command()
def rewind(
    file: File,
    to: Annotated[
        str | None, typer.Option(help="The snapshot to go to, as `list` shows it, or its last eight characters.")
    ] = None,
    offset: Annotated[int | None, typer.Option(help="To the newest snapshot not after this offset.", min=0)] = None,
    moment: Annotated[
        str | None,
        typer.Option("--time", help="To the newest one not after this time, such as 2026-11-21T10:25:00Z, or `now`."),
    ] = None,
    empty: Annotated[
        bool,
        typer.Option(
            "--empty", help="To a new model, or that of `start_from`; at `--offset`, else at the committed offset."
        ),
    ] = False,
    partition: Annotated[int | None, typer.Option(help="Only this partition; default: all.", min=0)] = None,
) -> None:
    """Moves offsets and models together to other snapshots. Stop all processors of the group first.

    The processor then goes on from there: it reads the records since then again, and writes their output again.
    """
    if (to is not None) + (offset is not None and not empty) + (moment is not None) + empty != 1:
        raise typer.BadParameter("give exactly one of `--to`, `--offset`, `--time` and `--empty`")
    from connectors.topics import snapshot_admin as snapshots

    with _opened(file) as admin:
        numbers = admin.partitions(partition)
        if offset is not None and len(numbers) > 1:
            raise typer.BadParameter("an offset belongs to one partition: say which, with `--partition`")
        if empty:
            moves = admin.start_anew(numbers, offset)
            if admin.start_from is not None:
                typer.echo(f"these partitions begin with the model of `start_from`, `{admin.start_from}`", err=True)
        elif to is not None:
            entry = admin.entry(to)
            if entry.partition not in numbers:
                raise typer.BadParameter(f"`{entry.id}` is a snapshot of partition {entry.partition}, not {partition}")
            moves = admin.rewind({entry.partition: entry})
        else:
            until = None if moment is None else _moment(moment)
            numbers = numbers if partition is not None else admin.begun()
            if not numbers:
                raise StateError("no partition has a committed offset or a snapshot: there is nothing to go back to")
            moves = admin.rewind(snapshots.choose(admin.entries(), numbers, offset, until))
    show_table(("partition", "from offset", "to offset", "snapshot"), moves)
    for move in moves:
        if move.before is not None and move.before < move.offset:
            skipped = f"records from offset {move.before} to {move.offset - 1} without an output get none"
            typer.echo(f"partition {move.partition} moved forward: {skipped}", err=True)


def _moment(text: str) -> float:
    from connectors.topics import snapshot_admin as snapshots

    try:
        found = snapshots.moment_of(text)
    except ValueError as error:
        raise typer.BadParameter(f"`{text}` is not a time: write `2026-11-21T10:25:00Z` or `now`") from error
    if time.time() < found < math.inf:  # such as the local time with a Z, which would go to the newest snapshots
        raise typer.BadParameter(f"`{text}` is in the future: without a zone it is UTC; for the newest, write `now`")
    return found


def _row(entry: "Entry") -> tuple[Any, ...]:
    from connectors.topics import snapshot_admin as snapshots

    name = entry.name
    committed = "yes" if entry.is_named else ""
    return entry.partition, name.offset, snapshots.time_of(name), name.examples, entry.size, committed, entry.id
