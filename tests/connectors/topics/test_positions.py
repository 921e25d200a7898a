"""An input that is written by transactions: what was given up is not seen, and the lag ends at 0."""

import contextlib
import json
import uuid

import orjson
import pytest
from kafka import KafkaProducer

from tests.helpers.streams import BOTH_CLIENTS, DEADLINE, Stream, phishing, running, twin, wait_for


@pytest.fixture
def writer(kafka):
    """Writes one transaction to partition 0, and commits it or gives it up."""
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, transactional_id=uuid.uuid4().hex)
    producer.init_transactions()

    def write(stream, records, commits):
        producer.begin_transaction()
        for record in records:
            producer.send(stream.input, orjson.dumps(record), partition=0).get(timeout=DEADLINE)
        producer.commit_transaction() if commits else producer.abort_transaction()

    with contextlib.closing(producer):
        yield write


def lag(stream):
    """The records from the committed offset to the end, as an operator's tools count them."""
    with stream.group() as consumer:
        end = consumer.end_offsets([stream.place(0)])[stream.place(0)]
        return end - (consumer.committed(stream.place(0)) or 0)


@BOTH_CLIENTS
@pytest.mark.parametrize("guarantee", ["exactly_once", "at_least_once"])
def test_markers_and_aborted_records_leave_no_lag(kafka, tmp_path, writer, guarantee):
    stream = Stream(kafka, tmp_path, partitions=1, checkpoint={"guarantee": guarantee, "every": "50ms"})
    records = phishing(60)
    writer(stream, records[:20], True)
    writer(stream, phishing(7), False)
    writer(stream, records[20:40], True)
    with running(stream.config()) as process:
        stream.read(stream.output, 40)
        wait_for(lambda: lag(stream) == 0, "no lag behind a marker at the end")
        writer(stream, phishing(5), False)  # nothing to process, but the end has moved
        wait_for(lambda: lag(stream) == 0, "no lag behind records that were given up")
        writer(stream, records[40:], True)
        found = [json.loads(message.value) for message in stream.read(stream.output, 60)]
        wait_for(lambda: lag(stream) == 0, "no lag at the end")
        counts = process.end()
    assert found == twin(stream.config().build_learner(), records)
    assert counts.read == 60
    with running(stream.config()) as process:  # the snapshot of such an offset is found again
        writer(stream, phishing(61)[60:], True)
        stream.read(stream.output, 61)
        assert process.end().read == 1
