"""Bytes to examples and back, without Kafka."""

import json

import pytest

from connectors.files import csv_rows, svmlight
from connectors.labels.label_records import LabelDecoder
from connectors.model.records import Decoder, Record, encode
from connectors.model.rejects import Reject, Unjoinable, Unlearnable


def decode(value, id="id", label="y", features=None):
    record = Record("events-2-9", None, value)
    Decoder(id, label, features).decode(record)
    return record.id, record.features, record.label


def test_every_other_field_is_a_feature():
    assert decode(b'{"id": 5, "y": false, "a": 1, "b": "x"}') == (5, {"a": 1, "b": "x"}, False)


def test_without_id_the_position_is_the_id():
    assert decode(b'{"a": 1}')[0] == "events-2-9"
    assert decode(b'{"a": 1, "id": null}')[0] == "events-2-9"
    assert decode(b'{"a": 1, "id": 3}', id=None) == ("events-2-9", {"a": 1, "id": 3}, None)


@pytest.mark.parametrize("value", [b'{"a": 1}', b'{"a": 1, "y": null}'])
def test_an_absent_or_null_label_is_unknown(value):
    assert decode(value)[2] is None


@pytest.mark.parametrize("label", ["false", "0", '""', "0.0"])
def test_a_label_is_known_even_if_it_is_nothing_much(label):
    assert decode(b'{"a": 1, "y": %s}' % label.encode())[2] == json.loads(label)


def test_listed_features_only():
    assert decode(b'{"a": 1, "b": 2, "c": 3}', features=["c", "a", "z"])[1] == {"c": 3, "a": 1}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "the value is null"),
        (b"", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[", "not JSON: unexpected end of data.*: a record is a whole JSON object, in a file on a line of its own"),
        (b' {"a":\r', "a record is a whole JSON object, in a file on a line of its own"),
        (b'{"a": Infinity}', "not JSON"),
        (b'{"a": -1e400}', "not JSON"),
        (b"null", "not a JSON object but null"),
        (b'"x"', "not a JSON object but text"),
        (b"3", "not a JSON object but a number"),
        (b'{"id": "x", "y": true}', "no features"),
        (b'{"a": 1, "id": 9223372036854775808123}', "the id is a number beyond 64 bits"),
        (b'{"a": 1, "id": -1e19}', "the id is a number beyond 64 bits"),
    ],
)
def test_what_cannot_be_processed(value, reason):
    with pytest.raises(Reject, match=reason):
        decode(value)


def test_a_label_that_no_learner_takes_is_left_out():
    record = Record("s", None, b'{"a": 1, "y": {"b": 1}}')
    Decoder(None, "y", None).decode(record)
    assert record.label is None and record.features == {"a": 1}
    assert isinstance(record.known, Unlearnable) and str(record.known) == "the label is an object"


@pytest.mark.parametrize("score", [float("inf"), float("nan"), {"a": 1.0, "b": float("-inf")}])
def test_scores_that_json_cannot_say(score):
    with pytest.raises(Reject, match="score"):
        encode("x", True, score, None)
    encode("x", True, {"a": 1.0, "b": -1e308}, None)
    encode("x", True, None, None)


@pytest.mark.parametrize("id", [2**63, 2**64 - 1, -(2**63), 0.5])
def test_ids_that_are_numbers_keep_their_digits(id):
    assert decode(json.dumps({"id": id, "a": 1}).encode())[0] == id


def test_output_has_a_label_only_if_it_is_known():
    assert json.loads(encode("a", None, {}, None)) == {"id": "a", "prediction": None, "score": {}}
    assert json.loads(encode("a", True, 0.5, False))["label"] is False


def weighed(value, weight="w", **options):
    record = Record("events-2-9", None, value)
    Decoder(*[None, "y", None], weight=weight, **options).decode(record)
    return record


@pytest.mark.parametrize(
    ("text", "weight"), [("", 1.0), (', "w": null', 1.0), (', "w": 0', 0), (', "w": 2.5', 2.5), (', "w": 7', 7)]
)
def test_a_weight_is_no_feature_and_1_if_it_is_absent(text, weight):
    for nulls in (None, "absent"):  # without paths, and with
        record = weighed(b'{"a": 1, "y": true%s}' % text.encode(), nulls=nulls)
        assert (record.features, record.label, record.weight, record.known) == ({"a": 1}, True, weight, None)


def test_a_weight_by_path():
    record = weighed(b'{"a": 1, "y": true, "meta": {"w": [3, 4]}}', "meta.w[1]")
    assert (record.features, record.weight) == ({"a": 1}, 4)
    assert weighed(b'{"a": 1, "y": true, "meta": 3}', "meta.w").weight == 1.0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("-1", "the weight is -1: a number from 0 to 1e+100 is needed"),
        ("-0.5", "the weight is -0.5: a number from 0 to 1e+100 is needed"),
        ('"2"', "the weight is text: a number is needed"),
        ("true", "the weight is true or false: a number is needed"),
        ("[1]", "the weight is a list: a number is needed"),
    ],
)
def test_a_bad_weight_takes_the_label_away(text, reason):
    record = weighed(b'{"a": 1, "y": true, "w": %s}' % text.encode())
    assert (record.features, record.label, record.weight) == ({"a": 1}, None, 1.0)
    assert isinstance(record.known, Unlearnable) and (str(record.known), record.known.kind) == (reason, "weight")
    assert weighed(b'{"a": 1, "w": %s}' % text.encode()).known is None, "there is no label to reject"


def test_a_weight_that_is_not_finite():
    record = weighed(b"", parse=lambda _: {"a": 1, "y": True, "w": float("inf")})  # as a cell of CSV can say
    assert str(record.known) == "the weight is inf: a number from 0 to 1e+100 is needed"


@pytest.mark.parametrize("path", ["at", "meta.at"])
def test_the_time_of_a_record_is_no_feature(path):
    record = Record("events-0-7", None, b'{"a": 1, "at": 5, "meta": {"at": 5}}')
    Decoder(None, None, None, time=path).decode(record)
    assert record.features == {"a": 1, ("meta" if path == "at" else "at"): ({"at": 5} if path == "at" else 5)}


@pytest.mark.parametrize("nulls", [None, "absent"])
def test_a_label_that_came_later_takes_the_place_of_one_in_the_record(nulls):
    for own in (b"null", b"true", b"[]"):
        record = Record("events-0-7", None, b'{"a": 1, "w": 2, "y": %b}' % own)
        Decoder(None, "y", None, weight="w", nulls=nulls).decode(record, False)
        assert (record.features, record.label, record.weight, record.known) == ({"a": 1}, False, 2, None)


@pytest.mark.parametrize(
    ("id", "key", "value", "found", "reason"),
    [
        (None, b"k", b'{"a": 1}', "k", None),
        (None, None, b'{"a": 1}', "events-0-7", "the record has no key"),
        (None, b"\xff", b'{"a": 1}', "events-0-7", "the key of the record is not UTF-8"),
        (None, None, b'{"a": 1, "y": 1}', "events-0-7", None),  # its label is there: none must find it
        ("id", b"k", b'{"a": 1}', "events-0-7", "the record has no `id`"),
        ("id", b"k", b'{"a": 1, "id": 3}', 3, None),
    ],
)
def test_a_record_that_waits_for_its_label_needs_an_id(id, key, value, found, reason):
    record = Record("events-0-7", key, value)
    Decoder(id, "y", None, is_joined=True).decode(record)
    assert record.id == found
    assert (record.known is None) if reason is None else str(record.known).startswith(reason)
    assert reason is None or isinstance(record.known, Unjoinable)


@pytest.mark.parametrize(
    ("parse", "line"), [(csv_rows.parser(["label", "a"], []), b"1e999,1"), (svmlight.parse, b"-inf 1:1")]
)
def test_an_infinite_label_is_left_out(parse, line):
    record = Record("s", None, line)
    Decoder(None, "label", None, parse).decode(record)
    assert record.label is None and isinstance(record.known, Unlearnable)
    with pytest.raises(Reject, match=r"`label` is the number -?inf"):
        LabelDecoder("a" if line[0] == ord("1") else "1", "label", parse).decode(Record("s", None, line))
