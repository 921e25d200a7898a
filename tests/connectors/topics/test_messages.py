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


def test_rejects_keep_null_distinct_from_empty():
    assert rejected(b"k", None) == (b"k", None, [("reason", b"r"), ("source", b"p")])
    assert rejected(None, b"") == (None, b"", [("reason", b"r"), ("source", b"p")])
    assert rejected(None, None)[2][-1] == ("null", b"key and value")


def test_a_short_message_names_what_it_stands_for():
    value = b"\xff" + b"x" * 5000
    key, short, headers = shortened({"deep": 1}, (b"k" * 2000, value, [("reason", b"r" * 900)]))
    assert key is None and headers == [("reason", b"r" * 200)]
    assert json.loads(short) == {
        "id": '{"deep":1}',
        "too_large": True,
        "length": 5001,
        "sha256": hashlib.sha256(value).hexdigest(),
        "first_bytes": "\ufffd" + "x" * 199,
    }
    assert len(short) < 1500
