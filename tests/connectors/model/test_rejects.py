"""Why records are rejected: each reason has a series among the metrics from the start."""

import ast

from connectors.model.rejects import KINDS, KINDS_OF_LABELS
from tests.helpers.paths import ROOT

MAKERS = {"Reject", "Unlearnable", "Unjoinable", "_reject"}


def kinds_in(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS:
            yield from (given.value for given in node.args[1:] if isinstance(given, ast.Constant))


def test_every_kind_is_listed():
    found = {kind for path in (ROOT / "connectors").rglob("*.py") for kind in kinds_in(path.read_text())}
    assert {"label", "unknown_id", "no_features", "overflow"} <= found <= {*KINDS, *KINDS_OF_LABELS}
