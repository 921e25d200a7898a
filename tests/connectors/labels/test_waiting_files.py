"""The files of what waits: each commit writes what came since the last one, and many small segments become one."""

import hashlib

from connectors.labels import segments, state, waiting_files
from connectors.labels.waiting import WaitingRecords
from connectors.labels.waiting_files import WaitingFiles
from connectors.model.records import Record
from connectors.snapshots.stores import open_store


def test_what_waits_is_read_back_after_many_commits(tmp_path, monkeypatch):
    monkeypatch.setattr(segments, "LARGEST", 20)
    store = open_store(str(tmp_path))
    files, line = WaitingFiles(WaitingRecords(10**12, 10**6)), 0
    for number in range(60):
        for _ in range(5):
            record = Record(f"in-0-{line}", None, b"%d" % line)
            record.prediction, record.score = True, 0.5
            files.records.advance(line)
            files.records.add(f"r{line}", line, record)
            line += 1
        for gone in range(max(0, line - 40), line - 15):
            if gone % 7 and b"r%d" % gone in files.records.records:
                files.records.records.pop(b"r%d" % gone)
        prepared = files.prepare(f"s{number}", number)
        for name, content in prepared.files.items():
            store.write(0, name, content)
        files.remember(prepared)
        found = waiting_files.read(store, 0, f"s{number}", prepared.sha256, 10**12, 10**6)
        assert list(found.records.records) == list(files.records.records)
        assert state.write_manifest(found.records) == state.write_manifest(files.records)
    assert any(name.endswith("-segment1") for name in store.sizes(0)), "a segment in the middle was written"
    index, _, sha256 = waiting_files.read_index(store, 0, "s59")
    assert hashlib.sha256(store.read(0, "s59-waiting")).hexdigest() == sha256
    assert [segment.start for segment in index.segments] == sorted(segment.start for segment in index.segments)
