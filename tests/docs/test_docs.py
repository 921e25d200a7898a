"""What the documentation shows, runs: examples in docstrings, Python and YAML blocks of the pages."""

import dataclasses
import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import re

import pytest
from river import linear_model, metrics

import connectors.config
import river_margins as rm
from river_margins.adaptation import comparison
from river_margins.conversions import batch, cycles, mixing, projections
from river_margins.core import checks, pairs
from river_margins.tasks import labels
from river_margins.theory import bounds, certificates, regret, risk
from tests.helpers.paths import ROOT
from tests.learners import Learner

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("lectures/*.md"))]


def blocks(language):
    found = []
    for page in PAGES:
        text = page.read_text()
        for match in re.finditer(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            line = text[: match.start()].count("\n") + 2
            found.append(pytest.param(page, line, match.group(1), id=f"{page.name}:{line}"))
    return found


@pytest.mark.parametrize("name", rm.__all__)
def test_docstring_examples(name):
    thing = getattr(rm, name)
    assert thing.__doc__, f"{name} has no docstring"
    assert run(thing, name) == 0


IN_SPARK = "connectors.spark."  # its modules need a package that `dev` leaves out
CONNECTORS = [
    importlib.import_module(found.name)
    for found in pkgutil.walk_packages(connectors.__path__, "connectors.")
    if not found.name.startswith(IN_SPARK) or importlib.util.find_spec("pyspark")
]


ROOMS = [batch, comparison, cycles, mixing, projections, bounds, certificates, regret, risk]


@pytest.mark.parametrize(
    "module",
    [rm, rm.snapshot, rm.svmlight, checks, labels, pairs, *ROOMS, *CONNECTORS],
    ids=lambda module: module.__name__,
)
def test_examples_of_helpers(module):
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed == 0


def run(thing, name):
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in doctest.DocTestFinder(recurse=False).find(thing, name):
        runner.run(test)
    return runner.failures


@pytest.mark.parametrize(("page", "line", "code"), blocks("python"))
def test_python_block(page, line, code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if ">>>" in code:
        test = doctest.DocTestParser().get_doctest(code, {}, page.name, str(page), line)
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
        runner.run(test)
        assert runner.failures == 0
    else:
        exec(compile("\n" * (line - 1) + code, str(page), "exec"), {})


def anchors(page):
    """What a forge makes of the headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        file, _, anchor = link.partition("#")
        if "://" not in link:
            target = page.parent / file if file else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_exist(page):
    folders = "connectors|river_margins|tests|benchmarks|docs|deploy"
    named = re.findall(rf"`((?:{folders})/[\w./-]+)`", page.read_text())
    # the tests mirror the packages: a page may name one below `tests/`
    assert [path for path in named if not ((ROOT / path).exists() or (ROOT / "tests" / path).exists())] == []


def test_contributing_names_every_generator():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    writers = [path for path in (DOCS / "generators").glob("*.py") if "__main__" in path.read_text()]
    assert writers and [path.name for path in writers if f"docs/generators/{path.name}" not in text] == []


def test_every_field_of_an_entry_is_explained():
    page = (ROOT / "docs" / "adding-a-learner.md").read_text()
    assert [field.name for field in dataclasses.fields(Learner) if f"| `{field.name}` |" not in page] == []


@pytest.mark.parametrize(("page", "line", "text"), blocks("yaml"))
def test_yaml_block(page, line, text, tmp_path):
    if not re.search(r"^name:", text, re.MULTILINE):
        pytest.skip("a fragment, not a whole file")
    file = tmp_path / "processor.yaml"
    file.write_text(text)
    connectors.config.load(file)


@pytest.mark.parametrize(
    ("page", "title", "kind", "name", "words"),
    [
        ("algorithms.md", "### 6.4 ", rm.MIRAClassifier, "C", "C > 0, {} by default"),
        ("algorithms.md", "### 12.14 ", rm.FOBOSClassifier, "lr", "lr > 0, {} by default"),
        ("algorithms-gaussian.md", "### 12.5 ", rm.NHERDClassifier, "C", "C > 0, {} by default"),
        ("algorithms.md", "## 5 ", rm.PAClassifier, "C", "{}\nin `PAClassifier`"),
    ],
)
def test_a_section_has_the_default_of_its_learner(page, title, kind, name, words):
    text = (ROOT / "docs" / page).read_text().partition(f"\n{title}")[2].partition("\n##")[0]
    assert words.format(inspect.signature(kind).parameters[name].default) in text


def test_the_page_names_the_kinds_that_take_dicts_only():
    text = " ".join((ROOT / "docs/coming-from-river.md").read_text().split())
    named = text.partition("those of a sparse matrix.")[2].partition("take dicts only")[0]
    with_frames, _, without = named.partition("have `learn_many`")
    for kinds, takes in (
        (("AutoClassifier", "AutoRegressor", "Hedge", "Calibrated"), True),
        (("SelectiveSampler", "LogLinearClassifier", "ELIM", "OneHotEncoder", "FeatureHasher", "Interactions"), False),
    ):
        for kind in kinds:
            assert f"`{kind}`" in (with_frames if takes else without)
            assert hasattr(getattr(rm, kind), "learn_many") == takes
    for kind in (rm.PAClassifier, rm.KernelPARegressor, rm.PAMultiLabelClassifier, rm.PAOneClass):
        assert hasattr(kind, "learn_many") and hasattr(kind, "learn_csr")


def test_coming_from_river_says_that_none_is_no_prediction():
    matrix, river = metrics.ConfusionMatrix(), linear_model.PAClassifier()
    assert (rm.PAClassifier().predict_one({"a": 1.0}), river.predict_one({"a": 1.0})) == (None, False)
    for said in (None, True):
        matrix.update(True, said)
    with pytest.raises(TypeError):  # if this fails, the page can do without the words
        repr(matrix)
    page = " ".join((ROOT / "docs/coming-from-river.md").read_text().split())
    assert "None is one more class, which lowers the means over classes, and `ConfusionMatrix` cannot be shown" in page
