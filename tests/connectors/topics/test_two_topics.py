"""That a topic has nothing to read is what the broker says, not an empty poll."""

import math
import time
from types import SimpleNamespace

from connectors.labels.inbox import Inbox
from connectors.labels.late_learning import Results
from connectors.labels.merging import Side
from connectors.model.records import Record
from connectors.topics import two_topics
from connectors.topics.late_loop import LateLoop
from connectors.topics.timeouts import LONGEST_WORK
from connectors.topics.two_topics import TwoTopics


class Reader:
    """Stands for a consumer whose topics end at offset 5."""

    def __init__(self, position):
        self.at, self.asked = position, []

    def offset_range(self, place):
        self.asked.append(place)
        return 0, 5

    def position(self, place):
        return self.at


def looked(reader, side):
    """Returns from which side is taken after a look, with a wait of almost nothing."""
    inbox = Inbox(wait=0.001)
    inbox.add(side, 7, Record("a-3-7", None, b"{}"), 1000, time.monotonic() - 1)
    TwoTopics(reader, None, None, None, 0.001, True)._look_for_more(3, inbox)
    return inbox.next


def test_a_topic_whose_records_are_on_their_way_is_waited_for():
    for side in Side:
        assert looked(Reader(position=4), side) is None
        assert looked(Reader(position=5), side) is side


def test_the_topic_of_the_empty_queue_is_asked():
    for side, place in ((Side.RECORDS, ~3), (Side.LABELS, 3)):
        reader = Reader(5)
        looked(reader, side)
        assert reader.asked == [place]


class InPython(LateLoop):
    """Leaves all to the route in Python."""

    def take(self, number, partition, due):
        return True


class Clock:
    now = 100.0

    def monotonic(self):
        return self.now


def slow(monkeypatch, partitions, seconds):
    """Partitions with ten labels each, of which each takes some seconds; what was taken of them, and the clock."""
    clock, taken = Clock(), {number: [] for number in range(partitions)}
    monkeypatch.setattr(two_topics, "time", clock)
    monkeypatch.setattr(two_topics, "LateLoop", InPython)

    def partition(number):
        def process(side, record, offset, time, counts):
            clock.now += seconds
            taken[number].append(offset)
            return Results((), ())

        inbox = Inbox(wait=0.5)
        for offset in range(10):
            inbox.add(Side.LABELS, offset, Record("l", None, b"{}"), 1000, 100.0)
        inbox.note_asked(Side.RECORDS, 101.0, is_empty=True)
        return SimpleNamespace(
            labels=SimpleNamespace(inbox=inbox, process=process, let_some_go=lambda *_: None), wants_snapshot=False
        )

    outbox = SimpleNamespace(pending=None, send_results=lambda *_: None, add_moved=lambda *_: None)
    assignment, committer = SimpleNamespace(partitions={n: partition(n) for n in taken}), SimpleNamespace(due=math.inf)
    return TwoTopics(Reader(5), assignment, outbox, committer, 0.5, True), taken, clock


def test_what_is_held_is_worked_off_between_polls(monkeypatch):
    """A member that does not poll for long leaves its group: here each record takes a second, and 20 are there."""
    two, taken, clock = slow(monkeypatch, partitions=2, seconds=1.0)
    slices = 0
    while (count := sum(map(len, taken.values()))) < 20:
        before = clock.now
        assert two.longest_poll == 0.0
        two.take([], set())
        assert 0.0 < clock.now - before <= LONGEST_WORK
        assert all(taken.values()), "each partition has its share"
        slices += 1
    assert slices == 4 and count == 20 and two.longest_poll is None
    assert taken == {0: list(range(10)), 1: list(range(10))}


def test_many_partitions_take_turns_if_one_record_each_takes_too_long(monkeypatch):
    """Here one record of each of the eight partitions would take 24 s."""
    two, taken, clock = slow(monkeypatch, partitions=8, seconds=3.0)
    for _ in range(4):
        before = clock.now
        two.take([], set())
        assert clock.now - before <= LONGEST_WORK + 3.0
    assert taken == {number: [0] for number in range(8)}
