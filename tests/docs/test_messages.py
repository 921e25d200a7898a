"""Every message that docs/messages.md quotes is one that the code has."""

import ast
import re

import pytest

from connectors.errors import exit_codes
from tests.helpers.paths import ROOT

PAGE = (ROOT / "docs" / "messages.md").read_text()
ROWS = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| ")]
QUOTED = [row[0] for row in ROWS if row[0] != "message"]
HOLE = "\0"


def text_of(node):
    """A text of the code with a hole for each value in it; None for any other node."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"%\.?\d*[sdgfr]|\{where\}|\{why\}", HOLE, node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or HOLE for part in node.values)
    return None


def texts():
    files = [path for path in (ROOT / "connectors").rglob("*.py") if "spark" not in path.parts]
    found = (text_of(node) for path in files for node in ast.walk(ast.parse(path.read_text())))
    return {text.replace("`", "") for text in found if text}


@pytest.fixture(scope="module")
def known():
    return "\n".join(sorted(texts()))


def test_each_message_has_one_row():
    assert len(set(QUOTED)) == len(QUOTED) > 0


@pytest.mark.parametrize("message", QUOTED)
def test_the_code_has_this_message(known, message):
    """A message may be of several texts: what stands between two holes is of one of them."""
    pieces = [piece.strip(" ;()") for piece in message.split("…")]
    pieces = [piece for piece in pieces if len(piece) > 1]  # not a colon
    assert pieces and [piece for piece in pieces if piece not in known] == []


def test_the_exit_codes_are_those_of_the_code():
    codes = {int(row[1]) for row in ROWS if row[1].isdecimal()}
    assert codes <= set(exit_codes()) and {3, 4, 5, 6, 7, 8} <= codes


def test_a_change_of_a_message_is_seen(known):
    assert "no broker answered at" in known and "no broker replied at" not in known
