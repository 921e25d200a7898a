"""Reads the YAML file of a processor: parser, defaults and lint in one.

`load` reads a file or says everything that is wrong with it at once, each with line and column.
"""

import os
import pathlib
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from connectors.config.files_schema import FileConfig
from connectors.config.learner import assemble
from connectors.config.topics_schema import AnyConfig, Config, Kafka
from connectors.config.yaml_file import Document, Path, Problem, read
from connectors.errors import ConfigError
from connectors.kafka import client
from connectors.suggest import describe, did_you_mean

__all__ = ["Config", "FileConfig", "load", "load_any"]

Found = tuple[Path, bool, str]  # where, whether the key is to blame or the value, and a sentence


def load(path: str | os.PathLike[str]) -> Config:
    """Does as `load_any`, for what only a processor between topics can do."""
    config = load_any(path)
    if not isinstance(config, Config):
        raise ConfigError(f"`{path}` reads a file, and a processor between topics is needed here")
    return config


def load_any(path: str | os.PathLike[str]) -> Config | FileConfig:
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


def _validate(document: Document) -> tuple[Config | FileConfig | None, list[Problem]]:
    data = document.data
    if not isinstance(data, dict):
        if not document.problems:
            sentence = f"a processor's file is a mapping with the keys {_names(Config)}; found {describe(data)}"
            document.problems.append(Problem(document.value(()), sentence))
        return None, document.problems
    kind = FileConfig if isinstance(data.get("input"), dict) and "file" in data["input"] else Config
    config: Config | FileConfig | None = None
    found = _check_mixture(kind, data)
    mixed = [path[:1] for path, _, _ in found]
    try:
        config = kind.model_validate(data)
    except ValidationError as error:
        found += [_explain(kind, detail) for detail in error.errors() if detail["loc"][:1] not in mixed]
    if isinstance(data.get("learner"), list):
        for path, sentence in assemble(data["learner"])[1]:
            if not document.is_broken_below(("learner", *path[:1])):
                found.append((("learner", *path), True, sentence))
    if kind is Config and isinstance(data.get("kafka"), dict):
        found += [(path, True, sentence) for path, sentence in _check_client(data["kafka"])]
    if config is not None and not found and not document.problems:
        found += _check_whole(config)
    problems = set(document.problems)
    for path, blames_key, sentence in found:
        if not document.is_broken(path):
            problems.add(Problem(document.key(path) if blames_key else document.value(path), sentence))
    return config, sorted(problems)


def _check_mixture(kind: type[AnyConfig], data: dict[str, Any]) -> list[Found]:
    """A topic and a file have no transaction in common, so that nothing could be promised between them."""
    found: list[Found] = []
    for name in ("output", "rejects"):
        section = data.get(name)
        if not isinstance(section, dict):
            continue
        if kind is FileConfig and "topic" in section and "file" not in section:
            way = f"write `{name}: {{file: ...}}` and put that file into the topic, or put the input into a topic first"
            found.append(((name, "topic"), True, f"what is read from a file cannot go to a topic exactly once: {way}"))
        if kind is Config and "file" in section and "topic" not in section:
            way = f"write `{name}: {{topic: ...}}` and let a reader of committed records write the file"
            found.append(((name, "file"), True, f"what is read from a topic cannot go to a file exactly once: {way}"))
    return found


def _check_whole(config: Config | FileConfig) -> list[Found]:
    found: list[Found] = []
    if isinstance(config, Config):
        found += [(("checkpoint", "every"), False, sentence) for sentence in _check_interval(config)]
    try:
        config.first_learner()
    except ConfigError as error:
        found.append((("start_from",), False, f"`start_from`: {error}"))
    return found


def _check_client(kafka: dict[str, Any]) -> list[tuple[Path, str]]:
    name = kafka.get("client", Kafka.model_fields["client"].default)
    try:
        check_settings = client(name).check_settings
    except ValueError:  # the field `client` says so, and whose settings these are is open
        return []
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
    longest, every = config.kafka.timeouts[0], config.checkpoint.every
    if config.checkpoint.guarantee == "at_least_once" or every < longest:
        return []
    name = "transaction.timeout.ms" if config.kafka.client == "confluent" else "transaction_timeout_ms"
    reason = f"`{name}` ({longest:g}s), as one transaction lasts from one checkpoint to the next"
    return [f"`checkpoint.every` ({every:g}s) must be below {reason}"]


def _explain(root: type[AnyConfig], detail: ErrorDetails) -> Found:
    """Turns one of pydantic's errors into a path, whether its key is to blame, and a sentence for a user."""
    path, kind, value = detail["loc"], detail["type"], detail["input"]
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    if kind == "missing":
        where = f" in `{name.rpartition('.')[0]}`" if len(path) > 1 else ""
        return path[:-1], True, f"`{path[-1]}` is missing{where}"
    if kind == "extra_forbidden":
        if root is FileConfig and name in Config.model_fields:
            return path, True, f"`{name}` is for topics, and this processor reads a file: remove it"
        section = _section(root, path[:-1])
        hint = did_you_mean(str(path[-1]), section.model_fields) or f"; known are {_names(section)}"
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


def _section(root: type[AnyConfig], path: Path) -> type[BaseModel]:
    section: Any = root
    for part in path:
        section = section_of(section.model_fields[part].annotation)
    return section


def section_of(annotation: Any) -> type[BaseModel] | None:
    """The section that a field of this type holds, or None for a plain value."""
    candidates = getattr(annotation, "__args__", (annotation,))
    return next((kind for kind in candidates if isinstance(kind, type) and issubclass(kind, BaseModel)), None)


def _names(section: type[BaseModel]) -> str:
    return ", ".join(f"`{name}`" for name in section.model_fields)
