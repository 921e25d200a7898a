"""Opens a file of records, whatever its format."""

from collections.abc import Iterable

from connectors.config.files_schema import is_table
from connectors.files.record_files import Reader
from connectors.files.tables import TableReader
from connectors.model.field_paths import FieldPath

AnyReader = Reader | TableReader


def open_records(path: str) -> AnyReader:
    """Return a reader of the records of a file, by its name. Raise Unfit if it cannot be read."""
    return TableReader(path) if is_table(path) else Reader(path)


def missing_column(reader: AnyReader, paths: Iterable[FieldPath | None]) -> str | None:
    """Return the first column that these paths need and a file lacks, or None. The cells of a table may be objects."""
    columns = reader.columns or ()
    for path in paths:
        if path is not None and path.name not in columns:
            name = str(path.keys[0]) if isinstance(reader, TableReader) else path.name
            if name not in columns:
                return name
    return None
