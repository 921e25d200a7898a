"""Finds the differences between two models, and says them in sentences."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from river_margins.snapshot import nodes

MOST_ITEMS = 10  # of a set in a sentence
SCALARS = frozenset({type(None), bool, int, float, str})
SEQUENCES = frozenset({list, tuple})


class Part(NamedTuple):
    """The description of a learner, step, rule or space in a snapshot, from which nothing is built."""

    name: str
    parameters: dict[str, Any]
    fields: set[str]

    @classmethod
    def of(cls, node: Any) -> "Part":
        nodes.check_parameters(node)
        parameters = dict(node["parameters"])
        if node["class"] == "river.compose.Select":
            parameters["keys"] = set(parameters["keys"])  # their order differs between processes
        return cls(nodes.short(node["class"]), parameters, set(node["state"]))

    @property
    def steps(self) -> list["Part"]:
        """The steps of a pipeline, or the transformers of a union."""
        return list((self.parameters.get("steps") or self.parameters.get("transformers") or {}).values())

    def _defaults(self) -> dict[str, Any]:
        kind = nodes.find_class(self.name) or nodes.find_class(f"river_margins.{self.name}")
        return nodes.defaults(kind) if kind else {}

    def with_newer(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the parameters; of these names, those that the class has got since then are at their default."""
        defaults = self._defaults()
        return {name: defaults[name] for name in names if name in defaults} | self.parameters

    @property
    def is_pipeline(self) -> bool:
        """Whether the parts are applied one after the other."""
        return self.name == "river.compose.Pipeline"

    def show(self, texts: Mapping[str, str] | None = None) -> str:
        """Return the call that makes the object, without parameters at their default unless `texts` has theirs."""
        if self.steps:
            return (" | " if self.is_pipeline else " + ").join(step.show() for step in self.steps)
        defaults, texts = self._defaults(), texts or {}
        shown = {
            name: texts[name] if name in texts else _text_of(value)
            for name, value in self.parameters.items()
            if name in texts or name not in defaults or not _same(value, defaults[name])
        }
        return f"{self.name}({', '.join(f'{name}={text}' for name, text in shown.items())})"


class Difference(NamedTuple):
    """A difference between two models.

    Attributes
    ----------
    sentence
        What has changed, and where.
    path
        The place of the learner or step: the number of the step, the number of the step within that one, and so on.
    parameters
        The changed parameters, as pairs of the name and a phrase such as `C 1.0 -> 0.5`; none if it is not only they.
    has_grown
        Whether all that differs is that the state has more attributes by now.
    """

    sentence: str
    path: tuple[int, ...]
    parameters: tuple[tuple[str, str], ...] = ()
    has_grown: bool = False


def compare(
    before: Part, after: Part, where: str = "", path: tuple[int, ...] = (), advises: bool = False
) -> Iterator[Difference]:
    """Yield the difference of each learner or step that has changed.

    `advises` adds how a file keeps the value of before. Of two models, such as those of two partitions, none is older.
    """
    subject = where or "the learner"
    if before.name != after.name or len(before.steps) != len(after.steps):
        yield Difference(f"{subject} was `{before.show()}` and is now `{after.show()}`", path)
    elif before.steps:
        word = "step" if before.is_pipeline else "branch"
        for number, pair in enumerate(zip(before.steps, after.steps, strict=True)):
            yield from compare(*pair, f"{where}{', ' * bool(where)}{word} {number + 1}", (*path, number), advises)
    elif changed := _changed(had := before.with_newer(after.parameters), after.parameters):
        moves = {name: f"{name} {_move(had.get(name), after.parameters.get(name))}" for name in changed}
        for name, other in _set_by_default(before, after) if advises else ():
            moves[name] += f" (now the default; to keep the old value, write {other})"
        was, now = _texts(before, after)
        said = f"{subject} was `{was}` and is now `{now}`: {', '.join(moves.values())}"
        yield Difference(said, path, tuple(moves.items()))
    elif fields := sorted(before.fields ^ after.fields):
        listed = ", ".join(f"`{field}`" for field in fields)
        said = f"{subject}, `{before.name}`, has another state than when the snapshot was written: {listed} differ"
        yield Difference(said, path, has_grown=before.fields < after.fields)


def _changed(before: dict[str, Any], after: dict[str, Any]) -> tuple[str, ...]:
    absent = object()
    return tuple(name for name in {**before, **after} if not _same(before.get(name, absent), after.get(name, absent)))


def _same(one: Any, other: Any) -> bool:
    # 1 and 1.0 make the same learner. True and 1 may not, because the type of a label counts.
    if isinstance(one, Part) and isinstance(other, Part):
        return one.name == other.name and _same(one.with_newer(other.parameters), other.parameters)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and type(one) is type(other):
        return len(one) == len(other) and all(map(_same, one, other))
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _move(before: Any, after: Any) -> str:
    if isinstance(before, set) and isinstance(after, set):  # of hundreds of stop words
        return f"without {_text_of(before - after)}, with {_text_of(after - before)}"
    return " -> ".join(_texts(before, after))


def _texts(before: Any, after: Any) -> tuple[str, str]:
    """Return two values as texts. Where objects within them differ in a parameter, both texts have that parameter."""
    if isinstance(before, Part) and isinstance(after, Part) and before.name == after.name:
        if before.steps or after.steps:
            return _joined(before, after)
        had = before.with_newer(after.parameters)
        changed = {name: _texts(had.get(name), after.parameters.get(name)) for name in _changed(had, after.parameters)}
        was, now = ({name: pair[number] for name, pair in changed.items()} for number in (0, 1))
        return before.show(was), after.show(now)
    if type(before) in SEQUENCES and type(before) is type(after) and len(before) == len(after):
        pairs = [_texts(*pair) for pair in zip(before, after, strict=True)]
        old, new = zip(*pairs, strict=True) if pairs else ((), ())
        return _in_brackets(old, before), _in_brackets(new, after)
    return _text_of(before), _text_of(after)


def _joined(before: Part, after: Part) -> tuple[str, str]:
    if len(before.steps) != len(after.steps):
        return before.show(), after.show()
    pairs, sign = map(_texts, before.steps, after.steps), " | " if before.is_pipeline else " + "
    was, now = (sign.join(texts) for texts in zip(*pairs, strict=True))
    return was, now


def _set_by_default(before: Part, after: Part) -> Iterator[tuple[str, str]]:
    """Yield what was changed by a default, as pairs of the parameter and of how a file has its old value.

    A change within the value of a parameter counts as one of that parameter.
    """
    had, defaults = before.with_newer(after.parameters), after._defaults()
    for name in _changed(had, after.parameters):
        old, new = had.get(name), after.parameters.get(name)
        if type(old) in SCALARS and name in defaults and _same(new, defaults[name]):
            yield name, f"`{name}: {json.dumps(old)}`"
        for one, other in _parts(old, new):
            yield from ((name, f"{text} of `{one.name}`") for _, text in _set_by_default(one, other))


def _parts(before: Any, after: Any) -> Iterator[tuple[Part, Part]]:
    """Yield the objects of the same class at the same place in two values."""
    if isinstance(before, Part) and isinstance(after, Part):
        if before.steps:
            yield from _parts(before.steps, after.steps)
        elif before.name == after.name:
            yield before, after
    elif type(before) in SEQUENCES and type(after) in SEQUENCES:
        for pair in zip(before, after, strict=False):
            yield from _parts(*pair)


def _in_brackets(texts: Iterable[str], values: list[Any] | tuple[Any, ...]) -> str:
    if isinstance(values, list):
        return f"[{', '.join(texts)}]"
    return f"({', '.join(texts)}{',' * (len(values) == 1)})"


def _text_of(value: Any) -> str:
    if type(value) in SEQUENCES:  # a Part is a tuple, too
        return _in_brackets([_text_of(each) for each in value], value)
    if isinstance(value, set):  # its order differs between processes
        items = sorted(map(repr, value))
        return f"{{{', '.join(items[:MOST_ITEMS])}{', ...' * (len(items) > MOST_ITEMS)}}}"
    return value.show() if isinstance(value, Part) else repr(value)
