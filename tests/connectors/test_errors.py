"""Exit codes and their meaning are attributes: they are there whatever Python does with docstrings."""

import json
import subprocess
import sys

import pytest

from connectors import errors
from tests.helpers.paths import ROOT

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_class_has_an_exit_code_and_a_meaning_of_its_own(kind):
    assert {"exit_code", "meaning"} <= vars(kind).keys()
    assert errors.exit_codes()[kind.exit_code] == kind.meaning


def test_the_tree_at_the_top_is_true():
    for kind in KINDS:
        assert any(line.split()[-2:] == [kind.__name__, str(kind.exit_code)] for line in errors.__doc__.splitlines())


def test_exit_codes_keep_their_meaning_without_docstrings():
    code = "import json; from connectors import errors; print(errors.__doc__); print(json.dumps(errors.exit_codes()))"
    line = [sys.executable, "-OO", "-c", code]
    shown = subprocess.run(line, check=True, capture_output=True, text=True, cwd=ROOT).stdout.splitlines()
    assert shown[0] == "None"
    assert {int(code): meaning for code, meaning in json.loads(shown[1]).items()} == errors.exit_codes()
