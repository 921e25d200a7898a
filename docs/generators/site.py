"""Hooks of mkdocs: pages of the site that are not files in `docs/`.

README.md is the first page, CONTRIBUTING.md and CHANGELOG.md are pages, the API reference has every public name, and a
file of the repository that a page links to is copied into `files/`.
"""

import inspect
import os
import pathlib
import re
from collections.abc import Iterable
from typing import Any

from mkdocs.structure.files import File, Files

import connectors
import river_margins as rm
from connectors.config import catalogue
from river_margins import evaluate
from river_margins.core.estimator import Estimator
from river_margins.core.learner import Learner
from river_margins.theory import bounds, certificates, regret, risk

ROOT = pathlib.Path(__file__).parents[2]
PAGES = {"index.md": "README.md", "CONTRIBUTING.md": "CONTRIBUTING.md", "CHANGELOG.md": "CHANGELOG.md"}
THEORY = (certificates, bounds, regret, risk)
LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages and files that are outside `docs/`."""
    for page, source in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text()))
    for page, content in api().items():
        files.append(File.generated(config, page, content=content))
    for page in list(files.documentation_pages()):
        for target in linked(page.content_string, page.src_uri):
            if files.get_file_from_path(f"files/{target}") is None:
                files.append(File.generated(config, f"files/{target}", abs_src_path=str(ROOT / target)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Rewrite the links to files of the repository."""
    source = page.file.src_uri
    return LINK.sub(lambda link: link[1] + rewritten(link[2], source) + link[3], markdown)


def rewritten(link: str, page: str) -> str:
    """Return where a link of a page leads on the site."""
    target = in_repository(link, page)
    if target is None:
        return link
    on_site = next((uri for uri, source in PAGES.items() if source == target), None)
    if on_site is None:
        on_site = target.removeprefix("docs/") if target.startswith("docs/") else f"files/{target}"
    return os.path.relpath(on_site, os.path.dirname(page) or ".")


def linked(markdown: str, page: str) -> list[str]:
    """Return the files of the repository that a page links to and the site does not have."""
    targets = [in_repository(link[2], page) for link in LINK.finditer(markdown)]
    return [target for target in targets if target and not target.startswith("docs/") and target not in PAGES.values()]


def in_repository(link: str, page: str) -> str | None:
    """Return the path of a linked file below the root of the repository; None for an address or an anchor."""
    if "://" in link or link.startswith("mailto:"):
        return None
    folder = os.path.dirname(PAGES.get(page, f"docs/{page}"))
    target = os.path.normpath(os.path.join(folder, link))
    return target if (ROOT / target).is_file() else None


def api() -> dict[str, str]:
    """Return the pages of the API reference."""
    public = [getattr(rm, name) for name in sorted(rm.__all__, key=str.lower)]
    classes = [each for each in public if inspect.isclass(each)]
    estimators = [entry.kind for entry in catalogue.entries()]
    rules = [each for each in classes if issubclass(each, rm.Rule | rm.Seen | rm.Step)]
    spaces = [each for each in classes if each not in [*estimators, *rules]]
    return {
        "api/estimators.md": reference("Estimators", [Learner, Estimator, *estimators]),
        "api/rules.md": reference("Rules", rules),
        "api/spaces.md": reference("Spaces, kernels and budgets", spaces),
        "api/conversions.md": reference("Conversions of finite samples", functions(rm.conversions)),
        "api/evaluate.md": reference("Progressive validation", members(evaluate)),
        "api/svmlight.md": reference("svmlight files", members(rm.svmlight)),
        "api/theory.md": reference("Theory", [theory for module in THEORY for theory in functions(module)]),
        "api/snapshot.md": reference("Snapshots of models", members(rm.snapshot)),
        "api/connectors.md": reference("The stream processor", members(connectors)),
    }


def members(module: Any) -> list[Any]:
    """Return the public classes and functions of a module."""
    return [getattr(module, name) for name in module.__all__]


def functions(module: Any) -> list[Any]:
    """Return what is public in a module and no name of `river_margins`."""
    return [each for name, each in zip(module.__all__, members(module), strict=True) if name not in rm.__all__]


def reference(title: str, things: Iterable[Any]) -> str:
    """Return a page with the docstrings of classes and functions."""
    return "\n\n".join([f"# {title}", *(f"::: {each.__module__}.{each.__qualname__}" for each in things)]) + "\n"
