"""A processor between topics that begins with a trained model, on a real Kafka."""

import json

from connectors.tools import referee, report
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


def encoded(records):
    return [json.dumps(record).encode() for record in records]


def uncommitted(stream):
    with stream.reader(stream.output, "read_uncommitted") as (consumer, places):
        return sum(consumer.end_offsets(places).values())
