"""Which segments are kept: all that waits is in them, they are few, and little is written twice."""

import random

import pytest

from connectors.labels import state
from connectors.labels.segments import FANOUT, Segment, plan
from connectors.labels.waiting import Position, WaitingRecords
from connectors.model.records import Record

PER_COMMIT = 5


def commits(count, stays):
    """Yield what waits, the segments with their bytes, and the items written, after each of many commits.

    Of each commit's records, those that `stays` picks wait on for ever; the others are settled soon after.
    """
    waiting, segments, data, written = WaitingRecords(10**12, 10**6), [], {}, Position()
    settled = []
    for number in range(count):
        for line in range(number * PER_COMMIT, (number + 1) * PER_COMMIT):
            record = Record(f"in:{line}", None, b"%d" % line)
            record.prediction, record.score = True, 0.5
            waiting.advance(line)
            waiting.add(f"r{line}", line, record)
            if not stays(line):
                settled.append(line)
        while len(settled) > 3 * PER_COMMIT:
            waiting.settle(f"r{settled.pop(0)}")
        kept, start, level, is_empty = plan(waiting, segments, written)
        items = state.count_between(waiting, start, waiting.position)
        if not is_empty:
            name = f"s{number}"
            data[name] = state.write_segment(waiting, start)
            kept.append(Segment(name, "", level, start, waiting.position))
        segments, written = kept, waiting.position
        data = {segment.name: data[segment.name] for segment in segments}
        yield waiting, segments, data, items


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_all_that_waits_is_in_the_segments(share):
    randoms = random.Random(3)
    for number, (waiting, _, data, _) in enumerate(commits(80, lambda line: randoms.random() < share)):
        if number % 7 == 0 or number > 60:
            restored = state.read(state.write_manifest(waiting), data.values(), 10**12, 10**6)
            for one, other in zip(state.parts_of(waiting), state.parts_of(restored), strict=True):
                assert list(one) == list(other)


def test_many_commits_leave_few_segments_and_write_little_twice():
    total = 0
    for number, (waiting, segments, _, items) in enumerate(commits(600, lambda line: True), 1):  # noqa: B007
        total += items
        levels = len(str(number)) * 2  # more than log8
        assert len(segments) <= (FANOUT - 1) * levels
    assert FANOUT ** (max(segment.level for segment in segments)) <= 600
    assert total <= 600 * PER_COMMIT * 5  # once, and again at 8, 64 and 512 commits


def test_segments_of_which_nothing_waits_are_dropped():
    waiting = WaitingRecords(within=10, pending=100)
    record = Record("in:1", None, b"{}")
    record.prediction = record.score = 0.5
    waiting.add("a", 1, record)
    first = Segment("first", "", 0, Position(), waiting.position)
    assert plan(waiting, [first], waiting.position)[0] == [first]
    waiting.settle("a")
    assert plan(waiting, [first], first.end) == ([], first.end, 0, False)  # its id is remembered
    waiting.advance(11)
    list(waiting.expired())
    assert plan(waiting, [], first.end).is_empty
