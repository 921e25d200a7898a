"""The command line: `river-margins`."""

from connectors.cli.main import app, main

__all__ = ["app", "main"]
