"""Why records are rejected: each reason has a series among the metrics from the start."""

import ast
import gc
import weakref

import pytest

from connectors.model.counts import Counts
from connectors.model.partition_model import PartitionModel
from connectors.model.process_record import process_record
from connectors.model.records import Decoder, Record
from connectors.model.rejects import KINDS, KINDS_OF_LABELS
from river_margins import PAClassifier
from tests.helpers.paths import ROOT

MAKERS = {"Reject", "Unlearnable", "Unjoinable", "_reject"}


def kinds_in(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS:
            yield from (given.value for given in node.args[1:] if isinstance(given, ast.Constant))


def test_every_kind_is_listed():
    found = {kind for path in (ROOT / "connectors").rglob("*.py") for kind in kinds_in(path.read_text())}
    assert {"label", "unknown_id", "no_features", "overflow"} <= found <= {*KINDS, *KINDS_OF_LABELS}


class Source(str):
    """A text that a test can see freed."""


@pytest.mark.parametrize("value", [b"{", b'{"y": true, "a": "x"}', b'{"y": [1], "a": 1}'])
def test_a_refused_record_is_freed_without_the_collector(value):
    """A processor lets the collector run seldom: thousands of records, of a megabyte each, would wait for it."""
    model = PartitionModel(PAClassifier(), "s", 0, None, Decoder(None, "y", None).decode)
    gc.collect()
    gc.disable()
    try:
        record = Record(Source("events-0-7"), None, value)
        source = weakref.ref(record.source)
        process_record(model, record, Counts())
        assert record.reason is not None
        del record
        assert source() is None
    finally:
        gc.enable()
