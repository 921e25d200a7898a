"""Offset metadata: what a processor commits is read again, and what others commit is not taken for it."""

from connectors.topics.offset_metadata import OffsetMetadata


def test_metadata_of_others_is_not_taken_for_ours():
    metadata = OffsetMetadata.of_snapshot(b"data", 17, 5, False, topic_id="t", partitions=4, host="h")
    assert metadata.snapshot.startswith("00000000000000000017-5-") and len(metadata.to_text()) < 400
    assert OffsetMetadata.from_text(metadata.to_text()) == metadata
    for text in ("", "mine", "[]", "{}", '{"river_margins": 2}', metadata.to_text().replace("sha256", "md5")):
        assert OffsetMetadata.from_text(text) is None
