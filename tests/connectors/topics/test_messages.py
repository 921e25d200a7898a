"""Messages for outputs and rejects, without Kafka."""

import hashlib
import json

from connectors.model.records import Record
from connectors.topics.messages import output_message, reject_message, shortened


def rejected(key, value):
    return reject_message(Record("p", key, value, "r"))


def test_an_output_has_the_key_of_its_input_and_names_input_and_model():
    record = Record("events-0-7", b"k", b"v")
    record.output, record.examples = b"{}", 12
    assert output_message(record, "17-abc") == (b"k", b"{}", [("source", b"events-0-7"), ("model", b"17-abc/12")])


def test_headers_of_the_input_come_first_as_they_were():
    headers = [("source", b"upstream"), ("traceparent", b"00"), ("a", None), ("a", b"")]
    record = Record("events-0-7", b"k", b"v", headers=headers)
    record.output, record.examples = b"{}", 12
    assert output_message(record, "17-abc")[2] == [*headers, ("source", b"events-0-7"), ("model", b"17-abc/12")]
    record.reason = "r"
    assert reject_message(record)[2] == [*headers, ("reason", b"r"), ("source", b"events-0-7")]
    assert dict(output_message(record, "17-abc")[2])["source"] == b"events-0-7", "the last of a name is ours"


def test_rejects_keep_null_distinct_from_empty():
    assert rejected(b"k", None) == (b"k", None, [("reason", b"r"), ("source", b"p")])
    assert rejected(None, b"") == (None, b"", [("reason", b"r"), ("source", b"p")])
    assert rejected(None, None)[2][-1] == ("null", b"key and value")


def test_a_short_message_names_what_it_stands_for():
    value = b"\xff" + b"x" * 5000
    of_input = [("large", b"x" * 1001), ("traceparent", b"y" * 500), ("a", None), ("b" * 500, b""), ("c", b"1")]
    record = Record("p", b"k" * 2000, value, "r" * 900, of_input)
    record.id = {"deep": 1}
    key, short, headers = shortened(record, (record.key, value, [*of_input, ("reason", b"r" * 900)]))
    assert key is None
    assert headers == [("traceparent", b"y" * 500), ("a", None), ("c", b"1"), ("reason", b"r" * 200)]
    assert json.loads(short) == {
        "id": '{"deep":1}',
        "too_large": True,
        "length": 5001,
        "sha256": hashlib.sha256(value).hexdigest(),
        "first_bytes": "\ufffd" + "x" * 199,
    }
    assert len(short) < 1500


def test_a_short_message_of_a_record_whose_id_cannot_be_said():
    """JSON is read up to 1024 levels and written up to 254."""
    record = Record("events-0-7", None, b"x")
    record.id = json.loads("[" * 300 + "]" * 300)
    assert json.loads(shortened(record, (None, b"x", []))[1])["id"] == "events-0-7"
