"""Opens a file of records, whatever its format."""

from connectors.config.files_schema import is_table
from connectors.files.record_files import Reader
from connectors.files.tables import TableReader

AnyReader = Reader | TableReader


def open_records(path: str) -> AnyReader:
    """Return a reader of the records of a file, by its name. Raise Unfit if it cannot be read."""
    return TableReader(path) if is_table(path) else Reader(path)
