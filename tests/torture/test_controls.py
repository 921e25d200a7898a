"""The torture can fail: each protection taken away is found by the referee, in a script without luck.

Each script runs twice. With the processor as it is the result is exact; with one protection taken away it is not.
"""

import json
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from connectors.errors import FencedError
from connectors.kafka import CLIENTS
from connectors.kafka.local import LocalKafka
from connectors.tools import referee
from tests.helpers.deadline import DEADLINE
from tests.torture import late_labels
from tests.torture.group import Group, feed, is_broken, plain, wait_until
from tests.torture.referee import judge

# Nothing times out by itself: what happens, happens because the script says so.
PATIENT = {
    "consumer": {"session_timeout_ms": 70_000, "max_poll_interval_ms": 100_000},
    "producer": {"transaction_timeout_ms": 60_000},
}
BOTH = pytest.mark.parametrize("library", CLIENTS, indirect=True)


@pytest.fixture(params=["kafka-python"])
def library(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def group(kafka: LocalKafka, tmp_path: Path, library: str) -> Iterator[Group]:
    with Group(kafka, tmp_path, settings=PATIENT, clients=(library,), are_forked=True) as group:
        feed(group, plain(800, 1))
        yield group


@pytest.fixture
def static_group(kafka: LocalKafka, tmp_path: Path) -> Iterator[Group]:
    """Its processors have an `instance`."""
    with Group(kafka, tmp_path, settings=PATIENT, has_instances=True, are_forked=True) as group:
        feed(group, plain(800, 1))
        yield group


@pytest.fixture
def slow_group(kafka: LocalKafka, tmp_path: Path, library: str) -> Iterator[Group]:
    """Its processors commit when something happens."""
    with Group(kafka, tmp_path, settings=PATIENT, clients=(library,), checkpoint="50s", are_forked=True) as group:
        feed(group, plain(800, 1))
        yield group


def ended(group: Group) -> None:
    group.wait_done()
    for worker in list(group.workers):
        assert group.end(worker) == 0
    group.end_transactions()


def wrong(mode: str, is_wrong: bool) -> tuple[str, ...]:
    return ("--wrong", mode) if is_wrong else ()


@pytest.mark.parametrize("is_wrong", [False, True])
def test_newest_snapshot_instead_of_the_named_one(group: Group, is_wrong: bool) -> None:
    """A processor dies with snapshots written that no offset names; the next one must not take them."""
    victim = group.spawn("--act", "crash", "after:write_snapshots:1")
    assert victim.process.wait(timeout=DEADLINE) == -signal.SIGKILL
    group.reap()
    group.expel_all()
    group.spawn(*wrong("newest", is_wrong))
    ended(group)
    judgement = judge(group.config)
    if is_wrong:
        assert judgement.verdict.different > 0 and judgement.models
    else:
        assert judgement.exact, judgement.reasons()


def test_what_waits_for_labels_is_left_out_of_the_checkpoint(kafka: LocalKafka, tmp_path: Path) -> None:
    """A processor dies after a commit; labels for the records that it has predicted come after that.

    The same with what waits is part of the short torture.
    """
    events = late_labels.events(600, 1, int((time.time() - 1000) * 1000))
    labels = late_labels.SECTION | {"wait": "5s"}
    with Group(kafka, tmp_path, settings=PATIENT, labels=labels, are_forked=True) as group:
        feed(group, events[:500])
        victim = group.spawn("--act", "crash", "after:end_transaction:1", *wrong("left_out", True))
        assert victim.process.wait(timeout=DEADLINE) == -signal.SIGKILL
        group.reap()
        feed(group, events[500:])
        group.expel_all()
        group.spawn()
        ended(group)
        judgement = late_labels.judge(group.config)
    assert judgement.verdict.lost > 0 and judgement.models


@BOTH
@pytest.mark.parametrize("is_wrong", [False, True])
def test_offsets_read_while_a_transaction_may_still_move_them(group: Group, is_wrong: bool) -> None:
    """A processor leaves the group with its offsets sent and its transaction open; the next one must wait for it."""
    leaver = group.spawn("--act", "leave", "after:send_offsets:1")
    wait_until((group.folder / "left").exists, "the first processor has left")
    (group.folder / "asked").unlink()
    heir = group.spawn(*wrong("uncommitted", is_wrong))
    if is_wrong:
        wait_until(lambda: "committed partitions=" in heir.log.read_text(), "the second processor commits")
    else:
        wait_until((group.folder / "asked").exists, "the second processor asks where to begin")
    (group.folder / "released").touch()
    assert leaver.process.wait(timeout=DEADLINE) == -signal.SIGKILL
    group.reap()
    ended(group)
    judgement = judge(group.config)
    if is_wrong:
        assert judgement.verdict.doubled > 0
    else:
        assert judgement.exact, judgement.reasons()


@pytest.mark.parametrize("is_wrong", [False, True])
def test_commit_under_the_metadata_of_the_moment(group: Group, is_wrong: bool) -> None:
    """A frozen processor is expelled and replaced, and wakes in the middle of a commit, which must be refused.

    Once it knows of its expulsion, kafka-python reports generation -1, and the broker takes commits of that unfenced.
    """
    zombie = group.spawn("--act", "freeze", "before:send_offsets:1", *wrong("moment", is_wrong))
    zombie.wait_frozen()
    group.expel_all()
    group.spawn()
    group.wait_done()
    commits = zombie.log.read_text().count("committed partitions=")
    zombie.send(signal.SIGCONT)
    said = "committed partitions=" if is_wrong else "reset: "
    wait_until(lambda: zombie.log.read_text().count(said) > (commits if is_wrong else 0), f"the zombie says {said}")
    group.kill(zombie)
    group.expel_all()
    ended(group)
    judgement = judge(group.config)
    if is_wrong:
        assert judgement.verdict.doubled > 0
    else:
        assert judgement.exact, judgement.reasons()


@pytest.mark.parametrize("is_wrong", [False, True])
def test_commit_of_an_instance_that_was_replaced(static_group: Group, is_wrong: bool) -> None:
    """A frozen processor is replaced by another one with its instance, and wakes in the middle of a commit.

    It has the generation of its successor. Its transactional id and its member id stop it; without both it commits.
    """
    group = static_group
    options = "--act", "freeze", "before:send_offsets:1", *wrong("nobody", is_wrong)
    zombie = group.spawn(*options, instance="same")
    zombie.wait_frozen()
    group.spawn(instance="same")
    group.wait_done()
    commits = zombie.log.read_text().count("committed partitions=")
    zombie.send(signal.SIGCONT)
    if is_wrong:
        wait_until(lambda: zombie.log.read_text().count("committed partitions=") > commits, "the zombie commits")
    else:
        assert zombie.process.wait(timeout=DEADLINE) == FencedError.exit_code
    group.kill_all()
    group.spawn(instance="same")
    ended(group)
    judgement = judge(group.config)
    if is_wrong:
        assert judgement.verdict.doubled > 0
    else:
        assert judgement.exact, judgement.reasons()


@BOTH
@pytest.mark.parametrize("is_wrong", [False, True])
def test_models_kept_although_the_commit_before_a_rebalance_failed(slow_group: Group, is_wrong: bool) -> None:
    """Another processor joins, and the commit of what was read so far fails: it must be read again.

    More records follow, so that the first processor commits offsets behind what it has dropped.
    """
    group = slow_group

    def is_sent(numbers: range) -> bool:
        sent = referee.read_topic(group.config, group.config.output.topic, "read_uncommitted")
        return {f"r{n}" for n in numbers if not is_broken(n)} <= {json.loads(record.value)["id"] for record in sent}

    first = group.spawn("--act", "fail", "before:send_offsets:1", *wrong("kept", is_wrong))
    wait_until(lambda: is_sent(range(800)), "all is predicted")
    second = group.spawn()
    wait_until((group.folder / "failed").exists, "the commit fails")
    wait_until(lambda: first.generation()[0] == second.generation()[0] > 1, "both have partitions of one generation")
    assert first.generation()[1] and second.generation()[1]
    feed(group, plain(1000, 1)[800:])
    wait_until(lambda: is_sent(range(800, 1000)), "what follows is predicted")
    for worker in list(group.workers):
        assert group.end(worker) == 0
    judgement = judge(group.config)
    if is_wrong:
        assert judgement.verdict.lost > 0
    else:
        assert judgement.exact, judgement.reasons()


def test_referee_finds_a_snapshot_that_is_not_the_committed_one(group: Group) -> None:
    group.spawn()
    ended(group)
    assert judge(group.config).exact
    (first, *_, last) = sorted((group.folder / "snapshots").glob("**/2/*.snapshot"))
    shutil.copy(first, last)
    judgement = judge(group.config)
    assert not judgement.exact and "has not the committed SHA-256" in judgement.reasons()
