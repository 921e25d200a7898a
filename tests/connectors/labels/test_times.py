"""The time of a record, from its field or its timestamp."""

import datetime

import pytest

from connectors.labels.merging import NO_TIME
from connectors.labels.times import Clock, milliseconds
from connectors.model.records import Record

PRAGUE = datetime.timezone(datetime.timedelta(hours=2))


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2024-05-01T12:30:00Z", datetime.datetime(2024, 5, 1, 12, 30, tzinfo=datetime.UTC)),
        ("2024-05-01 12:30", datetime.datetime(2024, 5, 1, 12, 30, tzinfo=datetime.UTC)),
        ("2024-05-01T12:30:00.5+02:00", datetime.datetime(2024, 5, 1, 12, 30, 0, 500_000, tzinfo=PRAGUE)),
        ("1969-12-31", datetime.datetime(1969, 12, 31, tzinfo=datetime.UTC)),
    ],
)
def test_texts_are_points_in_time(text, time):
    assert milliseconds(text) == time.timestamp() * 1000


def test_numbers_are_milliseconds_rounded_down():
    assert [milliseconds(number) for number in (0, 1700000000123, 12.9, -0.5)] == [0, 1700000000123, 12, -1]


@pytest.mark.parametrize("value", ["b'{}'", "yesterday", True, None, [1], {}, float("nan"), 1e300, ""])
def test_anything_else_is_no_time(value):
    with pytest.raises(ValueError, match="is "):
        milliseconds(value)


@pytest.mark.parametrize("text", ["1722053050328", " 1714564800000", "1714564800"])
def test_a_text_of_digits_is_no_time_and_the_error_says_how_to_write_one(text):  # Python: 1722-05-30
    with pytest.raises(ValueError, match=f"is the text `{text}`: write milliseconds as a number, without quotes"):
        milliseconds(text)


def test_a_date_may_be_written_without_hyphens():
    assert milliseconds("20240501") == datetime.datetime(2024, 5, 1, tzinfo=datetime.UTC).timestamp() * 1000


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b'{"at": "soon"}', "the time `at` is `soon`, and neither milliseconds nor ISO 8601"),
        (b"{}", "the time `at` is missing"),
        (b"{", None),  # the decoder says what is wrong
        (b"3", None),
        (None, None),
    ],
)
def test_a_record_without_a_time_is_taken_at_once_and_rejected(value, reason):
    record = Record("a:1", None, value, timestamp=7)
    assert Clock("at").time_of(record) == NO_TIME
    assert (record.known and str(record.known)) == reason


def test_without_a_field_the_timestamp_counts():
    assert Clock(None).time_of(Record("a:1", None, b"{}", timestamp=7)) == 7
    assert Clock(None).time_of(Record("a:1", None, b"{}")) == NO_TIME
