"""The procedures of docs/operating.md that no other test tries, and that the metrics it names exist."""

import json
import re
import shutil
import struct
import subprocess
import time

import pytest
import yaml
from prometheus_client import generate_latest
from typer.testing import CliRunner

from connectors import cli, config
from connectors.errors import StateError
from connectors.runtime.metrics import Metrics, NoWork
from connectors.snapshots.models import Builder
from connectors.snapshots.names import SnapshotName
from connectors.topics import processor
from river_margins import snapshot
from tests.helpers.paths import ROOT
from tests.helpers.streams import Stream, phishing, running, start, twin, wait_for

MONITORING = ROOT / "deploy" / "monitoring"


def outputs(stream, count, topic=None):
    """The output values by partition, in order."""
    found = {number: [] for number in range(stream.partitions)}
    for message in stream.read(topic or stream.output, count):
        found[message.partition].append(json.loads(message.value))
    return found


def test_go_back_a_version(kafka, tmp_path):
    stream = Stream(kafka, tmp_path)
    records, folder, saved = phishing(300), tmp_path / "snapshots" / stream.name, tmp_path / "saved"
    stream.produce(records[:200])
    with running(stream.config()) as process:
        stream.read(stream.output, 200)
        process.end()
    shutil.copytree(folder, saved)
    before = [stream.pointer(number).snapshot for number in range(2)]
    upgrade = max(SnapshotName.parse(name).time for name in before)
    wait_for(lambda: time.time() >= upgrade + 1, "another second, for the names of the snapshots have seconds")
    newer = start(stream.file(), "from river_margins.snapshot import codec; codec.FORMAT += 1")
    stream.produce(records[200:])
    assert len(stream.read(stream.output, 300)) == 300
    newer.terminate()
    newer.communicate()
    with pytest.raises(
        StateError, match="use the newer version that wrote it; to go back to an older model"
    ) as refused:
        processor.run(stream.config())
    assert "rewind FILE --time TIME --partition" in str(refused.value)
    for number in range(2):
        for path in folder.rglob(f"{before[number]}.snapshot"):
            path.unlink()  # as the newer version does after a minute
    shutil.copytree(saved, folder, dirs_exist_ok=True)
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(upgrade))
    went = CliRunner().invoke(cli.app, ["snapshots", "rewind", str(stream.file()), "--time", moment])
    assert went.exit_code == 0, went.output
    with running(stream.config()):
        found = outputs(stream, 400)
    for number in range(2):
        mine = records[number:200:2] + records[200 + number :: 2]
        expected = twin(stream.config().build_learner(), mine)
        assert found[number] == expected + expected[100:]


def test_go_back_a_version_between_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    records = phishing(300)
    written, saved, file, data = (tmp_path / name for name in ("written", "saved", "p.yaml", "in.jsonl"))
    learner, files = ["StandardScaler", "PAClassifier"], {"output": "out.jsonl", "rejects": "rejects.jsonl"}
    settings = {"name": "p", "input": {"file": "in.jsonl"}, "record": {"id": "id", "label": "y"}, "learner": learner}
    settings |= {key: {"file": f"written/{name}"} for key, name in files.items()} | {"snapshots": "written/snapshots"}
    file.write_text(json.dumps(settings))
    written.mkdir()

    def run(newer=0):
        data.write_text("".join(json.dumps(record) + "\n" for record in records[: 300 if saved.exists() else 200]))
        process = start(file, f"from river_margins.snapshot import codec; codec.FORMAT += {newer}")
        _, said = process.communicate()
        return process.returncode, said

    assert run()[0] == 0
    shutil.copytree(written, saved)
    assert run(newer=1)[0] == 0
    code, said = run()
    assert (code, "use the newer version that wrote it" in said) == (4, True)
    shutil.rmtree(written)
    shutil.copytree(saved, written)
    assert run()[0] == 0
    found = [json.loads(line) for line in (written / "out.jsonl").read_text().splitlines()]
    assert found == twin(config.load(file).build_learner(), records)


def test_change_a_learner(kafka, tmp_path):
    stream = Stream(kafka, tmp_path)
    records, learner = phishing(300), ["StandardScaler", {"AROWClassifier": {"r": 0.5}}]
    stream.produce(records[:200])
    with running(stream.config()):
        stream.read(stream.output, 200)
    with pytest.raises(StateError, match="is now `AROWClassifier") as refused:
        processor.run(stream.config(learner=learner))
    assert "another `name`" in str(refused.value)
    beside = f"{stream.name}-beside"
    kafka.create_topics({beside: 2})
    changed = {"name": beside, "learner": learner, "output": {"topic": beside}}
    with running(stream.config()), running(stream.config(**changed)):  # the old one goes on meanwhile
        stream.produce(records[200:])
        old, new = outputs(stream, 300), outputs(stream, 300, beside)
    for number in range(2):
        mine = records[number::2][:100] + records[200 + number :: 2]
        assert old[number] == twin(stream.config().build_learner(), mine)
        assert new[number] == twin(stream.config(**changed).build_learner(), mine)


def test_a_field_gets_another_name(kafka, tmp_path):
    stream = Stream(kafka, tmp_path)
    records, field = phishing(300), "https"
    stream.produce(records[:200])
    with running(stream.config()) as process:
        stream.read(stream.output, 200)
        process.end()
    features = [{field: "secure"} if name == field else name for name in records[0] if name not in ("id", "y")]
    record = stream.settings["record"] | {"features": features}
    with pytest.raises(StateError, match="learned other records"):
        processor.run(stream.config(record=record))
    for number in range(2):
        model = tmp_path / f"model-{number}.snapshot"
        before, after = stream.file(), stream.file(record=record, start_from=str(model))
        for arguments in (
            ["export", before, stream.pointer(number).snapshot, "--to", model],
            ["rewind", after, "--empty", "--partition", number],
        ):
            assert CliRunner().invoke(cli.app, ["snapshots", *map(str, arguments)]).exit_code == 0
    stream.produce([{("secure" if name == field else name): x for name, x in each.items()} for each in records[200:]])
    with running(stream.config(record=record)):
        found = outputs(stream, 300)
    for number in range(2):
        mine = records[number:200:2] + records[200 + number :: 2]
        assert found[number] == twin(stream.config().build_learner(), mine)


def test_two_hosts_with_one_folder(kafka, tmp_path):
    stream = Stream(kafka, tmp_path)
    stream.forget_the_dead_soon()
    records = phishing(400)
    name = "from connectors.topics import commit, restore; commit.HOST = restore.HOST = 'host-{}'"
    hosts = [start(stream.file(), name.format(n)) for n in range(2)]
    try:
        wait_for(lambda: stream.members() == [1, 1], "a partition for each host")
        stream.produce(records[:200])
        stream.read(stream.output, 200)
        hosts[0].kill()
        stream.produce(records[200:])
        found = outputs(stream, 400)
    finally:
        for host in hosts:
            host.kill()
            host.communicate()
    for number in range(2):
        assert found[number] == twin(stream.config().build_learner(), records[number::2])
        assert json.loads(stream.committed(number).metadata)["host"] == "host-1"


def names(tmp_path):
    """Every name that `/metrics` can have: of (watched) learners, with labels, queries, challengers, drift, mixing."""
    text, watched = "", "Watched: {learner: {PAClassifier: {}}, comparator: {a: 1.0}}"
    for number, learner in enumerate(("PAClassifier", "PARegressor", watched, "PAClassifier")):
        file = tmp_path / f"{number}.yaml"
        file.write_text(f"""
name: p
kafka: {{bootstrap_servers: "localhost:9092"}}
input: {{topic: a}}
learner: {{name: one, steps: [{learner}]}}
output: {{topic: b}}
{"labels: {topic: c, label: y, within: 1h}" if number < 3 else "mixing: {topic: c}"}
{"queries: {topic: d, sampler: SelectiveSampler, at_most: 1 per 2}" if number == 0 else ""}
{"challengers: {other: [PARegressor]}" if number == 1 else ""}
{"drift: {detector: ADWIN}" if number == 1 else ""}
""")
        loaded = config.load(file)
        metrics, work = Metrics(loaded), NoWork()
        work.models = {0: Builder(loaded, None, None, False, None).start()}
        metrics.report(work)
        if number == 3:
            metrics.note_mixing(0)
        text += generate_latest(metrics.registry).decode()
    kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
    return {
        name + suffix
        for name, kind in kinds.items()
        for suffix in (("_bucket", "_sum", "_count") if kind == "histogram" else ("",))
    }


@pytest.mark.parametrize("file", ["grafana.json", "alerts.yaml"])
def test_monitoring_asks_for_metrics_that_exist(tmp_path, file):
    text = (MONITORING / file).read_text()
    loaded = yaml.safe_load(text)
    assert loaded["panels"] if file == "grafana.json" else loaded["groups"][0]["rules"]
    asked = set(re.findall(r"river_margins_\w+", text))
    assert len(asked) > 5 and asked <= names(tmp_path)


def test_the_dashboard_adds_nothing_of_two_processors():
    panels = json.loads((MONITORING / "grafana.json").read_text())["panels"]
    asked = [target["expr"] for panel in panels for target in panel["targets"]]
    assert all(re.search(r"\b(sum|avg|min|max|count)\b(?! by \(job, processor\b)", each) is None for each in asked)


def test_alerts_fire_when_they_should():
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("needs promtool, which comes with Prometheus")
    for command in (["check", "config", "prometheus.yaml"], ["test", "rules", "alerts.test.yaml"]):
        ended = subprocess.run([promtool, *command], cwd=MONITORING, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stdout + ended.stderr


def test_prometheus_finds_its_rules():
    settings = yaml.safe_load((MONITORING / "prometheus.yaml").read_text())
    assert all((MONITORING / file).exists() for file in settings["rule_files"]) and settings["scrape_configs"]


def test_the_page_names_every_metric(tmp_path):
    page = set(re.findall(r"`(river_margins_\w+)", (ROOT / "docs" / "operating.md").read_text()))
    known = {re.sub("_(bucket|sum|count)$", "", name) for name in names(tmp_path) if name.startswith("river_")}
    assert page == {name for name in known if not name.endswith("_created")}


def test_the_page_tells_which_models_hold_records(tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text(
        "name: p\nkafka: {bootstrap_servers: 'localhost:9092'}\ninput: {topic: a}\nlearner: [KernelPerceptron]\n"
        "output: {topic: b}\n"
    )
    learner = config.load(file).build_learner()
    learner.learn_one({"salary": 51234.5}, False)
    learner.learn_one({"salary": 40000.25}, True)
    assert struct.pack("<d", 51234.5) in snapshot.dumps(learner), "a support is an example as it was"
    (row,) = re.findall(r"^\| models.*$", (ROOT / "docs" / "operating.md").read_text(), re.MULTILINE)
    assert "kernel" in row
