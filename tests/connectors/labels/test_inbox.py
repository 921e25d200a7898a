"""What was read and is not taken yet: nothing is taken while something earlier may still come."""

import pytest

from connectors.labels import inbox as module
from connectors.labels.inbox import Inbox
from connectors.labels.merging import NO_TIME, Side
from connectors.model.records import Record

RECORDS, LABELS = Side.RECORDS, Side.LABELS
SIZE = module.OF_OBJECTS + len(b"kvalue")


@pytest.fixture
def inbox():
    return Inbox(wait=1.0)


def add(inbox, side, offset, time, arrived=0.0):
    inbox.add(side, offset, Record(f"a-0-{offset}", b"k", b"value"), time, arrived)


def taken(inbox):
    found = []
    while (side := inbox.next) is not None:
        found.append((side, inbox.take(side).offset))
    return found


def test_the_earlier_of_two_heads_is_taken_labels_first(inbox):
    for side, times in ((RECORDS, [5, 3, 9]), (LABELS, [4, 5, 9])):
        for offset, time in enumerate(times):
            add(inbox, side, offset, time)
    order = [(LABELS, 0), (LABELS, 1), (RECORDS, 0), (RECORDS, 1), (LABELS, 2)]
    assert taken(inbox) == order, "within a topic by offset; and the last record waits"
    assert inbox.has(RECORDS) and not inbox.has(LABELS)


@pytest.mark.parametrize(("side", "other"), [(RECORDS, LABELS), (LABELS, RECORDS)])
def test_an_empty_topic_is_waited_for(inbox, side, other):
    add(inbox, side, 0, 5, arrived=10.0)
    add(inbox, side, 1, 6, arrived=10.4)
    add(inbox, side, 2, 7, arrived=10.6)
    assert inbox.next is None and inbox.asks(10.9) is None and inbox.asks(11.0) is other
    inbox.note_asked(other, 11.0, is_empty=False)
    assert inbox.next is None and inbox.asks(11.1) is None, "not at once again"
    assert inbox.asks(11.5) is other
    inbox.note_asked(other, 11.5, is_empty=True)
    assert taken(inbox) == [(side, 0), (side, 1)], "both had arrived a second before; the third one waits"
    add(inbox, other, 0, 8)
    assert taken(inbox) == [(side, 2)]


def test_what_was_found_empty_and_has_something_is_not_empty(inbox):
    add(inbox, RECORDS, 0, 5, arrived=1.0)
    add(inbox, LABELS, 0, 9, arrived=1.0)
    inbox.note_asked(LABELS, 5.0, is_empty=True)
    assert taken(inbox) == [(RECORDS, 0)]
    inbox.take(LABELS)
    add(inbox, RECORDS, 1, 6, arrived=2.0)
    assert inbox.next is None


def test_a_record_without_a_time_comes_first_and_still_waits(inbox):
    add(inbox, RECORDS, 0, NO_TIME, arrived=0.0)
    assert inbox.next is None
    add(inbox, LABELS, 0, -5)
    assert taken(inbox) == [(RECORDS, 0)]


def test_a_full_queue_has_room_again_when_most_was_taken(inbox, monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 8 * SIZE)
    for offset in range(8):
        assert inbox.takes_more(RECORDS) and not inbox.is_full(RECORDS)
        add(inbox, RECORDS, offset, offset)
    assert not inbox.takes_more(RECORDS) and inbox.is_full(RECORDS) and inbox.takes_more(LABELS)
    add(inbox, LABELS, 0, 5)
    assert len(taken(inbox)) == 6 and not inbox.has(LABELS)
    assert not inbox.takes_more(RECORDS)
    for _ in range(2):
        inbox.take(RECORDS)
    assert inbox.takes_more(RECORDS)


def test_large_records_fill_a_queue_too(inbox, monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 2 * SIZE)
    add(inbox, RECORDS, 0, 0)
    assert inbox.takes_more(RECORDS)
    add(inbox, RECORDS, 1, 0)
    assert not inbox.takes_more(RECORDS)
    inbox.clear()
    assert inbox.takes_more(RECORDS) and not inbox


def test_large_headers_fill_a_queue_too(inbox, monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 3 * SIZE)
    headers = [("trace", b"x" * SIZE), ("trace", b"x" * SIZE), ("none", None)]
    inbox.add(RECORDS, 0, Record("events-0-0", None, b"", headers=headers), 0, 0.0)
    assert not inbox.takes_more(RECORDS)
    inbox.take(RECORDS)
    assert inbox.takes_more(RECORDS)
