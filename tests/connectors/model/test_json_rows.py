"""What is read into a row is what orjson reads."""

import json
import math
import random
import re
import struct
import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import orjson
import pytest

import river_margins as rm
from connectors.model.json_rows import JsonRows
from river_margins.pipeline import reads_rows
from tests.helpers.rounds import state
from tests.river_margins.test_pipeline import STEPS, Pipeline
from tests.torture import grammar

LABELS = True, None, "a", 'd\u2028"', 7, -7, 2**64 - 1, -(2**63), 1e300, -0.0
IDS = None, "a", 'd\u2028"', 0, 7, -7, 2**63, 2**64 - 1, -(2**63)


def ready_for(value, id="id", label="label", features=None):
    """Return rows that expect objects like this one."""
    rows = JsonRows(id, label, features)
    assert not rows.read(value)
    rows.show(orjson.loads(value))
    return rows


def reads(rows, value):
    """Try an object as often as it takes to be tried."""
    return any(rows.read(value) for _ in range(2))


def by_orjson(value, id="id", label="label", features=None):
    """Return id, label and features of an object."""
    fields = orjson.loads(value)
    found = {name: fields.pop(name, None) for name in (label, id)}
    names = fields if features is None else features
    return found[id], found[label], {name: float(fields[name]) for name in names if name in fields}


def same(one, other):
    """Whether two results are the same, with the same types, bits of numbers, and order of features."""
    return repr(one) == repr(other)


def address_space():
    """The bytes that this process has in all, touched or not."""
    return 1024 * int(re.search(r"VmSize:\s*(\d+) kB", Path("/proc/self/status").read_text())[1])


def numbers(count):
    """Texts of numbers: near and far from what a float can express, short and long."""
    draw = random.Random(11)
    yield from ("0", "-0", "0.0", "-0.0", "0e5", "-0E-5", "1E400", "-1e-400", "4.9e-324", "2.47e-324", "1.8e308")
    yield from ("18446744073709551615", "18446744073709551616", "-9223372036854775808", "-9223372036854775809")
    yield from ("9007199254740993", "9007199254740992.99999999999999999999", "0." + "0" * 400 + "1", "1" + "0" * 400)
    for n in range(count):
        number = struct.unpack("<d", draw.randbytes(8))[0]
        if not math.isfinite(number):
            continue
        middle = (Decimal(number) + Decimal(math.nextafter(number, math.inf))) / 2  # a tie, or nearly one
        yield (repr(number), f"{number:.20e}", f"{draw.gauss(0, 1):.{draw.randrange(25)}f}", f"{middle:.40e}")[n % 4]
        yield str(draw.randrange(-(2 ** draw.randrange(1, 70)), 2 ** draw.randrange(1, 70)))


def test_numbers_have_the_bits_that_orjson_and_python_give_them():
    rows, read = ready_for(b'{"a": 1, "b": 2}'), 0
    for text in numbers(40_000):
        value = b'{"a": %s, "b": 0}' % text.encode()
        if not reads(rows, value):
            with pytest.raises(orjson.JSONDecodeError):
                orjson.loads(value)
            continue
        read += 1
        assert same((rows.id, rows.label, rows.features), by_orjson(value)), text
        assert rows.features["a"] == float(text), text
    assert read > 30_000


def test_broken_and_odd_records_are_read_as_by_orjson_or_left_to_it():
    read = 0
    for hostile in grammar.records(6_000, seed=7, calm=0):
        value = hostile.value
        if value is None or len(value) > 10**6:
            continue
        rows = JsonRows("id", "label", None)
        try:
            fields = orjson.loads(value)
        except orjson.JSONDecodeError:
            fields = {"id": "r", "a": 1, "b": 1, "c": 1, "label": True}
        assert not rows.read(value)
        rows.show(fields if isinstance(fields, dict) else {"a": 1})
        if reads(rows, value):
            read += 1
            assert same((rows.id, rows.label, rows.features), by_orjson(value)), value
    assert read > 3_000


def test_bytes_that_were_changed_are_read_as_by_orjson_or_left_to_it():
    draw = random.Random(3)
    good = b'{"id": "r\xc3\xa91", "a": 1.25, "b": -3, "label": true, "c\\u0041": 2e-3, "d": false}'
    rows, read = ready_for(good), 0
    letters = b'{}[]":,.eE+-0123456789 \t\nrnulltruefalse\\u\x00\xc3\xa9\xff'
    for _ in range(30_000):
        value = bytearray(good)
        for _ in range(draw.choice([1, 1, 2, 3])):
            place = draw.randrange(len(value))
            value[place : place + draw.randrange(3)] = bytes(draw.choices(letters, k=draw.randrange(3)))
        assert reads(rows, good)
        if rows.read(bytes(value)):
            read += 1
            assert same((rows.id, rows.label, rows.features), by_orjson(bytes(value))), value
    assert read > 3_000


@pytest.mark.parametrize("id", IDS)
def test_ids_have_the_type_that_orjson_gives_them(id):
    value = json.dumps({"id": id, "x": 1}).encode()
    rows = ready_for(value)
    assert reads(rows, value)
    assert same((rows.id, rows.label, rows.features), by_orjson(value))


@pytest.mark.parametrize("label", LABELS)
def test_labels_have_the_type_that_orjson_gives_them(label):
    value = json.dumps({"label": label, "x": 1}).encode()
    rows = ready_for(value)
    assert reads(rows, value)
    assert same((rows.id, rows.label, rows.features), by_orjson(value))


@pytest.mark.parametrize(
    "value",
    [
        b'{"id": "r", "a": 1}',  # a field is missing
        b'{"id": "r", "a": 1, "b": 2, "label": true, "c": 3}',
        b'{"id": "r", "b": 1, "a": 2, "label": true}',
        b'{"id": "r", "a": 1, "a": 2, "label": true}',
        b'{"id": 7.0, "a": 1, "b": 2, "label": true}',
        b'{"id": 18446744073709551616, "a": 1, "b": 2, "label": true}',
        b'{"id": -9223372036854775809, "a": 1, "b": 2, "label": true}',
        b'{"id": true, "a": 1, "b": 2, "label": true}',
        b'{"id": [7], "a": 1, "b": 2, "label": true}',
        b'{"id": "r", "a": "1", "b": 2, "label": true}',
        b'{"id": "r", "a": null, "b": 2, "label": true}',
        b'{"id": "r", "a": [1], "b": 2, "label": true}',
        b'{"id": "r", "a": 1, "b": 2, "label": [1]}',
        b'{"id": "r", "a": 1, "b": 2, "label": {}}',
        b'{"id": "r", "a": 1, "b": 2, "label": true} {}',
        b"[1, 2, 3, 4]",
        b"",
    ],
)
def test_other_objects_are_left(value):
    assert not reads(ready_for(b'{"id": "r", "a": 1, "b": 2, "label": true}'), value)


def test_named_features_are_read_in_their_order_and_all_other_fields_left_out():
    value = b'{"z": {"deep": [1, {"a": 5}]}, "b": 2, "id": "r", "a": 1, "text": "t", "label": 0, "c": 3}'
    names = ["c", "a", "none", "label", "c"]
    rows = ready_for(value, features=names)
    assert reads(rows, value)
    assert same((rows.id, rows.label, rows.features), ("r", 0, {"c": 3.0, "a": 1.0}))
    one, other = rm.PAClassifier(), rm.PAClassifier()
    one.learn_one(rows.row, True)
    other.learn_one({"c": 3.0, "a": 1.0}, True)
    assert state(one) == state(other)


def test_nothing_is_left_of_the_object_before():
    rows = ready_for(b'{"id": "r", "a": 1, "label": true}')
    assert reads(rows, b'{"id": "r", "a": 1, "label": true}')
    other = b'{"a": 1}'
    while not rows.read(other):
        rows.show(orjson.loads(other))
    assert same((rows.id, rows.label, rows.features), (None, None, {"a": 1.0}))


def test_an_object_without_features_is_left():
    value = b'{"id": "r", "label": true}'
    assert not reads(ready_for(value), value)


def test_what_cannot_be_read_is_tried_less_and_less_often():
    good, bad, left = b'{"a": 2}', b'{"a": "text"}', []
    for count in (1, 100, 100_000):
        rows = ready_for(b'{"a": 1}')
        assert reads(rows, good)
        for _ in range(count):
            assert not rows.read(bad)
            rows.show(orjson.loads(bad))
        left.append(next(n for n in range(1_024) if rows.read(good)))
        assert rows.read(good), "once it was read again, always"
    assert left[0] == 1 and left == sorted(left) and left[2] > 100


def test_models_learn_the_same_from_rows_as_from_dicts_and_those_that_need_a_dict_say_so():
    need_dicts = set()
    for name, steps in STEPS.items():
        model, other, rows, draw = Pipeline(*steps()), Pipeline(*steps()), JsonRows(None, None, None), random.Random(1)
        if not reads_rows(model):
            need_dicts.add(name)
            continue
        read = 0
        for n in range(400):
            values = {"https": draw.random() < 0.5, "late": n, "length": draw.gauss(3, 2), f"n{n // 100}": n / 7}
            x, y = dict(reversed(values.items())) if n % 50 == 0 else values, values["length"] > 3
            value = orjson.dumps(x)
            is_read = rows.read(value)
            read += is_read
            if not is_read:
                rows.show(x)
            assert model.predict_score_one(rows.row if is_read else x) == other.predict_score_one(x), name
            assert not is_read or rows.read(value)  # a row is read once
            model.learn_one(rows.row if is_read else x, y)
            other.learn_one(x, y)
        assert state(model) == state(other), name
        assert read > 300, name
    assert need_dicts == {
        "a learner of one's own",
        "a scaler and products before a learner of one's own",
        "a scaler of one's own",
        "products before a scaler of one's own",
        "two transformers",
        "a union",
        "a supervised transformer",
        "a filter",
    }
    assert reads_rows(STEPS["only a learner"]()[0]) and not reads_rows(STEPS["a learner of one's own"]()[1])


def test_long_objects_are_read_or_left():
    for size in (10, 1_000, 4_000, 9_000):
        value = orjson.dumps({f"feature {n}": n / 7 for n in range(size)})
        rows = ready_for(value)
        is_read = reads(rows, value)
        assert is_read == (len(value) <= 65_536)
        if is_read:
            assert rows.features == orjson.loads(value)


def texts(letter):
    """Objects with long texts of one letter, all of different lengths."""
    for n in range(300):
        yield orjson.dumps({"id": letter * (1 + 997 * n % 20_000), "a": n, "label": letter * n, "b": ord(letter)})


def test_rows_that_share_their_memory_keep_what_they_have_read():
    many = [ready_for(next(texts(letter))) for letter in "xyz"]
    for values in zip(*map(texts, "xyz"), strict=True):
        assert all([reads(rows, value) for rows, value in zip(many, values, strict=True)])
        for rows, value in zip(many, values, strict=True):
            assert same((rows.id, rows.label, rows.features), by_orjson(value))


def test_rows_of_many_threads():
    def agree(letter):
        rows = ready_for(next(texts(letter)))
        for _ in range(5):
            for value in texts(letter):
                if not reads(rows, value) or not same((rows.id, rows.label, rows.features), by_orjson(value)):
                    return False
        return True

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(agree, "wxyz"))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has the size of a process in /proc")
def test_many_rows_share_the_memory_of_the_parser():
    value = orjson.dumps({"a": 1, "text": "x" * 60_000})
    many = [ready_for(value, features=["a"]) for _ in range(1_000)]
    assert reads(many[0], value)
    before = address_space()
    assert all(reads(rows, value) for rows in many)
    assert address_space() - before < len(many) * 13 * len(value) / 10, "to read an object takes 13 times its length"
