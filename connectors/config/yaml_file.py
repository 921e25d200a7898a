"""Reads YAML into plain data with the line and column of every key and value, and collects all problems.

Scalars follow YAML 1.2: `true` and `false` are the only truth values, `1e-3` is a number, dates are text. Aliases and
tags are refused: a file written by people needs none of them.
"""

import pathlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from connectors.secrets import is_secret

Path = tuple[str | int, ...]
VARIABLE = re.compile(
    r"\$(?:(?P<dollar>\$)(?=\{)|\{file:(?P<file>[^}]+)\}|\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}|(?P<bad>\{))"
)
NUMBERS: list[tuple[re.Pattern[str], Callable[[str], int | float]]] = [
    (re.compile(r"[-+]?[0-9]{1,4000}"), int),
    (re.compile(r"0x[0-9a-fA-F]+"), lambda text: int(text, 16)),
    (re.compile(r"0o[0-7]+"), lambda text: int(text, 8)),
    (re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"), float),
    (re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"), lambda text: float(text.replace(".", ""))),
]
WORDS: dict[str, bool | None] = {
    word: value for value in (True, False) for word in (str(value), str(value).lower(), str(value).upper())
}
WORDS |= dict.fromkeys(("", "~", "null", "Null", "NULL"))
# What to do about the mistakes of YAML that are the most frequent, by a part of what the parser says.
HINTS = (
    (r"'\t'", " (indent with spaces, not with tabs)"),
    ("cannot start any token", " (text that begins with `{}` needs quotes)"),
    ("alias", " (text that begins with `*` needs quotes)"),
    ("anchor", " (text that begins with `&` needs quotes)"),
    (
        "mapping values are not allowed",
        " (text with a colon and a space in it needs quotes; or a line above lacks its colon, or has another"
        " indentation)",
    ),
    ("unknown escape", " (between double quotes, a backslash begins a character: use single quotes)"),
    ("single document", " (a file is one processor: move what follows `---` to a file of its own)"),
)
# Look like a space or are invisible: text copied from web pages and word processors has them. To YAML they are letters.
INVISIBLE = re.compile("[\u00a0\u2007\u200b\u202f\u2060\u3000\ufeff]")
ALIAS = "aliases (`*name`) are not supported, write the value out"
SECTIONS_WITH_SECRETS = (("kafka",), ("record",))


@dataclass(frozen=True, order=True)
class Place:
    """A line and a column, both counted from 1."""

    line: int
    column: int


@dataclass(frozen=True, order=True)
class Problem:
    """A sentence about a place."""

    place: Place
    sentence: str


@dataclass
class Document:
    """The data of a YAML text, the places of its keys and values by path, and the problems found while reading it.

    `broken` holds the paths with a problem: nothing else is reported there.
    """

    data: Any = None
    keys: dict[Path, Place] = field(default_factory=dict)
    values: dict[Path, Place] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    broken: set[Path] = field(default_factory=set)

    def key(self, path: Path) -> Place:
        """Return the place of the key at this path, or of the nearest key or value around it."""
        while path not in self.keys and path not in self.values:
            path = path[:-1]
        return self.keys.get(path) or self.values[path]

    def value(self, path: Path) -> Place:
        """Return the place of the value at this path, or of the nearest key or value around it."""
        return self.values.get(path) or self.key(path)

    def is_broken(self, path: Path) -> bool:
        """Tell whether a problem was found at this path or above it."""
        return any(path[: len(other)] == other for other in self.broken)

    def is_broken_below(self, path: Path) -> bool:
        """Tell whether a problem was found at this path or below it."""
        return any(other[: len(path)] == path for other in self.broken)


def read(text: str, environment: Mapping[str, str]) -> Document:
    """Read one YAML document and fill in `${NAME}`, `${NAME:-default}` (environment) and `${file:PATH}`.

    An error of YAML syntax ends the reading; all other problems are collected.

    >>> document = read("name: a\\nevery: ${SECONDS:-3}", {})
    >>> document.data["every"], document.value(("every",))
    (3, Place(line=2, column=8))
    """
    document = Document()
    document.values[()] = Place(1, 1)
    try:
        node = yaml.compose(text, Loader=_Loader)
        document.data = None if node is None else _Reader(document, environment).read(node, ())
    except yaml.MarkedYAMLError as error:
        _report_syntax(document, text, error)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        column = error.position - (text.rfind("\n", 0, error.position) + 1) + 1
        character = f"the character U+{ord(text[error.position]):04X} is not allowed in YAML"
        document.problems.append(Problem(Place(line, column), character))
    except (ValueError, OverflowError):  # of `chr`
        found = re.search(r"\\U(?!00(0|10))[0-9a-fA-F]{8}", text)
        start = found.start() if found else 0
        place = Place(text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start))
        document.problems.append(Problem(place, "there is no character of this number"))
    except RecursionError:
        document.problems.append(Problem(Place(1, 1), "this file is nested too deeply, or an alias refers to itself"))
    return document


class _Loader(yaml.BaseLoader):
    """Gives nodes no tag but one that the file writes: of `!!str 1` the number would be left, and no text."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        """Return no tag for a node without one."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Return the next node. An anchor of nothing is refused: it is text without its quotes, which would be lost."""
        event: Any = self.peek_event()
        is_scalar = isinstance(event, yaml.ScalarEvent)
        if is_scalar and event.anchor is not None and not event.value and not event.style:
            raise yaml.MarkedYAMLError(problem="found an anchor of nothing", problem_mark=event.start_mark)
        return super().compose_node(parent, index)


def _report_syntax(document: Document, text: str, error: yaml.MarkedYAMLError) -> None:
    mark = error.problem_mark or error.context_mark
    place = Place(mark.line + 1, mark.column + 1) if mark else Place(1, 1)
    sentence = "this is not YAML: " + ", ".join(part for part in (error.context, error.problem) if part)
    sentence = re.sub(r"\b(alias|anchor) '.*?'", r"\1", sentence)  # the name may be a password without its quotes
    lines = text.splitlines()
    line = lines[place.line - 1] if place.line <= len(lines) else ""
    sentence += next((hint.format(line[place.column - 1 :][:1]) for said, hint in HINTS if said in sentence), "")
    if "${" in line and re.search(r"[{\[].*\$\{", line):
        sentence += (
            ' (between braces or brackets, `"${NAME}"` needs quotes and is text; a number needs a line of its own)'
        )
    elif re.search(r"\[.*\w\[[0-9]+\]", line):
        sentence += ' (between brackets, a path such as `"items[0].price"` needs quotes)'
    elif "expected ',' or" in sentence:
        sentence += " (a brace or a bracket is not closed, or text with this character in it needs quotes)"
    document.problems.append(Problem(place, sentence))


class _Reader:
    def __init__(self, document: Document, environment: Mapping[str, str]):
        self.document = document
        self.environment = environment
        self.nodes: set[int] = set()

    def read(self, node: yaml.Node, path: Path) -> Any:
        if id(node) in self.nodes:  # an alias; the node's own place is that of its anchor, so the key's is reported
            self.report(path, self.document.key(path), ALIAS)
            return None
        place = Place(node.start_mark.line + 1, node.start_mark.column + 1)
        self.document.values[path] = place
        self.nodes.add(id(node))
        if node.tag is not None:
            named = "a tag" if is_secret(_key_of(path)) else f"the tag `{node.tag}`"  # it may be a password, too
            self.report(path, place, f"{named} is not supported, remove it (text that begins with `!` needs quotes)")
            return None
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(child, (*path, index)) for index, child in enumerate(node.value)]
        assert isinstance(node, yaml.ScalarNode)
        return self.scalar(node, path, place)

    def mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key_node, value_node in node.value:
            place = Place(key_node.start_mark.line + 1, key_node.start_mark.column + 1)
            key = key_node.value
            if id(key_node) in self.nodes:  # an alias, in the line of its value
                mark = value_node.start_mark
                self.report(path, Place(mark.line + 1, mark.column + 1), ALIAS)
                continue
            self.nodes.add(id(key_node))
            if isinstance(key_node, yaml.ScalarNode):
                self.check_visible(key_node, (*path, key))
                key = self.without_variables(self.whole(key, path, place), path, place)
            if path[-1:] == ("class_weight",) and isinstance(key_node, yaml.ScalarNode) and key_node.style is None:
                key = plain_value(key)  # a label, such as `true` or `1`; in quotes it is text
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag is not None:
                self.report(path, place, "a key must be a plain word, without a tag, and not a list or a mapping")
            elif key in data:
                line = self.document.keys[*path, key].line
                self.report((*path, key), place, f"`{key}` appears twice, first in line {line}")
            else:
                self.document.keys[*path, key] = place
                data[key] = self.read(value_node, (*path, key))
        return data

    def without_variables(self, key: str, path: Path, place: Place) -> str:
        if any(match["dollar"] is None for match in VARIABLE.finditer(key)):
            sentence = f"`{key}` is a key, and variables are filled in in values only: write the key out"
            self.report((*path, key), place, sentence)
            return key
        return VARIABLE.sub("$", key)

    def scalar(self, node: yaml.ScalarNode, path: Path, place: Place) -> Any:
        self.check_visible(node, path)
        text = VARIABLE.sub(lambda match: self.variable(match, path, place), self.whole(node.value, path, place))
        plain = node.style is None and not self.document.is_broken(path)
        key = _key_of(path)
        is_text = (is_secret(key) or "username" in key) and WORDS.get(node.value, "") is not None  # 0123 is not 123
        return plain_value(text) if plain and not is_text else text

    def check_visible(self, node: yaml.ScalarNode, path: Path) -> None:
        """Report a character outside of quotes that nobody sees, such as a no-break space that should indent a line."""
        found = INVISIBLE.search(node.value) if node.style is None else None
        if found:
            text = node.start_mark.buffer or ""
            at = text.index(found[0], node.start_mark.pointer)  # in the file, as the lines of a value are joined
            place = Place(text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))
            sentence = (
                f"the character U+{ord(found[0]):04X} looks like a space, or is invisible, but YAML reads it as a "
                "letter: replace it by a space, remove it, or put the text that needs it in quotes"
            )
            self.report(path, place, sentence)

    def whole(self, text: str, path: Path, place: Place) -> str:
        """Return a text without halves of characters: JSON escapes a character beyond U+FFFF as two halves."""
        try:
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError:
            self.report(path, place, "one half of a character, from `\\ud800` to `\\udfff`, needs its other half")
            return text

    def variable(self, match: re.Match[str], path: Path, place: Place) -> str:
        name, default = match["name"], match["default"]
        if match["dollar"]:
            return "$"
        if match["file"]:
            content = self.content(match["file"], path, place)
            return match[0] if content is None else content
        if match["bad"]:
            ways = "`${NAME}`, `${NAME:-default}` or `${file:PATH}`"
            self.report(path, place, f"`${{` must go on as {ways} (`$${{` is a literal `${{`)")
            return match[0]
        if default is not None and "{" in default:  # it was cut off at the first `}`
            sentence = f"the default of `${{{name}:-...}}` cannot hold `{{`, nor another variable: write it out, or set"
            self.report(path, place, f"{sentence} `{name}`")
            return match[0]
        if name not in self.environment and default is None:
            hint = f"set it, or give a default: `${{{name}:-...}}`"
            self.report(path, place, f"the environment variable `{name}` is not set; {hint}")
            return match[0]
        # as in a shell, the default of `:-` also replaces an empty variable
        return self.environment.get(name, "") or default or ""

    def content(self, file: str, path: Path, place: Place) -> str | None:
        """Return the text of a file, such as a mounted secret, without the line break at its end."""
        try:
            text = pathlib.Path(file).expanduser().read_text(encoding="utf-8-sig")
        except OSError as error:
            self.report(path, place, f"the file `{file}` cannot be read: {error.strerror}")
        except RuntimeError:
            self.report(
                path, place, f"the file `{file}` cannot be read: the home folder that it begins with is not known"
            )
        except UnicodeDecodeError:
            self.report(path, place, f"the file `{file}` is not UTF-8 text")
        else:
            return text.removesuffix("\n").removesuffix("\r")
        return None

    def report(self, path: Path, place: Place, sentence: str) -> None:
        self.document.problems.append(Problem(place, sentence))
        self.document.broken.add(path)


def _key_of(path: Path) -> str:
    """Return the key at a path where a secret may be; nothing elsewhere."""
    return str(path[-1]) if path[:1] in SECTIONS_WITH_SECRETS else ""


def plain_value(text: str) -> Any:
    """Read an unquoted scalar as YAML 1.2 does.

    >>> [plain_value(text) for text in ("1e-3", "0o17", "yes", "true", "~", "1:30")]
    [0.001, 15, 'yes', True, None, '1:30']
    """
    if text in WORDS:
        return WORDS[text]
    for pattern, convert in NUMBERS:
        if pattern.fullmatch(text):
            return convert(text)
    return text
