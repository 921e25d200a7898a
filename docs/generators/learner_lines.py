"""Writes the table of lines in `docs/adding-a-learner.md`: `python docs/generators/learner_lines.py`.

A line counts if it has code: no docstring, no comment, not empty.
"""

import inspect
import pathlib
import re
from collections import Counter
from typing import Any

from connectors.config import catalogue

ROOT = pathlib.Path(__file__).parents[2]
PAGE = ROOT / "docs" / "adding-a-learner.md"
BEGIN, END = "<!-- lines of learners: python docs/generators/learner_lines.py -->\n", "<!-- end of lines -->\n"
HEAD = "| learner | its class | its rule | its space |\n|---|---|---|---|"


def page() -> str:
    """Return the page with a new table."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n\n{END}{after}"


def table() -> str:
    """Return a row for each learner with a rule: the lines of its class, its rule and its space."""
    parts = {}
    for entry in catalogue.entries():
        model = example(entry.kind)
        if hasattr(model, "rule") and entry.kind.__module__.startswith("river_margins."):
            parts[entry.name] = (entry.kind, type(model.rule), type(space_of(model)))
    shared = Counter(part for kinds in parts.values() for part in kinds[1:])
    rows = []
    for name, (kind, rule, space) in sorted(parts.items()):
        cells = [f"`{name}`", str(lines_of(kind)), *(described(part, shared[part]) for part in (rule, space))]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join([HEAD, *rows])


def described(part: type, learners: int) -> str:
    return f"`{part.__name__}` {lines_of(part)}" + (f", of {learners} learners" if learners > 1 else "")


def example(kind: Any) -> Any:
    """Return the estimator with its defaults, or with the first parameters it is tested with if it requires some."""
    required = [each for each in inspect.signature(kind).parameters.values() if each.default is each.empty]
    return kind(**next(iter(kind._unit_test_params()))) if required else kind()


def space_of(model: Any) -> Any:
    from river_margins.spaces import Linear

    return Linear() if getattr(model, "space", None) is None else model.space


def lines_of(kind: type) -> int:
    """Return the lines of code of a class, without those it inherits."""
    path = ROOT / kind.__module__.replace(".", "/")
    text = next(path.with_suffix(suffix) for suffix in (".pyx", ".py") if path.with_suffix(suffix).exists()).read_text()
    found = re.search(rf"^(?:cdef )?class {kind.__name__}\b.*\n(?:(?:[ \t)].*)?\n)*", text, re.MULTILINE)
    if found is None:
        raise ValueError(f"no class {kind.__name__} in {path}")
    code = re.sub(r'r?""".*?"""', "", found[0], flags=re.DOTALL)
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in code.splitlines())


if __name__ == "__main__":
    PAGE.write_text(page())
