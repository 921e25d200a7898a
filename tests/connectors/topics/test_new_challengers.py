"""A challenger that reads the input from its beginning takes part as one that was there from the first record on."""

import functools
import threading

import pytest

from connectors.config.learner import assemble
from connectors.kafka import ClientError, client
from connectors.model.partition_model import PartitionModel
from connectors.model.records import Decoder
from connectors.topics.commit import Committer
from connectors.topics.new_challengers import HELD, _NewChallenger
from river_margins import snapshot
from tests.connectors.topics.test_challengers import STEPS, expected, models_of, said
from tests.helpers import streams
from tests.helpers.streams import (
    BOTH_CLIENTS,
    Stream,
    before_each_record,
    phishing,
    read_until,
    running,
    start,
    twin,
    wait_for,
)

COUNT = 600
RARELY = {"guarantee": "at_least_once", "every": "1h"}
CHALLENGED = {
    "learner": {"name": "pa", "steps": STEPS["pa"]},
    "challengers": {"arow": {"steps": STEPS["arow"], "start_from": "input"}},
}


def challenged(stream):
    return {**CHALLENGED, "output": {"topic": stream.output, "challengers": True}}


def begun(kafka, tmp_path, records, **changes):
    """A stream whose champion has learned these records alone."""
    stream = Stream(kafka, tmp_path, partitions=2, **changes)
    stream.produce(records)
    with running(stream.config(learner=CHALLENGED["learner"])) as process:
        stream.read(stream.output, len(records))
        process.end()
    return stream


def is_there(stream, number=0):
    """Whether the committed snapshot holds both models."""
    try:
        models, _ = models_of(stream, number)
    except (AttributeError, FileNotFoundError):  # that snapshot is one model's, or was superseded
        return False
    return set(models) == {"pa", "arow"}


def wait_for_both(stream):
    wait_for(lambda: all(is_there(stream, number) for number in (0, 1)), "a snapshot with both models")


def assert_exact(stream, records, outputs):
    """Each model is that of a learner that has read all, and so are its predictions since it takes part."""
    for number, found in outputs.items():
        mine = records[number::2]
        models, contest = models_of(stream, number)
        for name in ("pa", "arow"):
            assert models[name] == expected(name, mine)[1]
        assert contest.examples == dict.fromkeys(("pa", "arow"), sum(record.get("y") is not None for record in mine))
        assert said(found, "pa", "pa") == expected("pa", mine)[0]
        since = next((n for n, output in enumerate(found) if "arow" in output.get("challengers", {})), len(found))
        assert all("arow" in output["challengers"] for output in found[since:])
        assert said(found[since:], "arow", "pa") == expected("arow", mine)[0][since:]
        told = [o for o in found[since:] if o.get("label") is not None and o["prediction"] is not None]
        assert contest.standings.life.pair("pa", "arow").judged == len(told)


@BOTH_CLIENTS
def test_takes_part_while_records_come(kafka, tmp_path, caplog):
    caplog.set_level("INFO")
    records = phishing(4 * COUNT)
    stream = begun(kafka, tmp_path, records[:COUNT])
    with running(stream.config(**challenged(stream))) as process:
        for first in range(COUNT, 3 * COUNT, 100):
            stream.produce(records[first : first + 100])
        wait_for_both(stream)
        stream.produce(records[3 * COUNT :])
        outputs = stream.outputs(4 * COUNT)
        process.end()
    assert_exact(stream, records, outputs)
    assert all("arow" in output["challengers"] for found in outputs.values() for output in found[-COUNT // 2 :])
    assert (
        "the challenger `arow` is new" in caplog.text and "the challenger `arow` takes part in partition" in caplog.text
    )
    with running(stream.config(**challenged(stream))) as process:  # it is not new any more
        wait_for(lambda: "restored partition 1 of" in caplog.text, "a start")
        process.end()
    assert caplog.text.count("takes part") == 2


@BOTH_CLIENTS
def test_takes_part_without_a_new_record(kafka, tmp_path):
    records = phishing(COUNT)
    stream = begun(kafka, tmp_path, records)
    with running(stream.config(**challenged(stream))) as process:
        wait_for_both(stream)
        process.end()
    assert_exact(stream, records, stream.outputs(COUNT))


def test_killed_while_it_reads(kafka, tmp_path):
    records = phishing(COUNT)
    stream = begun(kafka, tmp_path, records[:-2])
    stream.forget_the_dead_soon()
    slow = """
        from connectors.topics import new_challengers
        learn = new_challengers._NewChallenger._learn
        def stop_half_way(self, record):
            learn(self, record)
            if self.model.examples == 100:
                hold()
        new_challengers._NewChallenger._learn = stop_half_way
    """
    process = start(stream.file(**challenged(stream)), slow)
    try:
        read_until(process, "held")
    finally:
        process.kill()
        process.communicate()
    stream.produce(records[-2:])
    with running(stream.config(**challenged(stream))) as second:
        wait_for_both(stream)
        outputs = stream.outputs(COUNT)
        second.end()
    assert_exact(stream, records, outputs)


def test_after_a_replay_it_learns_nothing_twice(kafka, tmp_path):
    """The processor was killed under `snapshots.every`, which a file with challengers cannot have."""
    records = phishing(COUNT)
    stream = Stream(kafka, tmp_path, partitions=2)
    stream.forget_the_dead_soon()
    stream.produce(records)
    rarely = {"folder": stream.settings["snapshots"], "every": "1h"}
    process = start(stream.file(learner=CHALLENGED["learner"], snapshots=rarely))
    try:
        stream.read(stream.output, COUNT)
    finally:
        process.kill()
        process.communicate()
    with running(stream.config(**challenged(stream))) as second:
        wait_for_both(stream)
        second.end()
    assert_exact(stream, records, stream.outputs(COUNT))


@pytest.mark.parametrize("step", ["send_offsets", "remember"])
def test_the_commit_with_which_it_takes_part_fails(kafka, tmp_path, monkeypatch, step):
    """Before the end of the transaction, and after it: then it is committed all the same."""
    records = phishing(COUNT)
    stream = begun(kafka, tmp_path, records)
    take, failed = getattr(Committer, step), []

    def fail(committer):
        if committer._joining and not failed:
            failed.append(True)
            raise ClientError("injected")
        take(committer)

    monkeypatch.setattr(Committer, step, fail)
    with running(stream.config(**challenged(stream))) as process:
        wait_for_both(stream)
        process.end()
    assert failed
    assert_exact(stream, records, stream.outputs(COUNT))


def test_partitions_move_while_it_reads(kafka, tmp_path, monkeypatch):
    """A second process takes one of the partitions, and begins to read it again."""
    records = phishing(2 * COUNT)
    stream = begun(kafka, tmp_path, records[:COUNT])
    learn, is_half_way, is_shared = _NewChallenger._learn, threading.Event(), []

    def wait_half_way(challenger, record):
        if challenger.model.examples == 100 and not is_shared:
            is_half_way.set()
            wait_for(lambda: stream.members() == [1, 1], "a second member")
            is_shared.append(True)
        learn(challenger, record)

    monkeypatch.setattr(_NewChallenger, "_learn", wait_half_way)
    with running(stream.config(**challenged(stream))) as process:
        wait_for(is_half_way.is_set, "the challenger is half-way")  # a second process that is first would read it all
        second = start(stream.file(**challenged(stream)))
        try:
            wait_for(lambda: is_shared, "a second member")
            stream.produce(records[COUNT:])
            wait_for_both(stream)
            outputs = stream.outputs(2 * COUNT)
        finally:
            second.terminate()
            second.communicate()
        process.end()
    assert_exact(stream, records, outputs)


def test_after_a_drift_it_waits_for_another_commit(kafka, tmp_path, monkeypatch):
    """The champion does not hold what it had learned before the drift: nobody can learn that from it."""
    records = [{"id": f"r{n}", "a": float(n % 2), "y": bool(n % 2) == (n < COUNT)} for n in range(2 * COUNT)]
    drift = {"detector": {"PageHinkley": {"min_instances": 30, "threshold": 5.0}}, "then": "reset"}
    stream = Stream(kafka, tmp_path, partitions=1)
    stream.produce(records[:COUNT])
    with running(stream.config(learner=CHALLENGED["learner"], drift=drift)) as process:
        stream.read(stream.output, COUNT)
        process.end()
    found, commits, has_ended = [], [], threading.Event()

    class Slow(_NewChallenger):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            found.append(self)

        def _learn(self, record):
            if record[1] > COUNT + 1:
                has_ended.wait()
            super()._learn(record)

    def wait_for_it(record):
        if record[1] == COUNT + 1:  # the first one may be in the first commit
            wait_for(lambda: found and found[0].learned_to in (COUNT, COUNT + 1), "it is ready before the drift")

    write = Committer.write_snapshots

    def note(committer):
        (partition,) = committer._assignment.partitions.values()
        commits.append((partition.model.has_drifted, bool(committer._joining)))
        write(committer)

    monkeypatch.setattr("connectors.topics.new_challengers._NewChallenger", Slow)
    monkeypatch.setattr(Committer, "write_snapshots", note)
    before_each_record(monkeypatch, wait_for_it)
    with running(stream.config(**challenged(stream), drift=drift, checkpoint=RARELY)) as process:
        stream.produce(records[COUNT:])
        wait_for(lambda: (True, False) in commits, "a drift")
        process.end()
    has_ended.set()
    with running(stream.config(**challenged(stream), drift=drift)) as process:
        wait_for(lambda: is_there(stream), "a snapshot with both models")
        stream.read(stream.output, 2 * COUNT)
        process.end()
    assert [joins for _, joins in commits].count(True) == 1 and commits[-1] == (False, True)
    models, contest = models_of(stream, 0)
    assert contest.examples["pa"] < contest.examples["arow"] == 2 * COUNT
    assert models["arow"] == expected("arow", records)[1]


@BOTH_CLIENTS
def test_waits_at_the_offset_that_it_learns_up_to(kafka, tmp_path):
    """In a partition with bytes that are not records, and labels that cannot be learned."""
    records = phishing(50)
    records[7]["y"] = [1]
    stream = Stream(kafka, tmp_path)
    stream.produce([*records[:20], b"{", None, *records[20:]], partition=1)
    settings = stream.config().kafka.consumer_settings
    make_reader = functools.partial(_reader, stream, settings)
    found = _NewChallenger(stream.input, 1, "arow", _untrained("arow"), make_reader)
    try:
        for offset in (0, 1, 8, 23, 52, 52):
            found.aim(offset)
            wait_for(lambda to=offset: found.learned_to == to, "it waits")
            learned = [*records[:20], {}, {}, *records[20:]][:offset]
            learned = [record for number, record in enumerate(learned) if record and number != 7]
            model = assemble(STEPS["arow"])[0]
            twin(model, learned)
            assert (found.position, snapshot.dumps(found.model.learner)) == (offset, snapshot.dumps(model))
            assert found.model.examples == sum(record.get("y") is not None for record in learned)
    finally:
        found.end()


def _reader(stream, settings, number, start):
    return client(streams.CLIENT).Reader(stream.input, stream.name, settings, number, start)


def _untrained(name):
    def refuse(saved):
        raise AssertionError("it goes back to what it holds itself")

    return PartitionModel(assemble(STEPS[name])[0], "s", 0, refuse, Decoder("id", "y", None).decode)


def test_holds_few_records_and_goes_back_to_what_it_holds(kafka, tmp_path):
    """A number that is too large fails half-way, soon after the beginning and long after it."""
    stream = Stream(kafka, tmp_path, partitions=1)
    values = [{"id": str(n), "a": n % 7 + 0.5, "y": 2.0 * (n % 7)} for n in range(HELD + 300)]
    bad = {50, HELD + 100}
    for number in bad:
        values[number]["a"] = 1e308
    stream.produce(values)
    model = PartitionModel(
        assemble(["StandardScaler", "PARegressor"])[0], "s", 0, None, Decoder("id", "y", None).decode
    )
    found = _NewChallenger(
        stream.input, 0, "pa", model, functools.partial(_reader, stream, stream.config().kafka.consumer_settings)
    )
    try:
        found.aim(len(values))
        wait_for(lambda: found.learned_to == len(values), "it waits")
    finally:
        found.end()
    bare = assemble(["StandardScaler", "PARegressor"])[0]
    for number, value in enumerate(values):
        if number not in bad:
            bare.learn_one({"a": value["a"]}, value["y"])
    assert snapshot.dumps(found.model.learner) == snapshot.dumps(bare)
    assert len(found.model.learned) < HELD and found.model.examples == len(values) - len(bad)


def test_goes_on_where_it_was_after_an_error_of_the_client(kafka, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("connectors.topics.new_challengers.RETRY", 0.01)
    records = phishing(100)
    stream = Stream(kafka, tmp_path, partitions=1)
    stream.produce(records)
    settings, starts = stream.config().kafka.consumer_settings, []

    class Failing:
        """The first one fails after 30 records."""

        def __init__(self, number, start):
            starts.append(start)
            self.reader = _reader(stream, settings, number, start)
            self.close, self.position = self.reader.close, start

        def read_some(self):
            if len(starts) == 1 and self.position:
                raise ClientError("injected")
            found = self.reader.read_some()
            found = found[:30] if len(starts) == 1 else found
            self.position += len(found)
            return found

    found = _NewChallenger(stream.input, 0, "arow", _untrained("arow"), Failing)
    try:
        found.aim(100)
        wait_for(lambda: found.learned_to == 100, "it waits")
    finally:
        found.end()
    assert starts == [0, 30] and "reads partition 0 of" in caplog.text and "injected" in caplog.text
    model = assemble(STEPS["arow"])[0]
    twin(model, records)
    assert snapshot.dumps(found.model.learner) == snapshot.dumps(model)


def test_the_end_is_not_missed_right_before_a_wait():
    waiting = object.__new__(_NewChallenger)
    waiting._target, waiting._aimed, waiting._ended = 7, threading.Event(), threading.Event()
    clear = waiting._aimed.clear

    def end_and_clear():
        waiting.end()  # as the thread of the processor may do right then
        clear()

    waiting._aimed.clear = end_and_clear
    thread = threading.Thread(target=waiting._wait_before, args=[7], daemon=True)
    thread.start()
    thread.join(streams.DEADLINE)
    assert not thread.is_alive()
