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
