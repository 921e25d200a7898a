"""The documentation builds as a site in which every link leads somewhere."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import river_margins as rm
from tests.docs.test_docs import PAGES
from tests.helpers.paths import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    for module in ("mkdocs", "material", "mkdocstrings_handlers.python"):
        try:
            found = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            found = None
        if found is None:
            pytest.skip(f"needs {module}: pip install 'river-margins[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=500)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder


def test_every_page_is_on_the_site(site):
    pages = {page.relative_to(ROOT / "docs").with_suffix("") for page in PAGES if page.is_relative_to(ROOT / "docs")}
    built = {page.parent.relative_to(site) for page in site.rglob("index.html")}
    assert pages | {Path("CONTRIBUTING"), Path("CHANGELOG")} <= built
    assert "Learners" in (site / "files/benchmarks/results/learners/index.html").read_text()


def test_every_public_class_is_in_the_reference(site):
    text = "".join(page.read_text() for page in site.glob("api/*/index.html"))
    documented = {anchor.rpartition(".")[2] for anchor in re.findall(r'id="(river_margins\.[\w.]+)"', text)}
    assert {name for name in rm.__all__ if isinstance(getattr(rm, name), type)} <= documented


def test_links_to_the_repository_are_files_of_the_site(site):
    text = (site / "operating" / "index.html").read_text()
    (link,) = re.findall(r'href="([^"]*prometheus\.yaml)"', text)
    assert (site / "operating" / link).resolve().read_text() == (ROOT / "deploy/monitoring/prometheus.yaml").read_text()
