"""Metrics and data sets of River by their names, with or without parameters, as a user types them."""

import ast
import re
from collections.abc import Callable
from typing import Any

from connectors.errors import ConfigError
from connectors.suggest import did_you_mean


def classes_of(module: Any, base_class: type) -> dict[str, type]:
    """Return the classes of a module of River that have this base class, by their names."""
    # River's `__all__` holds a name that the module does not have.
    found = {name: getattr(module, name, None) for name in module.__all__}
    return {name: kind for name, kind in found.items() if isinstance(kind, type) and issubclass(kind, base_class)}


def make(
    text: str, known: dict[str, type], what: str, build: Callable[..., Any] = lambda kind, **given: kind(**given)
) -> tuple[str, Any]:
    """Return the name of a metric or a data set, and what `build` makes of its class and parameters.

    Small or capital letters are the same.

    >>> from river import metrics
    >>> make("fbeta(beta=2)", {"FBeta": metrics.FBeta}, "metric")
    ('FBeta(beta=2)', FBeta: 0.00%)
    """
    name, given = re.fullmatch(r"([^(]*)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    spelled = {known_name.lower(): kind for known_name, kind in known.items()}
    kind = spelled.get(name.lower())
    if kind is None:
        hint = did_you_mean(name, known) or f"; known are {', '.join(known)}"
        raise ConfigError(f"River has no {what} `{name}`{hint}")
    try:
        return kind.__name__ + given, build(kind, **_parameters(given or "()"))
    except Exception as error:  # a constructor of River may raise anything about its parameters
        raise ConfigError(f"`{text}` is refused: {error}; parameters are given as in `FBeta(beta=2)`") from error


def with_parameters(text: str, **given: Any) -> str:
    """Return a name with these parameters, beside those that it has.

    >>> with_parameters("FBeta(beta=2)", pos_val="yes"), with_parameters("F1(pos_val='ja')", pos_val=1)
    ("FBeta(beta=2, pos_val='yes')", 'F1(pos_val=1)')
    """
    name, bracket, rest = text.partition("(")
    parameters = _parameters(bracket + rest or "()") | given
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in parameters.items())})"


def _parameters(text: str) -> dict[str, Any]:
    call = ast.parse(f"f{text}", mode="eval").body
    if not isinstance(call, ast.Call) or call.args:
        raise ValueError("a parameter needs its name")
    if words := [each.id for each in ast.walk(call) if isinstance(each, ast.Name) and each is not call.func]:
        raise ValueError(f"`{words[0]}` is a text and needs quotes, as in `\"F1(pos_val='yes')\"`")
    return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
