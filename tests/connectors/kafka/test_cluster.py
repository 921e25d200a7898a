"""What is asked of the cluster before a start, also while its broker does not take part yet."""

import contextlib
import functools
import importlib
import socket
import socketserver
import struct
import threading
import time
import uuid
from types import SimpleNamespace

import pytest
from kafka.protocol.metadata import MetadataRequest, MetadataResponse

from connectors.kafka import CLIENTS, ClientError, NotAccepted, client
from tests.helpers.ports import free_port

TIMEOUT = 25.0  # seconds


def read_exactly(connection, size):
    data = b""
    while len(data) < size:
        received = connection.recv(size - len(data))
        if not received:
            raise EOFError
        data += received
    return data


def read_frame(connection):
    (size,) = struct.unpack(">i", read_exactly(connection, 4))
    return read_exactly(connection, size)


def send_frame(connection, frame):
    connection.sendall(struct.pack(">i", len(frame)) + frame)


def changed(frame, version, change):
    """A metadata response as a broker sends it, changed."""
    header, body = frame[:4], frame[4:]
    if MetadataResponse.flexible_version_q(version):
        header, body = frame[:5], frame[5:]  # without tagged fields
    known = MetadataResponse.decode(body, version=version)
    brokers, controller = change(known)
    made = MetadataResponse(brokers=brokers, controller_id=controller, cluster_id=known.cluster_id, topics=known.topics)
    return header + bytes(made.encode(version=version))


def fence(known):
    """A broker that its controller has fenced does not list itself."""
    return [], -1


def move(address, known):
    """The only broker says that it is at this address."""
    (broker,), (host, port) = known.brokers, address.split(":")
    broker.host, broker.port = host, int(port)
    return [broker], known.controller_id


class _Relay(socketserver.BaseRequestHandler):
    """Passes requests on, one at a time; the server says which metadata responses are changed, and how."""

    def handle(self):
        host, port = self.server.broker.split(":")
        with contextlib.suppress(EOFError, OSError), socket.create_connection((host, int(port))) as broker:
            while True:
                request = read_frame(self.request)
                key, version = struct.unpack(">hh", request[:4])
                send_frame(broker, request)
                answer = read_frame(broker)
                if key == MetadataRequest.API_KEY:
                    self.server.metadata_responses += 1
                    if self.server.metadata_responses <= self.server.fenced_responses:
                        answer = changed(answer, version, self.server.change)
                send_frame(self.request, answer)


class FencedBroker(socketserver.ThreadingTCPServer):
    """A relay to a real broker whose first metadata responses are those of a fenced broker.

    A broker that was frozen for longer than its session (SIGSTOP, a long pause of its machine) gives such responses for
    a tenth of a second after it goes on: seen with Kafka 4.3.0 in one of three trials.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, broker, fenced_responses, change):
        super().__init__(("127.0.0.1", 0), _Relay)
        self.change = change
        self.broker, self.fenced_responses, self.metadata_responses = broker, fenced_responses, 0

    @property
    def settings(self):
        return {"bootstrap_servers": f"127.0.0.1:{self.server_address[1]}"}


@contextlib.contextmanager
def fenced(kafka, fenced_responses, change=fence):
    with FencedBroker(kafka.bootstrap_servers, fenced_responses, change) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.05], daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def topic(kafka):
    name = f"c{uuid.uuid4().hex[:12]}"
    kafka.create_topics({name: 2})
    return name


@pytest.mark.parametrize("library", CLIENTS)
@pytest.mark.parametrize("question", ["describe", "is_compacted", "read_facts"])
def test_a_broker_that_is_fenced_at_first_is_asked_again(kafka, topic, library, question):
    """librdkafka itself asks for metadata again after 30 s only, which is longer than a start waits."""
    module = client(library)
    arguments = {"describe": [[topic]], "is_compacted": [topic], "read_facts": [[topic], topic]}[question]
    with fenced(kafka, 2) as broker:
        found = getattr(module, question)(*arguments, broker.settings, TIMEOUT)
        assert broker.metadata_responses > broker.fenced_responses, "no fenced response was given"
    if question == "is_compacted":
        assert found is False
    else:
        assert found.topics[topic].partitions == 2


@pytest.mark.parametrize("library", CLIENTS)
def test_a_broker_that_tells_an_address_where_it_is_not(kafka, topic, library):
    """As one in a container does that is reached from outside."""
    told = f"127.0.0.1:{free_port()}"
    with fenced(kafka, 10**9, functools.partial(move, told)) as broker, pytest.raises(ClientError, match=told) as said:
        client(library).describe([topic], broker.settings, 4.0)
    advice = f"it answers, and sends this client to `{told}`: if this host cannot reach that, correct `advertised."
    assert (advice in str(said.value)) == (library == "kafka-python")


@pytest.mark.parametrize("library", CLIENTS)
def test_a_broker_that_stays_fenced_is_given_up(kafka, topic, library):
    with fenced(kafka, 10**9) as broker:
        began = time.monotonic()
        with pytest.raises(ClientError):
            client(library).describe([topic], broker.settings, 4.0)
        assert time.monotonic() - began > 3.0


@pytest.mark.parametrize("id", [{}, {"topic_id": None}])
def test_a_topic_without_an_id_is_refused(monkeypatch, id):
    """As brokers before Kafka 2.8 tell it, and newer ones with an older `inter.broker.protocol.version`."""
    topic = {"error_code": 0, "name": "t", "partitions": [{}]} | id
    admin = SimpleNamespace(describe_topics=lambda _: [topic])
    found = "connectors.kafka.kafka_python.cluster.opened_admin"
    monkeypatch.setattr(found, lambda *_: contextlib.nullcontext(admin))
    with pytest.raises(NotAccepted, match="topic `t` has no id"):
        client("kafka-python").describe(["t"], {}, TIMEOUT)


def test_the_settings_of_a_broker_are_those_of_one_that_is_there(monkeypatch):
    """Kafka 4 also tells kafka-python of brokers that are down, or were taken away and are still registered."""
    facts = importlib.import_module("connectors.kafka.kafka_python.facts")
    asked = []
    brokers = [{"broker_id": 1, "is_fenced": True}, {"broker_id": 2, "is_fenced": False}, {"broker_id": 3}]
    admin = SimpleNamespace(
        describe_topics=lambda _: [],
        list_topics=list,
        describe_cluster=lambda: {"brokers": brokers},
        describe_groups=lambda _: {"g": {"error": None, "authorized_operations": ["READ"]}},
    )
    monkeypatch.setattr(facts, "opened_admin", lambda *_: contextlib.nullcontext(admin))
    monkeypatch.setattr(facts, "read_configs", lambda _, kind, name: asked.append(name) or {})
    facts.read_facts(["a"], "g", {}, TIMEOUT)
    assert asked == ["2"]
