"""Snapshots in a folder."""

import pytest

from connectors.stores import FolderStore


@pytest.fixture
def store(tmp_path):
    return FolderStore(tmp_path / "group" / "cluster" / "topic")


def test_what_is_written_is_read(store):
    store.write(3, "b", b"two")
    store.write(3, "a", b"one")
    assert store.read(3, "a") == b"one"
    assert store.names(3) == ["a", "b"] and store.names(4) == []


def test_deleting_is_final_and_may_be_repeated(store):
    store.write(0, "a", b"one")
    store.delete(0, "a")
    store.delete(0, "a")
    assert store.names(0) == []
    with pytest.raises(FileNotFoundError):
        store.read(0, "a")


def test_half_written_files_are_not_seen(store):
    store.write(0, "a", b"one")
    (store.path(0, "a").parent / ".b.snapshot.1f.new").write_bytes(b"half")
    (store.path(0, "a").parent / ".c.snapshot").write_bytes(b"hidden")
    assert store.names(0) == ["a"]


def test_a_full_or_missing_disk_is_an_os_error(store, tmp_path):
    (tmp_path / "group").write_text("a file where a folder should be")
    with pytest.raises(OSError, match=r"exists|directory"):
        store.write(0, "a", b"one")
