"""What docs/guarantees.md says of the code is what the code does."""

import inspect
import re

import pytest

from connectors.errors import exit_codes
from connectors.files.processor import FileProcessor
from connectors.kafka.kafka_python.settings import CONSUMER, PRODUCER
from connectors.snapshots.retention import GRACE
from connectors.topics.commit import Committer
from tests.helpers.paths import ROOT

DOCS = ROOT / "docs"
PAGE = (DOCS / "guarantees.md").read_text()


@pytest.mark.parametrize(
    ("owner", "count", "page"), [(Committer, 7, PAGE), (FileProcessor, 5, (DOCS / "files.md").read_text())]
)
def test_the_table_of_crashes_follows_the_steps_of_commit(owner, count, page):
    steps = re.findall(r"self\.(\w+)\(\)  # (\d)", inspect.getsource(owner.commit))
    assert len(steps) == count
    assert re.findall(r"^\| in .*?step (\d), `(\w+)`", page, re.MULTILINE) == [(number, name) for name, number in steps]


def test_the_steps_of_a_checkpoint_are_those_of_commit():
    steps = re.findall(r"self\.(\w+)\(\)  # (\d)", inspect.getsource(Committer.commit))
    assert re.findall(r"^(\d)\. `(\w+)`: ", PAGE, re.MULTILINE) == [(number, name) for name, number in steps]


def test_every_exit_code_has_advice():
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}
    assert listed == {0, 130, *exit_codes()}


def test_the_times_are_those_of_the_defaults():
    assert f"`session_timeout_ms` ({CONSUMER['session_timeout_ms'] / 1000:g} s)" in PAGE
    assert f"`transaction_timeout_ms` ({PRODUCER['transaction_timeout_ms'] / 1000:g} s)" in PAGE
    assert f"{GRACE + PRODUCER['transaction_timeout_ms'] / 1000:g} s (a minute and the transaction time-out)" in PAGE
