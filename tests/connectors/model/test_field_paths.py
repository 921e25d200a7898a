"""Fields by their paths: what a path is, what it finds, and what is not a path."""

import pytest

from connectors.model.field_paths import MISSING, FieldPath, named
from connectors.model.records import Decoder, Record
from connectors.model.rejects import Reject

FIELDS = {
    "amount": 3.5,
    "card": {"country": "CH", "a.b": 7, "none": None},
    "items": [{"price": 1.5}, {"price": 2.5, "tags": [["x"]]}],
    "card.number": 5,
    "items[0].price": "literal",
    "price [EUR]": 9,
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("amount", 3.5),
        ("card.country", "CH"),
        ("card.number", 5),
        ("items[1].price", 2.5),
        ("items[1].tags[0][0]", "x"),
        ("items[0].price", "literal"),
        ('card["a.b"]', 7),
        ('["price [EUR]"]', 9),
        ('["card"].country', "CH"),
        ("card.none", None),
        ("card.none.deeper", MISSING),
        ("amount.deeper", MISSING),
        ("amount[0]", MISSING),
        ("card[0]", MISSING),
        ("items.price", MISSING),
        ("items[2].price", MISSING),
        ("nothing", MISSING),
        ("nothing.at.all", MISSING),
    ],
)
def test_what_a_path_finds(path, value):
    assert FieldPath.parse(path).find(FIELDS) is value or FieldPath.parse(path).find(FIELDS) == value


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", 1), (".a", 1), ("a.", 2), ("a..b", 2), ("[0].a", 1), ("a[", 2), ("a[]", 2), ("a[x]", 2), ("a[-1]", 2),
        ("a[0]b", 5), ("a]", 2), ("a.[0]", 2), ('a[""]', 2), ("price [EUR]", 7), ("a[1.5]", 2), ("a['b']", 2),
    ],
)  # fmt: skip
def test_what_is_no_path(text, place):
    with pytest.raises(ValueError, match="is not a path") as refused:
        FieldPath.parse(text)
    assert f"(from character {place} on)" in str(refused.value) and f'["{text}"]' in str(refused.value)


def test_names_of_features():
    assert [name for name, _ in named(["a", "card.country", {"b": "a[0]"}, '["x.y"]', 'a["x.y"]'])] == [
        "a", "card.country", "b", "x.y", 'a["x.y"]',
    ]  # fmt: skip


def decode(value, **options):
    record = Record("events-0-7", None, value)
    Decoder(**{"id": None, "label": None, "features": None} | options).decode(record)
    return record.id, record.features, record.label


NESTED = b'{"a": 1, "b": null, "meta": {"id": "x", "y": true, "n": null}, "card": {"country": "CH"}, "list": [4, 5]}'


def test_features_id_and_label_by_path():
    features = ["a", {"country": "card.country"}, "list[1]", "list[2]", "meta.n", "b"]
    expected = {"a": 1, "country": "CH", "list[1]": 5, "meta.n": None, "b": None}
    found = decode(NESTED, id="meta.id", label="meta.y", features=features)
    assert found == ("x", expected, True) and list(found[1]) == list(expected), "in the order of the file"
    assert decode(NESTED, id="meta.nothing", label="meta.n", features=["a"]) == ("events-0-7", {"a": 1}, None)


def test_without_features_all_but_the_fields_of_id_and_label():
    everything = {"a": 1, "b": None, "card": {"country": "CH"}, "list": [4, 5]}
    assert decode(NESTED, id="meta.id", label="meta.y") == ("x", everything, True)
    literal = b'{"meta.y": true, "meta": 3, "a": 1}'
    assert decode(literal, label="meta.y") == ("events-0-7", {"meta": 3, "a": 1}, True)


def test_nulls():
    assert decode(b'{"a": 1, "b": null}') == ("events-0-7", {"a": 1, "b": None}, None)
    assert decode(b'{"a": 1, "b": null}', nulls="absent") == ("events-0-7", {"a": 1}, None)
    assert decode(NESTED, features=["a", "meta.n"], nulls="absent")[1] == {"a": 1}
    with pytest.raises(Reject, match="the feature `b` is null"):
        decode(b'{"a": 1, "b": null}', nulls="reject")
    with pytest.raises(Reject, match="the feature `n` is null"):
        decode(NESTED, features=["a", {"n": "meta.n"}], nulls="reject")
    assert decode(b'{"a": 1, "y": null}', label="y", nulls="reject") == ("events-0-7", {"a": 1}, None)
    with pytest.raises(Reject, match="no features"):
        decode(b'{"b": null}', nulls="absent")


def test_plain_names_pay_nothing_for_paths():
    for features in (None, ["a", '["b.c"]']):
        assert Decoder("id", "y", features)._pick is None
    for options in ({"features": ["a.b"]}, {"features": [{"b": "a"}]}, {"features": None, "nulls": "absent"}):
        assert Decoder("id", "y", **options)._pick is not None
