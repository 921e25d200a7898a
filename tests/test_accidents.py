"""What happens to the world around a running processor, as the tables of docs/guarantees.md have it."""

import json
import signal

import orjson

from connectors.errors import StateError
from tests.streams import BOTH_CLIENTS, DEADLINE, Stream, phishing, start, twin, wait_for


def produce(stream, records, **options):
    stream.produce(map(orjson.dumps, records), **options)


def outputs(stream, count):
    """The output values by partition, in order."""
    found = {number: [] for number in range(stream.partitions)}
    for message in stream.read(stream.output, count):
        found[message.partition].append(json.loads(message.value))
    return found


def assert_exact(stream, records):
    found = outputs(stream, len(records))
    for number in range(stream.partitions):
        assert found[number] == twin(stream.config().build_learner(), records[number :: stream.partitions])


@BOTH_CLIENTS
def test_the_input_is_created_again_under_a_processor(kafka, tmp_path):
    """It sleeps meanwhile, and wakes with an offset that the new topic has as well."""
    stream = Stream(kafka, tmp_path, partitions=1)
    process = start(stream.file())
    try:
        produce(stream, phishing(30))
        stream.read(stream.output, 30)
        process.send_signal(signal.SIGSTOP)
        with stream.admin() as admin:
            admin.delete_topics([stream.input])
            wait_for(lambda: stream.input not in admin.list_topics(), "the end of the topic")
        kafka.create_topics({stream.input: 1})
        produce(stream, phishing(60))
        process.send_signal(signal.SIGCONT)
        _, said = process.communicate(timeout=DEADLINE)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == StateError.exit_code
    assert f"`{stream.input}` was deleted and created again" in said
    assert len(stream.read(stream.output, 30)) == 30
