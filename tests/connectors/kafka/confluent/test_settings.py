"""The settings of librdkafka: what is refused, and what librdkafka itself is asked about."""

import logging
import os
import subprocess
import sys

import pytest

from connectors.kafka.confluent.producer import Producer
from connectors.kafka.confluent.settings import check_settings, seconds_between_refreshes, timeouts

OWNED = {
    "consumer": "bootstrap.servers metadata.broker.list group.id group.instance.id group.protocol isolation.level "
    "enable.auto.commit enable.auto.offset.store auto.offset.reset allow.auto.create.topics enable.partition.eof "
    "partition.assignment.strategy on_commit error_cb logger plugin.library.paths default.topic.config",
    "producer": "bootstrap.servers transactional.id enable.idempotence acks request.required.acks retries partitioner "
    "message.send.max.retries allow.auto.create.topics delivery.report.only.error on_delivery stats_cb",
}


@pytest.mark.parametrize("side", list(OWNED))
def test_settings_that_the_guarantee_owns_are_refused(side):
    for key in OWNED[side].split():
        consumer, producer = ({key: "x"}, {}) if side == "consumer" else ({}, {key: "x"})
        ((found_side, found_key, sentence),) = check_settings(consumer, producer)
        assert (found_side, found_key) == (side, key)
        assert f"`{key}` cannot be set: " in sentence and sentence.endswith("; leave it out")


def test_a_producer_lets_no_broker_create_a_topic(monkeypatch):
    """By default librdkafka does for a producer, also again after a topic was deleted."""
    given = {}
    monkeypatch.setattr("confluent_kafka.Producer", given.update)
    Producer(None, {"bootstrap.servers": "127.0.0.1:1"})
    assert given["allow.auto.create.topics"] is False


@pytest.mark.parametrize(
    ("consumer", "producer", "expected"),
    [
        ({}, {}, []),
        ({"session.timeout.ms": 45_000, "max.poll.interval.ms": 60_000}, {"transaction.timeout.ms": 30_000}, []),
        ({"fetch.wait.max.ms": 100, "client.id": "me"}, {"compression.type": "gzip", "linger.ms": 0.5}, []),
        ({"socket.keepalive.enable": True}, {"queue.buffering.max.ms": 5}, []),
        ({"session.timeout": 1}, {}, [("consumer", "session.timeout", "did you mean `session.timeout.ms`?")]),
        ({"session_timeout_ms": 1}, {}, [("consumer", "session_timeout_ms", "did you mean `session.timeout.ms`?")]),
        ({"linger.ms": 5}, {}, [("consumer", "linger.ms", "put it under `kafka.producer`")]),
        ({}, {"fetch.min.bytes": 5}, [("producer", "fetch.min.bytes", "put it under `kafka.consumer`")]),
        ({"session.timeout.ms": "15000"}, {}, [("consumer", "session.timeout.ms", "found the text `15000`")]),
        ({"fetch.min.bytes": -1}, {}, [("consumer", "fetch.min.bytes", "is outside allowed range")]),
        ({}, {"compression.type": "zip"}, [("producer", "compression.type", "Invalid value `zip`")]),
        ({"debug": ["all"]}, {}, [("consumer", "debug", "found a list")]),
        ({"session.timeout.ms": 3000}, {"transaction.timeout.ms": 2000},
         [("consumer", "session.timeout.ms", "must be above `heartbeat.interval.ms` (3000)")]),
        ({}, {"transaction.timeout.ms": 15_000},
         [("producer", "transaction.timeout.ms", "`session.timeout.ms` (15000) must be above"),
          ("producer", "transaction.timeout.ms", "`max.poll.interval.ms` (30000) must be above")]),
        ({}, {"message.timeout.ms": 10_001}, [("producer", "delivery.timeout.ms", "must not be above")]),
        ({"fetch.max.bytes": 1000, "message.max.bytes": 2000}, {},
         [("consumer", "fetch.max.bytes", "`fetch.max.bytes` is refused by librdkafka: Failed to create consumer")]),
    ],
)  # fmt: skip
def test_contradictions(consumer, producer, expected):
    found = check_settings(consumer, producer)
    assert [problem[:2] for problem in found] == [problem[:2] for problem in expected]
    for (_, _, sentence), (_, _, part) in zip(found, expected, strict=True):
        assert part in sentence


def test_a_refused_secret_is_not_shown():
    ((_, _, sentence),) = check_settings({"sasl.password": ["hunter2"]}, {})
    assert "`sasl.password`" in sentence and "hunter2" not in sentence


def test_timeouts_are_found_under_any_name():
    assert timeouts({"max.poll.interval.ms": 40_000}, {"transaction.timeout.ms": 5000}) == (5.0, 20.0, 40.0)


def test_without_the_package_lint_says_what_to_install(tmp_path):
    (tmp_path / "confluent_kafka.py").write_text("raise ModuleNotFoundError('not here', name='confluent_kafka')")
    (tmp_path / "p.yaml").write_text(
        "name: a\nkafka: {bootstrap_servers: 'a:1',\n        client: confluent, session.timeout.ms: 9000}\n"
        "input: {topic: a}\nlearner: [PAClassifier]\noutput: {topic: b}\n"
    )
    path = os.pathsep.join([str(tmp_path), *sys.path])
    command = [sys.executable, "-m", "connectors", "lint", str(tmp_path / "p.yaml")]
    said = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert said.returncode == 2
    (line,) = said.stdout.splitlines()
    assert "p.yaml:3:17: `kafka.client`: " in line and "`pip install 'river-margins[confluent]'`" in line


def test_the_check_of_one_setting_warns_of_no_other(caplog):
    given = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "me", "sasl.password": "x"}
    with caplog.at_level(logging.DEBUG):
        assert check_settings(given, given) == []
    assert caplog.messages == []


def test_the_time_between_refreshes_is_a_number():
    key = "topic.metadata.refresh.interval.ms"
    ((side, found, sentence),) = check_settings({key: "60000"}, {})
    assert (side, found) == ("consumer", key) and "found the text `60000`" in sentence
    assert check_settings({key: "-1"}, {})[0][2].endswith("the text `-1`; -1 is never")
    for value, seconds in ((60_000, 60.0), (-1, -0.001)):
        assert check_settings({key: value}, {}) == []
        assert seconds_between_refreshes({key: value}) == seconds
