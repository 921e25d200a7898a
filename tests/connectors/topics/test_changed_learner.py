"""A learner that only learns in another way keeps its models; other changes are noticed, and nothing is lost."""

import json

import pytest

import river_margins as rm
from connectors.errors import StateError
from connectors.topics import commit, processor
from river_margins import snapshot
from tests.helpers.streams import Stream, phishing, running, start, twin, wait_for

BEFORE = ["StandardScaler", {"PAClassifier": {"C": 0.01, "mode": 1}}]
AFTER = ["StandardScaler", {"PAClassifier": {"C": 0.5, "mode": 2}}]
SAID = "the learner changes with the next snapshot of each partition: PAClassifier C 0.01 -> 0.5, PAClassifier mode"


@pytest.fixture
def stream(kafka, tmp_path):
    return Stream(kafka, tmp_path, partitions=1, learner=BEFORE, checkpoint={"every": "50ms"})


def outputs(stream, count):
    return [json.loads(message.value) for message in stream.read(stream.output, count)]


def expected(stream, records, changed_after):
    """What a pipeline says that is changed by hand after so many records."""
    model = stream.config().build_learner()
    found = twin(model, records[:changed_after])
    model["PAClassifier"].mutate({"C": 0.5, "mode": 2})
    return found + twin(model, records[changed_after:]), model


def lines(caplog):
    return [message for message in caplog.messages if "the learner changes" in message]


def test_a_parameter_is_changed_and_the_model_stays(stream, caplog):
    records = phishing(120)
    stream.produce(records[:60])
    with running(stream.config()) as process:
        stream.read(stream.output, 60)
        process.end()
    stream.produce(records[60:])
    with running(stream.config(learner=AFTER)) as process:
        found = outputs(stream, 120)
        process.end()
    assert [message.startswith(SAID) for message in lines(caplog)] == [True]
    # the first record asks for a commit, and the change comes with its snapshot
    said, model = expected(stream, records, changed_after=61)
    assert found == said
    assert snapshot.dumps(snapshot.load(stream.snapshot_path())) == snapshot.dumps(model)
    with running(stream.config(learner=AFTER)) as process:
        wait_for(lambda: stream.members() == [1], "a member")
        process.end()
    assert len(lines(caplog)) == 1


def test_inputs_are_replayed_with_the_parameters_they_were_learned_with(stream):
    """The proof of a replay compares inputs and number of examples, and would not see that other weights came out."""
    stream.forget_the_dead_soon()
    stream.settings["snapshots"] = {"folder": str(stream.folder / "snapshots"), "every": "1h"}
    records = phishing(150)
    for begin, end, learner in ((0, 50, BEFORE), (50, 100, AFTER)):
        stream.produce(records[begin:end])
        process = start(stream.file(learner=learner))
        try:
            stream.read(stream.output, end)
            wait_for(lambda end=end: stream.committed(0).offset == end, "its commit")
        finally:
            process.kill()
            process.communicate()
    metadata = stream.pointer()
    assert (metadata.snapshot_offset, metadata.inputs) == (50, 50)  # the change is in a snapshot of its own
    stream.produce(records[100:])
    with running(stream.config(learner=AFTER)) as process:
        found = outputs(stream, 150)
        process.end()
    said, model = expected(stream, records, changed_after=50)
    assert found == said
    assert snapshot.dumps(snapshot.load(stream.snapshot_path())) == snapshot.dumps(model)


def test_the_log_tells_a_change_once_for_all_partitions(kafka, tmp_path, caplog):
    stream = Stream(kafka, tmp_path, partitions=2, learner=BEFORE)
    stream.produce(phishing(40))
    with running(stream.config()) as process:
        stream.read(stream.output, 40)
        process.end()
    with running(stream.config(learner=AFTER)):
        wait_for(lambda: stream.members() == [2], "a member")
        with running(stream.config(learner=BEFORE)):  # with the old file, as during an upgrade
            wait_for(lambda: stream.members() == [1, 1], "a second member")
        wait_for(lambda: stream.members() == [2], "the first one alone")
        stream.produce(phishing(80)[40:])
        stream.read(stream.output, 80)
    assert len(lines(caplog)) == 1


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"id": "id", "label": "https"}, "`record.label` was `y` and is now `https`"),
        ({"id": "id", "label": "y", "nulls": "absent"}, "`record.nulls` was left out and is now `absent`"),
        ({"label": "y"}, "`record.id` was `id` and is now left out"),  # which would be a feature then
        ({"id": "id", "label": "y", "features": ["https"]}, "`record.features` was left out and is now `[https]`"),
    ],
)
def test_other_records_are_noticed(stream, record, said):
    stream.produce(phishing(20))
    with running(stream.config()) as process:
        stream.read(stream.output, 20)
        process.end()
    before = stream.committed(0)
    with pytest.raises(StateError) as refused:
        processor.run(stream.config(record=record))
    assert said in str(refused.value) and "put `record` back as it was" in str(refused.value)
    assert stream.committed(0) == before


@pytest.mark.parametrize("late", [False, True])
def test_a_model_that_has_learned_nothing_takes_other_records(stream, late):
    """As after a first trial in which all records were rejected, if the file is then mended as the reject says."""
    record = {"id": "id", "label": "y"}
    records = [each | {"https": None} for each in phishing(40)]
    stream.produce(records[:20])
    with running(stream.config()) as process:
        stream.read(stream.rejects, 20)
        process.end()
    if late:  # what was only predicted is not learned either
        stream.produce([{key: value for key, value in phishing(1)[0].items() if key != "y"}])
        with running(stream.config()) as process:
            stream.read(stream.output, 1)
            process.end()
    stream.produce(records[20:])
    with running(stream.config(record=record | {"nulls": "absent"})) as process:
        stream.read(stream.output, 20 + late)
        assert process.end().learned > 0
    with pytest.raises(StateError, match=r"`record\.nulls` was `absent` and is now left out"):
        processor.run(stream.config())


def test_a_snapshot_that_tells_nothing_of_its_records_is_taken(stream, monkeypatch):
    """As older versions wrote them. The next one tells it."""
    stream.produce(phishing(40)[:20])
    with monkeypatch.context() as older, running(stream.config()) as process:
        older.setattr(commit, "note_of", lambda record: {})
        stream.read(stream.output, 20)
        process.end()
    learner = stream.config().build_learner()
    assert snapshot.changes(stream.snapshot_path().read_bytes(), learner).about == {}
    stream.produce(phishing(40)[20:])
    with running(stream.config()) as process:
        assert outputs(stream, 40) == twin(learner, phishing(40))
        process.end()
    about = snapshot.changes(stream.snapshot_path().read_bytes(), learner).about
    assert about == {"record": {"id": "id", "label": "y"}}


def test_an_order_of_features_and_an_id_beside_them_are_no_other_records(stream):
    stream.settings["record"] = {"id": "id", "label": "y", "features": ["https", "popup_window"]}
    stream.produce(phishing(20))
    with running(stream.config()) as process:
        stream.read(stream.output, 20)
        process.end()
    with running(stream.config(record={"label": "y", "features": ["popup_window", "https"]})):
        wait_for(lambda: stream.members() == [1], "a member")


def test_a_model_of_before_its_state_grew_goes_on(stream, monkeypatch):
    """`AutoRegressor` keeps the lowest and the highest label by now."""
    stream.settings["learner"] = ["StandardScaler", "AutoRegressor"]
    records = [record | {"y": float(n % 7)} for n, record in enumerate(phishing(40))]
    stream.produce(records[:20])
    whole = rm.AutoRegressor.__getstate__
    with monkeypatch.context() as older:
        state = lambda self: {key: value for key, value in whole(self).items() if key not in ("lowest", "highest")}  # noqa: E731
        older.setattr(rm.AutoRegressor, "__getstate__", state)
        with running(stream.config()) as process:
            stream.read(stream.output, 20)
            process.end()
    model = snapshot.load(stream.snapshot_path())
    stream.produce(records[20:])
    with running(stream.config()) as process:
        found = outputs(stream, 40)
        process.end()
    assert found[20:] == twin(model, records[20:])


def test_a_model_with_a_parameter_of_a_newer_version_is_refused_as_such(stream):
    """The learner of the file is the same, so it is no advice to put it back."""
    stream.produce(phishing(40)[:20])
    newer = """
        from river_margins.snapshot import nodes
        take_apart = nodes.take_apart

        def with_depth(thing):
            node = take_apart(thing)
            return node | {"parameters": node["parameters"] | {"depth": None}} if "Scaler" in node["class"] else node

        nodes.take_apart, nodes.check_parameters = with_depth, lambda node: None
    """
    process = start(stream.file(), newer)
    stream.read(stream.output, 20)
    wait_for(lambda: stream.committed(0).offset == 20, "its commit")
    process.terminate()
    process.communicate()
    before = stream.committed(0)
    with pytest.raises(StateError) as refused:
        processor.run(stream.config())
    assert "gives `StandardScaler` a parameter `depth`, which it does not have: use the version" in str(refused.value)
    assert "put `learner` back" not in str(refused.value)
    assert stream.committed(0) == before
