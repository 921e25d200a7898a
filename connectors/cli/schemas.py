"""Command for JSON Schemas: `schema`."""

import json
import pathlib
from typing import Annotated, Literal

import typer


def schema(
    file: Annotated[
        pathlib.Path | None,
        typer.Argument(help="The YAML file of a processor.", show_default="the schema of such files"),
    ] = None,
    part: Annotated[
        Literal["output"], typer.Argument(help="What the schema describes: the values of the output.")
    ] = "output",
) -> None:
    """Prints a JSON Schema: of the YAML files for an editor, or with FILE of the output of that processor."""
    from connectors import load
    from connectors.tools import schema

    found = schema.of_files() if file is None else schema.of_output(load(file))
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
