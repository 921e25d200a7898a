"""Codecs of other packages: registered, named in a file, and held to the contract."""

import concurrent.futures
import json
import re
import sys
import time

import pytest

from connectors import config
from connectors.errors import ConfigError, ConnectorError, StartError
from connectors.formats import codecs
from connectors.formats.check_codec import check_codec
from connectors.model.records import Record
from connectors.model.rejects import Reject
from connectors.topics.outbox import Outbox
from tests.helpers.paths import ROOT
from tests.helpers.streams import Stream, phishing, running, twin

PAGE = ROOT / "docs" / "formats.md"


def code_of_the_page():
    """Return the class `Pipes`, as the page shows it."""
    return next(block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if "class " in block)


@pytest.fixture
def guest(tmp_path, monkeypatch):
    """An installed package with the codec of the page."""
    folder = tmp_path / "site"
    (folder / "guest_codecs").mkdir(parents=True)
    (folder / "guest_codecs" / "__init__.py").write_text(f"{code_of_the_page()}\nNUMBER = 3\n")
    info = folder / "guest_codecs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: guest-codecs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[river_margins.codecs]\npipes = guest_codecs:Pipes\nnumber = guest_codecs:NUMBER\ngone = guest_nowhere:X\n"
    )
    monkeypatch.syspath_prepend(folder)
    codecs._entry_points.cache_clear()
    import guest_codecs

    yield guest_codecs
    sys.modules.pop("guest_codecs")
    codecs._entry_points.cache_clear()


VALUES = [(b"id=a|x=1.5|y=true", {"id": "a", "x": 1.5, "y": True}), (b"x=-2|name=b", {"x": -2, "name": "b"})]


def test_the_codec_of_the_page_passes_the_suite(guest):
    check_codec(guest.Pipes(), VALUES)


def codec(base, **methods):
    return type("Broken", (base,), methods)()


@pytest.mark.parametrize(
    ("method", "function", "message"),
    [
        ("decode", lambda self, value: [1], "`decode` returns list, and not a dict"),
        ("decode", lambda self, value: {"x": 1}, r"`decode` returns \{'x': 1\}, and not"),
        ("encode", lambda self, fields: "text", "`encode` returns str, and not bytes"),
        ("encode", lambda self, fields: fields.clear() or b"x", "`encode` changes the output"),
        ("encode", lambda self, fields: str(id(fields)).encode(), "`encode` returns other bytes for the same output"),
    ],
)
def test_a_codec_that_breaks_the_contract_is_found(guest, method, function, message):
    with pytest.raises(AssertionError, match=message):
        check_codec(codec(guest.Pipes, **{method: function}), VALUES)


def test_a_codec_whose_values_json_lacks_or_that_dies_of_noise_is_found(guest):
    class Bytes(guest.Pipes):
        def decode(self, value):
            return super().decode(value) | {"raw": value}

    with pytest.raises(AssertionError, match="`raw` is b'x=1': no value of JSON"):
        check_codec(Bytes(), [(b"x=1", {"x": 1, "raw": b"x=1"})])

    class Fragile(guest.Pipes):
        def decode(self, value):
            return super().decode(value) if value[:1] else [][0]

    with pytest.raises(AssertionError, match=r"`decode` raises IndexError.* for b'', and not ValueError"):
        check_codec(Fragile(), VALUES)


def test_any_error_of_a_codec_is_a_reject_and_one_of_the_network_is_not(guest):
    def fails(error):
        def decode(self, value):
            raise error

        return codecs.parser("pipes", codec(guest.Pipes, decode=decode))

    with pytest.raises(Reject, match="not pipes: 7"):
        fails(KeyError(7))(b"x")
    with pytest.raises(Reject, match="not pipes: ValueError"):
        fails(ValueError())(b"x")
    with pytest.raises(OSError, match="away"):
        fails(OSError("away"))(b"x")


FILE = {
    "name": "p",
    "kafka": {"bootstrap_servers": "localhost:1"},
    "input": {"topic": "a"},
    "output": {"topic": "b"},
    "learner": ["PAClassifier"],
}


def problems(tmp_path, **changes):
    path = tmp_path / "p.yaml"
    path.write_text(json.dumps(FILE | changes))
    with pytest.raises(ConfigError) as caught:
        config.load(path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        ({"format": "pips"}, "there is no format `pips`, did you mean `pipes`?"),
        ({"format": "number"}, "the codec `number` of `guest_codecs:NUMBER` has no method `decode`"),
        ({"format": "gone"}, "the codec `gone` of `guest_nowhere:X` cannot be imported: No module named"),
        ({"format": "avro"}, "the schemas of `avro` are in a registry: write its URL as `record.registry`"),
        ({"registry": "http://h:1"}, "`record.registry`: no format needs it"),
        ({"format": "avro", "registry": "h:1"}, "`h:1` is not a URL"),
        ({"format": "avro", "registry": "http://u:geheim@h:1"}, "a URL must not hold a password"),
        (
            {"format": "avro", "registry": {"url": "http://h:1", "password": "geheim"}},
            "with a `username` only: add one",
        ),
        (
            {"format": "avro", "registry": {"url": "http://h:1", "ssl_cafile": "a.pem"}},
            "which has no TLS: write `https:`",
        ),
        ({"format": "avro", "registry": {"url": "https://h:1", "ca_file": "a.pem"}}, "`record.registry.ca_file`"),
    ],
)
def test_lint_says_what_is_wrong(guest, tmp_path, record, sentence):
    said = problems(tmp_path, record=record)
    assert sentence in said and "geheim" not in said


def test_a_misspelled_format_is_the_only_mistake(tmp_path):
    said = problems(tmp_path, record={"format": "protobuff", "registry": "http://h:1"}, output={"topic": "b"})
    assert said.count("\n") == 0 and "there is no format `protobuff`, did you mean `protobuf`?" in said


def test_a_password_is_shown_as_stars(tmp_path):
    path = tmp_path / "p.yaml"
    registry = {"url": "http://h:1", "username": "u", "password": "geheim"}
    path.write_text(json.dumps(FILE | {"record": {"format": "avro", "registry": registry}}))
    found = config.load(path)
    assert found.record.registry.password == "geheim" and "geheim" not in repr(found)
    assert "registry" not in found.record.shape and found.record.shape["format"] == "avro"


def test_a_file_says_its_format_by_its_name(guest, tmp_path):
    files = {"input": {"file": "a.jsonl"}, "output": {"file": "b.jsonl"}, "kafka": None}
    path = tmp_path / "p.yaml"
    path.write_text(json.dumps({k: v for k, v in (FILE | files).items() if v} | {"record": {"format": "pipes"}}))
    with pytest.raises(ConfigError, match=r"`record\.format` is for topics"):
        config.load(path)


def test_a_processor_with_a_codec_of_another_package(guest, kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=1)
    records = phishing(60)
    values = [guest.Pipes().encode({k: v for k, v in record.items() if v is not None}) for record in records]
    stream.produce([*values, b"no pair"])
    formats = {"record": stream.settings["record"] | {"format": "pipes"}}
    with running(stream.config(**formats, output={"topic": stream.output, "format": "pipes"})) as process:
        outputs = [guest.Pipes().decode(message.value) for message in stream.read(stream.output, 60)]
        (reject,) = stream.read(stream.rejects, 1)
        process.end()
    expected = twin(stream.config().build_learner(), records)
    assert outputs == [guest.Pipes().decode(guest.Pipes().encode(output)) for output in expected]
    assert reject.value == b"no pair" and b"not pipes: " in dict(reject.headers)["reason"]


def test_labels_and_queries_with_a_codec_of_another_package(guest, kafka, tmp_path):
    """Records and labels are decoded for their times, for learning, and for a query; the query shows the fields."""
    stream = Stream(kafka, tmp_path, partitions=1)
    labels, queries, outcomes = (f"{stream.name}-{part}" for part in ("labels", "queries", "outcomes"))
    kafka.create_topics({labels: 1, queries: 1, outcomes: 1})
    encode, count = guest.Pipes().encode, 30
    stream.produce([encode({"id": f"r{n}", "x": n % 2, "at": 1000 + 10 * n}) for n in range(count)])
    records = stream.input
    stream.input = labels
    stream.produce([encode({"id": f"r{n}", "y": n % 2 == 0, "at": 1005 + 10 * n}) for n in range(count)])
    stream.input = records
    with running(
        stream.config(
            record={"id": "id", "time": "at", "format": "pipes"},
            labels={"topic": labels, "id": "id", "label": "y", "time": "at", "within": "1h", "format": "pipes"},
            queries={
                "topic": queries,
                "sampler": {"ShareSampler": {"share": 1.0, "seed": 7}},
                "at_most": "1000 per 1000",
            },
            outcomes={"topic": outcomes},
        )
    ) as process:
        asked = [json.loads(message.value) for message in stream.read(queries, count)]
        learned = [json.loads(message.value) for message in stream.read(outcomes, count)]
        counts = process.end()
    assert [query["record"] for query in asked] == [
        {"id": f"r{n}", "x": n % 2, "at": 1000 + 10 * n} for n in range(count)
    ]
    assert [(outcome["id"], outcome["label"], outcome["delay"]) for outcome in learned] == [
        (f"r{n}", n % 2 == 0, 5) for n in range(count)
    ]
    assert (counts.predicted, counts.learned, counts.rejected) == (count, count, 0)


def test_a_codec_that_needs_a_score_is_found(guest):
    def encode(self, fields):
        scores = fields["score"].values() if isinstance(fields["score"], dict) else [fields["score"]]
        return str([float(score) for score in scores]).encode()

    with pytest.raises(TypeError, match="NoneType"):
        check_codec(codec(guest.Pipes, encode=encode), VALUES)


@pytest.mark.parametrize("encode", [lambda self, fields: "text", lambda self, fields: {}["x"]])
def test_an_output_that_a_codec_cannot_write(tmp_path, monkeypatch, encode):
    kind = type("Broken", (), {"decode": lambda self, value: {}, "encode": encode})
    monkeypatch.setattr(codecs, "_factory", lambda name: kind)
    (tmp_path / "p.yaml").write_text(
        "name: a\nkafka: {bootstrap_servers: 'a:1'}\ninput: {topic: a}\nlearner: [PAClassifier]\n"
        "output: {topic: b, format: broken}\n"
    )
    outbox = Outbox(config.load(tmp_path / "p.yaml"), lambda alone: None)
    record = Record("events-0-7", None, b"{}")
    record.id, record.output = 1, b'{"id":1}'
    with pytest.raises(ConnectorError, match="`broken` cannot write the output of events-0-7"):
        outbox._encoded(record)


def test_a_codec_that_cannot_be_made(tmp_path, monkeypatch):
    monkeypatch.setattr(codecs, "_factory", lambda name: {}.__getitem__)
    with pytest.raises(StartError, match="the codec `broken` cannot be made: TypeError: "):
        codecs.make_codec("broken", None, "t")


def test_a_codec_of_another_package_is_called_by_one_thread_at_a_time():
    """The loop and a challenger that reads the input decode at the same time."""

    class Scratch:
        def __init__(self):
            self.found = []

        def decode(self, value):
            self.found.clear()
            for byte in value:
                self.found.append(byte)
                time.sleep(0)  # another thread may go on here
            return {"bytes": list(self.found)}

    parse = codecs.parser("scratch", Scratch())
    values = [bytes([n] * 20) for n in range(200)]
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        assert list(threads.map(parse, values)) == [{"bytes": list(value)} for value in values]


def test_a_codec_that_reads_true_as_a_number_is_found(guest):
    class Numbers(guest.Pipes):
        def decode(self, value):
            return {name: int(cell) if cell is True else cell for name, cell in super().decode(value).items()}

    with pytest.raises(AssertionError, match=r"`decode` returns {'y': 1}, and not {'y': True}"):
        check_codec(Numbers(), [(b"y=true", {"y": True})])
