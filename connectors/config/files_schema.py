"""The schema of a processor between files."""

import os
import pathlib
import re
import sys
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from connectors.config.schema import (
    EXPLAIN,
    SCORE,
    TELLS_CHALLENGERS,
    AnyConfig,
    AnyLabels,
    AnyQueries,
    Section,
    sections_with,
)
from connectors.config.valid_values import PathProblem, ValidValues
from connectors.config.value_types import Count, Every, OutputScore, Truth, path_of
from connectors.formats.codecs import JSON

FILES = ("input", "labels", "output", "rejects", "outcomes", "queries")
WRITTEN, SVMLIGHT, TABLES = ("jsonl", "csv"), ("svm", "svmlight", "libsvm"), ("parquet", "arrow", "feather")
LINES = (*WRITTEN, "ndjson", "tsv", *SVMLIGHT)
FORMATS = "`.jsonl` (a JSON object a line), `.csv` (commas, semicolons or tabs), `.svm`, `.parquet` or `.arrow`"
STANDARD = "-"  # the file name of standard input or standard output


def _file(value: Any) -> str:
    return _named(value, f"{FORMATS}; only `.parquet` and `.arrow` do not go on with `.gz` or `.zst`")


def _named(value: Any, ends: str) -> str:
    if value == STANDARD:
        return STANDARD
    path = path_of(value)
    if not is_file(path.name):
        raise ValueError(f"`{value}` does not say what it holds: a name ends with {ends}; `-` is JSON lines")
    return str(path)


def _written(value: Any) -> str:
    path = _named(value, "`.jsonl` or `.csv`, and then perhaps with `.gz` or `.zst`")
    if path != STANDARD and suffix_of(path) not in WRITTEN:
        raise ValueError(f"`{path}` can be read only: use a name that ends with `.jsonl` or `.csv`")
    return path


def _json_lines(path: str) -> str:
    if is_csv(path):
        raise ValueError(f"`{path}` cannot hold rejects, which may be any bytes: use a name that ends with `.jsonl`")
    return path


def is_file(name: str) -> bool:
    """Tell whether a file of this name holds records.

    >>> is_file("a.jsonl"), is_file("A.CSV.GZ"), is_file("phishing"), is_file("a.gz"), is_file("a.parquet.gz")
    (True, True, False, False, False)
    """
    return suffix_of(name) in (LINES if name.lower().endswith((".gz", ".zst")) else LINES + TABLES)


def suffix_of(path: str) -> str:
    """Return the end of a name that says the format, without the one that says the compression.

    >>> suffix_of("a.b.csv.gz"), suffix_of("phishing")
    ('csv', '')
    """
    return re.sub(r"\.(gz|zst)$", "", path.lower()).rpartition(".")[2] if "." in path else ""


def is_csv(path: str) -> bool:
    """Tell whether a file of this name holds CSV, compressed or not.

    >>> is_csv("a.csv.gz"), is_csv("a.csv.jsonl"), is_csv("-")
    (True, False, False)
    """
    return suffix_of(path) in ("csv", "tsv")


def is_svmlight(path: str) -> bool:
    """Tell whether a file of this name holds svmlight, compressed or not."""
    return suffix_of(path) in SVMLIGHT


def is_table(path: str) -> bool:
    """Tell whether a file of this name holds Parquet or Arrow."""
    return suffix_of(path) in TABLES


File = Annotated[str, BeforeValidator(_file)]
WrittenFile = Annotated[str, BeforeValidator(_written)]


class InputFile(Section):
    file: File = Field(
        description="The file to read, to its end. Its name ends with `.jsonl` or `.ndjson` (one JSON object a line),"
        " `.csv`, `.tsv` or `.svm` (svmlight), and then perhaps `.gz` or `.zst`; or with `.parquet` or `.arrow` (they"
        " need `pip install 'river-margins[arrow]'`). `-`: JSON lines from standard input. See [Formats](formats.md)."
    )


class OutputFile(Section):
    file: WrittenFile = Field(
        description="The file to write, `.jsonl` or `.csv`, and then perhaps `.gz` or `.zst`. At the first start it"
        " must be absent or empty. `-`: JSON lines on standard output."
    )
    score: OutputScore = Field(default="learner", description=SCORE)
    explain: Count = Field(default=0, description=f"{EXPLAIN} For JSON lines.")
    challengers: Truth = Field(default=False, description=f"{TELLS_CHALLENGERS} For JSON lines.")


class RejectsFile(Section):
    file: Annotated[WrittenFile, AfterValidator(_json_lines)] = Field(
        description="The file for records that cannot be processed, JSON lines: the reason, the position, and the"
        " original bytes as `text`, or as `base64` if they are not UTF-8. At the first start it must be absent or"
        " empty. Without `rejects` such records are logged and counted."
    )


class LabelsFile(AnyLabels):
    file: File = Field(description="The file with the labels, with the same suffixes, in the order of their time.")


class OutcomesFile(Section):
    file: WrittenFile = Field(
        description="The file of the outcomes, JSON lines. When the label of a record comes, its outcome is"
        ' `{"id", "prediction", "score", "label", "delay"}`, with the delay in milliseconds. At the first start the'
        " file must be absent or empty."
    )


class QueriesFile(AnyQueries):
    file: WrittenFile = Field(
        description='The file for records whose label is asked for, JSON lines: `{"id", "prediction", "score",'
        ' "record"}`. At the first start it must be absent or empty.'
    )


class FileCheckpoint(Section):
    guarantee: Literal["exactly_once", "at_least_once", "none"] = Field(
        default="exactly_once",
        description="`exactly_once`: output, position and model move together. Standard output cannot be cut back"
        " after a crash and needs `at_least_once`; standard input cannot be read again and needs `none`.",
    )
    every: Every = Field(
        default=1.0,
        description="Time between two checkpoints, a duration from `10ms` to `1h`. Compressed output has one member or"
        " frame for each.",
    )


class FileConfig(AnyConfig):
    """A processor between files: one model, one process."""

    input: InputFile = Field(description="The input.")
    output: OutputFile = Field(description="The output for predictions.")
    rejects: RejectsFile | None = Field(default=None, description="The output for records that cannot be processed.")
    labels: LabelsFile | None = Field(
        default=None, description="Labels that come later than their records, see [Late labels](late-labels.md)."
    )
    outcomes: OutcomesFile | None = Field(default=None, description="The output for records whose label came later.")
    queries: QueriesFile | None = Field(
        default=None, description="Asks for labels, see [Late labels](late-labels.md#asking-for-labels)."
    )
    checkpoint: FileCheckpoint = Field(
        default=FileCheckpoint(), validate_default=True, description="When and how progress is made durable."
    )

    snapshots: Annotated[pathlib.Path, BeforeValidator(path_of)] = Field(
        default="./snapshots", validate_default=True, description="The folder of the snapshots."
    )

    @property
    def uses_standard_streams(self) -> bool:
        """Whether the processor reads standard input or writes standard output, which may be a terminal."""
        sections = (self.input, self.output, self.rejects, self.outcomes, self.queries)
        return any(section is not None and section.file == STANDARD for section in sections)

    @classmethod
    def check_mixture(cls, data: dict[str, Any]) -> list[PathProblem]:
        """A file and a topic cannot be written in one transaction, so no guarantee would hold for both."""
        return [
            PathProblem(
                (name, "topic"),
                f"what is read from a file cannot go to a topic exactly once: write `{name}: {{file: ...}}` "
                "and put that file into the topic, or put the input into a topic first",
            )
            for name in sections_with("topic", "file", data)
        ]

    @classmethod
    def check_values(cls, values: ValidValues, data: dict[str, Any]) -> list[PathProblem]:
        """Find problems of values that are valid by themselves and contradict each other."""
        return [
            *_check_files(values),
            *_check_paths(values),
            *_check_column_of_explanation(values),
            *_check_labels_of_files(values),
            *_check_guarantee(values),
            *_check_format_of_files(values),
            *super().check_values(values, data),
        ]


def _check_files(values: ValidValues) -> Iterator[PathProblem]:
    files = {name: values.get(name, "file") for name in FILES}
    for name in FILES:
        for other in FILES[: FILES.index(name)]:
            if files[name] is None or files[other] is None or (files[name] == STANDARD and other == "input"):
                continue
            if os.path.realpath(files[name]) == os.path.realpath(files[other]):
                sentence = f"`{name}`: `{files[name]}` is the {other} file already, this must be another one"
                yield PathProblem((name,), sentence, blames_key=False)
                break


def _check_paths(values: ValidValues) -> Iterator[PathProblem]:
    """Find the first path that is no text in this locale: a checkpoint is JSON, and could not name it."""
    for name in FILES:
        path = values.get(name, "file") or ""
        try:
            path.encode()
        except UnicodeEncodeError:
            shown = os.fsencode(path).decode(errors="backslashreplace")
            encoding = sys.getfilesystemencoding()
            advice = "rename its folder" if encoding == "utf-8" else "use a locale with UTF-8, such as LC_ALL=C.UTF-8"
            sentence = f"`{name}`: the path `{shown}` is not text in {encoding}: {advice}"
            yield PathProblem((name,), sentence, blames_key=False)
            break


def _check_column_of_explanation(values: ValidValues) -> Iterator[PathProblem]:
    writes = values.get("output", "file")
    for key in ("explain", "challengers"):
        if writes is not None and is_csv(writes) and values.get("output", key):
            sentence = f"`output.{key}`: `{writes}` has no column for it: use a name that ends with `.jsonl`"
            yield PathProblem(("output", key), sentence, blames_key=False)


def _check_labels_of_files(values: ValidValues) -> Iterator[PathProblem]:
    for name in ("outcomes", "queries"):
        path = values.get(name, "file")
        if path is not None and is_csv(path):
            sentence = f"`{name}.file`: `{path}` must hold JSON lines: use a name with `.jsonl`"
            yield PathProblem((name, "file"), sentence, blames_key=False)
    if values.get("labels") is None:
        return
    needed = {("record", "id"): "names a record", ("record", "time"): "tells the time of a record"}
    needed |= {("labels", "id"): "names the record of a label", ("labels", "time"): "tells the time of a label"}
    for (section, key), does in needed.items():
        if values.get(section, key) is None and values.has(section, key):
            sentence = f"`{section}.{key}` is missing: in files, nothing but a field {does}, which `labels` needs"
            yield PathProblem(("labels",), sentence)
    for name in ("input", "labels"):
        if values.get(name, "file") == STANDARD:
            sentence = (
                f"`{name}.file`: with `labels` it cannot be standard input, which cannot be read again: name a file"
            )
            yield PathProblem((name, "file"), sentence, blames_key=False)


def _check_format_of_files(values: ValidValues) -> Iterator[PathProblem]:
    if values.get("record", "format") not in (None, JSON):
        sentence = "`record.format` is for topics: the name of a file says its format; leave it out"
        yield PathProblem(("record", "format"), sentence, blames_key=False)


def _check_guarantee(values: ValidValues) -> Iterator[PathProblem]:
    guarantee, reads = values.get("checkpoint", "guarantee"), values.get("input", "file")
    writes = [values.get(name, "file") for name in ("output", "rejects", "outcomes", "queries")]
    if guarantee is None or reads is None:
        return
    if reads == STANDARD and guarantee != "none":
        reason = f"standard input cannot be read again after a crash, so `{guarantee}` cannot be kept"
        said = f"{reason}: write `guarantee: none`, or read a file"
    elif reads != STANDARD and guarantee == "none":
        said = "`none` is for standard input only: a file can be read again, so leave `guarantee` out"
    elif STANDARD in writes and guarantee == "exactly_once":
        reason = "standard output cannot be taken back after a crash, so `exactly_once` cannot be kept"
        said = f"{reason}: write `guarantee: at_least_once`, or write to a file"
    else:
        return
    yield PathProblem(("checkpoint",), f"`checkpoint`: {said}", blames_key=False)
