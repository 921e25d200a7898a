"""How several processes divide the suite: each takes the next share when it is done with its last one."""

import zlib

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

PARTS = 12  # of a module whose tests are many and quick, and share nothing
LONG = (  # have few tests, and take from twenty seconds to some minutes
    "tests/torture/",
    "tests/river_margins/test_defaults.py",
    *(f"tests/connectors/kafka/local/test_{name}.py" for name in ("blank_folder", "broker", "class_archive")),
    "tests/connectors/kafka/test_clients.py",
    "tests/connectors/tools/demo/",
    *(
        f"tests/connectors/topics/test_{name}.py"
        for name in ("checkpoint", "drift", "instance", "queries", "record_loop", "three_brokers")
    ),
    *(f"tests/docs/test_{page}.py" for page in ("late_labels_walk", "quick_start")),
)
OWN_BROKER = (  # tests that take `own_kafka`, and those beside them in their modules that are quick or start others
    *(f"tests/connectors/kafka/{name}" for name in ("local/test_broker.py", "test_facts.py")),
    "tests/connectors/kafka/test_clients.py::test_a_record_that_expires_fails_the_check",
    "tests/connectors/kafka/test_clients.py::test_the_message_that_is_too_large_is_named_among_those_that_fail_with_it",
    "tests/connectors/runtime/test_health.py::test_an_outage_is_no_death_and_what_is_done_again_counts_once",
    "tests/connectors/topics/test_checkpoint.py::test_a_commit_that_does_not_end_ends_the_process",
    "tests/connectors/topics/test_instance.py::test_a_silent_broker_ends_an_instance_so_that_a_supervisor_starts_it_again",
    "tests/connectors/topics/test_older_kafka.py",  # needs the older broker of test_facts.py
    "tests/connectors/topics/test_processor.py::test_an_outage_of_the_broker_is_survived",
    "tests/connectors/topics/test_processor.py::test_a_broker_that_falls_silent_for_a_while",
    "tests/connectors/topics/test_processor.py::test_resets_without_progress_end_the_process",
)
# What these share takes seconds to start: a broker of their own and an older one, a schema registry.
TOGETHER = (OWN_BROKER, ("tests/connectors/formats/",))
UNDIVIDED = (
    *("tests/connectors/", "tests/deploy/", "tests/docs/", *LONG),
    # what all tests of these share takes longer than the tests: streams, a compiled module, a run of mypy
    "tests/river_margins/families/test_drift.py",
    "tests/river_margins/tasks/test_outside_task.py",
    "tests/river_margins/test_types.py",
)
WITH_BROKERS = (
    *(
        f"tests/connectors/{room}/"
        for room in ("cli", "formats", "kafka", "runtime", "snapshots", "spark", "tools", "topics")
    ),
    *(f"tests/docs/test_{page}.py" for page in ("late_labels_walk", "operating", "permissions", "quick_start")),
    "tests/deploy/",
    "tests/torture/",
)


def share_of(nodeid: str) -> str:
    """Return the share that a test belongs to: its module, a part of it, or several modules.

    >>> share_of("tests/connectors/topics/test_startup.py::test_no_broker")
    'tests/connectors/topics/test_startup.py'
    >>> share_of("tests/golden/test_golden.py::test_round[PAClassifier]")
    'tests/golden/test_golden.py, part 11'
    """
    module, _, name = nodeid.partition("::")
    for places in TOGETHER:
        if nodeid.startswith(places):
            return places[0]
    if module.startswith(UNDIVIDED):
        return module
    return f"{module}, part {zlib.crc32(name.encode()) % PARTS}"


def has_broker(share: str) -> bool:
    """Tell whether tests of a share may use a broker; these mostly wait, and the others mostly compute."""
    return share.startswith(WITH_BROKERS)


def longest_first(items: list[pytest.Item]) -> list[pytest.Item]:
    """Order the tests by shares: the longest come first, those with a broker before the others."""
    shares: dict[str, list[pytest.Item]] = {}
    for item in items:
        share = share_of(item.nodeid)
        names = getattr(item, "fixturenames", ())
        if "own_kafka" in names and share != OWN_BROKER[0]:
            raise pytest.UsageError(f"`OWN_BROKER` of tests/helpers/shares.py lacks {item.nodeid}")
        if "kafka" in names and not has_broker(share):
            raise pytest.UsageError(f"`WITH_BROKERS` of tests/helpers/shares.py lacks {item.nodeid}")
        shares.setdefault(share, []).append(item)
    order = sorted(shares, key=lambda name: (not has_broker(name), not name.startswith(LONG), -len(shares[name])))
    return [item for name in order for item in shares[name]]


class Shares(LoadScopeScheduling):
    """Hand out the shares in the order of the tests: those with a broker to five of six processes.

    These mostly wait, and the sixth computes meanwhile. Who finds no more shares of its kind takes others: so what
    computes comes last, and keeps the cores busy to the end.
    """

    def __init__(self, config: pytest.Config, log: object) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return share_of(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        with_broker = self.nodes.index(node) < 5 * len(self.nodes) / 6
        chosen = next((share for share in self.workqueue if has_broker(share) == with_broker), None)
        if chosen is not None:
            self.workqueue.move_to_end(chosen, last=False)
        super()._assign_work_unit(node)
