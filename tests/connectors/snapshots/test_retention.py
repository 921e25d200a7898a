"""Retention: what newer snapshots have superseded is deleted, in time, and never what is named or may be named."""

import calendar
import concurrent.futures
import threading
from types import SimpleNamespace

import pytest

from connectors.config.schema import Keep
from connectors.labels import waiting_files
from connectors.labels.waiting import WaitingRecords
from connectors.labels.waiting_files import WaitingFiles
from connectors.model.records import Record
from connectors.snapshots import names, retention
from connectors.snapshots.retention import Superseded
from connectors.snapshots.stores import FolderStore, StoreError
from tests.connectors.topics.test_assignment import assignment
from tests.helpers.deadline import DEADLINE

YEARS = calendar.timegm((2026, 11, 22, 5, 0, 0)) - 1000.0  # the clock of the snapshots begins at their first one
NAMES = [f"{offset:020d}-{offset}-20261122T05000{offset}Z-0badcafe" for offset in range(8)]


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 1000.0

        def monotonic(self):
            return self.now

        def time(self):
            return self.now + YEARS

    clock = Clock()
    monkeypatch.setattr(retention, "time", clock)
    return clock


@pytest.fixture
def store(tmp_path):
    store = FolderStore(tmp_path)
    for name in NAMES:
        store.write(0, name, b"data")
    return store


def left(superseded: Superseded, store: FolderStore) -> list[int]:
    concurrent.futures.wait(superseded._running)
    return [NAMES.index(name) for name in store.sizes(0)]


def test_what_is_superseded_is_deleted_after_a_transaction_and_a_minute(clock, store):
    superseded = Superseded(Keep(last=2), transaction=10.0)
    superseded.add(0, NAMES[:3])
    clock.now += 69.9
    superseded.delete({0: NAMES[7]}, store)
    assert len(store.sizes(0)) == 8
    clock.now += 0.2
    superseded.delete({0: NAMES[7]}, store)
    assert left(superseded, store) == [2, 3, 4, 5, 6, 7]  # the last two: that is 2 and the named one


def test_what_is_named_now_is_never_deleted(clock, store):
    """Also if it was superseded once, for instance before somebody moved the group back to it."""
    superseded = Superseded(Keep(last=0), transaction=10.0)
    superseded.add(0, NAMES[:3])
    clock.now += 71
    superseded.delete({0: NAMES[1]}, store)
    assert left(superseded, store) == [1, 3, 4, 5, 6, 7]


def test_what_another_process_left_is_found_unless_a_transaction_may_name_it(clock, store):
    superseded = Superseded(Keep(last=1), transaction=10.0)
    superseded.add_found(0, NAMES[5], store)
    clock.now += 71
    superseded.delete({0: NAMES[5]}, store)
    assert left(superseded, store) == [5, 6, 7]


@pytest.mark.parametrize(("seconds", "expected"), [(70.5, [0, 1, 2, 5, 6, 7]), (73.5, [2, 5, 6, 7])])
def test_what_another_process_left_is_as_old_as_what_superseded_it(clock, store, seconds, expected):
    """There is a snapshot a second. A partition that changes hands once a minute would else keep all."""
    for gone in (3, 4):
        store.delete(0, NAMES[gone])  # so that 2 was superseded after 5 s
    clock.now += seconds
    superseded = Superseded(Keep(last=1), transaction=10.0)
    superseded.add_found(0, NAMES[5], store)
    superseded.delete({0: NAMES[5]}, store)
    assert left(superseded, store) == expected


def test_a_clock_that_is_behind_makes_nothing_older(clock, store):
    clock.now -= 500
    superseded = Superseded(Keep(last=1), transaction=10.0)
    superseded.add_found(0, NAMES[5], store)
    clock.now += 69
    superseded.delete({0: NAMES[5]}, store)
    assert left(superseded, store) == list(range(8))
    clock.now += 2
    superseded.delete({0: NAMES[5]}, store)
    assert left(superseded, store) == [5, 6, 7]


def test_a_process_that_slept_deletes_nothing(clock, store, monkeypatch):
    """It may have lost the partition meanwhile, and somebody may have moved the group back."""
    superseded = Superseded(Keep(last=0), transaction=10.0)
    superseded.add(0, NAMES[:3])
    clock.now += 71
    began, finished = threading.Event(), []
    superseded._threads.submit(lambda: began.wait(DEADLINE))
    monkeypatch.setattr(store, "delete", lambda partition, name: finished.append(name))
    for _ in range(retention.THREADS - 1):
        superseded._threads.submit(lambda: began.wait(DEADLINE))
    superseded.delete({0: NAMES[7]}, store)
    clock.now += retention.MAX_DELETING  # while all threads are busy
    began.set()
    assert left(superseded, store) == list(range(8)) and len(superseded._running) == 3 and not finished


def test_while_deletions_go_on_no_others_begin(clock, store):
    superseded = Superseded(Keep(last=0), transaction=10.0)
    superseded.add(0, NAMES[:1])
    clock.now += 71
    ended = threading.Event()
    superseded._running = [superseded._threads.submit(lambda: ended.wait(DEADLINE))]
    superseded.delete({0: NAMES[7]}, store)
    ended.set()
    assert left(superseded, store) == list(range(8))
    superseded.delete({0: NAMES[7]}, store)
    assert left(superseded, store) == list(range(1, 8))


def names_of(superseded, store):
    concurrent.futures.wait(superseded._running)
    return set(store.sizes(0)) - set(NAMES)


def test_a_file_that_several_snapshots_need_goes_with_the_last_of_them(clock, store):
    superseded = Superseded(Keep(last=1), transaction=10.0)
    store.write(0, "shared", b"")
    for name in NAMES[:3]:
        store.write(0, f"{name}-own", b"")
        superseded.note_files(0, name, frozenset({"shared", f"{name}-own"}))
    superseded.add(0, NAMES[:1])
    clock.now += 40
    superseded.add(0, NAMES[1:2])
    clock.now += 31
    superseded.delete({0: NAMES[2]}, store)
    assert names_of(superseded, store) == {"shared", f"{NAMES[1]}-own", f"{NAMES[2]}-own"}
    clock.now += 71
    superseded.delete({0: NAMES[2]}, store)
    assert names_of(superseded, store) == {"shared", f"{NAMES[2]}-own"}
    superseded.note_files(0, NAMES[3], frozenset())
    superseded.add(0, NAMES[2:3])
    clock.now += 71
    superseded.delete({0: NAMES[3]}, store)
    assert names_of(superseded, store) == set()


def test_files_that_another_process_left_are_found(clock, store):
    """Of a snapshot that is there; of one that never was there; and of one that is later than the committed one."""
    files = [f"{NAMES[1]}-own", f"{NAMES[1][:-8]}deadbeef-own", f"{NAMES[7]}-own", f"{NAMES[5]}-own", "mine-own"]
    for file in files:
        store.write(0, file, b"")
    superseded = Superseded(Keep(last=1), transaction=10.0)
    needed = {NAMES[n]: frozenset({f"{NAMES[n]}-own"}) for n in (1, 5, 7)}
    superseded.add_found(0, NAMES[5], store, needed)
    clock.now += 71
    superseded.delete({0: NAMES[5]}, store)
    assert names_of(superseded, store) == set(files[2:])


def test_a_file_that_turned_out_to_be_needed_stays(clock, store):
    """It was written for a snapshot that was not there yet, and was committed then."""
    file = f"{NAMES[5][:-8]}deadbeef-own"
    store.write(0, file, b"")
    superseded = Superseded(Keep(last=1), transaction=10.0)
    superseded.add_found(0, NAMES[5], store, {})
    superseded.note_files(0, NAMES[6], frozenset({file}))
    clock.now += 71
    superseded.delete({0: NAMES[6]}, store)
    assert file in names_of(superseded, store)


def test_what_may_have_been_published_until_now_is_kept_for_a_minute(clock, store):
    superseded = Superseded(Keep(last=0), transaction=10.0)
    superseded.add(0, NAMES[:2])
    clock.now += 3600.0
    superseded.count_from_now(0)
    clock.now += 69.9
    superseded.delete({0: NAMES[7]}, store)
    assert left(superseded, store) == [*range(8)]
    clock.now += 0.2
    superseded.delete({0: NAMES[7]}, store)
    assert left(superseded, store) == [*range(2, 8)]


def test_a_thread_that_finds_more_does_not_disturb_a_deletion(clock, store):
    superseded = Superseded(Keep(last=0), transaction=10.0)

    class Since(float):
        """A moment at whose comparison, in the middle of a deletion, a thread notes what it has found."""

        def __lt__(self, other):
            threads.append(threading.Thread(target=superseded.add_found, args=(0, NAMES[5], store)))
            threads[-1].start()
            threads[-1].join(0.05)
            return float(self) < other

    threads = []
    superseded.add(0, NAMES[:2])
    superseded._names[0][NAMES[0]] = Since(clock.now)
    clock.now += 71
    superseded.delete({0: NAMES[7]}, store)
    for thread in threads:
        thread.join(DEADLINE)
    assert left(superseded, store) == [*range(2, 8)] and threads
    assert set(superseded._names[0]) >= set(NAMES[2:5])


def test_the_snapshot_of_an_empty_model_is_not_a_file_of_another_one(clock, store):
    """The end of its name looks like that; the committed offset of a partition without records names it."""
    name = f"{NAMES[0]}-empty"
    for file in (name, f"{name}-waiting"):
        store.write(0, file, b"")
    superseded = Superseded(Keep(last=1), transaction=10.0)
    superseded.add_found(0, name, store, {name: frozenset({f"{name}-waiting"})})
    clock.now += 71
    superseded.delete({0: name}, store)
    assert names_of(superseded, store) == {name, f"{name}-waiting"}


def test_files_stay_if_it_is_not_known_what_older_snapshots_need(clock, store):
    store.write(0, "shared", b"")  # NAMES[0], which another process has left, needs it too
    store.write(0, f"{NAMES[5]}-waiting", b"")
    superseded = Superseded(Keep(last=0), transaction=10.0)
    superseded.note_unknown(0)
    superseded.note_files(0, NAMES[5], frozenset({"shared", f"{NAMES[5]}-waiting"}))
    superseded.add(0, [NAMES[5]])
    clock.now += 71
    superseded.delete({0: NAMES[7]}, store)
    assert names_of(superseded, store) == {"shared"} and NAMES[5] not in store.sizes(0)


def test_what_a_store_did_not_delete_is_deleted_later(clock, store, monkeypatch):
    superseded, delete, failures = Superseded(Keep(last=0), transaction=10.0), store.delete, [OSError("slow down")]

    def fail_once(partition, name):
        if failures:
            raise failures.pop()
        delete(partition, name)

    monkeypatch.setattr(store, "delete", fail_once)
    superseded.add(0, NAMES[:1])
    clock.now += 71
    superseded.delete({0: NAMES[7]}, store)
    assert left(superseded, store) == list(range(8))
    clock.now += 71
    superseded.delete({0: NAMES[7]}, store)
    assert left(superseded, store) == list(range(1, 8))


def test_a_second_is_read_once_for_all_partitions_and_commits(clock, store):
    names.seconds_since_1970.cache_clear()
    superseded = Superseded(Keep(last=3), transaction=10.0)
    for number in range(32):
        superseded.add(number, NAMES[:7])
    for _ in range(10):
        superseded.delete(dict.fromkeys(range(32), NAMES[7]), store)
    assert names.seconds_since_1970.cache_info().misses == len(NAMES)


def test_a_snapshot_that_another_owner_has_deleted_holds_no_file(clock, store):
    """It was the committed one when the partition moved away, and a later one needed its segment, too."""
    superseded, segment = Superseded(Keep(last=1), transaction=10.0), f"{NAMES[1]}-segment"
    store.write(0, segment, b"")
    superseded.note_files(0, NAMES[1], frozenset({segment}))
    store.delete(0, NAMES[1])
    needed = {NAMES[4]: frozenset({segment}), NAMES[5]: frozenset()}
    superseded.add_found(0, NAMES[5], store, needed)
    clock.now += 71
    superseded.delete({0: NAMES[5]}, store)
    assert names_of(superseded, store) == set()


def test_what_is_not_known_is_looked_for_again(clock, store):
    superseded, asked = Superseded(Keep(last=0), transaction=10.0), []
    superseded.note_unknown(0, lambda *place: asked.append(place))
    superseded.delete({0: NAMES[7]}, store)
    concurrent.futures.wait(superseded._running)
    assert not asked
    clock.now += 61
    superseded.delete({0: NAMES[7]}, store)
    concurrent.futures.wait(superseded._running)
    assert asked == [(0, NAMES[7], store)]


def test_what_is_noted_while_a_list_is_made_stays(clock, store, monkeypatch):
    superseded, sizes = Superseded(Keep(last=0), transaction=10.0), store.sizes

    def then_commit(partition):
        found = sizes(partition)
        superseded.note_files(0, "newer", frozenset({"shared"}))
        return found

    monkeypatch.setattr(store, "sizes", then_commit)
    superseded.add_found(0, NAMES[5], store, {})
    assert superseded._files[0]["newer"] == {"shared"}


def test_what_is_published_is_not_superseded_if_the_store_failed_before(clock, store, monkeypatch):
    """The partition was loaded while the store failed, so what others have left is looked for again after a minute."""
    superseded, (found, _) = Superseded(Keep(last=0), transaction=10.0), assignment()
    found._superseded = superseded
    with monkeypatch.context() as failing:
        failing.setattr(store, "sizes", lambda partition: (_ for _ in ()).throw(StoreError("is away")))
        found._find_superseded(0, NAMES[1], store)
    found.partitions = {0: SimpleNamespace(published=NAMES[5])}
    for _ in range(3):
        clock.now += 71
        superseded.delete({0: NAMES[7]}, store)
        concurrent.futures.wait(superseded._running)
    assert left(superseded, store) == [5, 7]


@pytest.mark.parametrize("is_lost", [False, True])
def test_what_an_index_that_cannot_be_read_may_need_stays(clock, tmp_path, is_lost):
    """The index of a snapshot that is kept may come back from a backup; `prune` leaves its segments, too."""
    store, files, digests = FolderStore(tmp_path), WaitingFiles(WaitingRecords(10**12, 10**6)), []
    for number, name in enumerate(NAMES[:3]):
        record = Record(f"events-0-{number}", None, b"%d" % number)
        record.prediction, record.score = True, 0.5
        files.records.advance(number)
        files.records.add(f"r{number}", number, record)
        for settled in ("r0", "r1") if number == 2 else ():  # so that the last snapshot needs only its own segment
            files.records.settle(settled)
        prepared = files.prepare(name, number)
        for file, content in (prepared.files | {name: b"model"}).items():
            store.write(0, file, content)
        files.remember(prepared)
        digests.append(prepared.sha256)
    index = store.read(0, f"{NAMES[1]}-waiting")
    if is_lost:
        store.delete(0, f"{NAMES[1]}-waiting")
    else:
        store.write(0, f"{NAMES[1]}-waiting", b"damaged")
    superseded = Superseded(Keep(last=2), transaction=10.0)
    superseded.add_found(0, NAMES[2], store, waiting_files.needed(store, 0, has_labels=True))
    clock.now += 71
    superseded.delete({0: NAMES[2]}, store)
    concurrent.futures.wait(superseded._running)
    assert NAMES[0] not in store.sizes(0)
    store.write(0, f"{NAMES[1]}-waiting", index)
    assert len(waiting_files.read(store, 0, NAMES[1], digests[1], 10**12, 10**6).records.records) == 2
