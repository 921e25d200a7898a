"""A processor between topics that begins with a trained model, on a real Kafka."""

import json

import pytest
from kafka import OffsetAndMetadata
from typer.testing import CliRunner

from connectors import cli
from connectors.errors import StateError
from connectors.tools import referee, report
from connectors.topics import processor
from river_margins import snapshot
from tests.helpers.streams import Stream, phishing, running, start, twin, wait_for


def test_goes_on_as_the_bare_learner_would_also_after_a_kill(kafka, tmp_path):
    """Both partitions begin as the saved learner. Once they have begun the file has no effect: here it changes."""
    records = phishing(1600)
    (tmp_path / "day1.jsonl").write_text("\n".join(json.dumps(record) for record in records[:400]))
    saved = tmp_path / "trained.snapshot"
    stream = Stream(kafka, tmp_path, checkpoint={"every": "1s"})
    report.run(stream.config(), str(tmp_path / "day1.jsonl"), save=saved)
    trained = saved.read_bytes()
    stream.settings["start_from"] = str(saved)
    stream.forget_the_dead_soon()
    stream.produce(encoded(records[400:800]))
    first = start(stream.file())
    stream.read(stream.output, 400)
    stream.produce(encoded(records[800:]))
    wait_for(lambda: uncommitted(stream) > 400, "output of an open transaction")
    first.kill()
    first.communicate()
    report.run(stream.config(), "phishing", save=saved)
    assert saved.read_bytes() != trained
    with running(stream.config()):
        messages = stream.read(stream.output, 1200)
    for number in range(2):
        found = [json.loads(message.value) for message in messages if message.partition == number]
        assert found == twin(snapshot.loads(trained), records[400 + number :: 2])
    saved.write_bytes(trained)
    assert referee.compare(stream.config()).exact


def test_takes_the_group_of_another_program_over(kafka, tmp_path):
    """It goes on at the offsets of that program, and with the model that was made of its weights."""
    records, saved = phishing(60), tmp_path / "trained.snapshot"
    (tmp_path / "old.jsonl").write_text("\n".join(json.dumps(record) for record in records[:20]))
    stream = Stream(kafka, tmp_path, partitions=1)
    report.run(stream.config(), str(tmp_path / "old.jsonl"), save=saved)
    stream.settings["start_from"] = str(saved)
    stream.produce(records)
    with stream.group() as consumer:
        consumer.commit({stream.place(0): OffsetAndMetadata(20, "", -1)})
    command = "river-margins snapshots rewind FILE --empty --partition 0"
    with pytest.raises(StateError, match="so no model belongs to it; to go on with the model of `start_from`: `") as e:
        processor.run(stream.config())
    assert str(e.value).endswith(f"`{command}`")
    arguments = command.replace("FILE", str(stream.file())).split()[1:]
    assert CliRunner().invoke(cli.app, arguments).exit_code == 0
    with running(stream.config()):
        messages = stream.read(stream.output, 40)
    assert [json.loads(message.value) for message in messages] == twin(snapshot.load(saved), records[20:])


def encoded(records):
    return [json.dumps(record).encode() for record in records]


def uncommitted(stream):
    with stream.reader(stream.output, "read_uncommitted") as (consumer, places):
        return sum(consumer.end_offsets(places).values())


def test_other_parameters_than_those_of_the_trained_model_are_told(kafka, tmp_path, caplog):
    """Such as a default that has changed with a version."""
    records, saved = phishing(40), tmp_path / "trained.snapshot"
    (tmp_path / "old.jsonl").write_text("\n".join(json.dumps(record) for record in records[:20]))
    stream = Stream(kafka, tmp_path, learner=["StandardScaler", {"SCWClassifier": {"C": 1.0}}])
    report.run(stream.config(), str(tmp_path / "old.jsonl"), save=saved)
    stream.settings |= {"start_from": str(saved), "learner": ["StandardScaler", "SCWClassifier"]}
    said = (
        f"the model of `{saved}` goes on with other parameters: SCWClassifier C 1.0 -> 0.1 (now the default; to keep "
        "the old value, write `C: 1.0`)"
    )
    assert f"note: {said}\n" in CliRunner().invoke(cli.app, ["lint", "--check-broker", str(stream.file())]).output
    stream.produce(records[20:])
    for count in (20, 20):  # once for both partitions, and not of models that exist
        with running(stream.config()) as process:
            stream.read(stream.output, count)
            process.end()
        assert caplog.messages.count(said) == 1
