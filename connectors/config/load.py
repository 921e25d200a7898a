"""Reads the YAML file of a processor: parser, defaults and lint in one.

`load` reads a file or raises an error with all problems of the file at once, each with line and column.
"""

import os
import pathlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from connectors.config.learner import assemble
from connectors.config.schema import AnyConfig
from connectors.config.valid_values import PathProblem, ValidValues, section_of
from connectors.config.yaml_file import Document, Path, Problem, read
from connectors.errors import ConfigError
from connectors.logs import without_controls
from connectors.secrets import without_passwords
from connectors.suggest import describe, did_you_mean

if TYPE_CHECKING:  # a file needs only one of the two
    from connectors.config.files_schema import FileConfig
    from connectors.config.spark_schema import SparkConfig
    from connectors.config.topics_schema import Config

MOST_PLACES = 3  # that an error names, of an unknown key that is known elsewhere
_EXPECTED = {
    "string_type": "text",
    "list_type": "a list",
    "too_short": "a list of at least one field",
    "steps_type": "a list of steps, such as `[StandardScaler, PAClassifier]`",
}


def load(path: str | os.PathLike[str]) -> "Config | FileConfig":
    """Read the YAML file of a processor, with `${NAME}` filled in from the environment.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    A `FileConfig` for a processor between files, a `Config` for a processor between topics.

    Raises
    ------
    ConfigError
        With every problem of the file, one a line, as `file:line:column: sentence`.
    """
    config: Config | FileConfig = _load(path, _schema_of)
    return config


def load_for_spark(path: str | os.PathLike[str]) -> "SparkConfig":
    """Read the sections of a file that a Spark query needs.

    These are `record`, `learner`, `labels`, `start_from`, `output.score` and `output.explain`. The file may be that of
    a processor. Raise ConfigError like `load`, also for sections that Spark cannot honour.
    """
    from connectors.config.spark_schema import SparkConfig, leave_out_ignored

    config: SparkConfig = _load(path, lambda data: SparkConfig, leave_out_ignored)
    return config


def _load(
    path: str | os.PathLike[str],
    schema_of: Callable[[dict[str, Any]], type[AnyConfig]],
    prepare: Callable[[Document], None] | None = None,
) -> Any:
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(f"`{path}` cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"`{path}` is not UTF-8 text (byte {error.start})") from error
    document = read(text, os.environ)
    if prepare is not None:
        prepare(document)
    config, problems = _validate(document, schema_of)
    if config is None or problems:
        raise ConfigError("\n".join(_line(path, problem) for problem in problems))
    config._path = pathlib.Path(path)
    return config


def load_topics(path: str | os.PathLike[str]) -> "Config":
    """Read the YAML file of a processor between topics, like `load`; raise ConfigError for any other processor."""
    from connectors.config.topics_schema import Config

    config = load(path)
    if not isinstance(config, Config):
        raise ConfigError(f"`{path}` reads a file, and a processor between topics is needed here")
    return config


def _line(path: str | os.PathLike[str], problem: Problem) -> str:
    one_line = without_controls(" ".join(without_passwords(problem.sentence).split()))
    return f"{path}:{problem.place.line}:{problem.place.column}: {one_line}"


def _validate(
    document: Document, schema_of: Callable[[dict[str, Any]], type[AnyConfig]]
) -> tuple[AnyConfig | None, list[Problem]]:
    data = document.data
    if not isinstance(data, dict):
        if not document.problems:
            keys = _names(_topics_schema())
            sentence = f"a processor's file is a mapping with the keys {keys}; found {describe(data)}"
            document.problems.append(Problem(document.value(()), sentence))
        return None, document.problems
    schema = schema_of(data)
    config: AnyConfig | None = None
    found = schema.check_mixture(data)
    mixed = [problem.path[:1] for problem in found]
    try:
        config = schema.model_validate(data)
    except ValidationError as error:
        found += [_explain(schema, detail) for detail in error.errors() if detail["loc"][:1] not in mixed]
    found += _check_learner(document)
    values = ValidValues.of(config) if config and not document.broken else ValidValues(schema, data, document.is_broken)
    found += schema.check_values(values, data)
    problems = set(document.problems)
    for path, sentence, blames_key in found:
        if not document.is_broken(path):
            problems.add(Problem(document.key(path) if blames_key else document.value(path), sentence))
    return config, sorted(problems)


def _schema_of(data: dict[str, Any]) -> "type[Config] | type[FileConfig]":
    """Return the schema of a file: `input.file` makes it that of a processor between files, or else `output.file`."""
    input, output = (keys if isinstance(keys, dict) else {} for keys in (data.get("input"), data.get("output")))
    # The name of a file, without its key.
    is_bare = isinstance(data.get("input"), str) and "kafka" not in data and "topic" not in output
    if "file" in input or is_bare or ("topic" not in input and "file" in output):
        from connectors.config.files_schema import FileConfig

        return FileConfig
    return _topics_schema()


def _topics_schema() -> "type[Config]":
    from connectors.config.topics_schema import Config

    return Config


def _check_learner(document: Document) -> list[PathProblem]:
    challengers = document.data.get("challengers")
    names = challengers if isinstance(challengers, dict) else {}
    return [
        problem
        for path in (("learner",), *(("challengers", name) for name in names))
        for problem in _check_steps(document, path)
    ]


def _check_steps(document: Document, path: Path) -> Iterator[PathProblem]:
    steps = document.data
    for part in path:
        steps = steps.get(part)
    if isinstance(steps, dict) and "steps" in steps:
        path, steps = (*path, "steps"), steps["steps"]
    if not isinstance(steps, list):  # reported by the schema
        return
    for below, sentence in assemble(steps, ".".join(map(str, path)))[1]:
        if not document.is_broken_below((*path, *below[:1])):
            yield PathProblem((*path, *below), sentence)


def _explain(schema: type[AnyConfig], detail: ErrorDetails) -> PathProblem:
    """Turn an error of pydantic into a sentence for a user."""
    path, kind, value = detail["loc"], detail["type"], detail["input"]
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    if kind == "missing":
        where = f" in `{name.rpartition('.')[0]}`" if len(path) > 1 else ""
        return PathProblem(path[:-1], f"`{path[-1]}` is missing{where}")
    if kind == "extra_forbidden":
        return PathProblem(path, _explain_unknown_key(schema, path, name))
    if kind == "value_error":
        return PathProblem(path, f"`{name}`: {detail['ctx']['error']}", blames_key=False)
    if kind == "literal_error":
        expected = detail["ctx"]["expected"].replace("'", "`")
        return PathProblem(path, f"`{name}` must be {expected}, found {describe(value)}", blames_key=False)
    quotes = ", put it in quotes" if kind == "string_type" and isinstance(value, bool | int | float) else ""
    found = "an empty list" if value == [] else describe(value)
    expected = _EXPECTED.get(kind, "a mapping")
    if kind.startswith("model"):
        expected += f", such as `{{{next(iter(_section_at(schema, path).model_fields))}: ...}}`"
    sentence = f"`{name}` must be {expected}, found {found}{quotes}"
    return PathProblem(path, sentence, blames_key=False)


def _explain_unknown_key(schema: type[AnyConfig], path: Path, name: str) -> str:
    if name in _topics_schema().model_fields:
        return f"`{name}` is for topics, and this processor reads a file: remove it"
    section, key = _section_at(schema, path[:-1]), str(path[-1])
    # Beside the sections, a key of one of them is outdented, and no misspelled section: `label` is not `labels`.
    places = _places_of(schema, key) if len(path) == 1 else []
    if places:
        return f"unknown key `{name}`; it can be {' or '.join(f'`{place}`' for place in places)}"
    hint = did_you_mean(key, section.model_fields) or f"; known are {_names(section)}"
    return f"unknown key `{name}`{hint}"


def _places_of(schema: type[AnyConfig], key: str) -> list[str]:
    """Return the sections' keys of this name; nothing if there are many."""
    places = []
    for name, field in schema.model_fields.items():
        section = section_of(field.annotation)
        if section is not None and get_origin(field.annotation) is not dict and key in section.model_fields:
            places.append(f"{name}.{key}")
    return places if len(places) <= MOST_PLACES else []


def _section_at(schema: type[AnyConfig], path: Path) -> type[BaseModel]:
    section: Any = schema
    for part in path:
        if part in section.model_fields:  # else it is a name that the file gives
            section = section_of(section.model_fields[part].annotation) or section
    return section


def _names(section: type[BaseModel]) -> str:
    return ", ".join(f"`{name}`" for name in section.model_fields)
