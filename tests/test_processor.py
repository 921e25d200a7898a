"""The processor end to end on a real Kafka."""

import json

import orjson

from tests.streams import Stream, phishing, running, twin


def encoded(records):
    return [orjson.dumps(record) for record in records]


def outputs(stream, count):
    """The output values by partition, in order."""
    found = {number: [] for number in range(stream.partitions)}
    for message in stream.read(stream.output, count):
        found[message.partition].append(json.loads(message.value))
    return found


def test_equals_the_bare_pipeline_bit_for_bit(kafka, tmp_path):
    stream = Stream(kafka, tmp_path)
    records = phishing(3000)
    stream.produce(encoded(records))
    with running(stream.config()) as process:
        found = outputs(stream, len(records))
        counts = process.end()
    for number in range(stream.partitions):
        assert found[number] == twin(stream.config().build_learner(), records[number :: stream.partitions])
    assert counts.read == counts.predicted == len(records)
    assert counts.learned == sum(record.get("y") is not None for record in records)
