"""Which segments are kept: all that waits is in them, they are few, and little is written twice."""

import random

import pytest

from connectors.labels import segments as module
from connectors.labels import state
from connectors.labels.segments import Plan, Segment, plan
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
        items = 0

        def write(part, start, end, number=number, data=data):
            nonlocal items
            items += state.count_between(waiting, start, end)
            name = f"s{number}-{part}"
            data[name] = state.write_segment(waiting, start, end)
            return name, ""

        segments, written = plan(waiting, segments, written).segments(write), waiting.position
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
    for number, (_, segments, _, items) in enumerate(commits(600, lambda line: True), 1):
        total += items
        assert len(segments) <= 8 * len(f"{number:b}")
    assert total <= 600 * PER_COMMIT * 5  # each content again when there is six times as much


def test_large_segments_stay_and_become_one_when_little_of_them_waits(monkeypatch):
    monkeypatch.setattr(module, "LARGEST", 6 * PER_COMMIT)
    *_, (waiting, segments, data, items) = commits(60, lambda line: True)
    assert len(segments) == 60 and items == PER_COMMIT, "eight of them would hold too much"
    for line in range(60 * PER_COMMIT):
        if line % PER_COMMIT:
            waiting.settle(f"r{line}")
    waiting.gone.most = 0  # of the ids of those
    list(waiting.expired())
    waiting.gone = type(waiting.gone)(10**12, 10**6)
    written = segments[-1].end._replace(gone=0)
    counts = []
    for number in range(4):

        def write(part, start, end, number=number):
            counts.append(state.count_between(waiting, start, end))
            data[f"t{number}-{part}"] = state.write_segment(waiting, start, end)
            return f"t{number}-{part}", ""

        segments = plan(waiting, segments, written).segments(write)
    assert counts == [8, 8, 8, 8] and len(segments) == 60 - 4 * 7
    assert [segment.start for segment in segments] == sorted(segment.start for segment in segments)
    restored = state.read(state.write_manifest(waiting), [data[segment.name] for segment in segments], 10**12, 10**6)
    assert list(restored.records) == list(waiting.records)


def test_segments_of_which_nothing_waits_are_dropped():
    waiting = WaitingRecords(within=10, pending=100)
    record = Record("in:1", None, b"{}")
    record.prediction = record.score = 0.5
    waiting.add("a", 1, record)
    first = Segment("first", "", Position(), waiting.position)
    assert plan(waiting, [first], waiting.position) == Plan([first], [])
    waiting.settle("a")
    assert plan(waiting, [first], first.end) == Plan([], [(first.end, waiting.position)])  # its id is remembered
    waiting.advance(11)
    list(waiting.expired())
    assert plan(waiting, [], first.end) == Plan([], [])
