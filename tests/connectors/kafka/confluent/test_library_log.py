"""The log of librdkafka, explained: lines as a real librdkafka writes them."""

import logging
import socket
import threading

import confluent_kafka
import pytest

from connectors.kafka.confluent import library_log
from tests.helpers.ports import free_port
from tests.helpers.streams import wait_for

AT = "[rdkafka#consumer-2] [thrd:"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (f"FAIL {AT}sasl_ssl://b:9093/bootstrap]: sasl_ssl://b:9093/bootstrap: Connect to ipv6#[::1]:9093 failed: "
         "Network is unreachable (after 3ms in state CONNECT, 1 identical error(s) suppressed)",
         "the broker at [::1]:9093 cannot be reached: Network is unreachable"),
        (f"FAIL {AT}b:9092/bootstrap]: b:9092/bootstrap: Failed to resolve 'b:9092': Name or service not known (after "
         "2ms in state CONNECT)", "the name of the broker at b:9092 cannot be resolved: Name or service not known"),
        (f"FAIL {AT}b:9092/1]: b:9092/1: Disconnected: verify that security.protocol is correctly configured, broker "
         "might require SASL authentication (after 301ms in state APIVERSION_QUERY)",
         "the connection to the broker at b:9092 ended: Disconnected: verify that security.protocol is correctly "
         "configured, broker might require SASL authentication"),
        (f"REQTMOUT {AT}GroupCoordinator]: GroupCoordinator/1: Timed out HeartbeatRequest in flight (after 10043ms, "
         "timeout #0)", "the broker 1 does not answer: Timed out HeartbeatRequest in flight"),
        (f"FAIL {AT}GroupCoordinator]: GroupCoordinator: b:9092: ApiVersionRequest failed: Local: Timed out: probably "
         "due to broker version < 0.10 (see api.version.request configuration) (after 10008ms in state APIVERSION, "
         "1 identical error(s) suppressed)", "the broker at b:9092 does not answer: Timed out"),
        (f"FAIL {AT}b:9092/2]: b:9092/2: 3 request(s) timed out: disconnect (average rtt 0.5ms) (after 60000ms in "
         "state UP)", "the broker at b:9092 does not answer: 3 request(s) timed out: disconnect"),
        ("GETPID [rdkafka#producer-3] [thrd:main]: Failed to acquire transactional PID from broker TxnCoordinator/1: "
         "Broker: Coordinator load in progress: retrying",
         "the brokers are not ready for transactions yet: Coordinator load in progress"),
        (f"ERROR {AT}app]: 2/2 brokers are down", "no connection to any broker: 2/2 brokers are down"),
    ],
)  # fmt: skip
def test_what_happens_to_a_connection_is_one_sentence(line, sentence):
    assert library_log.explain(line) == f"{sentence}; the client tries again"


def test_another_line_stays_as_it_is(caplog):
    line = "SOMETHING [rdkafka#consumer-77] [thrd:main]: unheard of"
    assert library_log.explain(line) is None
    with caplog.at_level(logging.INFO):
        library_log.log.error(line)
        library_log.log.error(line.replace("77", "78"))
    assert caplog.messages == [line]


def test_lines_of_the_library_itself(caplog):
    """A broker that cannot be reached, and one that hangs up: each thread reports it, and the log tells it once."""
    with socket.create_server(("127.0.0.1", 0)) as hanging_up:
        threading.Thread(target=_hang_up, args=[hanging_up], daemon=True).start()
        there, gone = hanging_up.getsockname()[1], free_port()
        servers = f"127.0.0.1:{there},127.0.0.1:{gone}"
        producer = confluent_kafka.Producer({"bootstrap.servers": servers, "logger": library_log.log})

        def said():
            producer.poll(0.1)
            return any(f"{there} ended" in line for line in caplog.messages) and any(
                f"{gone} cannot" in line for line in caplog.messages
            )

        with caplog.at_level(logging.INFO):
            wait_for(said, "a line about each of the brokers")
            producer.poll(2.0)
    reached = f"the broker at 127.0.0.1:{gone} cannot be reached: Connection refused; the client tries again"
    assert caplog.messages.count(reached) == 1
    assert {(record.name, record.levelname) for record in caplog.records if str(gone) in record.getMessage()} == {
        ("connectors.kafka.librdkafka", "WARNING")
    }
    assert not any("thrd:" in line for line in caplog.messages)


def _hang_up(server):
    try:
        while True:
            server.accept()[0].close()
    except OSError:
        return
