"""Arguments that several commands take."""

import pathlib
from typing import Annotated

import typer

File = Annotated[pathlib.Path, typer.Argument(help="The YAML file of the processor.", show_default=False)]
