import os
import zlib
from collections.abc import Iterator

import pytest

from connectors.kafka import CLIENTS
from tests import streams

pytest_plugins = ["connectors.kafka.pytest_plugin"]


@pytest.fixture(autouse=True)
def client(request: pytest.FixtureRequest) -> Iterator[str]:
    """The Kafka client of the processors of a test.

    A test marked `BOTH_CLIENTS` runs with each; every other one with one of them, which its name decides: half of them
    with either. CLIENT in the environment names one for all.
    """
    by_name = CLIENTS[zlib.crc32(request.node.nodeid.encode()) % len(CLIENTS)]
    streams.CLIENT = getattr(request, "param", None) or os.environ.get("CLIENT") or by_name
    yield streams.CLIENT
