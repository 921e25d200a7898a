"""Bytes nobody can trust give SnapshotError and nothing else; every value survives exactly."""

import contextlib
import io
import math
import pickle
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from river import compose, preprocessing
from safetensors.numpy import save as write_safetensors

import river_margins as rm
from river_margins import snapshot
from river_margins.snapshot import SnapshotError, codec

# A busy machine is no reason to fail.
patient = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])

# Values


def refuse(thing):
    raise SnapshotError(f"holds {thing!r}")


def there_and_back(value):
    document, arrays = codec.read(codec.write(*codec.encode(value, refuse)))
    return codec.decode(document, arrays, refuse)


def exactly(value):
    """A form in which two values are equal if and only if they have the same types and bits."""
    kind = type(value)
    if kind is float:
        return kind, struct.pack(">d", value)
    if kind in (list, tuple):
        return kind, [exactly(item) for item in value]
    if kind is dict:
        return kind, [(exactly(key), exactly(item)) for key, item in value.items()]
    if kind is set:
        return kind, sorted(repr(exactly(item)) for item in value)
    if isinstance(value, np.ndarray | np.generic):
        return kind, value.dtype, value.shape, value.tobytes()
    return kind, value


FLOATS = st.floats() | st.sampled_from([0.0, -0.0, math.inf, -math.inf, 5e-324, 1.7976931348623157e308, 0.1])
TEXTS = st.text(st.characters() | st.sampled_from('$\ud800\x00"\\')) | st.sampled_from(["$list", "$object", "class"])
ATOMS = st.none() | st.booleans() | st.integers() | st.integers(-(2**65), 2**65) | FLOATS | TEXTS
NUMPY = (
    st.builds(np.array, st.lists(FLOATS))
    | st.builds(np.float32, st.floats(width=32))
    | st.builds(np.bool_, st.booleans())
)
KEYS = ATOMS | st.tuples(ATOMS, ATOMS)
VALUES = st.recursive(
    ATOMS | NUMPY | st.lists(FLOATS, min_size=30) | st.lists(st.integers(-5, 2**63), min_size=30) | st.sets(KEYS),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(KEYS, inner),
    max_leaves=20,
)


@patient
@given(VALUES)
def test_every_value_survives_exactly(value):
    assert exactly(there_and_back(value)) == exactly(value)


@settings(patient, max_examples=50)  # each of them has many keys
@given(st.dictionaries(TEXTS, FLOATS, min_size=33))
def test_long_dicts_keep_their_order_and_bits(value):
    assert exactly(there_and_back(value)) == exactly(value)


@pytest.mark.parametrize("halves", ["\ud800\udc00", '\x00\udbff\udfff"', "\udc00\ud800"])
def test_two_halves_of_a_character_stay_two(halves):
    value = {halves: 1.0, "\U00010000": 2.0, "list": [halves]}
    assert there_and_back(value) == value


def test_a_nan_keeps_its_bits():
    (odd,) = struct.unpack(">d", bytes.fromhex("fff8000000000123"))
    assert exactly(there_and_back([odd])) == exactly([odd])
    assert exactly(there_and_back([odd] * 40)) == exactly([odd] * 40)


def test_integers_beyond_the_limit_of_decimal_digits_survive():
    assert there_and_back({"n": -(10**6000)}) == {"n": -(10**6000)}


@pytest.mark.parametrize("array", [np.zeros((0, 3)), np.array(2.5), np.arange(6).reshape(2, 3), np.ones((2, 3)).T])
def test_arrays_keep_shape_and_type(array):
    again = there_and_back([array])[0]
    assert (again.dtype, again.shape, again.tolist()) == (array.dtype, array.shape, array.tolist())
    assert again.flags.writeable


def test_arrays_of_other_types_are_refused():
    for array in (np.array(["a"]), np.array([{}]), np.array([1.0], ">f8"), np.array([1j])):
        with pytest.raises(SnapshotError, match="only native numbers can be written"):
            codec.encode(array, refuse)


def test_a_list_within_itself_is_refused():
    value: list = []
    value.append(value)
    with pytest.raises(SnapshotError, match="nested more than 64 levels deep, or contains itself"):
        codec.encode(value, refuse)


def test_the_deepest_value_that_is_written_can_be_read():
    for wrap in (lambda inner: [inner], lambda inner: (inner,), lambda inner: {1: inner}, lambda inner: {"a": inner}):
        value = 1.5
        with pytest.raises(SnapshotError, match="nested"):
            while True:
                assert there_and_back(value) == value
                value = wrap(value)


# Bytes


def small_model():
    model = preprocessing.StandardScaler() | rm.PAClassifier(C=0.5, classes=["no", "yes"], intercept=False)
    for x, y in [({"a": 1.0, "b": -2.0}, "no"), ({"a": 0.5, "c": 3.0}, "yes"), ({"b": 1.5}, "no")]:
        model.learn_one(x, y)
    return model


SMALL = snapshot.dumps(small_model())


def test_every_flipped_bit_is_found():
    for place in range(len(SMALL)):
        for bit in range(8):
            damaged = bytearray(SMALL)
            damaged[place] ^= 1 << bit
            with pytest.raises(SnapshotError):
                snapshot.loads(bytes(damaged))


def test_every_truncation_and_any_appendix_is_found():
    for length in range(len(SMALL)):
        with pytest.raises(SnapshotError):
            snapshot.loads(SMALL[:length])
    for more in (b"\x00", b" ", SMALL):
        with pytest.raises(SnapshotError, match="damaged"):
            snapshot.loads(SMALL + more)


class Bomb:
    def __reduce__(self):
        return exec, ("raise SystemExit('ran')",)


def zipped():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("model", SMALL)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        pickle.dumps(Bomb()),
        zipped(),
        b'{"class": "os.system"}',
        write_safetensors({"weights": np.zeros(3)}),
        write_safetensors({"weights": np.zeros(3)}, {"format": "pt"}),
        struct.pack("<Q", 2**63) + SMALL[8:],
    ],
    ids=["empty", "pickle", "zip", "json", "safetensors", "safetensors of torch", "huge header"],
)
def test_foreign_bytes_are_refused(data):
    with pytest.raises(SnapshotError, match=r"not a river_margins snapshot|damaged"):
        snapshot.loads(data)
    with pytest.raises(SnapshotError, match=r"not a river_margins snapshot|damaged"):
        snapshot.difference(data, rm.PAClassifier())


@patient
@given(st.binary(max_size=200) | st.builds(lambda tail: SMALL[:150] + tail, st.binary(max_size=200)))
def test_random_bytes_are_refused(data):
    with pytest.raises(SnapshotError):
        snapshot.loads(data)


def test_a_newer_format_says_so():
    newer = SMALL.replace(b'"format 1, sha256 ', b'"format 2, blake3 ')
    with pytest.raises(SnapshotError, match="has format 2, this version of river_margins reads format 1 at most"):
        snapshot.loads(newer)


def test_what_is_no_bytes_is_a_type_error():
    for wrong in ("text", 5, None):
        with pytest.raises(TypeError):
            snapshot.loads(wrong)
    assert snapshot.dumps(snapshot.loads(bytearray(SMALL))) == SMALL


# Forged content, with a right checksum


def forged(change, model=None):
    document, arrays = codec.read(SMALL if model is None else snapshot.dumps(model))
    steps = document["model"]["$object"]["parameters"].get("steps", {})
    nodes = [document["model"]["$object"], *(step["$object"] for step in steps.values())]
    change(document, arrays, *nodes)
    return codec.write(document, arrays)


def put(mapping_of, **items):
    return lambda document, arrays, pipeline, scaler, learner: mapping_of(pipeline, scaler, learner).update(items)


FORGERIES = {
    "a class that snapshots cannot hold": [
        put(lambda p, s, le: le, **{"class": "os.system"}),
        put(lambda p, s, le: le, **{"class": "river_margins.snapshot.save"}),
        put(lambda p, s, le: le, **{"class": "river.compose.FuncTransformer"}),
        put(
            lambda p, s, le: le["parameters"], C={"$object": {"class": "builtins.eval", "parameters": {}, "state": {}}}
        ),
    ],
    "which it does not have": [
        put(lambda p, s, le: le["parameters"], depth=3),
        put(lambda p, s, le: s["parameters"], depth=3),
        put(lambda p, s, le: p["parameters"], depth=3),
    ],
    "cannot be rebuilt": [
        put(lambda p, s, le: le["parameters"], C=-1.0),
        put(lambda p, s, le: le["parameters"], C="1"),
        put(lambda p, s, le: le["parameters"], mode=9),
        put(lambda p, s, le: le, state={}),
        put(lambda p, s, le: le, state=[1]),
        put(lambda p, s, le: le["state"], n_seen="many"),
        put(lambda p, s, le: le["state"]["space"], features=["a", "a", "c"]),
        put(lambda p, s, le: le["state"]["space"], features=["a", {"$dict": [[], []]}, "c"]),
        put(lambda p, s, le: le["state"]["space"], features=["a"]),
        put(lambda p, s, le: le["state"]["space"], weights=None),
        put(lambda p, s, le: s["state"], means={"a": "text"}),
        put(lambda p, s, le: s["state"], counts=3),
        put(lambda p, s, le: p["parameters"], steps={"a": 3}),
        put(lambda p, s, le: p, parameters={}),
        lambda document, arrays, *nodes: arrays.update({"weights.0": np.zeros((2, 1))}),
        lambda document, arrays, *nodes: arrays.update({"weights.0": np.zeros(3)}),
        lambda document, arrays, *nodes: arrays.update({"weights.0": np.zeros((3, 1, 1))}),
    ],
    "holds more, or other values": [
        put(lambda p, s, le: s["state"], extra=3),
        put(lambda p, s, le: le["state"], extra=3),
        put(lambda p, s, le: le["state"]["space"], matrix=3),  # which is a former name elsewhere
        put(lambda p, s, le: p, state={"extra": 3}),
        put(lambda p, s, le: le, extra=3),
        lambda document, arrays, *nodes: arrays.update({"more": np.zeros(3)}),
        lambda document, arrays, *nodes: arrays.update({"weights.0": np.zeros((3, 1), np.float32)}),
    ],
    "not well formed": [
        lambda document, arrays, *nodes: arrays.clear(),
        lambda document, arrays, *nodes: document.clear(),
        put(lambda p, s, le: p, **{"class": ["river.compose.Pipeline"]}),
        put(lambda p, s, le: le["parameters"], C={"$list": "absent"}),
        put(lambda p, s, le: le["parameters"], C={"$dict": [[1, 2], [3]]}),
        put(lambda p, s, le: le["parameters"], C={"$dict": 3}),
        put(lambda p, s, le: le["parameters"], C={"$float": "12"}),
        put(lambda p, s, le: le["parameters"], C={"$int": "xyz"}),
        put(lambda p, s, le: le["parameters"], C={"$set": [[1]]}),
    ],
    "unknown kind": [put(lambda p, s, le: le["parameters"], C={"$python": "1 + 1"})],
    "is not a model": [lambda document, arrays, *nodes: (document.update(model=[1, 2]), arrays.clear())],
}


@pytest.mark.parametrize(
    ("message", "change"), [(message, change) for message, changes in FORGERIES.items() for change in changes]
)
def test_forged_content_is_refused(message, change):
    with pytest.raises(SnapshotError, match=message):
        snapshot.loads(forged(change))


def test_a_forgery_that_changes_nothing_is_no_forgery():
    assert forged(lambda *_: None) == SMALL


@pytest.mark.parametrize(
    ("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('{"$tuple":[', "]}"), ('{"$object":', "}")]
)
@pytest.mark.parametrize("levels", [100, 500, 100_000])
def test_deep_nesting_is_refused(levels, opening, closing, monkeypatch):
    text = ('{"model":' + opening * levels + "1" + closing * levels + "}").encode()
    with monkeypatch.context() as patch:
        patch.setattr(codec.orjson, "dumps", lambda document: text)
        data = codec.write(None, {})
    with pytest.raises(SnapshotError):
        snapshot.loads(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.just("river_margins.PA1"),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["$dict", "$list", "$object"]), inner),
    max_leaves=6,
)
WINDOWED = preprocessing.MinMaxScaler(window_size=2) | rm.MarginRegressor(rm.PA1(C=0.5), rm.Linear())
WINDOWED.learn_one({"a": 1.0, "b": 2.0}, 3.0)
ENCODED = preprocessing.OneHotEncoder() | preprocessing.StandardScaler(window_size=2) | rm.PAClassifier()
ENCODED.learn_one({"a": "x", "b": 2}, "one")


def places(node, path=()):
    yield path
    for key, item in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from places(item, (*path, key))


@patient
@given(st.data())
def test_whatever_is_forged_loads_or_is_refused(data):
    model = data.draw(st.sampled_from([small_model(), WINDOWED, ENCODED, compose.Select("a") | rm.StandardScaler()]))
    document, arrays = codec.read(snapshot.dumps(model))
    *path, last = data.draw(st.sampled_from(list(places(document["model"]))[1:]))
    node = document["model"]
    for key in path:
        node = node[key]
    node[last] = data.draw(JSON)
    for name in arrays:
        shape = data.draw(st.sampled_from([arrays[name].shape, (0,), (1, 1), (2, 0), (0, 2), (3, 2)]))
        arrays[name] = np.zeros(shape, data.draw(st.sampled_from([np.float64, np.int64, np.uint8])))
    forgery = codec.write(document, arrays)
    with contextlib.suppress(SnapshotError):
        assert all(isinstance(sentence, str) for sentence in snapshot.difference(forgery, model))
    with contextlib.suppress(SnapshotError):
        assert snapshot.loads(snapshot.dumps(snapshot.loads(forgery)))


def learned(model, labels):
    for number in range(30):
        model.learn_one({"a": 1.0, "b": float(number % 3)}, labels[number % len(labels)])
    return model


def set_labels(document, arrays, learner):
    learner["state"]["labels"] = ["x", "y", "z", "u"]


def widened(name):
    def change(document, arrays, learner):
        (place,) = [each for each in arrays if each.startswith(f"{name}.")]
        arrays[place] = np.hstack([arrays[place], np.ones((len(arrays[place]), 50))])

    return change


def mark_a_class_that_is_not_there(document, arrays, learner):
    (place,) = [each for each in arrays if each.startswith("marks.")]
    arrays[place] = np.full(arrays[place].shape, 1e6)


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (learned(rm.PAClassifier(), "xy"), set_labels),
        (learned(rm.PAClassifier(), "xy"), widened("weights")),
        (learned(rm.AROWClassifier(), "xy"), set_labels),
        (learned(rm.AveragedPAClassifier(), "xy"), widened("behind")),
        (learned(rm.PocketPerceptron(), "xyz"), widened("pocket")),
        (learned(rm.PocketPerceptron(), "xyz"), mark_a_class_that_is_not_there),
    ],
)
def test_weight_vectors_that_do_not_fit_the_labels_are_refused(model, change):
    """The compiled loops would read and write other memory."""
    with pytest.raises(SnapshotError, match="cannot be rebuilt"):
        snapshot.loads(forged(change, model))
