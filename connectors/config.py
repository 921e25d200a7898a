"""Reads the YAML file of a processor: parser, defaults and lint in one.

`load` reads a file or says everything that is wrong with it at once, each with line and column.
"""

import os
import pathlib
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from connectors.errors import ConfigError
from connectors.learners import assemble
from connectors.sections import Config, Kafka
from connectors.words import describe, did_you_mean
from connectors.yaml_file import Document, Path, Problem, read

__all__ = ["Config", "load"]


def load(path: str | os.PathLike[str]) -> Config:
    """Reads the YAML file of a processor, with `${NAME}` filled in from the environment.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    ConfigError
        With every problem of the file, one a line, as `file:line:column: sentence`.
    """
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(f"`{path}` cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"`{path}` is not UTF-8 text (byte {error.start})") from error
    document = read(text, os.environ)
    config, problems = _validate(document)
    if config is None or problems:
        raise ConfigError("\n".join(_line(path, problem) for problem in problems))
    return config


def _line(path: str | os.PathLike[str], problem: Problem) -> str:
    """One problem is one line, whatever it quotes."""
    return f"{path}:{problem.place.line}:{problem.place.column}: {' '.join(problem.sentence.split())}"


def _validate(document: Document) -> tuple[Config | None, list[Problem]]:
    data = document.data
    if not isinstance(data, dict):
        if not document.problems:
            sentence = f"a processor's file is a mapping with the keys {_names(Config)}; found {describe(data)}"
            document.problems.append(Problem(document.value(()), sentence))
        return None, document.problems
    config = None
    found: list[tuple[Path, bool, str]] = []  # path, whether the key is to blame, sentence
    try:
        config = Config.model_validate(data)
    except ValidationError as error:
        found += [_explain(detail) for detail in error.errors()]
    if isinstance(data.get("learner"), list):
        for path, sentence in assemble(data["learner"])[1]:
            if not document.is_broken_below(("learner", *path[:1])):
                found.append((("learner", *path), True, sentence))
    if isinstance(data.get("kafka"), dict):
        found += [(path, True, sentence) for path, sentence in _check_client(data["kafka"])]
    if config is not None and not found:
        found += [(("checkpoint", "every"), False, sentence) for sentence in _check_interval(config)]
    problems = set(document.problems)
    for path, blames_key, sentence in found:
        if not document.is_broken(path):
            problems.add(Problem(document.key(path) if blames_key else document.value(path), sentence))
    return config, sorted(problems)


def _check_client(kafka: dict[str, Any]) -> list[tuple[Path, str]]:
    from connectors.kafka.kafka_python import check_settings

    sides = {side: kafka[side] if isinstance(kafka.get(side), dict) else {} for side in ("consumer", "producer")}
    common = {key: value for key, value in kafka.items() if key not in Kafka.model_fields}
    problems: dict[Path, str] = {}
    for side, key, sentence in check_settings(common | sides["consumer"], common | sides["producer"]):
        path: Path = ("kafka", side, key) if key in sides[side] else ("kafka", key)
        # of a common key that is refused on one side and unknown on the other, the refusal says more
        if path not in problems or "cannot be set" in sentence:
            problems[path] = sentence
    return list(problems.items())


def _check_interval(config: Config) -> list[str]:
    from connectors.kafka.kafka_python import timeouts

    consumer, producer = (config.kafka.common | side for side in (config.kafka.consumer, config.kafka.producer))
    longest, every = timeouts(consumer, producer)[0], config.checkpoint.every
    if config.checkpoint.guarantee == "at_least_once" or every < longest:
        return []
    reason = f"`transaction_timeout_ms` ({longest:g}s), as one transaction lasts from one checkpoint to the next"
    return [f"`checkpoint.every` ({every:g}s) must be below {reason}"]


def _explain(detail: ErrorDetails) -> tuple[Path, bool, str]:
    """Turns one of pydantic's errors into a path, whether its key is to blame, and a sentence for a user."""
    path, kind, value = detail["loc"], detail["type"], detail["input"]
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    if kind == "missing":
        where = f" in `{name.rpartition('.')[0]}`" if len(path) > 1 else ""
        return path[:-1], True, f"`{path[-1]}` is missing{where}"
    if kind == "extra_forbidden":
        known = _section(path[:-1]).model_fields
        hint = did_you_mean(str(path[-1]), known) or f"; known are {_names(_section(path[:-1]))}"
        return path, True, f"unknown key `{name}`{hint}"
    if kind == "value_error":
        return path, False, f"`{name}`: {detail['ctx']['error']}"
    if kind == "literal_error":
        expected = detail["ctx"]["expected"].replace("'", "`")
        return path, False, f"`{name}` must be {expected}, found {describe(value)}"
    expected = {"string_type": "text", "list_type": "a list", "too_short": "a list of at least one field"}
    quotes = ", put it in quotes" if kind == "string_type" and isinstance(value, bool | int | float) else ""
    found = "an empty list" if value == [] else describe(value)
    return path, False, f"`{name}` must be {expected.get(kind, 'a mapping')}, found {found}{quotes}"


def _section(path: Path) -> type[BaseModel]:
    section: Any = Config
    for part in path:
        section = section_of(section.model_fields[part].annotation)
    return section


def section_of(annotation: Any) -> type[BaseModel] | None:
    """The section that a field of this type holds, or None for a plain value."""
    candidates = getattr(annotation, "__args__", (annotation,))
    return next((kind for kind in candidates if isinstance(kind, type) and issubclass(kind, BaseModel)), None)


def _names(section: type[BaseModel]) -> str:
    return ", ".join(f"`{name}`" for name in section.model_fields)
