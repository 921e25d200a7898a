"""A grammar of records that nobody should send, and of good ones between them; the same ones for the same seed.

Odd numbers go to features of their own (`odd ...`), so that those of the good records stay what a learner can use.
"""

import json
import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

OUTPUT, REJECT, BOTH, EITHER = "output", "reject", "output and reject", "any of them"
LARGE = 10_000_000  # bytes of a large record
LARGE_EVERY = 20_000
LARGE_LABEL = 1  # the sort of large records with a label that is too long
VOCABULARY = 3_000  # names of the records with many features: new ones for ever would be a model that grows for ever


class Hostile(NamedTuple):
    """A record, of which kind it is, and where it must go."""

    kind: str
    destiny: str
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]]


class Kind(NamedTuple):
    """Out of 1,000 records `weight` are of this kind; `make` returns the value, or key, value and headers."""

    weight: float
    destiny: str
    make: Callable[[random.Random, int], object]


def fields(draw: random.Random, n: int) -> dict[str, object]:
    """A good record: features on different scales, and a label with noise, so that no learner is ever done."""
    a, b, c = draw.gauss(0, 1), draw.gauss(5, 3), draw.gauss(-2, 0.1)
    return {"id": f"r{n}", "a": a, "b": b, "c": c, "label": a + (b - 5) / 3 + draw.gauss(0, 1) > 0}


def text(draw: random.Random, n: int, **changes: object) -> str:
    return json.dumps(fields(draw, n) | changes)


def with_raw(draw: random.Random, n: int, raw: str, name: str = "odd") -> bytes:
    """A good record with one more field, whose value is this text."""
    return f'{text(draw, n)[:-1]}, "{name}": {raw}}}'.encode()


def unlabelled(draw: random.Random, n: int, raw: str) -> bytes:
    return f'{{"id": "r{n}", "a": {draw.gauss(0, 1)}, "odd": {raw}}}'.encode()


def nested(draw: random.Random, levels: int) -> str:
    opening, closing = draw.choice([("[", "]"), ('{"a":', "}")])
    return opening * levels + "1" + closing * levels


def cut(draw: random.Random, n: int) -> bytes:
    whole = text(draw, n).encode()
    return whole[: draw.randrange(1, len(whole))]


def bent(draw: random.Random, n: int) -> bytes:
    """Bytes that are not UTF-8, in the middle of a record."""
    whole = text(draw, n).encode()
    place = draw.randrange(len(whole))
    return (
        whole[:place] + draw.choice([b"\xff", b"\xc3(", b"\xed\xa0\x80", b"\xf8\x88\x80\x80", b"\x80"]) + whole[place:]
    )


def many(draw: random.Random, n: int) -> str:
    return text(draw, n, **{f"many {draw.randrange(VOCABULARY)}": draw.gauss(0, 1) for _ in range(2_000)})


def large(draw: random.Random, n: int) -> bytes:
    """A good record made large by a text as feature or label, by spaces, or no JSON at all."""
    sort = n // LARGE_EVERY % 4
    if sort == 3:
        return b"\x00\xff" * (LARGE // 2)
    if sort == 2:
        return b" " * LARGE
    return text(draw, n, **{"label" if sort == LARGE_LABEL else "odd": "x" * LARGE}).encode()


def controls(draw: random.Random, n: int) -> str:
    return text(draw, n, id=f"r{n}\x00\r\n\x1b[2J\u2028", **{"odd \x07\x00": 1})


NUMBERS = ["1e30", "-1e100", "5e-324", "1e-400", "-0.0", "1E+2", "true", "123456789012345678901234567890", "-9"]
WRONG = ['"text"', "[1, 2]", '{"b": 1}', '""', "[]", "{}", '"1.5"', "[[1]]"]
LABELS = ["1", "0", "0.0", '"spam"', '""', "-1", "1e300", "12345678901234567890123"]
KEYS = [b"\x00\x01\r\n", b"\xff\xfe", b"", None, "ключ\u2028".encode(), b"\x1b]0;x\x07"]
THINGS = [
    b"null",
    b"true",
    b"3",
    b'"text"',
    b"[]",
    b'[{"a": 1}]',
    b"1e5",
    b"{}",
    b'{"id": "x"}',
    b'{"label": true}',
    b"[" * 5000,
]
KINDS = {
    "good": Kind(600, OUTPUT, lambda draw, n: text(draw, n)),
    "good, no label": Kind(60, OUTPUT, lambda draw, n: text(draw, n, label=None)),
    "good, headers": Kind(15, OUTPUT, lambda draw, n: (b"k", text(draw, n), [("a", b"\xff"), ("a", b""), ("", b"x")])),
    "good, odd key": Kind(15, OUTPUT, lambda draw, n: (draw.choice(KEYS), text(draw, n), [])),
    "good, huge key": Kind(0.5, OUTPUT, lambda draw, n: (draw.randbytes(300_000), text(draw, n), [])),
    "good, 2,000 features": Kind(0.5, OUTPUT, many),
    "duplicate keys": Kind(15, OUTPUT, lambda draw, n: with_raw(draw, n, str(draw.gauss(0, 1)), "a")),
    "odd numbers": Kind(20, OUTPUT, lambda draw, n: unlabelled(draw, n, draw.choice(NUMBERS))),
    "control characters": Kind(15, OUTPUT, controls),
    "nested id": Kind(5, EITHER, lambda draw, n: with_raw(draw, n, nested(draw, draw.choice([1, 50, 300, 900])), "id")),
    "score overflows": Kind(5, EITHER, lambda draw, n: unlabelled(draw, n, "1.7e308")),
    "huge integer as id": Kind(5, REJECT, lambda draw, n: with_raw(draw, n, str(10**20 + n), "id")),
    "example overflows": Kind(10, EITHER, lambda draw, n: with_raw(draw, n, draw.choice(["1e200", "-1e308", "1e155"]))),
    "number overflows": Kind(10, REJECT, lambda draw, n: with_raw(draw, n, draw.choice(["1e309", "9" * 400]))),
    "cut JSON": Kind(30, REJECT, cut),
    "deep nesting": Kind(10, REJECT, lambda draw, n: with_raw(draw, n, nested(draw, draw.randrange(2, 4000)))),
    "invalid UTF-8": Kind(20, REJECT, bent),
    "null feature": Kind(15, REJECT, lambda draw, n: with_raw(draw, n, "null")),
    "wrong type": Kind(30, REJECT, lambda draw, n: with_raw(draw, n, draw.choice(WRONG))),
    "NaN, Infinity": Kind(15, REJECT, lambda draw, n: with_raw(draw, n, draw.choice(["NaN", "Infinity", "-Infinity"]))),
    "label of another type": Kind(25, BOTH, lambda draw, n: with_raw(draw, n, draw.choice(LABELS), "label")),
    "label is not a label": Kind(10, BOTH, lambda draw, n: with_raw(draw, n, draw.choice(["[]", '{"a": 1}']), "label")),
    "raw control character": Kind(10, REJECT, lambda draw, n: with_raw(draw, n, '"\x00\n"')),
    "lone surrogate": Kind(10, REJECT, lambda draw, n: with_raw(draw, n, "1", draw.choice(["\\ud800", "x\\udfff"]))),
    "byte order mark": Kind(5, REJECT, lambda draw, n: b"\xef\xbb\xbf" + text(draw, n).encode()),
    "another encoding": Kind(5, REJECT, lambda draw, n: text(draw, n).encode(draw.choice(["utf-16", "utf-32"]))),
    "tombstone": Kind(10, REJECT, lambda draw, n: (draw.choice([b"k", b"", b"\x00"]), None, [("h", b"x")])),
    "empty value": Kind(5, REJECT, lambda draw, n: (draw.choice([b"k", None]), draw.choice([b"", b" \n"]), [])),
    "no object, or empty": Kind(15, REJECT, lambda draw, n: draw.choice(THINGS)),
    "random bytes": Kind(10, REJECT, lambda draw, n: b"\xff" + draw.randbytes(draw.randrange(300))),
    "10 MB": Kind(0, REJECT, large),
    "10 MB, label": Kind(0, BOTH, large),
}


def records(count: int, seed: int, calm: int) -> Iterator[Hostile]:
    """So many records; the first `calm` are good and labelled, so that they say what a label is."""
    draw = random.Random(seed)
    names, weights = list(KINDS), [kind.weight for kind in KINDS.values()]
    chosen = draw.choices(names, weights, k=count)
    for n, name in enumerate(chosen):
        if n % LARGE_EVERY == LARGE_EVERY // 40:
            name = "10 MB, label" if n // LARGE_EVERY % 4 == LARGE_LABEL else "10 MB"
        elif n < calm:
            name = "good"
        made = KINDS[name].make(draw, n)
        key, value, headers = made if isinstance(made, tuple) else (f"k{n % 7}".encode(), made, [])
        value = value.encode() if isinstance(value, str) else value
        yield Hostile(name, KINDS[name].destiny, key, value, headers)
