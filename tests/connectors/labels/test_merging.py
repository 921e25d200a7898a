"""The order of two sources, beside a sort."""

from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.labels.merging import NO_TIME, Side, choose

TIMES = st.lists(st.one_of(st.integers(0, 9), st.just(NO_TIME)), max_size=12)


def merged(records, labels, **awaited):
    """Return the order in which two sources are taken."""
    heads, order = {Side.RECORDS: list(records), Side.LABELS: list(labels)}, []
    while side := choose(*(source[0] if source else None for source in heads.values()), **awaited):
        order.append((heads[side].pop(0), side))
    return order


@given(records=TIMES, labels=TIMES)
@settings(max_examples=100, deadline=None)
def test_rising_times_are_sorted_with_labels_first(records, labels):
    records, labels = sorted(records), sorted(labels)
    expected = [(time, Side.LABELS) for time in labels] + [(time, Side.RECORDS) for time in records]
    assert merged(records, labels) == sorted(expected, key=lambda item: item[0])


@given(records=TIMES, labels=TIMES)
@settings(max_examples=100, deadline=None)
def test_each_source_keeps_its_order_and_nothing_is_left(records, labels):
    order = merged(records, labels)
    assert [time for time, side in order if side is Side.RECORDS] == records
    assert [time for time, side in order if side is Side.LABELS] == labels


@given(records=TIMES, labels=TIMES, more=TIMES)
@settings(max_examples=100, deadline=None)
def test_waiting_for_labels_takes_nothing_that_more_of_them_would_change(records, labels, more):
    taken = merged(records, labels, are_labels_awaited=True)
    assert merged(records, labels + more)[: len(taken)] == taken


@given(records=TIMES, labels=TIMES, more=TIMES)
@settings(max_examples=100, deadline=None)
def test_waiting_for_records_takes_nothing_that_more_of_them_would_change(records, labels, more):
    taken = merged(records, labels, are_records_awaited=True)
    assert merged(records + more, labels)[: len(taken)] == taken
