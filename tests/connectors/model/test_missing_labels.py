"""A warning for a file that names a wrong field as the label."""

import logging

import pytest

from connectors.model.counts import Counts
from connectors.model.missing_labels import LEAST, MissingLabels

log = logging.getLogger("test")


@pytest.mark.parametrize(
    ("field", "looks", "warnings"),
    [
        ("y", [(LEAST - 1, 0)], 0),
        ("y", [(LEAST, 0)], 1),
        ("y", [(LEAST, 0), (LEAST, 0)], 1),
        ("y", [(LEAST, 1)], 0),
        ("y", [(10, 1), (LEAST, 0)], 0),  # a model begins anew after a drift
        (None, [(LEAST, 0)], 0),
    ],
)
def test_it_warns_once_and_only_if_nothing_was_learned(caplog, field, looks, warnings):
    missing = MissingLabels(log, field)
    for records, examples in looks:
        missing.look(Counts(predicted=records), examples)
    assert len(caplog.messages) == warnings
    assert all("`record.label: y`" in message for message in caplog.messages)


@pytest.mark.parametrize("kind", ["label", "weight"])
def test_a_label_that_was_refused_is_no_missing_one(caplog, kind):
    counts = Counts(predicted=LEAST)
    counts.add_unlearned(kind, "events-0-0", "what is wrong")
    MissingLabels(log, "y").look(counts, 0)
    assert caplog.messages == []


def test_a_model_that_has_just_begun_anew_has_had_labels(caplog):
    """A drift that resets the model is committed at once, perhaps with the first commit of the process."""
    MissingLabels(log, "y").look(Counts(predicted=LEAST, learned=LEAST), 0)
    assert caplog.messages == []
