"""Offset metadata: what a processor commits is read again, and what others commit is not taken for it."""

import pytest

from connectors.topics.offset_metadata import OffsetMetadata


def test_metadata_of_others_is_not_taken_for_ours():
    metadata = OffsetMetadata.of_snapshot(b"data", 17, 5, False, topic_id="t", partitions=4, host="h")
    assert metadata.snapshot.startswith("00000000000000000017-5-") and len(metadata.to_text()) < 400
    assert OffsetMetadata.from_text(metadata.to_text()) == metadata
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
        ("host", ["h"]),
        ("inputs", -1),
        ("crc", "0"),
    ],
)
def test_a_value_of_another_form_is_refused(field, value):
    """Whoever may read as the group may commit: what is not exactly ours is not used."""
    metadata = OffsetMetadata.of_snapshot(b"data", 17, 5, False, topic_id="t", partitions=4, host="h")
    assert OffsetMetadata.from_text(metadata._replace(**{field: value}).to_text()) is None
