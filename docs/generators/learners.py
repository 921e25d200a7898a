"""Writes the page of the learners: `python docs/generators/learners.py > docs/learners.md`."""

import inspect
import pathlib
from collections.abc import Callable
from typing import Any

from river import base

import river_margins as rm
from connectors.config import catalogue
from river_margins.concepts.finite_class import FiniteClass
from river_margins.families.structured import Structured

TEMPLATE = pathlib.Path(__file__).with_name("learners.template.md")
DEFAULTS = TEMPLATE.parents[2] / "benchmarks" / "results" / "defaults.md"
DRIFT = pathlib.Path(__file__).parents[2] / "benchmarks" / "results" / "drift.md"
HEAD = "| learner | space | cost of a round | guarantee | after a change | advice |\n|---|---|---|---|---|---|"
ROLES: dict[str, Callable[[Any], bool]] = {
    "transformers": lambda model: isinstance(model, base.Transformer),
    "regressors": lambda model: isinstance(model, base.Regressor),
    "classifiers": lambda model: isinstance(model, base.Classifier) and model._multiclass,
    "two classes": lambda model: isinstance(model, base.Classifier),
    "label sets": lambda model: isinstance(model, base.MultiLabelClassifier),
    "anomaly": lambda model: isinstance(model, base.AnomalyDetector),
    "structures": lambda model: isinstance(model, Structured),
    "adaptation": lambda model: isinstance(model, rm.DiscriminativeRidge | rm.OneStepAdaptation),
    "concepts": lambda model: isinstance(model, FiniteClass),
    "version space": lambda model: isinstance(model, rm.VersionSpace),
}


def page() -> str:
    """Return the page: the template with one table for each kind of learner."""
    rows: dict[str, list[str]] = {role: [] for role in ROLES}
    drift = measured_drift()
    for entry in catalogue.entries():
        model = example(entry.kind)
        role = next(role for role, suits in ROLES.items() if suits(model))
        after = drift.get(entry.name, "not measured")
        cells = (f"`{entry.name}`", space(entry.kind, model), entry.round_cost, entry.guarantee, after, entry.advice)
        rows[role].append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    text = TEMPLATE.read_text().replace("<!-- count -->", str(sum(map(len, rows.values()))))
    text = text.replace("<!-- defaults -->", DEFAULTS.read_text().partition("\n\n")[2].strip())
    for role, lines in rows.items():
        text = text.replace(f"<!-- {role} -->", "\n".join([HEAD, *lines]))
    return text


def measured_drift() -> dict[str, str]:
    """Return what the benchmark has measured around an abrupt change of concept, for each learner."""
    _, _, section = DRIFT.read_text().partition("## One abrupt switch, dense")
    lines = [line.strip("| ").split(" | ") for line in section.partition("\n## ")[0].splitlines() if "|" in line]
    found = {}
    for name, before, after, half_life, kept in lines[2:]:
        forgetting = "" if half_life == "-" else f"; `half_life={half_life}`: {kept}"
        found[name] = f"{before} → {after}{forgetting}"
    return found


def example(kind: Any) -> Any:
    """Return the estimator with its defaults, or with the first parameters it is tested with if it requires some."""
    try:
        return kind()
    except TypeError:
        return kind(**next(iter(kind._unit_test_params())))


def space(kind: type, model: Any) -> str:
    """Return the space of a learner; for a private space, the public space it is derived from."""
    accepted = inspect.signature(kind).parameters
    if "space" in accepted:
        return "any"
    if "covariance" in accepted:
        return "`Diagonal` or `Full`"
    if not hasattr(model, "rule"):
        return "its own"
    if getattr(model, "space", None) is None:
        return "`Linear`"
    return next(f"`{public.__name__}`" for public in type(model.space).__mro__ if public.__name__ in rm.__all__)


if __name__ == "__main__":
    print(page(), end="")
