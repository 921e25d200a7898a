"""Models as values: each object is a dict of its class's name, its parameters and what it has learned.

Classes are found by name in a fixed list and in no other way, so nothing is imported because a file says so.
"""

import functools
import inspect
from typing import Any

from river import base, compose

from river_margins.snapshot import river_steps
from river_margins.snapshot.codec import SnapshotError


@functools.cache
def classes() -> dict[str, type]:
    """The classes that a snapshot may hold, by the name they have there."""
    import river_margins

    public = {f"river_margins.{name}": getattr(river_margins, name) for name in river_margins.__all__}
    ours = {name: kind for name, kind in public.items() if isinstance(kind, type) and _describes_itself(kind)}
    return ours | {_public_name(kind): kind for kind in river_steps.STEPS}


def _describes_itself(kind: type) -> bool:
    # Learners and scalers do so by River's contract, rules and spaces by their `parameters`.
    return issubclass(kind, base.Base) or hasattr(kind, "parameters")


@functools.cache
def _names() -> dict[type, str]:
    return {kind: name for name, kind in classes().items()} | {kind: _public_name(kind) for kind in river_steps.STEPS}


def is_known(kind: type) -> bool:
    """Whether objects of exactly this class can be written."""
    return kind in _names()


def name_of(kind: type) -> str:
    """The name of a class in messages, which is that in a configuration file: ours go without the package."""
    return short(_names().get(kind) or _public_name(kind))


def _public_name(kind: type) -> str:
    if issubclass(kind, compose.Pipeline):
        return "river.compose.Pipeline"  # River's and ours are the same steps in the same order: what is read is ours
    # River's classes are imported from the package around the module that defines them.
    module = kind.__module__.rpartition(".")[0] if kind.__module__.startswith("river.") else kind.__module__
    return f"{module}.{kind.__qualname__}"


def short(name: str) -> str:
    return name.removeprefix("river_margins.").removeprefix("builtins.")


@functools.cache
def defaults(kind: type) -> dict[str, Any]:
    """The constructor's parameters with their defaults; those of compiled rules and spaces are not known."""
    if not issubclass(kind, base.Base):
        return dict.fromkeys(kind._parameter_names, inspect.Parameter.empty)  # type: ignore[attr-defined]
    return {name: parameter.default for name, parameter in inspect.signature(kind).parameters.items()}


def take_apart(thing: Any) -> dict[str, Any]:
    """The node of a learner, step, rule or space; SnapshotError says what it holds where it is none of these."""
    kind: Any = type(thing)
    name = _names().get(kind)
    if name is None:
        raise SnapshotError(f"holds `{name_of(kind)}`, which is no plain value and no part that snapshots know")
    parameters: Any
    state: Any
    if kind in river_steps.STEPS:
        parameters, state = river_steps.take_apart(thing)
    elif isinstance(thing, base.Base):
        parameters, state = {name: getattr(thing, name) for name in defaults(kind)}, thing.__getstate__()
    else:
        parameters, state = thing.parameters, {}
    return {"class": name, "parameters": parameters, "state": state}


def put_together(node: Any) -> Any:
    """The object of a node; SnapshotError where the class is not in the list or does not take what is given."""
    kind, parameters, state = classes().get(node["class"]), node["parameters"], node["state"]
    if kind is None:
        raise SnapshotError(
            f"the snapshot names `{node['class']}`, which is none of the classes that a snapshot may hold"
        )
    river_step = river_steps.STEPS.get(kind)
    accepted = set(river_step.parameters if river_step else defaults(kind))
    if unknown := sorted(parameters.keys() - accepted):
        raise SnapshotError(f"the snapshot gives `{name_of(kind)}` a parameter `{unknown[0]}`, which it does not have")
    try:
        if river_step:
            return river_steps.put_together(kind, parameters, state)
        thing = kind(**parameters)
        if isinstance(thing, base.Base):
            thing.__setstate__(state)  # type: ignore[attr-defined]
    except Exception as error:  # whatever a constructor raises is about what the file gave it
        raise SnapshotError(f"the `{name_of(kind)}` in the snapshot cannot be rebuilt: {error}") from error
    return thing
