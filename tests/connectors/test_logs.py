"""The log on standard error, as commands write it."""

import socket
import subprocess
import sys

ASK = """
from connectors import logs
from connectors.kafka import ClientError, client
logs.set_up({format!r})
try:
    client("kafka-python").describe(["events"], {{"bootstrap_servers": "127.0.0.1:{port}"}}, 6.0)
except ClientError:
    logs.logging.getLogger("connectors").warning("reset")
    logs.logging.getLogger("connectors").warning("reset")
"""


def test_kafka_python_reports_a_broker_that_is_away_once():
    """Each of its lines, by its text without numbers; lines of the processor are all there."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    ended = subprocess.run(
        [sys.executable, "-c", ASK.format(format="plain", port=port)], capture_output=True, text=True
    )
    lines = [line.split(maxsplit=3)[3] for line in ended.stderr.splitlines()]
    of_library = ["".join(c for c in line if not c.isdigit()) for line in lines if line.startswith("kafka.")]
    assert any("ECONNREFUSED" in line for line in of_library)
    assert len(set(of_library)) == len(of_library)
    assert [line for line in lines if not line.startswith("kafka.")] == ["connectors: reset"] * 2
