"""Parquet and Arrow files: what becomes of each type, what is refused, and where a processor goes on."""

import datetime
import decimal
import json
import os
import signal
import struct
import subprocess
import sys
import time
import uuid

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from connectors.config.schema import AnyLabels
from connectors.errors import StartError, StateError
from connectors.files.byte_streams import Unfit
from connectors.files.merged import decoder_of_labels
from connectors.files.tables import ROWS, TableReader
from connectors.tools import evaluate
from tests.connectors.files.test_processor import Folder
from tests.helpers.deadline import DEADLINE
from tests.helpers.paths import ROOT
from tests.helpers.streams import phishing, twin

NOON = datetime.datetime(2024, 5, 1, 12, 30, tzinfo=datetime.UTC)
CELLS = [
    (pa.array([7], pa.uint64()), 7),
    (pa.array([0.5], pa.float32()), 0.5),
    (pa.array([0.5]).cast(pa.float16()), 0.5),
    (pa.array([float("nan")]), None),
    (pa.array([None], pa.int64()), None),
    (pa.array([None]), None),
    (pa.array([True]), True),
    (pa.array(["ä"], pa.large_string()), "ä"),
    (pa.array([b"abc"]), "abc"),
    (pa.array(["red"]).dictionary_encode(), "red"),
    (pa.array([decimal.Decimal("12.50")]), 12.5),
    (pa.array([NOON.replace(tzinfo=None)], pa.timestamp("ns")), "2024-05-01T12:30:00"),
    (pa.array([NOON], pa.timestamp("ms", "Europe/Zurich")), "2024-05-01T12:30:00+00:00"),
    (pa.array([NOON.date()]), "2024-05-01"),
    (pa.array([datetime.time(12, 30)]), "12:30:00"),
    (pa.array([[1, None]]), [1, None]),
    (pa.array([{"a": {"b": [NOON]}}]), {"a": {"b": ["2024-05-01T12:30:00+00:00"]}}),
    (pa.array([{"price": decimal.Decimal("1.5")}]), {"price": 1.5}),
    (pa.array([[("a", 1), ("b", 2)]], pa.map_(pa.string(), pa.int64())), {"a": 1, "b": 2}),
    (pa.array([[]], pa.map_(pa.string(), pa.int64())), {}),
    (pa.array([[{"m": [("a", 1)]}]], pa.list_(pa.struct({"m": pa.map_(pa.string(), pa.int64())}))), [{"m": {"a": 1}}]),
]


def write(path, table):
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    elif path.suffix == ".feather":
        pyarrow.feather.write_feather(table, str(path))
    else:
        with pa.ipc.new_stream(str(path), table.schema) as stream:
            stream.write_table(table)
    return str(path)


def only(path):
    (record,) = TableReader(path)
    return record


@pytest.mark.parametrize(("array", "expected"), CELLS, ids=[str(array.type) for array, _ in CELLS])
def test_a_cell_is_what_json_would_say(tmp_path, array, expected):
    for suffix in ("parquet", "arrow"):
        if suffix == "parquet" and array.type == pa.float16():
            continue  # older readers of Parquet have no such type
        record = only(write(tmp_path / f"a.{suffix}", pa.table({"x": array})))
        assert (json.loads(record.value), record.known, record.source) == ({"x": expected}, None, f"a.{suffix}:1")


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (pa.array([1.5, float("inf"), 2.5]), "the number inf"),
        (pa.array([[1.5], [float("-inf")], [2.5]]), "the number -inf"),
        (pa.array([b"a", b"\xff", b"b"]), "can't decode byte 0xff"),
        (pa.array([0, 10**18, 0], pa.timestamp("ms")), "out of range"),
    ],
    ids=["inf", "list", "binary", "timestamp"],
)
def test_a_cell_that_json_cannot_express_rejects_its_row_and_no_other(tmp_path, array, reason):
    path = write(tmp_path / "a.parquet", pa.table({"id": ["a", "b", "c"], "x": array}))
    first, second, third = TableReader(path)
    assert (first.known, third.known) == (None, None)
    assert str(second.known).startswith("the column `x` cannot be expressed in JSON: ") and reason in str(second.known)
    assert json.loads(second.value) == {"id": "b", "x": None}
    assert json.loads(third.value)["id"] == "c" and json.loads(third.value)["x"] is not None


@pytest.mark.parametrize("kind", [pa.duration("s"), pa.struct({"a": pa.list_(pa.duration("s"))})], ids=str)
def test_a_type_that_json_cannot_express_is_refused_with_its_column(tmp_path, kind):
    path = write(tmp_path / "a.arrow", pa.table({"id": [1], "x": pa.array([None], kind)}))
    with pytest.raises(Unfit, match=r"the column `x(\.a\[\])?` has the type `duration\[s\]`.*: write the file without"):
        TableReader(path)


def test_keys_that_are_no_text(tmp_path):
    path = write(tmp_path / "a.arrow", pa.table({"x": pa.array([[(1, 2)]], pa.map_(pa.int64(), pa.int64()))}))
    with pytest.raises(Unfit, match="the keys of a JSON object are text"):
        TableReader(path)


def test_a_uuid(tmp_path):
    if not hasattr(pa, "uuid"):
        pytest.skip("this pyarrow has no UUID")
    id = uuid.uuid4()
    array = pa.array([id.bytes], pa.uuid())
    assert json.loads(only(write(tmp_path / "a.arrow", pa.table({"x": array}))).value) == {"x": str(id)}


@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "a.arrow"])
def test_files_that_are_damaged(tmp_path, name):
    path = tmp_path / name
    with pytest.raises(Unfit, match="does not exist"):
        TableReader(str(path))
    path.write_bytes(b"ARROW1 and no more")
    with pytest.raises(Unfit, match="it cannot be read"):
        TableReader(str(path))
    write(path, pa.table({"x": range(10 * ROWS)}))
    path.write_bytes(path.read_bytes()[:-1000] if name != "a.arrow" else path.read_bytes()[:5000])
    with pytest.raises(Unfit, match=r"it cannot be read|it is damaged"):
        list(TableReader(str(path)))


@pytest.mark.parametrize("end", [48, 2**30, -(2**30)])
@pytest.mark.parametrize("cell", ["aaaaaaaa", [1, 2, 3, 4, 5, 6, 7, 8], {"x": "aaaaaaaa"}])
def test_an_offset_that_leads_out_of_the_file(tmp_path, cell, end):
    """Arrow itself would follow it, and end the process, or show what else is in its memory."""
    path = tmp_path / "a.arrow"
    write(path, pa.table({"x": [cell] * 5}))
    offsets, wrong = (struct.pack("<6i", 0, 8, 16, 24, 32, last) for last in (40, end))
    assert path.read_bytes().count(offsets) == 1
    path.write_bytes(path.read_bytes().replace(offsets, wrong))
    with pytest.raises(Unfit, match="it is damaged: "):
        list(TableReader(str(path)))


def test_a_parquet_file_that_is_truncated_meanwhile(tmp_path):
    """pyarrow reads it to its end without an error, and the rows that are left would be all."""
    path = tmp_path / "in.parquet"
    pa.parquet.write_table(pa.table({"a": range(3 * ROWS)}), path, row_group_size=ROWS)
    records = iter(TableReader(str(path)))
    next(records)
    os.truncate(path, 0)
    with pytest.raises(Unfit, match=f"it had {3 * ROWS} rows when it was opened, and the rows after {ROWS} are gone"):
        list(records)


def test_text_that_is_not_utf_8_is_one_reject(tmp_path):
    path = tmp_path / "a.arrow"
    write(path, pa.table({"x": ["good", "text"]}))
    path.write_bytes(path.read_bytes().replace(b"goodtext", b"goodte\xfft"))
    good, bad = TableReader(str(path))
    assert good.known is None and "can't decode byte 0xff" in str(bad.known)


def test_two_columns_of_one_name(tmp_path):
    path = write(tmp_path / "a.arrow", pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]))
    with pytest.raises(Unfit, match="two columns `a`"):
        TableReader(path)


def test_without_pyarrow_the_error_says_what_to_install(tmp_path, monkeypatch):
    path = write(tmp_path / "in.parquet", pa.table({"a": [1]}))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        StartError, match=r"in\.parquet`: .* need the package `pyarrow`: pip install 'river-margins\[ar"
    ):
        Folder(tmp_path, output={"file": str(tmp_path / "out.jsonl")}).run(input={"file": path})


def table(records):
    return pa.Table.from_pylist([{"y": None, **record} for record in records])


def folder_of(tmp_path, name, records):
    path = write(tmp_path / name, table(records))
    return Folder(tmp_path, input={"file": path})


@pytest.mark.parametrize("name", ["in.parquet", "in.feather", "in.arrow"])
def test_a_processor_equals_the_bare_pipeline(tmp_path, name):
    records = phishing(300)
    folder = folder_of(tmp_path, name, records)
    counts = folder.run()
    assert folder.output() == twin(folder.config().build_learner(), records)
    assert (counts.read, folder.state()["lines"], folder.state()["input"]["mark"][0]) == (300, 300, 300)
    assert folder.run().read == 0  # nothing was added


def test_paths_lead_into_columns(tmp_path):
    """As in JSON lines with the same records, also for labels in a file of their own."""
    records = [{"meta": {"y": n % 2 == 0}, "card": {"amount": float(n)}, "items": [{"price": 2.0}]} for n in range(9)]
    write(tmp_path / "in.parquet", pa.Table.from_pylist(records))
    folder = Folder(tmp_path, record={"label": "meta.y", "features": ["card.amount", {"price": "items[0].price"}]})
    folder.put([json.dumps(record).encode() for record in records])
    outputs = []
    for name in ("in.parquet", "in.jsonl"):
        folder.run(input={"file": str(tmp_path / name)}, name=name, output={"file": str(tmp_path / f"{name}.jsonl")},
                   rejects={"file": str(tmp_path / f"{name}.rejects.jsonl")})  # fmt: skip
        outputs.append((tmp_path / f"{name}.jsonl").read_text().replace(name, ""))
    assert outputs[0] == outputs[1] and outputs[0].count('"label":') == 9
    with pytest.raises(StartError, match=r"has no column `cart`, did you mean `card`\?"):
        folder.run(input={"file": str(tmp_path / "in.parquet")}, record={"features": ["cart.amount"]}, name="other")
    (tmp_path / "in.csv").write_text("card,y\n1,true\n")
    with pytest.raises(StartError, match=r"has no column `card\.amount`"):
        folder.run(input={"file": str(tmp_path / "in.csv")}, record={"features": ["card.amount"]}, name="other")
    labels = [{"of": {"id": "a"}, "y": True, "at": n} for n in range(2)]
    reader = TableReader(write(tmp_path / "labels.parquet", pa.Table.from_pylist(labels)))
    section = AnyLabels(id="of.id", label="y", time="at", within="1h")
    first = next(iter(reader))
    decoder_of_labels(section, reader).decode(first)
    assert first.id == "a"


def test_a_reject_keeps_the_row(tmp_path):
    records = phishing(3)
    name, other = [key for key in records[1] if key not in ("y", "id")][:2]
    records = [record | {name: float("inf") if n == 1 else float(record[name])} for n, record in enumerate(records)]
    folder = folder_of(tmp_path, "in.parquet", records)
    folder.run()
    (reject,) = folder.rejects()
    assert reject["source"] == "in.parquet:2" and f"column `{name}`" in reject["reason"]
    assert json.loads(reject["text"])[other] == records[1][other]
    assert [output["id"] for output in folder.output()] == [records[0]["id"], records[2]["id"]]


def test_an_exchanged_file_is_refused(tmp_path):
    folder = folder_of(tmp_path, "in.parquet", phishing(50))
    folder.run()
    write(tmp_path / "in.parquet", table(phishing(60)))
    with pytest.raises(StateError, match="it is not the file that was read"):
        folder.run()


def test_killed_again_and_again_it_goes_on_after_the_last_checkpoint(tmp_path):
    records = [record | {"id": f"{n}"} for n, record in enumerate(phishing(1000) * 6)]
    folder = folder_of(tmp_path, "in.parquet", records)
    command = [sys.executable, "-m", "connectors", "run", str(folder.file())]
    kills = 0
    for rows in (500, 2500):
        with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) as process:
            wait_for_rows(folder, rows, process)
            process.send_signal(signal.SIGKILL)
        kills += 0 < folder.state()["lines"] < len(records)
    assert kills
    folder.run()
    assert folder.output() == twin(folder.config().build_learner(), records)


def wait_for_rows(folder, rows, process):
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end and process.poll() is None:
        try:
            if folder.state()["lines"] >= rows:
                return
        except FileNotFoundError:
            pass
        time.sleep(0.005)


@pytest.mark.parametrize("table_name", ["in.parquet", "in.feather", "in.arrow"])
def test_evaluate_says_what_it_says_of_the_same_json_lines(tmp_path, table_name):
    records = phishing(400)
    folder = folder_of(tmp_path, table_name, records)
    folder.put([json.dumps({"y": None, **record}).encode() for record in records])
    of_rows, of_lines = (
        evaluate.run(folder.config(), str(tmp_path / name), ["Accuracy", "ROCAUC"]) for name in (table_name, "in.jsonl")
    )
    assert {name: metric.get() for name, metric in of_rows.metrics.items()} == {
        name: metric.get() for name, metric in of_lines.metrics.items()
    }
    assert (of_rows.examples, of_rows.unlabelled) == (of_lines.examples, of_lines.unlabelled)
    source = evaluate.source_of(folder.config(), str(tmp_path / table_name))
    assert source.total == (400 if table_name == "in.parquet" else None)
    assert sum(1 for _ in source.records()) == source.done == 400


def test_labels_in_a_file_of_their_own(tmp_path):
    records = [{"id": str(n), "a": float(n % 2), "at": 10 * n} for n in range(40)]
    labels = [{"id": str(n), "y": n % 2 == 0, "at": 10 * n + 5} for n in range(40)]
    write(tmp_path / "labels.parquet", pa.Table.from_pylist(labels))
    write(tmp_path / "in.parquet", pa.Table.from_pylist(records))
    settings = {"id": "id", "label": "y", "time": "at", "within": "1h"}
    counts = Folder(
        tmp_path,
        input={"file": str(tmp_path / "in.parquet")},
        record={"id": "id", "time": "at"},
        labels={"file": str(tmp_path / "labels.parquet")} | settings,
    ).run()
    assert (counts.predicted, counts.learned, counts.rejected) == (40, 40, 0)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_the_index_of_pandas_is_not_a_field(tmp_path, suffix):
    path = write(tmp_path / f"a.{suffix}", pa.table({"x": [1.0], "__index_level_0__": [7], "y": [True]}))
    assert TableReader(path).columns == ["x", "y"] and json.loads(only(path).value) == {"x": 1.0, "y": True}


@pytest.mark.parametrize(
    "text", ["0.30", "2.3", "19.99", "9007199254740993", "18446744073709551615", "-9223372036854775808", "7"]
)
def test_a_decimal_is_the_number_that_json_reads_from_its_digits(tmp_path, text):
    array = pa.array([decimal.Decimal(text)])
    table = pa.table({"x": array, "y": pa.StructArray.from_arrays([array], ["z"])})
    for suffix in ("parquet", "arrow"):
        cell, nested = json.loads(only(write(tmp_path / f"a.{suffix}", table)).value).values()
        assert (repr(cell), repr(nested["z"])) == (repr(json.loads(text)),) * 2


@pytest.mark.parametrize(
    "array",
    [
        pa.DictionaryArray.from_arrays(pa.array([0, None], pa.uint32()), pa.array(["red"], pa.string_view())),
        pa.array([b"red", None], pa.binary_view()),
        pa.RunEndEncodedArray.from_arrays([1, 2], ["red", None]),
    ],
    ids=["categories of polars", "binary of polars", "runs"],
)
def test_layouts_that_arrow_does_not_cast(tmp_path, array):
    records = TableReader(write(tmp_path / "a.arrow", pa.table({"x": array})))
    assert [json.loads(record.value) for record in records] == [{"x": "red"}, {"x": None}]


def test_categories_of_polars_within_lists_and_objects(tmp_path):
    views = pa.DictionaryArray.from_arrays(pa.array([0, None, 1], pa.uint32()), pa.array(["a", "b"], pa.string_view()))
    lists, objects = pa.ListArray.from_arrays([0, 2, 3], views), pa.StructArray.from_arrays([views[:2]], ["u"])
    records = TableReader(write(tmp_path / "a.arrow", pa.table({"x": lists, "y": objects})))
    assert [json.loads(record.value) for record in records] == [
        {"x": ["a", None], "y": {"u": "a"}},
        {"x": ["b"], "y": {"u": None}},
    ]


def test_times_as_spark_writes_them(tmp_path):
    """Spark writes INT96. In nanoseconds, 64 bits hold the years from 1677 to 2262 only."""
    days = [datetime.datetime(9999, 12, 31), datetime.datetime(1600, 1, 1)]
    path = str(tmp_path / "a.parquet")
    pyarrow.parquet.write_table(pa.table({"until": days}), path, use_deprecated_int96_timestamps=True)
    assert [json.loads(record.value)["until"][:10] for record in TableReader(path)] == ["9999-12-31", "1600-01-01"]


@pytest.mark.parametrize(
    "array",
    [
        *(pa.array([2**63 - 1], pa.timestamp(unit, zone)) for unit in ("s", "ms", "us") for zone in (None, "UTC")),
        pa.array([86_400_000 * 2**32]).cast(pa.date64()),
        pa.array([[{"a": 2**63 - 1}]], pa.list_(pa.struct({"a": pa.timestamp("ms")}))),
    ],
    ids=lambda array: str(array.type),
)
def test_a_time_that_no_calendar_has_is_a_reject(tmp_path, array):
    """To a finer unit, Arrow multiplies it modulo 2^64."""
    record = only(write(tmp_path / "a.arrow", pa.table({"x": array})))
    assert str(record.known) == "the column `x` cannot be expressed in JSON: a time out of range"
    assert json.loads(record.value) == {"x": None}
