"""Models as plain values: each object becomes a dict of its class's name, its parameters and its learned state.

Classes are found by name, among those of this library, of River's steps, and those that installed packages register: a
snapshot cannot make this module import anything else.
"""

import functools
import inspect
from typing import Any

from river import base

from river_margins import registered
from river_margins.core.estimator import Estimator
from river_margins.snapshot import river_steps
from river_margins.snapshot.codec import SnapshotError


def _our_class(name: str) -> type | None:
    """Return the public class of this library that has parameters and this name, or None."""
    import river_margins

    kind = getattr(river_margins, name) if name in river_margins.__all__ else None
    return kind if isinstance(kind, type) and _has_parameters(kind) else None


def _has_parameters(kind: type) -> bool:
    # Learners and scalers have them by River's contract; rules and spaces have the attribute `parameters`.
    return issubclass(kind, base.Base) or hasattr(kind, "parameters")


@functools.cache
def _name_of_ours(kind: type) -> str | None:
    return f"river_margins.{kind.__name__}" if _our_class(kind.__name__) is kind else None


def find_class(name: str) -> type | None:
    """Return the class of a name in a snapshot, or None if snapshots hold no such class."""
    if name in river_steps.STEPS:
        return river_steps.class_of(name)
    package, _, short_name = name.rpartition(".")
    try:
        return (_our_class(short_name) if package == "river_margins" else None) or registered.find_class(name)
    except ImportError as error:
        raise SnapshotError(str(error)) from error


def unknown_class(name: str) -> SnapshotError:
    """Return the error for a class that `find_class` does not find."""
    return SnapshotError(
        f"the snapshot names `{name}`, a class that snapshots cannot hold unless a package registers it that is "
        "installed here"
    )


def is_known(kind: type) -> bool:
    """Tell whether objects of exactly this class can be written."""
    return _name_of_ours(kind) is not None or river_steps.is_step(kind) or registered.name_of(kind) is not None


def name_of(kind: type) -> str:
    """Return the name of a class in messages and configuration files: our classes go without the package."""
    return short(_full_name(kind))


def _full_name(kind: type) -> str:
    return _name_of_ours(kind) or registered.name_of(kind) or river_steps.public_name(kind)


def short(name: str) -> str:
    """Return the name of a class without the packages that a reader takes for granted."""
    return name.removeprefix("river_margins.").removeprefix("builtins.")


@functools.cache
def defaults(kind: type) -> dict[str, Any]:
    """Return the parameters of a constructor with their defaults."""
    return {name: parameter.default for name, parameter in inspect.signature(kind).parameters.items()}


@functools.cache
def _stars(kind: type) -> list[str]:
    """Return the parameters of a constructor that take any others, with their stars."""
    parameters = inspect.signature(kind).parameters.values()
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [f"{stars[each.kind]}{each.name}" for each in parameters if each.kind in stars]


def take_apart(thing: Any) -> dict[str, Any]:
    """Return the node of a learner, step, rule or space; raise SnapshotError for any other object."""
    kind: Any = type(thing)
    if not is_known(kind):
        reason = (
            "which is neither a plain value nor a class that snapshots can hold; a package registers its own rules, "
            "spaces and kernels as entry points in the group `river_margins`"
        )
        raise SnapshotError(f"holds `{name_of(kind)}`, {reason}")
    parameters: Any
    state: Any
    if river_steps.is_step(kind):
        parameters, state = river_steps.take_apart(thing)
    elif isinstance(thing, Estimator):
        if stars := _stars(kind):  # what they took has no name of its own, and `put_together` would refuse it
            raise SnapshotError(
                f"holds `{name_of(kind)}`, whose constructor takes `{stars[0]}`: name each parameter in the constructor"
            )
        parameters, state = thing._recipe(), thing.__getstate__()
    else:
        parameters, state = thing.parameters, {}
        if unknown := sorted(parameters.keys() - defaults(kind)):  # `put_together` would refuse them
            raise SnapshotError(
                f"holds `{name_of(kind)}`, whose signature has no parameter `{unknown[0]}`, which `_parameter_names` "
                "names; a compiled class has a signature if its docstring starts with it and a line `--`"
            )
    return {"class": _full_name(kind), "parameters": parameters, "state": state}


def check_parameters(node: Any) -> None:
    """Raise SnapshotError if a node has a parameter that its class lacks, as a node of a newer version may have."""
    kind = find_class(node["class"])
    if kind is None:
        return
    river_step = river_steps.STEPS.get(node["class"])
    if unknown := sorted(node["parameters"].keys() - set(river_step.parameters if river_step else defaults(kind))):
        raise SnapshotError(
            f"the snapshot gives `{name_of(kind)}` a parameter `{unknown[0]}`, which it does not have: use the "
            "version of its package that wrote the snapshot"
        )


def put_together(node: Any) -> Any:
    """Rebuild the object of a node; raise SnapshotError if the class is unknown or refuses the parameters."""
    kind, parameters, state = find_class(node["class"]), node["parameters"], node["state"]
    if kind is None:
        raise unknown_class(node["class"])
    check_parameters(node)
    river_step, given = river_steps.STEPS.get(node["class"]), defaults(kind)
    # One that the class has got since the snapshot takes its default, with which it does what it did before.
    needed = {name for name, default in given.items() if default is inspect.Parameter.empty}
    if missing := [] if river_step else sorted(needed - parameters.keys()):
        raise SnapshotError(
            f"the snapshot gives `{name_of(kind)}` no parameter `{missing[0]}`, which it needs by now: use the "
            "version of its package that wrote the snapshot"
        )
    try:
        if river_step:
            return river_steps.put_together(kind, parameters, state)
        thing = kind(**parameters)
        if isinstance(thing, base.Base):
            thing.__setstate__(state)  # type: ignore[attr-defined]
    except Exception as error:  # a constructor raises because of the parameters that the file gives it
        raise SnapshotError(f"the `{name_of(kind)}` in the snapshot cannot be rebuilt: {error}") from error
    return thing
