"""The types of the values of a file: what they may be, and what the error says if they are not."""

import pathlib
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema, WrapValidator
from pydantic_core import PydanticCustomError

from connectors.drift.watch import PROMOTE, RESET, WARN
from connectors.formats.codecs import check_format
from connectors.model.field_paths import FEATURES, FieldPath
from connectors.secrets import STARS, Secret
from connectors.suggest import describe

MOST_QUERIES = 10_000  # each snapshot names the records that `queries.at_most` still counts
UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
INPUT = "input"  # what a challenger starts from if it reads the input from its beginning
PROBABILITY = "probability"  # what `output.score` can be beside the score of the learner
LONGEST = 3660  # days that a record may wait for its label
# A variable as in a shell, as a whole part of a path or as a host.
SHELL_VARIABLE = re.compile(r"(?:^|[/,])\s*\$([A-Za-z_][A-Za-z0-9_]*)(?=[/:,]|$)")


OutputScore = Literal["learner", "probability"]


def name_of(text: str) -> str:
    """Return a name that can be a group, a transactional id and a folder at once; raise ValueError for another one."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", text):
        rule = "use 1 to 100 letters, digits, `.`, `_` or `-`, with a letter or a digit first"
        raise ValueError(f"`{text}` cannot be a name: {rule}")
    return text


def seconds_of(value: Any) -> float:
    """Read a duration; raise ValueError for anything else and for less than `10ms` or more than `1h`.

    >>> seconds_of("1.5 s"), seconds_of("2m")
    (1.5, 120.0)
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?(ms|s|m|h)", value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"a duration is a number with a unit, such as `500ms`, `1s` or `2m`; found {describe(value)}")
    return _in_range(match, 3600, "1h")


def long_seconds_of(value: Any) -> float:
    """Read a duration that may be days; raise ValueError for anything else and for one out of range.

    >>> long_seconds_of("30d")
    2592000.0
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?(ms|s|m|h|d)", value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"a duration is a number with a unit, such as `30s`, `12h` or `30d`; found {describe(value)}")
    return _in_range(match, LONGEST * UNITS["d"], f"{LONGEST}d")


def spelled(seconds: float) -> str:
    """Return a duration as one writes it in a file, in the largest unit of which it is a whole number.

    >>> spelled(2592000.0), spelled(90.0), spelled(1.5)
    ('30d', '90s', '1.5s')
    """
    unit = next((unit for unit in "dhm" if seconds >= UNITS[unit] and seconds % UNITS[unit] == 0), "s")
    return f"{seconds / UNITS[unit]:g}{unit}"


def _in_range(match: re.Match[str], most: float, longest: str) -> float:
    seconds = float(match[1]) * UNITS[match[2]]
    if not 0.01 <= seconds <= most:
        raise ValueError(f"`{match[0]}` is out of range: from `10ms` to `{longest}`")
    return seconds


def _no_text(value: Any) -> str:
    """Describe a value where a number or a truth value is needed: in quotes it is text."""
    is_quoted = isinstance(value, str) and re.fullmatch(r"[0-9]+|true|false", value)
    return describe(value) + (": leave the quotes out" if is_quoted else "")


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"a whole number of at least 0 is needed, found {_no_text(value)}")
    return value


def _positive(value: Any) -> int:
    if _count(value) == 0:
        raise ValueError("a whole number of at least 1 is needed, found `0`")
    return int(value)


def _at_most(value: Any) -> tuple[int, int]:
    match = re.fullmatch(r"([0-9]{1,12}) per ([0-9]{1,12})", value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(
            f"a bound is a number of labels per a number of records, `100 per 10000`; found {describe(value)}"
        )
    most, records = int(match[1]), int(match[2])
    if not 1 <= most <= records:
        raise ValueError(f"`{value}` bounds nothing: at least 1 label, and at most as many as records")
    if most > MOST_QUERIES:
        raise ValueError(f"`{value}` is too long: at most {MOST_QUERIES} labels, among fewer records")
    return most, records


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"`true` or `false` is needed, found {_no_text(value)}")
    return value


def _truth_or_none(value: Any) -> bool | None:
    return None if value is None else _truth(value)


def _host(text: str) -> str:
    if not text.strip():
        raise ValueError("the address to listen on is empty: write `127.0.0.1`, or `0.0.0.0` for all networks")
    return text


def _step(value: Any) -> Any:
    if value is None:  # other values are tried by those who build it
        raise ValueError("a class name or `Name: {parameter: value}` is needed, found nothing")
    return value


def _then(value: Any) -> tuple[str, str]:
    if value in (WARN, RESET):
        return value, ""
    if isinstance(value, dict) and value.keys() == {PROMOTE} and isinstance(value[PROMOTE], str):
        return PROMOTE, value[PROMOTE]
    raise ValueError(f"`warn`, `reset` or `{{promote: NAME}}` is needed, found {describe(value)}")


def _otherwise(value: Any) -> Any:
    if isinstance(value, list | dict):
        raise ValueError(f"a label is needed, or `none`; found {describe(value)}")
    return None if value == "none" else value


def _port(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 65535:
        raise ValueError(f"a port is a whole number from 1 to 65535, found {_no_text(value)}")
    return value


def path_of(value: Any) -> pathlib.Path:
    """Read the path of a file or a folder, from the working directory; raise ValueError if there is none."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"a path is needed, found {describe(value or None)}")
    if "://" in value:
        raise ValueError("a URL cannot be used here: give the path of a file or a folder")
    return absolute(value)


def refuse_shell_variable(text: str) -> None:
    """Raise ValueError for `$NAME`, which nothing fills in: it would be the name of a folder.

    >>> refuse_shell_variable("data/a$b")
    >>> refuse_shell_variable("$HOME/models")
    Traceback (most recent call last):
    ValueError: `$HOME` is not filled in: write `${HOME}`
    """
    found = SHELL_VARIABLE.search(text)
    if found:
        raise ValueError(f"`${found[1]}` is not filled in: write `${{{found[1]}}}`")


def absolute(text: str) -> pathlib.Path:
    """Return a path from the root; raise ValueError for a variable, or for the home folder of an unknown user."""
    refuse_shell_variable(text)
    try:
        return pathlib.Path(text).expanduser().absolute()
    except RuntimeError:
        raise ValueError(
            f"`{text}` begins with the home folder of a user who does not exist: write `./{text}` if it is a name"
        ) from None


def start_of(value: Any) -> pathlib.Path | str:
    """Read what a challenger starts from: `input`, or the path of a file."""
    return INPUT if value == INPUT else path_of(value)


def _path(text: str) -> str:
    FieldPath.parse(text)
    return text


def _feature(value: Any) -> Any:
    if isinstance(value, str):
        return _path(value)
    if not isinstance(value, dict):
        raise PydanticCustomError("string_type", "text is needed")
    if len(value) != 1 or not isinstance(next(iter(value.values())), str):
        raise ValueError(f"a feature is a path, or one `name: path`; found {describe(value)}")
    ((name, text),) = value.items()
    if not name.strip():
        raise ValueError("a feature needs a name")
    return {name: _path(text)}


def _url(text: str) -> str:
    match = re.fullmatch(r"https?://([^/?#]+)([^?#]*)", text)
    if match is None:
        raise ValueError(
            f"`{STARS if '@' in text else text}` is not a URL: write `https://host:port`, perhaps with a path"
        )
    if "@" in match[1]:
        raise ValueError("a URL must not hold a password: write `{url: ..., username: ..., password: ${PASSWORD}}`")
    return text


def _secret(text: str | None) -> str | None:
    return None if text is None else Secret(text)


Name = Annotated[str, AfterValidator(name_of)]
Format = Annotated[str, AfterValidator(check_format)]
PathText = Annotated[str, AfterValidator(_path)]
_RENAMED = {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1, "maxProperties": 1}
Feature = Annotated[
    FEATURES,
    WrapValidator(lambda value, _: _feature(value)),
    WithJsonSchema({"anyOf": [{"type": "string"}, _RENAMED]}),
]
DURATION = WithJsonSchema({"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? ?(ms|s|m|h)$"})
LONG = WithJsonSchema({"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? ?(ms|s|m|h|d)$"})
Within = Annotated[float, BeforeValidator(long_seconds_of), LONG]
Every = Annotated[float, BeforeValidator(seconds_of), DURATION]
Count = Annotated[int, BeforeValidator(_count)]
Positive = Annotated[int, BeforeValidator(_positive)]
Port = Annotated[int, BeforeValidator(_port)]
Url = Annotated[str, AfterValidator(_url)]
SecretText = Annotated[str | None, AfterValidator(_secret)]
AtMost = Annotated[
    tuple[int, int],
    WrapValidator(lambda value, _: _at_most(value)),
    WithJsonSchema({"type": "string", "pattern": "^[0-9]{1,12} per [0-9]{1,12}$"}),
]
_ONE_NAME = {"type": "object", "minProperties": 1, "maxProperties": 1}
SamplerStep = Annotated[Any, BeforeValidator(_step), WithJsonSchema({"anyOf": [{"type": "string"}, _ONE_NAME]})]
Then = Annotated[
    tuple[str, str],
    WrapValidator(lambda value, _: _then(value)),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": [WARN, RESET]},
                {
                    "type": "object",
                    "properties": {PROMOTE: {"type": "string"}},
                    "required": [PROMOTE],
                    "additionalProperties": False,
                },
            ]
        }
    ),
]
Truth = Annotated[bool, BeforeValidator(_truth)]
TruthOrNone = Annotated[bool | None, BeforeValidator(_truth_or_none)]
Host = Annotated[str, AfterValidator(_host)]
Otherwise = Annotated[
    Any, BeforeValidator(_otherwise), WithJsonSchema({"type": ["boolean", "integer", "number", "string", "null"]})
]
