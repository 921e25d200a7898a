"""Changes of parameters that only say how a learner learns: `mutate` makes them, and what was learned stays."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from river import compose

from river_margins.snapshot import codec, nodes, river_steps
from river_margins.snapshot.difference import Difference, Part, compare

Encode = Callable[[Any], tuple[Any, codec.Arrays]]


@dataclass(frozen=True)
class Changes:
    """What differs between the model of a snapshot and another model.

    Attributes
    ----------
    refused
        A sentence for each difference that only a new model can make up for.
    made
        A phrase for each parameter that `apply` changes, such as `PAClassifier C 1.0 -> 0.5`.
    about
        What was written into the snapshot with the model.
    """

    refused: list[str]
    made: list[str]
    about: dict[str, Any]
    _values: Mapping[tuple[int, ...], dict[str, Any]]

    def apply(self, model: Any) -> None:
        """Change the parameters of the model of the snapshot, which may have learned more since."""
        for path, values in self._values.items():
            _step_at(model, path).mutate(copy.deepcopy(values))


def find_changes(document: Any, arrays: codec.Arrays, model: Any, encode: Encode) -> Changes:
    """Compare the model in the document of a snapshot with another model."""
    refused, made, values = [], [], {}
    before, after = codec.decode(document["model"], arrays, Part.of), codec.decode(*encode(model), Part.of)
    for found in compare(before, after, advises=True):
        step = _step_at(model, found.path)
        if found.has_grown and _has_caught_up(document, arrays, found, step, encode):
            continue
        if not _can_mutate(step, found):
            refused.append(found.sentence)
            continue
        try:
            new = _in_some_order(document, arrays, found, step, encode)
            if _sets_class_weights(new):  # of labels, which only the trained learner knows
                trained = _step_at(codec.decode(document["model"], arrays, nodes.put_together), found.path)
                _check_labels(trained, new)
        except Exception as error:  # a learner raises because of the values, or because they do not suit each other
            refused.append(f"{found.sentence} ({error})")
            continue
        values[found.path] = new
        made += [f"{nodes.name_of(type(step))} {phrase}" for _, phrase in found.parameters]
    about = document.get("about")
    return Changes(refused, made, about if isinstance(about, dict) else {}, values)


def _can_mutate(step: Any, difference: Difference) -> bool:
    names = {name for name, _ in difference.parameters}
    return bool(names) and not river_steps.is_step(type(step)) and names <= step._mutable_attributes


def _has_caught_up(document: Any, arrays: codec.Arrays, found: Difference, step: Any, encode: Encode) -> bool:
    """Tell whether a model that an earlier version wrote has the state of today once it is loaded."""
    try:
        trained = _step_at(codec.decode(document["model"], arrays, nodes.put_together), found.path)
    except nodes.SnapshotError:  # its class needs what the snapshot lacks
        return False
    return not any(compare(*(codec.decode(*encode(each), Part.of) for each in (trained, step))))


def _in_some_order(document: Any, arrays: codec.Arrays, found: Difference, step: Any, encode: Encode) -> dict[str, Any]:
    """Return the new values in an order in which `mutate` can make them, or raise what it raised for the last order.

    `mutate` changes one parameter after the other, and a new value may not suit the old one of a later parameter.
    """
    names = [name for name, _ in found.parameters]
    for order in (names, names[::-1]):
        new = {name: getattr(step, name) for name in order}
        before = codec.decode(document["model"], arrays, _untrained)
        try:
            _try(_step_at(before, found.path), new, step, encode)
        except Exception:
            if order is not names:
                raise
        else:
            break
    return new


def _try(before: Any, new: dict[str, Any], step: Any, encode: Encode) -> None:
    """Change an untrained learner. Raise an exception if it refuses, or is not like `step` then."""
    before.mutate(copy.deepcopy(new))
    for left in compare(codec.decode(*encode(before), Part.of), codec.decode(*encode(step), Part.of)):
        raise ValueError(f"after that change, {left.sentence}")


def _sets_class_weights(new: dict[str, Any]) -> bool:
    """Tell whether new values weigh classes, also as a parameter of a learner within the step."""
    found = [value if name == "class_weight" else getattr(value, "class_weight", None) for name, value in new.items()]
    return any(value is not None for value in found)


def _check_labels(trained: Any, new: dict[str, Any]) -> None:
    """Change a trained learner. Raise ValueError if it takes its own labels no more."""
    trained.mutate(copy.deepcopy(new))
    for label in trained.__getstate__().get("labels") or ():
        trained.check_label(label)


def _step_at(model: Any, path: tuple[int, ...]) -> Any:
    for number in path:
        steps = model.steps if isinstance(model, compose.Pipeline | _RiverStep) else model.transformers
        model = list(steps.values())[number]
    return model


class _RiverStep(NamedTuple):
    """A step of River in a snapshot, of which only the steps within it matter here."""

    steps: dict[str, Any]


def _untrained(node: Any) -> Any:
    """Return the learner, rule or space of a node as it was before it learned."""
    kind, parameters = nodes.find_class(node["class"]), node["parameters"]
    if kind is None:
        raise nodes.unknown_class(node["class"])
    if river_steps.is_step(kind):
        return _RiverStep(parameters.get("steps") or parameters.get("transformers") or {})
    return kind(**parameters)
