"""How several processes divide the suite: each takes the next share when it is done with its last one."""

import zlib
from itertools import chain, zip_longest

import pytest
from xdist.scheduler import LoadScopeScheduling

PARTS = 12  # of a module whose tests have no broker: they are many and quick, and share nothing
WITH_BROKERS = ("tests/connectors/", "tests/docs/", "tests/torture/")


def share_of(nodeid: str) -> str:
    """Return the share that a test belongs to: its module, or a part of it.

    >>> share_of("tests/connectors/topics/test_startup.py::test_no_broker")
    'tests/connectors/topics/test_startup.py'
    >>> share_of("tests/golden/test_golden.py::test_round[PAClassifier]")
    'tests/golden/test_golden.py, part 11'
    """
    module, _, name = nodeid.partition("::")
    if module.startswith(WITH_BROKERS):
        return module
    return f"{module}, part {zlib.crc32(name.encode()) % PARTS}"


def in_turns(items: list[pytest.Item]) -> list[pytest.Item]:
    """Order the tests so that shares with a broker, which mostly wait, come in turns with shares that mostly compute.

    Side by side they use the processors better. Crash tests take longest, so they come first.
    """
    shares: dict[str, list[pytest.Item]] = {}
    for item in items:
        shares.setdefault(share_of(item.nodeid), []).append(item)
    waiting = [name for name in shares if name.startswith(WITH_BROKERS)]
    waiting.sort(key=lambda name: ("torture" not in name, -len(shares[name])))
    computing = [name for name in shares if not name.startswith(WITH_BROKERS)]
    between = max(1, len(computing) // max(1, len(waiting)))
    batches = [computing[start : start + between] for start in range(0, len(computing), between)]
    order = chain.from_iterable([name, *batch] for name, batch in zip_longest(waiting, batches, fillvalue=()))
    return [item for name in order if name for item in shares[name]]


class Shares(LoadScopeScheduling):
    """Hand out the shares in the order of the tests."""

    def __init__(self, config: pytest.Config, log: object) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return share_of(nodeid)
