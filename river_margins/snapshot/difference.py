"""Finds the differences between two models, and says them in sentences."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from river_margins.snapshot import nodes

MOST_ITEMS = 10  # of a set in a sentence


class Part(NamedTuple):
    """The description of a learner, step, rule or space in a snapshot, from which nothing is built."""

    name: str
    parameters: dict[str, Any]
    fields: set[str]

    @classmethod
    def of(cls, node: Any) -> "Part":
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

    def show(self, also: tuple[str, ...] = ()) -> str:
        """Return the call that makes the object, without parameters at their default unless they are in `also`."""
        if self.steps:
            return (" | " if self.is_pipeline else " + ").join(step.show() for step in self.steps)
        defaults = self._defaults()
        shown = {
            name: value
            for name, value in self.parameters.items()
            if name in also or name not in defaults or not _same(value, defaults[name])
        }
        return f"{self.name}({', '.join(f'{name}={_text_of(value)}' for name, value in shown.items())})"


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
    """

    sentence: str
    path: tuple[int, ...]
    parameters: tuple[tuple[str, str], ...] = ()


def compare(before: Part, after: Part, where: str = "", path: tuple[int, ...] = ()) -> Iterator[Difference]:
    """Yield the difference of each learner or step that has changed."""
    subject = where or "the learner"
    if before.name != after.name or len(before.steps) != len(after.steps):
        yield Difference(f"{subject} was `{before.show()}` and is now `{after.show()}`", path)
    elif before.steps:
        word = "step" if before.is_pipeline else "branch"
        for number, pair in enumerate(zip(before.steps, after.steps, strict=True)):
            yield from compare(*pair, f"{where}{', ' * bool(where)}{word} {number + 1}", (*path, number))
    elif changed := _changed(had := before.with_newer(after.parameters), after.parameters):
        moves = {name: f"{name} {_move(had.get(name), after.parameters.get(name))}" for name in changed}
        said = f"{subject} was `{before.show(changed)}` and is now `{after.show(changed)}`: {', '.join(moves.values())}"
        yield Difference(said, path, tuple(moves.items()))
    elif fields := sorted(before.fields ^ after.fields):
        listed = ", ".join(f"`{field}`" for field in fields)
        yield Difference(
            f"{subject}, `{before.name}`, has another state than when the snapshot was written: {listed} differ", path
        )


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
    return f"{_text_of(before)} -> {_text_of(after)}"


def _text_of(value: Any) -> str:
    if isinstance(value, set):  # its order differs between processes
        items = sorted(map(repr, value))
        return f"{{{', '.join(items[:MOST_ITEMS])}{', ...' * (len(items) > MOST_ITEMS)}}}"
    return value.show() if isinstance(value, Part) else repr(value)
