"""Writes the reference page of the YAML file: `python docs/generators/configuration.py > docs/configuration.md`."""

import pathlib
from collections.abc import Collection, Iterator
from typing import Any

from pydantic import BaseModel

from connectors.config import Config, FileConfig
from connectors.config.schema import AnyConfig
from connectors.config.valid_values import section_of
from connectors.errors import exit_codes

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLE = ROOT / "deploy" / "examples" / "phishing.yaml"
TEMPLATE = pathlib.Path(__file__).with_name("configuration.template.md")


def page() -> str:
    """Returns the reference page."""
    common = AnyConfig.model_fields
    tables = {"common": _table(AnyConfig, ()), "topics": _table(Config, common), "files": _table(FileConfig, common)}
    codes = [f"| {code} | {meaning} |" for code, meaning in exit_codes().items()]
    parts = {"example": EXAMPLE.read_text().strip(), "codes": "\n".join(codes), **tables}
    text = TEMPLATE.read_text()
    for name, part in parts.items():
        text = text.replace(f"<!-- {name} -->", part)
    return text


def _table(section: type[BaseModel], without: Collection[str]) -> str:
    rows = [row for row in _rows(section, "") if row[0].partition(".")[0] not in without]
    lines = [f"| `{name}` | {default} | {meaning} |" for name, default, meaning in rows]
    return "\n".join(["| key | default | meaning |", "|---|---|---|", *lines])


def _rows(section: type[BaseModel], prefix: str) -> Iterator[tuple[str, str, str]]:
    for name, field in section.model_fields.items():
        below = section_of(field.annotation)
        default = "required" if field.is_required() else _default(field.default, below)
        yield prefix + name, default, field.description or ""
        if below is not None:
            of_name = "NAME." if field.default == {} and below is not field.annotation else ""
            yield from _rows(below, f"{prefix}{name}.{of_name}")


def _default(value: Any, below: type[BaseModel] | None) -> str:
    if value is None:
        return "none"
    if below is not None or value == {}:
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value:g}s`" if isinstance(value, float) else f"`{value}`"


if __name__ == "__main__":
    print(page(), end="")
