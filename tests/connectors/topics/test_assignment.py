"""The assignment changes every week: processes join and leave in order, and the topic grows."""

import contextlib
import json
import logging
import math
import threading
import time
import weakref
from types import SimpleNamespace

import pytest

from connectors.errors import StalledError, StateError
from connectors.kafka import ClientError, Committed, Truncated
from connectors.model.counts import Counts
from connectors.model.replay_proof import ReplayMismatch
from connectors.snapshots import retention
from connectors.snapshots.stores import THREADS
from connectors.topics.assignment import Assignment
from connectors.topics.bad_partitions import PartitionStateError
from connectors.topics.commit import Committer
from connectors.topics.loading import Loading
from connectors.topics.offset_metadata import OffsetMetadata
from connectors.topics.processor import Processor
from connectors.topics.restore import Restorer
from connectors.topics.timeouts import LONGEST_WORK, Timeouts
from tests.helpers.deadline import DEADLINE
from tests.helpers.streams import (
    BOTH_CLIENTS,
    Stream,
    let_go,
    phishing,
    read_until,
    running,
    start,
    twin,
    wait_for,
)

GUARANTEES = pytest.mark.parametrize("guarantee", ["exactly_once", "at_least_once"])


def assert_exact(stream, records, partitions):
    """Each partition has the outputs of the bare learner, in order and once."""
    found = {number: [] for number in range(partitions)}
    for message in stream.read(stream.output, len(records)):
        found[int(dict(message.headers)["source"].rpartition(b"-")[0].rpartition(b"-")[2])].append(
            json.loads(message.value)
        )
    for number, outputs in found.items():
        mine = [record for record in records if int(record["id"][1:]) % partitions == number]
        assert outputs == twin(stream.config().build_learner(), mine)


def restored(caplog):
    """The partitions whose models were loaded, one entry each time."""
    return [r.__dict__["partition"] for r in caplog.records if r.getMessage().startswith("restored ")]


@BOTH_CLIENTS
@GUARANTEES
def test_who_joins_or_leaves_in_order_costs_the_others_nothing(kafka, tmp_path, caplog, guarantee, monkeypatch):
    """The next commit is far away: what moves is committed when it is given back and freed, and what stays is kept."""
    caplog.set_level(logging.INFO)
    make, learners = Restorer.start, []

    def noted(restorer, *arguments):
        partition = make(restorer, *arguments)
        learners.append(weakref.ref(list(partition.model.learner.steps.values())[-1]))
        return partition

    monkeypatch.setattr(Restorer, "start", noted)
    stream = Stream(kafka, tmp_path, partitions=4, checkpoint={"guarantee": guarantee, "every": "50s"})
    stream.settings["kafka"] |= {
        "consumer": {"session_timeout_ms": 90_000, "max_poll_interval_ms": 120_000, "heartbeat_interval_ms": 300},
        "producer": {"transaction_timeout_ms": 60_000},
    }
    stream.settings["snapshots"] = {"folder": str(tmp_path / "snapshots"), "every": "1h"}
    records = phishing(1200)

    def sent(count):
        with stream.reader(stream.output, "read_uncommitted") as (consumer, places):
            return sum(consumer.end_offsets(places).values()) >= count

    with running(stream.config()) as one:
        stream.produce(records[:400])
        wait_for(lambda: sent(400), "the first outputs")
        other = start(stream.file())
        try:
            wait_for(lambda: stream.members() == [2, 2], "two members")
            assert len(stream.read(stream.output, 400)) == 400
            assert restored(caplog) == []
            stream.produce(records[400:800])
            wait_for(lambda: sent(800), "the outputs of both")
            assert [learner() is None for learner in learners].count(True) == 2
            other.terminate()
            other.communicate(timeout=DEADLINE)
        finally:
            other.kill()
            other.communicate()
        wait_for(lambda: stream.members() == [4], "one member")
        stream.produce(records[800:])
        wait_for(lambda: sent(1200), "all outputs")
        counts = one.end()
    assert_exact(stream, records, 4)
    back = restored(caplog)
    assert len(back) == 2 and len(set(back)) == 2, "only what had moved was loaded, once"
    assert not [r for r in caplog.records if r.getMessage().startswith("reset")]
    assert not [r for r in caplog.records if "inputs to read again" in r.getMessage() and r.args[-1] > 0]
    assert 400 < counts.read < 1200


@BOTH_CLIENTS
def test_new_partitions_begin_and_the_others_keep_their_models(kafka, tmp_path, caplog):
    caplog.set_level(logging.INFO)
    stream = Stream(kafka, tmp_path, partitions=2, input=None)
    stream.settings["input"] = {"topic": stream.input, "start": "latest"}
    stream.settings["kafka"]["consumer"] = {"metadata_max_age_ms": 300}
    first, second = phishing(300), phishing(300)
    with running(stream.config()) as process:
        wait_for(lambda: stream.committed(1), "the first commit")
        stream.produce(first)
        stream.read(stream.output, 300)
        with stream.admin() as admin:
            admin.create_partitions({stream.input: 3})
            wait_for(lambda: len(admin.describe_topics([stream.input])[0]["partitions"]) == 3, "three partitions")
        stream.produce(second, partition=2)  # although `latest`, these are new to the group
        found = stream.read(stream.output, 600)
        process.end()
    outputs = [json.loads(message.value) for message in found if b"-2-" in dict(message.headers)["source"]]
    assert outputs == twin(stream.config().build_learner(), second)
    assert restored(caplog) == [], "the models of the others stayed in memory"
    (said,) = [r.getMessage() for r in caplog.records if "some keys now go to another partition" in r.getMessage()]
    assert "has 3 partitions, and had 2" in said
    caplog.clear()
    with running(stream.config()) as process:  # known by now, so nothing is said
        wait_for(lambda: process.result or len(restored(caplog)) == 3, "the models")
        process.end()
    assert not [r for r in caplog.records if "some keys" in r.getMessage()]


def test_a_slow_start_in_a_busy_group(kafka, tmp_path, monkeypatch):
    """While a process looks at the snapshots, the others supersede them, and delete them."""
    monkeypatch.setattr(retention, "GRACE", -10.0)
    stream = Stream(kafka, tmp_path, partitions=2)
    stream.settings["snapshots"] = {"folder": str(tmp_path / "snapshots"), "keep": {"last": 0}}
    records = phishing(600)
    slow = """
        from connectors.snapshots.stores import FolderStore
        read = FolderStore.read
        def slow(store, partition, name):
            FolderStore.read = read
            hold()
            return read(store, partition, name)
        FolderStore.read = slow
    """
    with running(stream.config()) as one:
        stream.produce(records[:200])
        stream.read(stream.output, 200)
        named = [stream.pointer(n).snapshot for n in range(2)]
        other = start(stream.file(), slow)
        try:
            read_until(other, "held")
            stream.produce(records[200:400])
            stream.read(stream.output, 400)
            wait_for(lambda: not {p.stem for p in tmp_path.rglob("*.snapshot")} & set(named), "their end")
            let_go(other)
            wait_for(lambda: other.poll() is not None or stream.members() == [1, 1], "two members")
            assert other.poll() is None
            stream.produce(records[400:])
            assert_exact(stream, records, 2)
        finally:
            other.kill()
            other.communicate()
        one.end()


def test_restarts_leave_no_snapshots_behind(kafka, tmp_path, monkeypatch):
    """What a process leaves when it ends, its successor deletes, except what an open transaction may name."""
    monkeypatch.setattr(retention, "GRACE", 3600.0)  # so that the process that wrote them deletes none
    stream = Stream(kafka, tmp_path, partitions=2)
    stream.settings["snapshots"] = {"folder": str(tmp_path / "snapshots"), "keep": {"last": 2}}
    records, done = phishing(400), 0
    with running(stream.config()) as process:
        for done in range(40, 401, 40):
            stream.produce(records[done - 40 : done])
            stream.read(stream.output, done)
        process.end()
    files = [path for path in tmp_path.rglob("*.snapshot")]
    assert len(files) > 10
    later = files[0].with_name(f"{10**6:020d}-9-20261122T050000Z-0badcafe.snapshot")
    foreign = files[0].with_name("mine.snapshot")
    later.write_bytes(b"of a transaction that is open")
    foreign.write_bytes(b"of somebody")
    monkeypatch.setattr(retention, "GRACE", -10.0)
    with running(stream.config()) as process:
        stream.produce(phishing(20))
        stream.read(stream.output, 420)
        stream.produce(phishing(20))
        stream.read(stream.output, 440)
        wait_for(lambda: len(list(tmp_path.rglob("*.snapshot"))) <= 2 * 3 + 2, "the end of the old ones")
        process.end()
    assert later.exists() and foreign.exists()


@pytest.mark.parametrize("start", ["earliest", "latest"])
def test_partitions_before_a_first_start_are_not_new(kafka, tmp_path, start):
    stream = Stream(kafka, tmp_path, partitions=2, input=None)
    stream.settings["input"] = {"topic": stream.input, "start": start, "new_partitions": "refuse"}
    stream.produce(phishing(10))
    with running(stream.config()) as process:
        wait_for(lambda: stream.committed(1), "the first commit")
        stream.produce(phishing(10))
        stream.read(stream.output, 20 if start == "earliest" else 10)
        process.end()


def test_a_start_reads_one_snapshot(kafka, tmp_path, monkeypatch):
    """A process loads what it owns, and nothing else."""
    stream = Stream(kafka, tmp_path, partitions=4)
    stream.produce(phishing(40))
    with running(stream.config()) as process:
        stream.read(stream.output, 40)
        process.end()
    checked, check = [], Restorer.check

    def counting_check(restorer, *arguments):
        checked.append(arguments)
        return check(restorer, *arguments)

    monkeypatch.setattr(Restorer, "check", counting_check)
    with running(stream.config()) as process:
        wait_for(lambda: stream.members() == [4], "the member")
        process.end()
    assert len(checked) == 1


def assignment(outbox=None, partitions=2):
    """An assignment whose members are not asked, and its configuration."""
    config = SimpleNamespace(
        input=SimpleNamespace(topic="events"), labels=None, rejects=None, record=SimpleNamespace(label="y"),
        on_bad_state="pause",
        checkpoint=SimpleNamespace(guarantee="exactly_once", every=60.0),
    )  # fmt: skip
    consumer = SimpleNamespace(ownership=None, pause=lambda number: None)
    outbox = outbox or SimpleNamespace(align=lambda topics: None)
    restorer = SimpleNamespace(aligned=(), topic=SimpleNamespace(partitions=partitions))
    return Assignment(config, consumer, outbox, restorer, None, Timeouts(10.0, 25.0, 30.0), None, None), config


def test_while_there_is_no_assignment_nothing_is_taken_and_nothing_is_committed():
    """Membership is lost, and no other assignment has come: a model is loaded meanwhile, and another is due to mix."""
    outbox = SimpleNamespace(moved=set(), align=lambda topics: None)
    outbox.add_moved = outbox.moved.update
    found, config = assignment(outbox)
    found._loading.add(0, Committed(7, ""), lambda number, committed: None)
    found._loading.wait()
    found.take_loaded()
    assert found.partitions == {} and found.loading == {0}
    mixer = SimpleNamespace(due=lambda partitions: {1})
    newcomers = SimpleNamespace(ready=lambda partitions: {})
    committer = Committer(config, None, found, outbox, None, None, None, newcomers, mixer)
    committer.commit()
    assert outbox.moved == set() and committer.due > time.monotonic() + 30.0


def test_a_partition_whose_store_is_away_is_not_one_that_is_bad():
    """It goes on by itself, so one bad partition beside it does not end the processor."""
    found, _ = assignment()
    found._pause(1, Committed(7, ""), OSError("the store is away"))
    found._pause(0, Committed(7, ""), PartitionStateError(0, "its snapshot does not exist"))
    assert set(found.bad.reasons) == {0, 1}
    with pytest.raises(StateError, match="damaged"):
        found._pause(1, Committed(7, ""), PartitionStateError(1, "its snapshot is damaged"))


def test_models_that_nobody_waits_for_any_more_are_not_loaded():
    """With a slow store, each of several assignments in a row would else wait for the models of those before it."""
    loading, loaded, goes_on = Loading(), [], threading.Event()

    def restore(number, committed):
        assert goes_on.wait(DEADLINE)
        loaded.append((number, committed.offset))

    busy = range(THREADS)
    loading.request({number: Committed(1, "") for number in busy}, restore)
    loading.request({number: Committed(1, "") for number in [*busy, 97, 98]}, restore)
    loading.request({number: Committed(2, "") for number in [98, 99]} | {97: Committed(1, "")}, restore)
    goes_on.set()
    wait_for(lambda: not list(loading.take_finished()) and not loading.numbers, "the models")
    assert sorted(loaded) == [*((number, 1) for number in busy), (97, 1), (98, 2), (99, 2)]
    loading.close()


def test_a_partition_that_turns_out_to_be_bad_at_the_end_does_not_keep_the_others_from_a_commit():
    def pass_markers():
        raise PartitionStateError(1, "30 inputs were read again instead of 31")

    ending, done = object.__new__(Processor), []
    ending._assignment = SimpleNamespace(is_current=True, ownership=object(), pass_markers=pass_markers)
    ending._committer = SimpleNamespace(write_all_snapshots=lambda: None, commit=lambda: done.append("commit"))
    ending._finish()
    assert done == ["commit"]


def test_slow_records_do_not_keep_a_member_from_polling(monkeypatch):
    """Else it would leave its group before the next commit, and begin again with the same records, for ever."""

    class Clock:
        now = 0.0

        def monotonic(self):
            return self.now

    def process(number, offset, *_):
        clock.now += 1.0
        done.append((number, offset))

    clock, done, sought = Clock(), [], []
    monkeypatch.setattr("connectors.topics.processor.time", clock)
    slow = object.__new__(Processor)
    slow._committer, slow._process, slow._most = SimpleNamespace(due=math.inf), process, 16
    slow._loop = SimpleNamespace(take=lambda partitions, records, place, skipped, due: place)
    slow._assignment = SimpleNamespace(partitions={}, seek=sought.append)
    records = [(number, offset, None, b"", None, None) for number in (0, 1, 2, 3) for offset in range(4)]
    slow._take(records, {3})
    assert clock.now == LONGEST_WORK and done == [record[:2] for record in records[:5]] and sorted(sought) == [1, 2]


def test_slow_records_are_fetched_once(monkeypatch):
    """To go back drops what the client has fetched: a poll asks for what can be done, and later for more."""
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    monkeypatch.setattr("connectors.topics.processor.time", clock)
    polled, sought, seconds = [], [], [0.01]

    def poll(_, most):
        polled.append(most)
        return [(0, offset, None, b"", None, None) for offset in range(most)]

    def process(*_):
        clock.now += seconds[0]

    slow = object.__new__(Processor)
    slow._consumer, slow._process, slow._most = SimpleNamespace(poll=poll), process, 2_000
    slow._health, slow._rebalance_error, slow._two_topics = SimpleNamespace(beat=lambda: None), None, None
    slow._committer = SimpleNamespace(due=math.inf)
    slow._loop = SimpleNamespace(take=lambda partitions, records, place, skipped, due: place)
    slow._assignment = SimpleNamespace(
        partitions={}, seek=sought.append, is_current=True, without_model=set(), take_loaded=lambda: None, loading=None
    )
    for _ in range(10):
        slow._step()
    assert polled == [2_000] + [250] * 9 and sought == [0]  # 5 s are 500 records: from now on half of them
    seconds[0] = 10.0
    for _ in range(3):
        slow._step()
    assert polled[-2:] == [1, 1] and sought == [0, 0]
    seconds[0] = 0.001
    for _ in range(13):
        slow._step()
    assert polled[-12:] == [2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_000, 2_000] and sought == [0, 0]


@pytest.mark.parametrize("ownership", [object(), None])
def test_what_waits_in_inboxes_is_not_taken_between_the_last_commit_and_the_next_assignment(ownership):
    """It would be work of a generation that has ended, or of nobody."""
    leaving, taken = object.__new__(Processor), []
    leaving._health, leaving._is_leaving, leaving._rebalance_error = SimpleNamespace(beat=lambda: None), False, None
    leaving._may_be_replaced, leaving._outbox, leaving._most = False, None, 1
    leaving._two_topics = SimpleNamespace(
        take=lambda *_: taken.append("records"), longest_poll=0.0, forget=lambda: taken.append("assignment")
    )
    leaving._assignment = SimpleNamespace(
        is_current=True, ownership=ownership, without_model=set(), take_loaded=lambda: None, loading=None,
        take_over=lambda: False, resume=lambda: None, partitions={},
    )  # fmt: skip
    leaving._committer = SimpleNamespace(due=math.inf, commit=lambda: None)
    leaving._consumer = SimpleNamespace(poll=lambda seconds, most: [])
    leaving._step()
    leaving._commit_before_rebalance()
    leaving._step()
    assert taken == (["records"] if ownership else [])
    leaving._assignment.is_current = False
    leaving._step()
    leaving._assignment.is_current = True
    leaving._step()
    assert taken == (["records", "assignment", "records"] if ownership else ["assignment"])


@pytest.mark.parametrize(("seconds", "ends"), [(1.0, True), (3600.0, False)])
def test_resets_of_a_processor_without_work_are_in_a_row_if_they_follow_each_other(monkeypatch, seconds, ends):
    """Where no records come there are no commits either, and a broker may be away for a moment every hour."""

    class Clock:
        now = 0.0

        def monotonic(self):
            self.now += seconds
            return self.now

    monkeypatch.setattr("connectors.topics.processor.time", Clock())
    counter = SimpleNamespace(inc=lambda: None)
    config = SimpleNamespace(instance=None, on_bad_state="pause", name="p", rejects=None, labels=None)
    committer = SimpleNamespace(drop_uncommitted=lambda: None, counts=Counts())
    outbox, health = SimpleNamespace(transaction_age=0.0), SimpleNamespace(metrics=SimpleNamespace(resets=counter))
    idle = Processor(config, None, None, outbox, committer, None, health)
    stop = SimpleNamespace(requested=True)
    with pytest.raises(StalledError) if ends else contextlib.nullcontext():
        for _ in range(50):
            idle._recover(ClientError("a broker is away"), stop)


def test_whether_all_is_ready_is_seen_while_the_loop_drops_partitions():
    class Dropping(dict):
        def __contains__(self, number):
            found = super().__contains__(number)
            self.clear()  # as the loop may do right then
            return found

    partition, ownership = SimpleNamespace(is_replaying=False), SimpleNamespace(partitions={0})
    seen = SimpleNamespace(_assignment=SimpleNamespace(partitions=Dropping({0: partition}), ownership=ownership))
    assert Processor.is_ready.fget(seen)


def test_partitions_of_a_slow_store_begin_side_by_side():
    """One after the other, they would take longer than a member may leave out `poll`."""
    found, config = assignment(SimpleNamespace(moved=set(), align=lambda topics: None), partitions=THREADS)
    config.input.start = "earliest"
    together = threading.Barrier(THREADS)

    def begin(number, offset, labels, before):
        together.wait(DEADLINE)
        return f"model {number}"

    found._consumer.offset_range = lambda number: (0, 7)
    found.restorer.start = begin
    found._keep_start_or_load(dict.fromkeys(range(THREADS)), THREADS)
    assert found.partitions == {number: f"model {number}" for number in range(THREADS)}


def test_the_label_of_the_first_record_is_read():
    """With `latest`, a record and its label may arrive between the two looks for the ends."""
    found, config = assignment(SimpleNamespace(moved=set(), align=lambda topics: None), partitions=1)
    config.input.start, config.labels, ends, starts = "latest", object(), {0: 5, ~0: 5}, []

    def offset_range(place):
        end = ends[place]
        ends.update({0: 6, ~0: 6})  # both arrive right after the first look
        return 0, end

    found._consumer.offset_range = offset_range
    found.restorer.start = lambda number, offset, labels, before: starts.append((offset.offset, labels.offset))
    found._keep_start_or_load({0: None}, 1)
    ((offset, labels),) = starts
    assert labels == 5 and offset >= 5


def test_growth_is_refused_only_while_a_partition_has_not_begun():
    found, _ = assignment(partitions=3)

    def refuse(before):
        raise StateError(f"had {before}")

    found.restorer.partitions_before, found.restorer.check_growth = (lambda committed: 2), refuse
    committed = dict.fromkeys(range(3), Committed(7, ""))
    found._consumer.committed = lambda numbers, seconds: {n: committed[n] for n in numbers}
    assert found._partitions_before({0: committed[0]}) == 2 and found.told == 3
    committed[2] = None
    with pytest.raises(StateError, match="had 2"):
        found._partitions_before({0: committed[0]})


def test_only_records_that_were_learned_are_lost():
    """The first alarm, one from beyond the committed offset, and one about later records load the partition again."""
    found, _ = assignment()
    metadata = OffsetMetadata.of_snapshot(b"", 10, 8, False, topic_id="t", partitions=2, host="h")
    position, error = {0: 10, 1: 10}, PartitionStateError(1, "lost", may_heal=False)
    found._consumer.position = position.__getitem__
    found.restorer.lost_records = lambda number, metadata, end: error

    def paused(number, end):
        found.partitions = {n: SimpleNamespace(committed=metadata.to_committed()) for n in range(2)}
        found.take_truncation(Truncated(number, end))
        assert (number in found.partitions) == (number in found.bad.reasons)
        return set(found.bad.reasons)

    assert paused(1, 5) == set(), "the topic may be another one now"
    assert paused(1, 10) == paused(1, 12) == set(), "an answer about a later position"
    position[1] = 15
    assert paused(1, 5) == set(), "it is read again from the committed offset"
    position[1] = 10
    assert paused(1, 5) == {1}
    position[0] = 12
    assert paused(0, None) == {1}
    found._truncated_until = -math.inf
    position[0] = 10
    assert paused(0, None) == {1}, "the first alarm after a long time"


def test_a_damaged_snapshot_that_comes_back_lets_the_partition_go_on():
    found, _ = assignment()
    found.partitions = {0: SimpleNamespace(committed=Committed(7, ""))}
    found.pause(PartitionStateError(0, "snapshot `s` is damaged"))
    (bad,) = found.bad._found.values()
    assert bad.pause == 1.0


def test_other_inputs_than_those_learned_do_not_heal():
    texts = SimpleNamespace(_how=SimpleNamespace(of=str, go_on=str, start_over=str))
    assert not Restorer.replay_error(texts, 0, "s", ReplayMismatch("other inputs")).may_heal


def test_records_that_are_to_be_read_again_and_expired_do_not_heal():
    """To load the model again every half minute would not bring them back."""
    of = SimpleNamespace(_how=SimpleNamespace(of=str, start_over=lambda *_: "start over"))
    metadata = SimpleNamespace(offset=30, inputs=10, snapshot="s", snapshot_offset=20)
    with pytest.raises(PartitionStateError, match="must be read again from offset 20") as caught:
        Restorer._check_records(of, 0, metadata, (25, 40))
    assert not caught.value.may_heal
