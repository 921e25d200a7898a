"""The processor between files, and what it does with files that are not what they should be."""

import base64
import csv
import errno
import fcntl
import gzip
import hashlib
import io
import json
import logging
import math
import multiprocessing
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time

import jsonschema
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors import config
from connectors.errors import StartError, StateError
from connectors.files import byte_streams, csv_rows
from connectors.files import processor as files
from connectors.files.byte_streams import Unfit
from connectors.files.record_files import Reader, Writer
from connectors.model.records import Decoder
from connectors.model.rejects import Reject
from connectors.runtime.stop import Stop
from connectors.tools import explain, referee, schema
from river_margins import snapshot
from tests.helpers.forks import Fork
from tests.helpers.paths import ROOT
from tests.helpers.streams import DEADLINE, phishing, twin

KILLS = "import sys\nfrom tests.torture import file_kills\nfile_kills.main(sys.argv[1], *map(int, sys.argv[2:]))"
PACK = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}
UNPACK = {
    "": bytes,
    ".gz": gzip.decompress,
    ".zst": lambda data: zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read(),
}


class Folder:
    """A folder with the file of a processor, its input and its output."""

    def __init__(self, folder, kind="jsonl", **changes):
        self.path = folder
        self.kind = kind
        self.settings = {
            "name": "trial",
            "input": {"file": str(folder / f"in.{kind}")},
            "record": {"id": "id", "label": "y"},
            "learner": ["StandardScaler", {"PAClassifier": {"C": 0.01, "mode": 1}}],
            "output": {"file": str(folder / f"out.{kind}")},
            "rejects": {"file": str(folder / "rejects.jsonl")},
            "checkpoint": {"every": "10ms"},
            "snapshots": str(folder / "snapshots"),
        } | changes
        self.suffix = {".gz": ".gz", ".zst": ".zst"}.get(pathlib.Path(kind).suffix, "")

    def file(self, **changes):
        path = self.path / "processor.yaml"
        found = {key: value for key, value in (self.settings | changes).items() if value is not None}
        path.write_text(json.dumps(found))
        return path

    def config(self, **changes):
        return config.load(self.file(**changes))

    def run(self, **changes):
        return files.run(self.config(**changes))

    def put(self, lines):
        content = lines if isinstance(lines, bytes) else b"".join(line + b"\n" for line in lines)
        (self.path / f"in.{self.kind}").write_bytes(PACK[self.suffix](content))

    def content(self):
        return UNPACK[self.suffix]((self.path / f"out.{self.kind}").read_bytes())

    def output(self):
        return [json.loads(line) for line in self.content().splitlines()]

    def rejects(self):
        return [json.loads(line) for line in (self.path / "rejects.jsonl").read_bytes().splitlines()]

    def state(self):
        return json.loads((self.path / "snapshots" / "trial" / "files" / "checkpoint.json").read_bytes())

    def model(self):
        """The bytes of the model, without what the snapshot tells about its records."""
        path = self.path / "snapshots/trial/files/0" / f"{self.state()['snapshot']}.snapshot"
        return snapshot.dumps(snapshot.load(path))


def lines_of(records):
    return [json.dumps(record).encode() for record in records]


def table_of(records):
    labels = {True: "true", False: "false", None: ""}
    rows = [record | {"y": labels[record.get("y")]} for record in records]
    file = io.StringIO(newline="")
    table = csv.DictWriter(file, [*rows[0]])
    table.writeheader()
    table.writerows(rows)
    return file.getvalue().encode()


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


@pytest.mark.parametrize("suffix", PACK)
def test_equals_the_bare_pipeline_bit_for_bit(tmp_path, suffix):
    folder = Folder(tmp_path, f"jsonl{suffix}")
    records = phishing(1500)
    folder.put(lines_of(records))
    counts = folder.run()
    bare = folder.config().build_learner()
    assert folder.output() == twin(bare, records)
    assert folder.model() == snapshot.dumps(bare)
    assert (counts.read, counts.predicted, counts.learned) == (1500, 1500, 1200)
    assert folder.state()["lines"] == 1500 and folder.state()["examples"] == 1200


@pytest.mark.parametrize("name", ["Calibrated", "SelectiveSampler", None])
def test_outputs_are_explained(folder, name):
    """Where an output names all features, their contributions and the constant add up to the score."""
    learner = {"PAClassifier": {"C": 0.01, "intercept": False}}
    learner = ["StandardScaler", {name: {"classifier": learner}} if name else learner]
    records = phishing(200)
    folder.put(lines_of(records))
    everything = folder.config(
        learner=learner, output={"file": str(folder.path / "all.jsonl"), "explain": 99}, name="all"
    )
    files.run(everything)
    folder.run(learner=learner, output={"file": str(folder.path / "out.jsonl"), "explain": 3})
    every = [json.loads(line) for line in (folder.path / "all.jsonl").read_bytes().splitlines()]
    for output, full in zip(folder.output(), every, strict=True):
        assert math.fsum(full["explanation"].values()) == pytest.approx(full["score"] or 0.0, abs=1e-12)
        largest = sorted(full["explanation"].items(), key=lambda pair: -abs(pair[1]))[:3]
        assert list(output["explanation"].items()) == largest
    assert len(output["explanation"]) == 3
    validator = jsonschema.Draft202012Validator(schema.of_output(folder.config(learner=learner)))
    assert not validator.is_valid(output)
    of_three = folder.config(learner=learner, output={"file": str(folder.path / "out.jsonl"), "explain": 3})
    jsonschema.Draft202012Validator(schema.of_output(of_three)).validate(output)
    bare = of_three.first_learner()
    assert folder.output() == [referee.expected(of_three, bare, "", json.dumps(record).encode()) for record in records]


@pytest.mark.parametrize("of_texts", [False, True])
def test_the_score_of_an_output_can_be_the_probability(folder, of_texts):
    """Also that of a challenger. The probabilities are those of the bare learner, before it learned the label."""
    learner = {"name": "pa", "steps": ["StandardScaler", {"Calibrated": {"classifier": "PAClassifier"}}]}
    records = [
        record | ({"y": str(record["y"])} if of_texts and record.get("y") is not None else {})
        for record in phishing(200)
    ]
    folder.put(lines_of(records))
    changes = {
        "learner": learner,
        "challengers": {"arow": ["StandardScaler", "AROWClassifier"]},
        "output": {"file": str(folder.path / "out.jsonl"), "score": "probability", "challengers": True},
    }
    folder.run(**changes)
    config = folder.config(**changes)
    learners = config.first_learners()
    validator = jsonschema.Draft202012Validator(schema.of_output(config))
    for record, output in zip(records, folder.output(), strict=True):
        validator.validate(output)
        features = {name: value for name, value in record.items() if name not in ("id", "y")}
        for name, said in (("pa", output), ("arow", output["challengers"]["arow"])):
            if learners[name].predict_one(features) is not None:
                found = learners[name].predict_proba_one(features)
                assert said["score"] == (found if of_texts else found[True])
            elif record.get("y") is not None:
                assert said["score"] == ({} if of_texts else 0.5), "the first label, and nothing is certain yet"
            if record.get("y") is not None:
                learners[name].learn_one(features, record["y"])
    text = " ".join(explain.explain(config).split())
    assert "It holds probabilities: a number alone is that of `true`, or of the second of two `classes`." in text
    bare = config.first_learner()
    assert [without(output, "challengers") for output in folder.output()] == [
        referee.expected(config, bare, "", json.dumps(record).encode()) for record in records
    ]


def without(fields, name):
    return {key: value for key, value in fields.items() if key != name}


WEIGHTS = [None, 2, 0.25, 0, 1, "absent"]
BAD_WEIGHTS = {-1: "the weight is -1: a number", "2": "the weight is text", True: "the weight is true or false"}


def with_weights(records):
    for n, record in enumerate(records):
        weight = WEIGHTS[n % len(WEIGHTS)]
        yield record if weight == "absent" else record | {"meta": {"w": weight}}


@pytest.mark.parametrize("scaler", ["StandardScaler", "river.preprocessing.StandardScaler"])
def test_weights_of_records(folder, scaler):
    """The bare pipeline learns with the same `w`; a bad weight costs the label, and not the prediction."""
    settings = {
        "record": {"id": "id", "label": "y", "weight": "meta.w"},
        "learner": [scaler, {"PAClassifier": {"C": 0.1}}],
    }
    records = list(with_weights(phishing(300)))
    for n, weight in enumerate(BAD_WEIGHTS, 100):
        records[n] = records[n] | {"meta": {"w": weight}, "y": True}
    folder.put(lines_of(records))
    counts = folder.run(**settings)
    bare, expected = folder.config(**settings).build_learner(), []
    for n, record in enumerate(records):
        features = {name: value for name, value in record.items() if name not in ("id", "y", "meta")}
        (said,) = twin(bare, [features | {"id": record["id"]}])  # not learned
        if record.get("y") is not None and n not in range(100, 103):
            weight = record.get("meta", {}).get("w")
            bare.learn_one(features, record["y"], w=1.0 if weight is None else weight)
            said["label"] = record["y"]
            if said["score"] is None:  # of the first label
                said["score"] = 0.0
        expected.append(said)
    assert folder.output() == expected
    assert folder.model() == snapshot.dumps(bare)
    rejects = folder.rejects()
    assert [each["source"].rpartition(":")[2] for each in rejects] == ["101", "102", "103"]
    for reject, reason in zip(rejects, BAD_WEIGHTS.values(), strict=True):
        assert reject["reason"].startswith(reason)
    assert counts.reasons == {"weight": 3} and (counts.read, counts.predicted) == (300, 300)
    learner = folder.config(**settings).build_learner()
    rejected = range(100, 103)
    assert folder.output() == [
        referee.expected(folder.config(**settings), learner, "", line, n not in rejected)
        for n, line in enumerate(lines_of(records))
    ]


def test_weights_in_a_column_of_csv(tmp_path):
    folder = Folder(tmp_path, "csv", record={"id": "id", "label": "y", "weight": "w"})
    records = [record | {"w": [1, 2.5, ""][n % 3]} for n, record in enumerate(phishing(90))]
    folder.put(table_of(records))
    folder.run()
    bare = folder.config().build_learner()
    for record in records:
        if record.get("y") is not None:
            features = {name: value for name, value in record.items() if name not in ("id", "y", "w")}
            bare.learn_one(features, record["y"], w=record["w"] or 1.0)
    assert folder.model() == snapshot.dumps(bare)
    with pytest.raises(StartError, match="has no column `wt`"):
        folder.run(record={"id": "id", "label": "y", "weight": "wt"}, name="other")


def test_another_field_for_weights_is_another_stream(folder):
    folder.put(lines_of(phishing(5)))
    folder.run()
    with pytest.raises(StateError, match=r"`record.weight` was left out and is now `w`"):
        folder.run(record={"id": "id", "label": "y", "weight": "w"})


def test_the_log_begins_with_what_runs(folder, caplog):
    folder.put(lines_of(phishing(5)))
    with caplog.at_level("INFO"):
        folder.run()
    (begin,) = [message for message in caplog.messages if message.startswith("starting version=")]
    where = f"file={folder.path / 'processor.yaml'} name=trial guarantee=exactly_once input={folder.path / 'in.jsonl'}"
    assert begin.endswith(f" {where} learner=StandardScaler() | PAClassifier()")


def test_csv_in_and_out(tmp_path):
    folder = Folder(tmp_path, "csv")
    ends = ["\n", "\r", ""]
    records = [
        {**record, "id": f'r,"{n}"{ends[n % 3]}' if n % 3 < 2 else f"r\r{n}"} for n, record in enumerate(phishing(400))
    ]
    folder.put(table_of(records))
    folder.run()
    with (tmp_path / "out.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    expected = twin(folder.config().build_learner(), records)
    assert [row["id"] for row in found] == [record["id"] for record in records]
    for row, wanted in zip(found, expected, strict=True):
        for name in ("prediction", "score", "label"):
            value = wanted.get(name)
            assert row[name] == ("" if value is None else json.dumps(value)), (name, row, wanted)


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_another_delimiter_gives_the_same_output(tmp_path, delimiter):
    outputs = []
    for name, separates in (("usual", ","), ("other", delimiter)):
        (tmp_path / name).mkdir()
        folder = Folder(tmp_path / name, "csv")
        lines = [["id", "a", "b,c", "y"], *([f"r{n}", n % 7 - 3, "x,;\t"[n % 4 :], n % 2] for n in range(40))]
        text = io.StringIO()
        csv.writer(text, delimiter=separates).writerows(lines)
        folder.put(text.getvalue().encode())
        folder.run(learner=["StandardScaler", "OneHotEncoder", "PAClassifier"])
        outputs.append((tmp_path / name / "out.csv").read_bytes())
    assert outputs[0] == outputs[1] and outputs[0].count(b"\n") == 41


def test_spaces_around_a_cell_are_no_part_of_it(tmp_path):
    """As around the names of the columns: with them, ` yes` would be another class, and ` r1` the id of no record."""
    folder = Folder(tmp_path, "csv")
    folder.put(b"id, city, a, y\n r1, Bern, 2.5, yes\nr2 ,Bern ,1,no\n")
    folder.run(learner=["OneHotEncoder", {"PAClassifier": {"classes": ["no", "yes"]}}])
    with (tmp_path / "out.csv").open(newline="") as file:
        assert [(row["id"], row["label"]) for row in csv.DictReader(file)] == [("r1", "yes"), ("r2", "no")]
    columns = ["id", "city", "a", "y"]
    row = csv_rows.parser(columns, ["id"])(b" r1, Bern, 2.5, yes")
    assert row == {"id": "r1", "city": "Bern", "a": 2.5, "y": "yes"}


def test_a_space_before_a_quote_is_no_part_of_the_cell(tmp_path):
    """It would make the text `"2.5"` with its quotes of a number, and two cells of one that holds a comma."""
    path = tmp_path / "in.csv"
    path.write_bytes(b'id, "city", a, y\n1, "Bern, CH", "2.5", "yes"\n2, "a\nb", " 3 ", yes\n3, "b" c, 1, no\n')
    reader = Reader(str(path))
    assert reader.columns == ["id", "city", "a", "y"]
    parse = reader.parser("id")
    first, second, third = (record.value for record in reader)
    assert parse(first) == {"id": "1", "city": "Bern, CH", "a": 2.5, "y": "yes"}
    assert parse(second) == {"id": "2", "city": "a\nb", "a": 3, "y": "yes"}
    with pytest.raises(Reject, match="not CSV"):
        parse(third)


def test_what_a_cell_means(tmp_path):
    path = tmp_path / "in.csv"
    path.write_bytes(
        b'\xef\xbb\xbfid, a,b,y\r\n'
        b'007,1,x,red\r\n'
        b'8," 2.5e0 ",,TRUE \n'
        b'9,-.5,"a ""b"",\n c",12\n'
        b'"unfinished"cell,1,2,3\n'
        b'1,2,3\n'
        b'\n'
        b'10,1e999,nan, \n'
        b'\xff,1,1,1\n'
        b'12,1,x,red\r13,2,y,blue\n'
        b'14,1,"a\rb",red\r\r\n'
        b'11,1,1,"goes on'
    )  # fmt: skip
    reader = Reader(str(path))
    assert reader.columns == ["id", "a", "b", "y"]
    decoder = Decoder("id", "y", None, csv_rows.parser(reader.columns, ["id"]))

    def read(record):
        try:
            decoder.decode(record)
            return record.id, record.features, record.label
        except Reject as reject:
            return str(reject).partition(":")[0]

    assert [(int(record.source.removeprefix("in.csv:")), read(record)) for record in reader] == [
        (2, ("007", {"a": 1, "b": "x"}, "red")),
        (3, ("8", {"a": 2.5}, True)),
        (4, ("9", {"a": -0.5, "b": 'a "b",\n c'}, 12)),
        (6, "not CSV"),
        (7, "the row has 3 cells, and the header 4"),
        (8, "the row has 0 cells, and the header 4"),
        (9, ("10", {"a": math.inf, "b": "nan"}, None)),
        (10, "not UTF-8"),
        (11, "not CSV"),
        (12, ("14", {"a": 1, "b": "a\rb"}, "red")),
        (13, "not CSV"),
    ]
    assert reader.lines == 13 and reader.mark().length == path.stat().st_size


CELLS = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=6), min_size=3, max_size=3
)


@given(st.lists(CELLS, max_size=6), st.integers(1, 40), st.sampled_from(",;\t"))
@settings(max_examples=200, deadline=None)
def test_rows_end_where_the_csv_module_says(tmp_path_factory, rows, chunk, delimiter):
    """Also where a quoted cell holds the end of a line, and wherever the pieces of the file end.

    Spaces before a cell are no part of it; the module writes them without quotes.
    """
    path = tmp_path_factory.getbasetemp() / "property.csv"
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([["a", "b", "c"], *rows])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(byte_streams, "CHUNK", chunk)
        reader = Reader(str(path))
        found = [csv_rows.cells(record.value, delimiter) for record in reader]
    assert [[cell.lstrip(" ") for cell in row] for row in found] == [[cell.lstrip(" ") for cell in row] for row in rows]
    content = path.read_bytes()
    assert reader.mark() == (len(content), hashlib.sha256(content).hexdigest())


@pytest.mark.parametrize("suffix", PACK)
def test_a_reader_can_be_stopped_and_resumed_after_each_record(tmp_path, suffix):
    path = tmp_path / f"in.csv{suffix}"
    path.write_bytes(PACK[suffix](b'\xef\xbb\xbfid,a\r\n1,"x\ny"\r\n\n2,"z\r\n3,4\n5,6'))
    whole = list(Reader(str(path)))
    assert [record.source for record in whole] == [f"{path.name}:{line}" for line in (2, 4, 5, 6, 7)]
    expected = [(record.source, record.value) for record in whole]
    for number in range(len(whole) + 1):
        reader = Reader(str(path))
        for _ in zip(range(number), reader, strict=False):
            pass
        again = Reader(str(path))
        again.skip(reader.mark(), reader.lines)
        assert [(record.source, record.value) for record in again] == expected[number:]


def test_labels_that_are_refused_are_not_missing(folder, caplog):
    folder.put([json.dumps({"id": str(n), "a": n, "y": [n]}).encode() for n in range(10)])
    assert folder.run().rejected == 10
    assert not any("has a label" in message for message in caplog.messages)


def test_a_long_cell_is_one_cell(tmp_path):
    row = b'1,"' + 20_000 * b"2,false\n" + b'",true\n'
    (tmp_path / "in.csv").write_bytes(b"id,a,y\n" + row + b"3,x,false\n")
    assert [record.value + b"\n" for record in Reader(str(tmp_path / "in.csv"))] == [row, b"3,x,false\n"]


def test_a_quote_without_its_end_takes_no_other_row_along(tmp_path):
    lines = [b'1,"2,true', b"3,4,true", b'5,"6",true', b'7,"8,true', b'9,"a\nb",true', b'10,"11,true', b"12,13,true"]
    (tmp_path / "in.csv").write_bytes(b"id,a,y\n" + b"\n".join(lines))
    records = list(Reader(str(tmp_path / "in.csv")))
    assert [record.value for record in records] == lines
    assert [record.source for record in records] == [f"in.csv:{n}" for n in (2, 3, 4, 5, 6, 8, 9)]


@pytest.mark.parametrize(("reads", "writes", "closed"), [("-", "out.jsonl", "<&-"), ("in.jsonl", "-", ">&-")])
def test_a_standard_stream_that_is_closed(tmp_path, reads, writes, closed):
    (tmp_path / "in.jsonl").write_bytes(b'{"a":1,"y":true}\n')
    guarantee = "none" if reads == "-" else "at_least_once"
    (tmp_path / "f.yaml").write_text(
        f"name: t\ninput: {{file: '{reads}'}}\nlearner: [PAClassifier]\nrecord: {{label: y}}\n"
        f"output: {{file: '{writes}'}}\ncheckpoint: {{guarantee: {guarantee}}}\n"
    )
    command = f"exec {shlex.quote(sys.executable)} -m connectors run f.yaml {closed}"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, stderr=subprocess.PIPE, text=True, timeout=DEADLINE)
    assert done.returncode == 3 and done.stderr.endswith("put `-`: it is closed\n"), done.stderr


@pytest.mark.parametrize("name", ["stdin", "stdout"])
def test_a_standard_stream_that_a_program_has_replaced(monkeypatch, name):
    monkeypatch.setattr(sys, name, io.StringIO())
    with pytest.raises(OSError) as refused:
        byte_streams.read_chunks("-") if name == "stdin" else Writer("-", None)
    assert "name a file" in refused.value.strerror


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_forked_meanwhile_keeps_no_lock(tmp_path):
    folder, path = tmp_path / "files", str(tmp_path / "out.jsonl")
    process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(DEADLINE,))
    try:
        with files._locked(folder), byte_streams.appending(path, 0, lambda _: None) as sink:
            process.start()
            sink.write(b"x")
        with files._locked(folder), byte_streams.appending(path, 1, lambda _: None):
            pass
    finally:
        process.kill()
        process.join()
    assert pathlib.Path(path).read_bytes() == b"x"


BAD = [
    b"", b"not json", b'{"a": NaN}', b"[1, 2]", b"{}", b'{"a": "text", "y": true}', b'{"a": 1, "y": "spam"}',
    b"\xff\xfe\x00", b'{"id": "x"}', b'{"https": 1}x\r\r', b"\x00", '{"\u00e4": "\u2028"}'.encode(),
    b'{"https": 1e308, "y": true}',
]  # fmt: skip


def test_rejects_keep_their_bytes_and_leave_the_model_untouched(folder):
    good = phishing(200)
    lines = lines_of(good)
    for n, bad in enumerate(BAD):
        lines.insert(10 + 3 * n, bad)
    folder.put(lines)
    counts = folder.run()
    bare = folder.config().build_learner()
    predicted = [output for output in folder.output() if not output["id"].startswith("in.jsonl")]
    assert predicted == twin(bare, good) and folder.model() == snapshot.dumps(bare)
    (of_bad_label,) = [output for output in folder.output() if output not in predicted]
    assert of_bad_label["id"] == f"in.jsonl:{11 + 3 * 6}" and of_bad_label.keys() == {"id", "prediction", "score"}
    assert counts.predicted == len(good) + 1
    rejects = folder.rejects()
    found = [base64.b64decode(r["base64"]) if "base64" in r else r["text"].encode() for r in rejects]
    assert found == BAD and counts.rejected == len(BAD) and sum("base64" in reject for reject in rejects) == 1
    assert [reject["source"] for reject in rejects] == [f"in.jsonl:{11 + 3 * n}" for n in range(len(BAD))]
    assert rejects[1]["reason"].startswith("not JSON") and "beyond floating point" in rejects[-1]["reason"]


@pytest.mark.parametrize(("label", "warnings"), [("y", 0), ("why", 1), (None, 0)])
def test_a_wrong_field_as_the_label(folder, caplog, label, warnings):
    folder.put(lines_of(phishing(10, unlabelled=1000)))  # a null label would be a null feature
    folder.run(record={"id": "id", "label": label})
    assert sum("none of 10 records has a label" in message for message in caplog.messages) == warnings


def test_without_a_file_rejects_are_logged_and_counted(folder, caplog):
    folder.put([b"nonsense", *(json.dumps({"a": n, "y": True}).encode() for n in range(5))])
    with caplog.at_level(logging.WARNING):
        counts = folder.run(rejects=None, record={"label": "y"})
    assert counts.rejected == 1 and "rejected in.jsonl:1: not JSON" in caplog.text
    assert [output["id"] for output in folder.output()] == [f"in.jsonl:{n}" for n in range(2, 7)]


def test_of_many_rejects_between_two_commits_only_the_first_are_logged(folder, caplog):
    folder.put([b"nonsense"] * 300)
    with caplog.at_level(logging.WARNING):
        counts = folder.run(rejects=None, record={"label": "y"}, checkpoint={"every": "1h"})
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert counts.rejected == 300 and len(said) == 11
    assert all(line.startswith(f"rejected in.jsonl:{n}: not JSON") for n, line in enumerate(said[:10], 1))
    assert said[10].startswith("rejected in.jsonl:11, too: more rejects are only counted until the next commit. Add")


def disturbed(kind):
    """4000 good records with bad ones between them; rows of CSV take up two lines each."""
    good = phishing(4000)
    lines = lines_of(good)
    bad = BAD
    if "csv" in kind:
        header, *lines = (
            row + b"\n" for row in table_of({**r, "id": f"{r['id']}\n"} for r in good).split(b"\r\n")[:-1]
        )
        bad = [b"", b"1,2,3", b'"x"y,1', b"\xff" * 9]
    for n in range(50, 4000, 97):
        lines.insert(n, bad[n % len(bad)])
    if "csv" in kind:
        return b"".join([header, *(line if line.endswith(b"\n") else line + b"\n" for line in lines)])
    return b"".join(line + b"\n" for line in lines)


def killed(folder, kills, *numbers):
    """Let `file_kills.py` run a folder, in a fork of a process that has imported everything."""
    process = Fork(KILLS, [str(folder.file()), str(kills), *map(str, numbers)])
    _, said = process.communicate(DEADLINE)
    assert process.returncode == 0 and said.startswith(f"killed {kills} times"), said


@pytest.mark.parametrize("kind", ["jsonl", "jsonl.zst", "csv.gz"])
def test_killed_at_any_moment_and_started_again(tmp_path, kind):
    """Dozens of kills, at each call that makes something durable and at random: nothing of them is left to be seen."""
    found = []
    for name in ("undisturbed", "killed"):
        (tmp_path / name).mkdir()
        folder = Folder(tmp_path / name, kind)
        folder.put(disturbed(kind))
        if name == "killed":
            killed(folder, 36, 7)
        else:
            folder.run()
        found.append((folder.content(), folder.rejects(), folder.model(), folder.state()["input"]["mark"]))
    assert found[0] == found[1]
    assert len(found[0][1]) == len(range(50, 4000, 97)) and found[0][0].count(b"r3999") == 1
    if kind == "jsonl":
        predicted = [output for output in folder.output() if output["id"].startswith("r")]  # the others: bad labels
        assert predicted == twin(folder.config().build_learner(), phishing(4000))


def test_goes_on_when_the_input_has_grown(tmp_path):
    for suffix in PACK:
        (tmp_path / f"x{suffix}").mkdir()
        folder = Folder(tmp_path / f"x{suffix}", f"jsonl{suffix}")
        records = phishing(300)
        for end in (100, 100, 300):
            folder.put(lines_of(records[:end]))
            folder.run()
            assert folder.output() == twin(folder.config().build_learner(), records[:end])


def test_a_last_line_without_end_is_read_once(folder):
    lines = lines_of(phishing(20))
    folder.put(b"\n".join(lines[:10]))
    assert folder.run().read == 10
    folder.put(b"\n".join(lines[:10]) + b"\n")
    assert folder.run().read == 0
    folder.put(b"\n".join(lines[:20]))
    assert folder.run().read == 10
    folder.put(b"\n".join(lines[:20]) + b"x\n")
    said = "after line 20: line 20 had no end when it was read, and now goes on: put a line feed after byte [0-9]+, "
    with pytest.raises(StartError, match=said):
        folder.run()


def test_a_last_line_without_end_may_get_that_of_windows(tmp_path):
    folder = Folder(tmp_path, "csv", record={"label": "y"})
    folder.put(b"a,y\r\n1,true")
    assert folder.run().read == 1
    folder.put(b"a,y\r\n1,true\r\n2,false\r\n")
    assert folder.run().read == 1
    assert [row["id"] for row in csv.DictReader(io.StringIO(folder.content().decode()))] == ["in.csv:2", "in.csv:3"]


@pytest.mark.parametrize("suffix", PACK)
def test_without_records_an_output_of_csv_is_a_header(tmp_path, suffix):
    folder = Folder(tmp_path, f"csv{suffix}")
    folder.put(b"id,a,y\n")
    assert folder.run().read == 0
    assert folder.content() == b"id,prediction,score,label\n"
    folder.put(b"id,a,y\n7,1,true\n")
    folder.run()
    assert folder.content() == b"id,prediction,score,label\n7,,0.0,true\n"


@pytest.mark.parametrize("learner", [["PAClassifier"], ["OneHotEncoder", "PAClassifier"]], ids=str)
def test_a_decimal_comma_between_semicolons_is_no_category(tmp_path, learner):
    folder = Folder(tmp_path, "csv", learner=learner)
    folder.put(b"id;a;y\n1,5;1.5;true\n2,5;-1,5;false\n")
    counts = folder.run()
    assert (counts.read, counts.learned) == (2, 1)
    said = "`a` is the text '-1,5': write numbers with a decimal point and no other separators"
    assert folder.rejects()[0]["reason"] == said


@pytest.mark.parametrize("named", [None, ["a", {"town": "city"}]], ids=str)
def test_an_imputer_fills_in_an_empty_cell(tmp_path, named):
    """Where JSON has null. An absent field would be a reject, so the imputer would never have anything to fill in."""
    city = "town" if named else "city"
    imputer = {"river.preprocessing.StatImputer": {"imputers": [["a", "river.stats.Mean"], [city, "none"]]}}
    record = {"id": "id", "label": "y"} | ({"features": named} if named else {})
    models, rows = [], [(1, 2.5, "Bern", True), (2, None, "Chur", False), (3, -1.0, None, True), (4, None, None, None)]
    for kind in ("csv", "jsonl"):
        (tmp_path / kind).mkdir()
        learner = [imputer, "StandardScaler", "OneHotEncoder", "PAClassifier"]
        folder = Folder(tmp_path / kind, kind, record=record, learner=learner)
        records = [dict(zip(("id", "a", "city", "y"), row, strict=True)) for row in rows]
        folder.put(table_of(records) if kind == "csv" else lines_of(records))
        counts = folder.run()
        assert (counts.predicted, counts.learned, folder.rejects()) == (4, 3, [])
        models.append(folder.model())
    assert models[0] == models[1]


def test_an_imputer_of_a_challenger_takes_no_record_from_the_champion(tmp_path):
    imputer = {"river.preprocessing.StatImputer": {"imputers": [["b", 0.0]]}}
    challengers = {"other": [imputer, "PAClassifier"]}
    folder = Folder(
        tmp_path,
        "csv",
        record={"id": "id", "label": "y"},
        learner={"name": "plain", "steps": ["PAClassifier"]},
        challengers=challengers,
    )
    folder.put(table_of([{"id": 1, "a": 1.0, "b": None, "y": True}, {"id": 2, "a": 1.0, "b": 2.0, "y": True}]))
    counts = folder.run()
    assert (counts.predicted, counts.learned, folder.rejects()) == (2, 2, [])


@pytest.fixture
def done(folder):
    """A folder whose processor has read all of a file."""
    folder.put(lines_of(phishing(50)))
    folder.run()
    return folder


def shorten(path):
    path.write_bytes(path.read_bytes()[:-1])


def change(path):
    content = path.read_bytes()
    path.write_bytes(content[:100] + b"#" + content[101:])


@pytest.mark.parametrize(
    ("file", "spoil", "said"),
    [
        ("in.jsonl", shorten, "bytes now, and"),
        ("in.jsonl", change, "bytes are not those that were read from it"),
        ("in.jsonl", pathlib.Path.unlink, "it does not exist"),
        ("out.jsonl", shorten, "bytes now, and"),
        ("out.jsonl", change, "bytes are not those that were written to it"),
        ("out.jsonl", pathlib.Path.unlink, "it has 0 bytes now, and"),
    ],
)
def test_a_file_that_is_another_one_is_refused(done, file, spoil, said):
    spoil(done.path / file)
    before = {path: path.read_bytes() for path in done.path.rglob("*") if path.is_file()}
    with pytest.raises(StateError, match=said) as refused:
        done.run()
    assert f"`{done.path / file}` does not fit the checkpoint" in str(refused.value)
    assert "another `name`" in str(refused.value)
    assert before == {path: path.read_bytes() for path in done.path.rglob("*") if path.is_file()}


def test_a_snapshot_that_is_not_as_it_was_is_refused(done):
    path = next(done.path.rglob("0*.snapshot"))
    with pytest.raises(StateError, match=r"intercept True -> False; put `learner` back"):
        done.run(learner=["StandardScaler", {"PAClassifier": {"C": 0.01, "mode": 1, "intercept": False}}])
    with pytest.raises(StateError, match=r"`record.features` was left out and is now `\[https\]`; put `record` back"):
        done.run(record={"id": "id", "label": "y", "features": ["https"]})
    change(path)
    with pytest.raises(StateError, match="is corrupt"):
        done.run()
    path.unlink()
    with pytest.raises(StateError, match="cannot be read: No such file"):
        done.run()
    (done.path / "snapshots/trial/files/checkpoint.json").write_text("{}")
    with pytest.raises(StateError, match="is not a checkpoint"):
        done.run()


def test_a_snapshot_that_cannot_be_loaded_is_refused(done, monkeypatch):
    def loads(data):
        raise snapshot.SnapshotError("the snapshot is of another version")

    monkeypatch.setattr(snapshot, "loads", loads)
    with pytest.raises(StateError, match="names, cannot be loaded: the snapshot is of another version; to start over"):
        done.run()


def test_a_changed_parameter_keeps_the_model(folder, caplog):
    records = phishing(200)
    folder.put(lines_of(records[:100]))
    folder.run()
    folder.put(lines_of(records))
    learner = ["StandardScaler", {"PAClassifier": {"C": 0.5, "mode": 2}}]
    folder.run(learner=learner, checkpoint={"every": "1h"})
    assert "the learner changes with the next snapshot: PAClassifier C 0.01 -> 0.5" in caplog.text
    bare = folder.config().build_learner()
    assert folder.output() == twin(bare, records)  # the one commit comes after all of them
    bare["PAClassifier"].mutate({"C": 0.5, "mode": 2})
    assert folder.model() == snapshot.dumps(bare)


def test_output_that_is_not_ours_is_never_touched(folder):
    folder.put(lines_of(phishing(5)))
    for name in ("out.jsonl", "rejects.jsonl"):
        other = folder.path / name
        other.write_text("mine")
        with pytest.raises(StartError, match="it exists already, and is not empty"):
            folder.run()
        assert other.read_text() == "mine"
        other.unlink()
    folder.run()
    # the rejects are still empty: the length in the checkpoint says nothing of another file
    (folder.path / "other.jsonl").write_text("mine")
    with pytest.raises(StateError, match="it exists already"):
        folder.run(rejects={"file": str(folder.path / "other.jsonl")})
    assert (folder.path / "other.jsonl").read_text() == "mine"


def test_an_input_that_does_not_exist_leaves_nothing_behind(folder):
    with pytest.raises(StartError, match=r"the input `.*in\.jsonl`: it does not exist"):
        folder.run()
    assert [path.name for path in folder.path.rglob("*") if path.is_file()] == ["processor.yaml", "lock"]


def test_an_output_without_its_folder_leaves_nothing_behind(folder):
    folder.put(lines_of(phishing(5)))
    (folder.path / "none").mkdir()
    for name in ("output", "rejects"):
        missing = folder.path / "none" / "none"
        with pytest.raises(
            StartError, match=rf"the {name} `{missing}/a.jsonl`: there is no folder `{missing}`: create"
        ):
            folder.run(**{name: {"file": str(missing / "a.jsonl")}})
    assert not list(folder.path.rglob("*.snapshot"))


def test_two_processes_of_one_name(folder):
    folder.put(lines_of(phishing(5)))
    with (
        files._locked(folder.path / "snapshots" / "trial" / "files"),
        pytest.raises(StartError, match="another process"),
    ):
        folder.run()
    assert folder.run().read == 5


def test_two_processes_with_one_output(folder):
    folder.put(lines_of(phishing(5)))
    with (folder.path / "out.jsonl").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(StartError, match=r"the output `.*out\.jsonl`: another process writes to it"):
            folder.run()
    assert folder.run().read == 5
    with (folder.path / "out.jsonl").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(StartError, match=r"out\.jsonl`: another process writes to it$"):
            folder.run()
        file.write("theirs\n")
    with pytest.raises(StateError, match="and only"):
        folder.run()


def test_a_disk_that_refuses_ends_the_work_and_spoils_nothing(folder):
    """The limit on the size of files stands for a full disk: it refuses a write half-way."""
    records = phishing(3000)
    folder.put(lines_of(records))
    python, path = shlex.quote(sys.executable), shlex.quote(str(folder.file()))
    line = f"ulimit -f 60; exec {python} -B -m connectors run {path}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == StartError.exit_code and "Traceback" not in done.stderr
    refused = rf"the work stopped after line \d+: `{folder.path}/out\.jsonl`: File too large; what no checkpoint holds"
    assert re.search(refused, done.stderr)
    folder.run()
    bare = folder.config().build_learner()
    assert folder.output() == twin(bare, records) and folder.model() == snapshot.dumps(bare)


def test_a_long_line_takes_no_longer_than_its_bytes(tmp_path):
    """And the reason for its reject does not quote all of it."""
    taken = []
    for length in (3_000_000, 30_000_000):
        (tmp_path / str(length)).mkdir()
        folder = Folder(tmp_path / str(length))
        folder.put([json.dumps({"id": 1, "a": "x" * length, "y": True}).encode(), *lines_of(phishing(2))])
        began = time.process_time()
        assert folder.run().rejected == 1
        taken.append(time.process_time() - began)
    assert taken[1] < 40 * taken[0], "each piece of the line is joined to all before it"
    (reject,) = folder.rejects()
    assert len(reject["reason"]) < 400 and len(reject["text"]) > 30_000_000


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_input_that_is_packed_well_is_unpacked_in_pieces(tmp_path, suffix):
    """A few kilobytes may hold gigabytes of lines."""
    path, size = tmp_path / f"in.jsonl{suffix}", 1 << 28
    path.write_bytes(PACK[suffix](b'{"a": 1}\n' * (size // 9)))
    assert path.stat().st_size < 1 << 20
    sizes = [len(piece) for piece in byte_streams.read_chunks(str(path))]
    assert sum(sizes) == size // 9 * 9 and max(sizes) <= 1 << 25


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_damaged_input_is_read_up_to_the_damage(tmp_path, suffix):
    folder = Folder(tmp_path, f"jsonl{suffix}")
    records = phishing(9000)
    folder.put(lines_of(records))
    path = tmp_path / f"in.jsonl{suffix}"
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    with pytest.raises(StartError, match=r"after line \d+: it is cut off: its last part has no end"):
        folder.run()
    assert len(folder.output()) == folder.state()["lines"]
    path.write_bytes(whole)
    folder.run()
    assert folder.output() == twin(folder.config().build_learner(), records)
    path.write_bytes(b"{}\n")
    with pytest.raises(StateError, match="it is damaged, or not compressed as its name says"):
        folder.run()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "its first line must name all columns"),
        (b",,\n", "its first line must name all columns"),
        (b"id,,y\n", "its first line must name all columns: column 2 of 3 has no name$"),
        (b",id,y\n0,1,2\n", r"column 1 of 3 has no name; pandas writes its index there, unless told `to_csv\("),
        (b"id,a,a\n", "names the column `a` twice"),
        (
            b"id,a,y\r1,2,3\r",
            "names no columns: not CSV: it goes on after a carriage return: end lines with a line feed",
        ),
        (b"sep=;\r\nid;a;y\r\n", "its first line is for Excel only: delete it"),
        (b'"sep=,"\n', "its first line is for Excel only: delete it"),
        ("id,a,y\n".encode("utf-16"), "it is text in UTF-16: save it in UTF-8"),
        (b"PK\x03\x04 and more", "it is a zip archive, or a workbook of a spreadsheet"),
        (gzip.compress(b"id,a,y\n", mtime=0), "it is compressed by gzip: let its name end with `.gz`"),
        (zstandard.compress(b"id,a,y\n"), "it is compressed by zstd: let its name end with `.zst`"),
        ("id,Größe,y\n".encode("cp1252"), r"not text in UTF-8 \(byte 5 of its first line\): save it in UTF-8, as a"),
        (b"id,a,z\n1,2,3\n", "has no column `y`; its columns are `id`, `a`, `z`$"),
        (b"id|a|y\n1|2|3\n", r"has no column `id`; its columns are `id\|a\|y`$"),
        (b"id," + b",".join(b"f%d" % n for n in range(99)) + b"\n", "`f8` and 90 more$"),
        (b"idd,a,y\n1,2,3\n", "has no column `id`, did you mean `idd`?"),
    ],
)
def test_a_header_that_cannot_be_used(tmp_path, content, said):
    folder = Folder(tmp_path, "csv")
    folder.put(content)
    with pytest.raises(StartError, match=said):
        folder.run()


@pytest.mark.skipif(sys.getfilesystemencoding() != "utf-8", reason="needs a locale with UTF-8")
def test_a_folder_whose_name_is_not_utf_8(tmp_path):
    """Such as one of an old archive. The first checkpoint could not name it."""
    path = os.fsdecode(os.fsencode(tmp_path) + b"/R\xe4ume/in.csv")
    text = "name: a\nlearner: [PAClassifier]\nrecord: {label: y}\n"
    (tmp_path / "a.yaml").write_text(text + "input: {file: in.csv}\noutput: {file: out.csv}\n")
    os.makedirs(os.path.dirname(path))
    (tmp_path / "a.yaml").rename(os.path.join(os.path.dirname(path), "a.yaml"))
    line = [sys.executable, "-m", "connectors", "run", "a.yaml"]
    done = subprocess.run(
        line,
        check=False,
        cwd=os.path.dirname(path),
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 2
    place = f"{tmp_path}/R\\xe4ume/in.csv"
    assert done.stderr == f"a.yaml:4:8: `input`: the path `{place}` is not text in utf-8: rename its folder\n"


@pytest.mark.parametrize("kind", ["ndjson", "JSONL", "jsonl.GZ", "CSV", "tsv", "Csv.Gz"])
def test_other_endings_of_names(tmp_path, kind):
    """Other programs write them, and capital letters."""
    records, folder = phishing(30), Folder(tmp_path, f"jsonl{'.gz' if kind.lower().endswith('gz') else ''}")
    content = b"\n".join(lines_of(records))
    if kind[:3].lower() in ("csv", "tsv"):
        content = table_of(records).replace(b",", b"\t" if kind == "tsv" else b",")
    path = tmp_path / f"in.{kind}"
    path.write_bytes(PACK[folder.suffix](content))
    folder.run(input={"file": str(path)})
    assert folder.output() == twin(folder.config().build_learner(), records)


def test_json_lines_that_are_something_else(folder):
    """A processor does not begin with them, as each line would be a reject."""
    for content, said in ((gzip.compress(b"{}\n"), "compressed by gzip"), ("{}\n".encode("utf-16"), "in UTF-16")):
        folder.put(content)
        with pytest.raises(StartError, match=said):
            folder.run()
    assert not (folder.path / "out.jsonl").exists()


@pytest.mark.parametrize("bad", [2, 1])
def test_a_run_that_predicts_nothing_is_told(folder, caplog, bad):
    """The rejects are in a file, and the counts at the end look like those of any run."""
    folder.put([json.dumps({"id": n, "a": "x" if n < bad else 1}).encode() for n in range(2)])
    folder.run()
    said = "no record could be processed; the last one: feature 'a' is the text 'x'"
    assert (said in caplog.text) == (bad == 2)


def command(folder, standard_input, **changes):
    line = [sys.executable, "-m", "connectors", "run", str(folder.file(**changes))]
    return subprocess.Popen(line, stdin=standard_input, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


STANDARD = {"input": {"file": "-"}, "output": {"file": "-"}, "checkpoint": {"guarantee": "none", "every": "50ms"}}


def test_standard_input_and_output(folder):
    """What was said is seen while the input is still open, and the next process goes on with the model."""
    records = phishing(60)
    said = []
    for begin, end in ((0, 40), (40, 60)):
        with command(folder, subprocess.PIPE, **STANDARD) as process:
            for line in lines_of(records[begin:end]):
                process.stdin.write(line + b"\n")
            process.stdin.flush()
            said += [json.loads(process.stdout.readline()) for _ in range(begin, end)]
            process.send_signal(signal.SIGTERM) if begin else process.stdin.close()
            assert process.wait(DEADLINE) == 0, process.stderr.read()
    bare = folder.config(**STANDARD).build_learner()
    assert said == twin(bare, records) and folder.model() == snapshot.dumps(bare)


def test_positions_in_a_pipe_go_on_after_a_restart(folder):
    said = []
    for line in (
        b'\xef\xbb\xbf{"x": 1, "y": true}\n',
        b'\xef\xbb\xbf{"x": 2, "y": true}\n',
    ):  # each from a file of Windows
        with command(folder, subprocess.PIPE, **STANDARD) as process:
            said.append(json.loads(process.communicate(line, DEADLINE)[0])["id"])
    assert said == ["-:1", "-:2"]


def test_a_reader_that_goes_away(folder):
    folder.put(lines_of(phishing(5000)))
    changes = {"output": {"file": "-"}, "checkpoint": {"guarantee": "at_least_once", "every": "10ms"}}
    with command(folder, subprocess.DEVNULL, **changes) as process:
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read().decode()
        assert process.wait(DEADLINE) == StartError.exit_code
    assert "Traceback" not in said and "Exception ignored" not in said
    assert said.splitlines()[-1].startswith(f"`{folder.path}/in.jsonl`: the work stopped after line ")
    assert "Broken pipe; what no checkpoint holds is done again by the next start" in said


def test_a_stop_ends_in_order_and_the_next_start_goes_on(folder):
    folder.put(lines_of(phishing(100)))
    stop = Stop()
    stop.request()
    assert files.run(folder.config(), stop).read == 1
    assert folder.run().read == 99
    assert folder.output() == twin(folder.config().build_learner(), phishing(100))


def test_a_section_that_is_new_survives_a_kill(folder, monkeypatch):
    folder.put(lines_of(phishing(5)))
    folder.run(rejects=None)
    folder.put([*lines_of(phishing(5)), b"{"])

    def killed(self):  # between steps 2 and 3
        self.sync_output()
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(files.FileProcessor, "commit", killed)
        with pytest.raises(SystemExit):
            folder.run()
    assert (folder.path / "rejects.jsonl").read_bytes()
    assert folder.run().read == 1 and len(folder.rejects()) == 1


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_header_without_end_may_get_one(tmp_path, end):
    folder = Folder(tmp_path, "csv", record={"label": "y"})
    folder.put(b"a,y")
    assert folder.run().read == 0
    folder.put(end.join([b"a,y", b"1,true", b""]))
    assert folder.run().read == 1
    assert [row["id"] for row in csv.DictReader(io.StringIO(folder.content().decode()))] == ["in.csv:2"]


def assert_what_is_added_stays(folder, name):
    with (folder.path / name).open("ab") as file:
        file.write(b"theirs\n")
    before = (folder.path / name).read_bytes()
    with pytest.raises(StateError, match=r"it has \d+ bytes now, and only \d+ were written to it"):
        folder.run()
    assert (folder.path / name).read_bytes() == before


@pytest.mark.parametrize("name", ["out.jsonl", "rejects.jsonl"])
def test_what_another_program_has_added_is_not_cut_off(folder, name):
    folder.put(lines_of(phishing(5)))
    folder.run()
    assert_what_is_added_stays(folder, name)


@pytest.mark.parametrize("name", ["out.jsonl", "rejects.jsonl"])
def test_an_end_with_nothing_to_read_is_one_in_order(folder, monkeypatch, name):
    folder.put(lines_of(phishing(5)))
    with monkeypatch.context() as patch:
        patch.setattr(files.FileProcessor, "_end", lambda self: None)  # killed right after its last commit
        folder.run()
    assert folder.run().read == 0
    assert_what_is_added_stays(folder, name)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_compressed_file_without_records_is_valid(tmp_path, suffix):
    path = tmp_path / f"rejects.jsonl{suffix}"
    folder = Folder(tmp_path, rejects={"file": str(path)})
    folder.put(lines_of(phishing(5)))
    folder.run()
    assert path.read_bytes() and UNPACK[suffix](path.read_bytes()) == b""
    folder.put([*lines_of(phishing(5)), b"{"])
    assert folder.run().rejected == 1
    assert UNPACK[suffix](path.read_bytes()).count(b"\n") == 1


def test_a_folder_without_locks_is_named(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(files.fcntl, "flock", refuse)
    with pytest.raises(StartError, match="cannot be locked: No locks available"), files._locked(tmp_path / "files"):
        pytest.fail("it was locked")


def test_texts_of_csv_stay_texts(tmp_path):
    words = [{"BagOfWords": {"on": "body"}}, "PAClassifier"]
    folder = Folder(tmp_path, "csv", record={"label": "y"}, learner=words)
    folder.put(b"body,y\nsee you,0\n100,1\ntrue,0\n1e9,1\n")
    counts = folder.run()
    assert (counts.learned, counts.rejected) == (4, 0)


def test_a_challenger_for_words_changes_nothing_for_the_learner(tmp_path):
    folder = Folder(tmp_path, "csv", record={"label": "y"}, learner={"name": "pa", "steps": ["PAClassifier"]})
    folder.put(b"code,y\n100,0\n300,1\n")
    counts = folder.run(challengers={"words": [{"BagOfWords": {"on": "code"}}, "PAClassifier"]})
    assert (counts.learned, counts.rejected) == (2, 0)


def test_what_comes_from_a_pipe_is_lost(tmp_path):
    """The next start cannot read it again."""
    (tmp_path / "p.yaml").write_text(
        'name: x\ninput: {file: "-"}\nrecord: {label: y}\nlearner: [PAClassifier]\noutput: {file: "-"}\n'
        "checkpoint: {guarantee: none}\n"
    )
    command = [sys.executable, "-m", "connectors", "run", "p.yaml"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=tmp_path, **pipes) as process:
        process.stdout.close()
        process.stdin.write(b'{"a": 1, "y": true}\n' * 2000)
        process.stdin.close()
        said = process.stderr.read().decode()
        assert process.wait(DEADLINE) == 3
    assert "Broken pipe; what no checkpoint holds is lost" in said


@pytest.mark.parametrize("header", [b"id, a,y", b'"id","a","y"'])
def test_a_header_in_mid_file_is_a_reject(tmp_path, header):
    """As where the file of another month was appended: with it, the name of the label would be a class for ever."""
    folder = Folder(tmp_path, "csv")
    folder.put(b"id, a,y\n1,2,x\n2,3,z\n")
    folder.run(learner=["OneHotEncoder", "PAClassifier"])
    folder.put(b"id, a,y\n1,2,x\n2,3,z\n" + b"\xef\xbb\xbf" + header + b"\r\n3,2,x\n")
    folder.run(learner=["OneHotEncoder", "PAClassifier"])
    assert (tmp_path / "out.csv").read_bytes().count(b"\n") == 4 and b",y\n" not in (tmp_path / "out.csv").read_bytes()
    assert [(each["source"], each["reason"]) for each in folder.rejects()] == [
        ("in.csv:4", "the row is the header once more, as where two files were joined")
    ]


def test_an_output_under_another_name_is_named(done):
    with pytest.raises(StateError, match=r"it has 0 bytes now, and .* under the name `.*out.jsonl`"):
        done.run(output={"file": str(done.path / "other.jsonl")})


@pytest.mark.parametrize(
    ("name", "harm"), [("out.jsonl", "truncated"), ("out.jsonl", "removed"), ("rejects.jsonl", "truncated")]
)
def test_a_file_that_is_changed_meanwhile_ends_the_work(folder, monkeypatch, name, harm):
    """As by a rotation of logs: else the end would count as committed what is gone."""
    folder.put([*lines_of(phishing(50)), b"{"])
    path, sync = folder.path / name, files.FileProcessor.sync_output

    def harmed(self):
        sync(self)
        path.unlink() if harm == "removed" else os.truncate(path, 0)
        return sync(self)

    monkeypatch.setattr(files.FileProcessor, "sync_output", harmed)
    said = rf"{re.escape(name)}` does not fit the checkpoint .*: it has 0 bytes now, and"
    with pytest.raises(StateError, match=said):
        folder.run()


def test_a_file_that_is_changed_after_the_last_commit_ends_the_work_too(folder, monkeypatch):
    """As where standard input waits for long."""
    folder.put(lines_of(phishing(50)))
    end = files.FileProcessor._end

    def harmed(self):
        os.truncate(folder.path / "out.jsonl", 0)
        end(self)

    monkeypatch.setattr(files.FileProcessor, "_end", harmed)
    with pytest.raises(StateError, match=r"out\.jsonl` does not fit the checkpoint .*: it has 0 bytes now, and"):
        folder.run()


def test_an_input_that_is_truncated_meanwhile_is_named(folder, monkeypatch):
    folder.put(lines_of(phishing(2000)))
    write_snapshot = files.FileProcessor.write_snapshot

    def truncated(self):
        if self._input.lines:
            os.truncate(folder.path / "in.jsonl", 0)
        return write_snapshot(self)

    monkeypatch.setattr(files.FileProcessor, "write_snapshot", truncated)
    with pytest.raises(StartError, match=r"in\.jsonl` after line \d+: it has 0 bytes now, and \d+ were read from it"):
        folder.run(checkpoint={"every": "10ms"})
    assert not folder.rejects()


@pytest.mark.parametrize(
    ("delimiter", "cell"),
    [
        ("\t", "-1,5"), (",", '"-1,5"'), (",", '"1,234.5"'), (";", "1.234,5"), (",", "1'234.5"), ("\t", "1 234,5"),
        (",", "1 234.5"), (";", "1\u202f234"), (";", "-1\u00a0234\u00a0567"), (",", "1\u202f234.5"),
    ],
)  # fmt: skip
def test_a_number_of_another_country_is_no_category(tmp_path, delimiter, cell):
    folder = Folder(tmp_path, "csv", learner=["OneHotEncoder", "PAClassifier"])
    rows = [["id", "a", "y"], ["x", cell, "true"], ["y", "10.0.0.1", "true"], ["z", "777 123 456", "true"]]
    folder.put("".join(delimiter.join(row) + "\n" for row in rows).encode())
    assert folder.run().learned == 2
    assert "write numbers with a decimal point" in folder.rejects()[0]["reason"]


def test_the_lines_of_a_last_row_without_end_all_count(tmp_path):
    path = tmp_path / "in.csv"
    path.write_bytes(b'a,b\n1,"x\ny"')
    reader = Reader(str(path))
    assert [record.source for record in reader] == ["in.csv:2"] and reader.lines == 3
    path.write_bytes(b'a,b\n1,"x\ny"\n2,z\n')
    again = Reader(str(path))
    again.skip(reader.mark(), reader.lines)
    assert [record.source for record in again] == ["in.csv:4"]


def test_all_features_are_explained_whatever_the_number(folder):
    folder.put(lines_of(phishing(2)))
    output = {"file": str(folder.path / "out.jsonl"), "explain": 10**20}
    assert folder.run(output=output).predicted == 2


def test_zeros_behind_a_gzip_member_are_no_content(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b"{}\n") + bytes(1 << 16) + gzip.compress(b"{}\n") + bytes(5))
    assert [record.value for record in Reader(str(path))] == [b"{}", b"{}"]
    path.write_bytes(bytes(512) + gzip.compress(b"{}\n"))
    with pytest.raises(Unfit, match="it is damaged"):
        list(Reader(str(path)))
    packed = tmp_path / "a.jsonl.zst"
    packed.write_bytes(zstandard.compress(b"{}\n") + bytes(5))  # `zstd` refuses it, too
    with pytest.raises(Unfit, match="it is damaged"):
        list(Reader(str(packed)))
