"""What waits, step by step beside lists that keep everything, and its state as bytes."""

import random
import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.labels import pending, state
from connectors.labels.waiting import BadState, Late, Position, WaitingRecords
from connectors.model.records import Record
from tests.connectors.labels.naive import Naive

PREDICTIONS = [
    (True, 0.5),
    (False, -0.0),
    (None, 0.0),
    (0.25, 0.25),
    (-0.0, 0.0),
    (3, {"1": 1.5, "3": 2.0}),
    ("a", 1.0),
]
STEPS = st.lists(
    st.tuples(st.sampled_from("rl"), st.integers(0, 5), st.integers(-3, 12)), max_size=60
)  # record or label, id, time since the step before


class Joined(WaitingRecords):
    """Takes the steps of `Naive`, and keeps the same log."""

    def __init__(self, within, most):
        super().__init__(within, most)
        self.log = []

    def record(self, id, sequence, time):
        self.pass_time(time)
        message = Record(f"in-0-{sequence}", None, b"%d" % sequence)
        message.prediction, message.score = PREDICTIONS[sequence % len(PREDICTIONS)]
        if not self.add(id, sequence, message):
            return self.log.append(("waits already", id, sequence))
        early = self.take_early(id)
        if early:
            return self.log.append(("settled", id, self.settle(id).sequence, early.sequence, early.time - self.time))
        return self.bound()

    def label(self, id, sequence, time):
        self.pass_time(time)
        try:
            found = self.settle(id)
        except Late as late:
            return self.log.append(("rejected", sequence, late.kind))
        if found:
            assert repr((found.prediction, found.score)) == repr(PREDICTIONS[found.sequence % len(PREDICTIONS)])
            assert found.value == b"%d" % found.sequence
            return self.log.append(("settled", id, found.sequence, sequence, self.time - found.time))
        self.add_early(id, sequence, Record("labels", b"k", b"%d" % sequence, None, [("h", None), ("i", b"j")], 7))
        return self.bound()

    def pass_time(self, time):
        is_due = self.advance(time)
        before = len(self.log), *map(len, state.parts_of(self))
        self.bound()
        assert is_due or before == (len(self.log), *map(len, state.parts_of(self)))

    def bound(self):
        for found, why in self.expired():
            self.log.append((why.name.lower(), found.id, found.sequence))
        for early in self.expired_labels():
            assert (early.value, early.headers) == (b"%d" % early.sequence, [("h", None), ("i", b"j")])
            self.log.append(("rejected", early.sequence, "unknown_id"))


def take(joins, steps, at=0):
    now = at
    for sequence, (kind, id, passed) in enumerate(steps, at):
        now += passed
        for join in joins:
            (join.record if kind == "r" else join.label)(str(id or ""), sequence, now)


@given(steps=STEPS, within=st.sampled_from([0, 7, 10**6]), most=st.sampled_from([1, 2, 1000]))
@settings(max_examples=150, deadline=None)
def test_each_step_has_the_result_of_lists_that_keep_everything(steps, within, most):
    naive, joined = Naive(within, most), Joined(within, most)
    take([naive, joined], steps)
    assert joined.log == naive.log
    assert [[item.key.decode(), item.sequence, item.time] for item in joined.records] == naive.records
    assert [[item.key.decode(), item.sequence, item.time] for item in joined.labels] == naive.labels
    assert [item.key.decode() for item in joined.gone] == [id for id, *_ in naive.gone]


def same(one, other):
    assert (one.time, one.position) == (other.time, other.position)
    for left, right in zip(state.parts_of(one), state.parts_of(other), strict=True):
        assert list(left) == list(right)
        assert left.due <= min((item.time + left.within for item in left), default=float("inf"))


@given(
    steps=STEPS, more=STEPS, every=st.integers(1, 9), within=st.sampled_from([7, 10**6]), most=st.sampled_from([2, 99])
)
@settings(max_examples=100, deadline=None)
def test_a_state_in_pieces_goes_on_as_the_original(steps, more, every, within, most):
    joined, position, segments = Joined(within, most), Position(), []
    for number in range(0, len(steps), every):
        take([joined], steps[number : number + every], at=number)
        segments.append((position, joined.position, state.write_segment(joined, position)))
        position = joined.position
    # those of which nothing waits are left out, and the others are written again
    needed = [
        (segment, state.write_segment(joined, start, end))
        for start, end, segment in segments
        if state.count_between(joined, start, end)
    ]
    manifest = state.write_manifest(joined)
    for pieces in zip(*needed, strict=True) if needed else [[]]:
        restored = state.read(manifest, reversed(pieces), within, most)
        same(joined, restored)
        assert state.write_manifest(restored) == manifest
        restored.__class__, restored.log = Joined, []
    logged = len(joined.log)
    take([joined, restored], more, at=1000)
    assert restored.log == joined.log[logged:]
    same(joined, restored)


def example():
    joined = Joined(100, 50)
    randoms = random.Random(1)
    take([joined], [(randoms.choice("rrl"), randoms.randrange(60), randoms.randrange(3)) for _ in range(200)])
    assert all(state.parts_of(joined))
    return state.write_manifest(joined), state.write_segment(joined, Position())


@pytest.mark.parametrize("signed", [False, True], ids=["", "with a CRC that fits"])
def test_hostile_bytes_are_refused_or_lead_to_a_state(signed):
    whole, randoms = example(), random.Random(2)
    refused = 0
    for _ in range(400):
        which = randoms.randrange(2)
        data = bytearray(whole[which])
        for _ in range(randoms.choice([1, 1, 4])):
            place = randoms.randrange(len(data))
            if randoms.random() < 0.3:
                del data[place : place + randoms.randrange(1, 9)]
            else:
                data[place] = randoms.choice([0, 1, 127, 128, 255, randoms.randrange(256)])
        if signed:
            data[-4:] = struct.pack("<I", zlib.crc32(data[:-4]))
        if bytes(data) == whole[which]:
            continue
        pieces = [*whole]
        pieces[which] = bytes(data)
        try:
            state.read(pieces[0], [pieces[1]], 100, 50)
        except BadState as error:
            refused += 1
            assert len(str(error)) > 20
        else:
            assert signed
    assert refused > (100 if signed else 350)


def test_a_manifest_of_a_huge_number_is_refused_before_memory_is_taken():
    words = struct.pack("<4sq", b"RMM1", 0) + struct.pack("<QBQ", 2**63, 0, 2) + struct.pack("<QQ", 0, 2**62)
    words += struct.pack("<QBQ", 0, 0, 0) * 2
    with pytest.raises(BadState, match="more than 2\\^32"):
        state.read(words + struct.pack("<I", zlib.crc32(words)), [], 1, 1)


def test_missing_segments_are_found():
    manifest, _ = example()
    with pytest.raises(BadState, match="contents are missing in the segments"):
        state.read(manifest, [], 100, 50)


@given(st.sets(st.integers(0, 400), max_size=300), st.sampled_from([0, 2**40]))
@settings(max_examples=60, deadline=None)
def test_numbers_that_wait_are_told_in_either_form(numbers, base):
    part = pending.Pending(1, 1000)
    for number in sorted(numbers):
        part.add(b"%d" % number, number + base, 0)
    form, words = state._words(part)
    assert state._numbers(form, words, 2**60).tolist() == sorted(number + base for number in numbers)
    assert len(words) <= 2 * len(numbers)


def slots(part):
    return sum(len(piece.keys) for piece in part._pieces)


def test_memory_of_the_order_is_bounded_by_what_waits(monkeypatch):
    monkeypatch.setattr(pending, "PIECE", 8)
    part = pending.Pending(10**9, 10**6)
    for number in range(2000):
        part.add(b"%d" % number, number, number)
        if number % 50:  # the others stay
            part.pop(b"%d" % number)
        assert slots(part) <= 2 * len(part) + 8
    assert len(part) == 40 and len(part._pieces) <= 20
    assert [item.sequence for item in part] == part.sequences().tolist() == [*range(0, 2000, 50)]
    assert [item.sequence for item in part.expired(10**9 + 500)] == [*range(0, 500, 50)]


@given(steps=STEPS, more=STEPS, most=st.sampled_from([3, 1000]))
@settings(max_examples=60, deadline=None)
def test_small_pieces_give_the_same(steps, more, most):
    large, small = Joined(10**6, most), Joined(10**6, most)
    take([large], steps + more)
    before, pending.PIECE = pending.PIECE, 2
    try:
        take([small], steps + more)
    finally:
        pending.PIECE = before
    assert small.log == large.log
    same(small, large)
    for end in range(0, 70, 7):
        assert small.records.count_between(3, end) == large.records.count_between(3, end)
        assert [*small.records.between(3, end)] == [*large.records.between(3, end)]


def test_numbers_that_are_far_apart():
    """Nothing is said about offsets but that they rise."""
    part, numbers = pending.Pending(1, 10**6), [0, 1, 2**32 - 1, 2**32, 2**33, 2**33 + 1, 2**62, 2**62 + 2**31]
    for number in numbers:
        part.add(b"%d" % number, number, 0)
    assert part.sequences().tolist() == numbers == [item.sequence for item in part]
    for number in numbers[1:-1]:
        part.pop(b"%d" % number)
        numbers.remove(number)
        assert part.sequences().tolist() == numbers == [item.sequence for item in part.between(0, 2**63)]
        assert part.count_between(1, 2**63) == len(numbers) - 1


def test_labels_of_another_topic_have_lower_offsets():
    waiting = WaitingRecords(within=1000, pending=10)
    waiting.advance(5)
    waiting.add_early("a", 90, Record("old-0-90", b"k", b"{}"))
    waiting.add_early("b", 3, Record("new-0-3", b"k", b"{}"))
    assert waiting.labels.next_sequence == 92
    assert [waiting.take_early(id).sequence for id in "ab"] == [90, 3]


@pytest.mark.parametrize("content", [b"7", b"no number", None])
def test_a_header_of_a_label_may_have_any_name(content):
    """Also the one behind which the offset of a label stands whose number is another one."""
    waiting, headers = WaitingRecords(within=1000, pending=10), [("\0offset", content)]
    waiting.advance(5)
    waiting.add_early("a", 3, Record("labels-0-3", b"k", b"{}", headers=headers))
    early = waiting.take_early("a")
    assert (early.sequence, early.headers) == (3, headers)
