"""Labels that are asked for, in a file: the queries are those of the bare route, after kills and restarts too."""

import json

import pytest

from connectors.errors import StartError
from connectors.files import processor as files
from connectors.model.counts import Counts
from connectors.runtime.health import Health
from connectors.tools import evaluate
from tests.connectors.files.test_late_labels import LateFolder, dumped, hostile, late
from tests.connectors.files.test_processor import killed
from tests.connectors.labels import test_asking as asking
from tests.connectors.labels import test_late_learning as route

SECTIONS = {
    "threshold": {"SelectiveSampler": {"c": 0.3}},
    "random": {"RandomizedSelectiveSampler": {"b": 0.3, "seed": 2}},
    "margin": "MarginSampler",
    "share": {"ShareSampler": {"share": 0.3, "seed": 2}},
}


class AskingFolder(LateFolder):
    """A folder whose processor asks for labels."""

    def __init__(self, folder, kind="jsonl", sampler="random", **changes):
        path = str(folder / "queries.jsonl")
        queries = {"file": path, "sampler": SECTIONS[sampler], "at_most": "3 per 10"} | changes.pop("queries", {})
        learner = ["StandardScaler", {"PAClassifier": {"C": 0.1}}]
        super().__init__(folder, kind, **{"learner": learner, "queries": queries} | changes)

    def queries(self):
        return (self.path / "queries.jsonl").read_bytes().splitlines()


def test_the_bound_holds_over_a_time_without_queries(tmp_path):
    queries = {"sampler": {"ShareSampler": {"share": 1.0, "seed": 3}}, "at_most": "3 per 100"}
    folder = AskingFolder(tmp_path, queries=queries)
    lines, *_ = late(list(route.datasets.Phishing().take(30)), 5)
    folder.put_labels([])  # a record whose label is there already is not asked for
    again = folder.settings["queries"] | {"file": str(tmp_path / "later.jsonl")}  # the first file was dropped
    for count, changes in ((10, {}), (20, {"queries": None}), (30, {"queries": again})):
        folder.put(lines[:count])
        folder.run(**changes)
        assert len(folder.output()) == count
    assert [json.loads(query)["id"] for query in folder.queries()] == [0, 1, 2]
    assert not (tmp_path / "later.jsonl").read_bytes()


@pytest.mark.parametrize("sampler", SECTIONS)
def test_the_queries_are_those_of_a_plain_loop(tmp_path, sampler):
    examples = list(route.datasets.Phishing().take(300))
    folder = AskingFolder(tmp_path, sampler=sampler)
    lines, labels, moments, delays = late(examples, 5)
    folder.put(lines)
    folder.put_labels(labels)
    counts = folder.run()
    learner = folder.config().build_learner()
    asked = list(asking.plain(examples, learner, asking.SAMPLERS[sampler], moments, delays))
    outputs = {output["id"]: output for output in folder.output()}
    expected = [
        {name: outputs[n][name] for name in ("id", "prediction", "score")} | {"record": json.loads(lines[n])}
        for n in asked
    ]
    assert [json.loads(query) for query in folder.queries()] == expected
    assert counts.queries == len(asked) > 20 and counts.learned == 300


def test_killed_at_any_moment_it_asks_for_the_same_labels(tmp_path):
    found = []
    for name in ("undisturbed", "killed"):
        (tmp_path / name).mkdir()
        folder = AskingFolder(tmp_path / name, queries={"waits": "asked"}, labels={"within": "1.5s"})
        lines, labels = hostile(3, 600)
        folder.put(lines)
        folder.put_labels(labels)
        if name == "killed":
            killed(folder, 45, 7)
        else:
            counts = folder.run()
            assert counts.queries == len(folder.queries()) > 100 and counts.withheld
            assert 50 < counts.learned < counts.queries
        state = folder.state()
        marks = [state[each]["mark"] for each in ("input", "labels", "output", "outcomes", "rejects", "queries")]
        contents = folder.content(), folder.queries(), folder.outcomes(), folder.rejects(), folder.model()
        found.append((contents, marks, state["waiting"]["asked"]))
    assert found[0] == found[1]


def test_a_bound_that_is_changed_between_two_starts(tmp_path):
    folder = AskingFolder(tmp_path, sampler="share", queries={"sampler": {"ShareSampler": {"share": 1.0, "seed": 1}}})
    lines = [dumped({"id": n, "at": n, "a": 1.0}) for n in range(30)]
    folder.put_labels([])
    asked = []
    for size, most in ((12, "3 per 10"), (20, "1 per 4"), (30, "3 per 10")):
        folder.put(lines[:size])
        folder.settings["queries"]["at_most"] = most
        folder.run()
        asked.append([json.loads(query)["id"] for query in folder.queries()])
    # 1 per 4 waits for 3 records after 11, and forgets 15; so 3 per 10 counts 19 only, until 29
    assert asked == [[0, 1, 2, 10, 11], [0, 1, 2, 10, 11, 15, 19], [0, 1, 2, 10, 11, 15, 19, 20, 21, 29]]


def test_csv_records(tmp_path):
    folder = AskingFolder(tmp_path, "csv", sampler="share", record={"id": "id", "time": "at"})
    folder.settings["queries"]["sampler"] = {"ShareSampler": {"share": 1.0, "seed": 1}}
    folder.put(b'id,at,a,note\n07,2024-05-01T12:00:00Z,1.5,\n8,2024-05-01T12:00:01Z,-1.5,"a, b"\n')
    folder.settings["record"]["features"] = ["a"]
    folder.put_labels([b"of,label,at"])
    folder.run()
    assert [json.loads(query)["record"] for query in folder.queries()] == [
        {"id": "07", "at": "2024-05-01T12:00:00Z", "a": 1.5},
        {"id": "8", "at": "2024-05-01T12:00:01Z", "a": -1.5, "note": "a, b"},
    ]


def test_a_file_of_queries_that_exists_is_not_written_over(tmp_path):
    folder = AskingFolder(tmp_path)
    folder.put([dumped({"id": 1, "at": 1, "a": 1})])
    folder.put_labels([])
    (tmp_path / "queries.jsonl").write_text("mine\n")
    with pytest.raises(StartError, match=r"the queries `.*queries.jsonl`: "):
        folder.run()


def test_evaluate_and_the_metrics_tell_how_many_labels_were_asked_for(tmp_path):
    folder = AskingFolder(tmp_path, queries={"waits": "asked"})
    lines, labels, *_ = late(list(route.datasets.Phishing().take(300)), 6)
    folder.put(lines)
    folder.put_labels(labels)
    health = Health(folder.config())
    counts = files.run(folder.config(), health=health)
    result = evaluate.run(folder.config())
    assert result.queries == counts.queries == len(folder.queries()) > 50
    assert 50 < result.examples == counts.learned < 100  # those asked for, and a few whose label came before
    for name, number in (("queries", counts.queries), ("withheld_queries", counts.withheld)):
        assert health.metrics.registry.get_sample_value(f"river_margins_{name}_total") == number > 0
    assert (Counts() + counts).queries == counts.queries
    assert evaluate.run(folder.config(queries=None)).queries is None


def test_records_with_the_line_ends_of_windows(tmp_path):
    folder = AskingFolder(tmp_path, sampler="share")
    folder.settings["queries"]["sampler"] = {"ShareSampler": {"share": 1.0, "seed": 1}}
    folder.put(b'{"id": 1, "at": 1, "a": 1.0}\r\n{"id": 2, "at": 2, "a": 2.0}\r\n')
    folder.put_labels([])
    folder.run()
    with (tmp_path / "queries.jsonl").open() as lines:  # as most programs read it
        assert [json.loads(line)["record"]["id"] for line in lines] == [1, 2]
