"""A key goes to the partition that the Java client would choose, with both clients."""

import uuid

import pytest
from kafka import KafkaConsumer, TopicPartition

from connectors.kafka import CLIENTS, client
from tests.helpers.streams import DEADLINE, wait_for

# Apache Kafka's own vectors: UtilsTest.testMurmur2. The partition is the hash without its sign, modulo their number.
MURMUR2 = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}
PARTITIONS = 13


@pytest.mark.parametrize("library", CLIENTS)
def test_keys_go_where_java_puts_them(kafka, library):
    topic = f"keys-{uuid.uuid4().hex[:8]}"
    kafka.create_topics({topic: PARTITIONS})
    producer = client(library).Producer(None, {"bootstrap_servers": kafka.bootstrap_servers})
    for key in MURMUR2:
        producer.send(topic, None, key, b"x", [], key)
    producer.flush(DEADLINE)
    producer.check()
    producer.close()
    found = {}
    consumer = KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers)
    try:
        consumer.assign([TopicPartition(topic, number) for number in range(PARTITIONS)])
        consumer.seek_to_beginning()

        def read():
            for records in consumer.poll(timeout_ms=200).values():
                found.update({record.key: record.partition for record in records})
            return len(found) == len(MURMUR2)

        wait_for(read, "all keys")
    finally:
        consumer.close()
    assert found == {key: (hashed & 0x7FFFFFFF) % PARTITIONS for key, hashed in MURMUR2.items()}
    assert len(set(found.values())) > 2
