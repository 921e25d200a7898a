"""Offset metadata: what a processor commits is read again, and what others commit is not taken for it."""

import pytest

from connectors.topics.offset_metadata import OffsetMetadata


def test_metadata_of_others_is_not_taken_for_ours():
    metadata = OffsetMetadata.of_snapshot(b"data", 17, 5, False, topic_id="t", partitions=4, host="h")
    assert metadata.snapshot.startswith("00000000000000000017-5-") and len(metadata.to_text()) < 400
    assert OffsetMetadata.from_text(metadata.to_text()) == metadata
    assert metadata.to_committed().labels is None and "labels" not in metadata.to_text()
    for text in ("", "mine", "[]", "{}", '{"river_margins": 2}', metadata.to_text().replace("sha256", "md5")):
        assert OffsetMetadata.from_text(text) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("snapshot", "../../../victim/precious"),
        ("snapshot", "/etc/passwd"),
        ("snapshot", "00000000000000000018-5-20261122T050000Z-0badcafe"),  # of an offset that is not reached yet
        ("snapshot", 17),
        ("sha256", "f" * 63),
        ("sha256", "../" * 21 + "f"),
        ("partitions", "4"),
        ("partitions", True),
        ("offset", 17.0),
        ("offset", -1),
        ("examples", None),
        ("examples", 4),  # others than the snapshot has
        ("examples", 2**63 - 1),  # the next one would be none
        ("host", ["h"]),
        ("inputs", -1),
        ("crc", "0"),
    ],
)
def test_a_value_of_another_form_is_refused(field, value):
    """Whoever may read as the group may commit: what is not exactly ours is not used."""
    metadata = OffsetMetadata.of_snapshot(b"data", 17, 5, False, topic_id="t", partitions=4, host="h")
    assert OffsetMetadata.from_text(metadata._replace(**{field: value}).to_text()) is None


@pytest.mark.parametrize("name", ["{:020d}-12-20261399T102500Z-0badcafe", "{:020d}-12-00000101T000000Z-0badcafe"])
def test_a_snapshot_of_a_day_that_no_calendar_has_is_refused(name):
    metadata = OffsetMetadata.of_snapshot(b"data", 17, 12, False, topic_id="t", partitions=4, host="h")
    assert OffsetMetadata.from_text(metadata._replace(snapshot=name.format(17)).to_text()) is None


def with_labels(**changes):
    metadata = OffsetMetadata.of_snapshot(b"data", 17, 5, False, topic_id="t", partitions=4, host="h")
    return metadata._replace(**{"labels": "l", "labels_offset": 3, "waiting": "f" * 64} | changes)


def test_the_offset_of_the_labels_names_the_same_snapshot_and_that_of_the_input():
    metadata = with_labels()
    assert OffsetMetadata.from_text(metadata.to_text()) == metadata
    committed = metadata.to_committed()
    assert (committed.offset, committed.labels.offset) == (17, 3)
    others = [
        with_labels(offset=18),
        with_labels(labels_offset=4),
        with_labels(labels="m"),
        with_labels(sha256="0" * 64),
    ]
    assert committed.labels not in [other.to_committed().labels for other in others]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("waiting", "f" * 63),
        ("waiting", ""),
        ("waiting", None),
        ("labels", 1),
        ("labels_offset", -1),
        ("labels_offset", "3"),
    ],
)
def test_a_value_about_labels_of_another_form_is_refused(field, value):
    assert OffsetMetadata.from_text(with_labels(**{field: value}).to_text()) is None
