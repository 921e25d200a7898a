"""Contributions of features to a score, for people."""

from collections.abc import Mapping
from typing import Any

from river.utils import pretty


def largest_first(contributions: Mapping[Any, float]) -> dict[Any, float]:
    """Return the contributions in the order of their absolute values.

    >>> largest_first({"a": 0.5, "b": -2.0})
    {'b': -2.0, 'a': 0.5}
    """
    return dict(sorted(contributions.items(), key=lambda item: -abs(item[1])))


def explanation(model: Any, x: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return what each feature contributes to the score of a model; raise TypeError if the model does not tell."""
    if not hasattr(model, "explain_one"):
        raise TypeError(
            f"a score of `{type(model).__name__}` cannot be explained: use a learner with plain weights, such as "
            "PAClassifier, to see what each feature contributes"
        )
    explained: dict[Any, Any] = model.explain_one(x)
    return explained


def explanation_table(model: Any, x: Mapping[Any, Any], decimals: int) -> str:
    """Return the table that `debug_one` of a model makes; where there is none, return why."""
    if hasattr(model, "debug_one"):
        table: str = model.debug_one(x, decimals)
        return table
    try:
        return contribution_table(explanation(model, x), x, decimals)
    except TypeError as error:
        return str(error)


def contribution_table(contributions: Mapping[Any, float], x: Mapping[Any, Any], decimals: int) -> str:
    """Return a table with name, value, weight and contribution of each feature; the constant feature has the value 1.

    >>> print(contribution_table({"b": -2.0}, {"b": 4.0}, 1))
    Name   Value   Weight   Contribution
       b     4.0     -0.5           -2.0
    """
    if not contributions:
        return "no feature contributes: nothing has been learned"
    values = [float(x.get(name, 1.0)) for name in contributions]
    parts = list(contributions.values())
    weights = [part / value if value else 0.0 for part, value in zip(parts, values, strict=True)]
    columns = [[f"{number:,.{decimals}f}" for number in column] for column in (values, weights, parts)]
    table: str = pretty.print_table(
        headers=["Name", "Value", "Weight", "Contribution"], columns=[list(map(str, contributions)), *columns]
    )
    return table
