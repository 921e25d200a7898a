"""Several learners on one file: each is the bare one, bit for bit, through kills, other roles and other labels."""

import json

import jsonschema
import pytest
from river import metrics

from connectors.cli import live_line
from connectors.config.learner import assemble
from connectors.errors import ConfigError, StateError
from connectors.files import processor as files
from connectors.model.standings import contest_of
from connectors.runtime.health import Health
from connectors.tools import evaluate, explain, report, schema
from river_margins import snapshot
from tests.connectors.files.test_late_labels import LateFolder, late, route
from tests.connectors.files.test_processor import Folder, disturbed, killed, lines_of
from tests.helpers.streams import phishing, twin

STEPS = {
    "pa": ["StandardScaler", {"PAClassifier": {"C": 0.01, "mode": 1}}],
    "arow": ["StandardScaler", "AROWClassifier"],
    "plain": ["PAClassifier"],
}


def roles(champion, *challengers):
    """Return the sections of a file with these roles."""
    return {
        "learner": {"name": champion, "steps": STEPS[champion]},
        "challengers": {name: STEPS[name] for name in challengers},
    }


def play(folder, *names):
    """Let models play these roles from the next start on."""
    folder.settings |= roles(*names)
    folder.settings["output"]["challengers"] = len(names) > 1


@pytest.fixture
def folder(tmp_path):
    found = Folder(tmp_path)
    play(found, "pa", "arow")
    return found


def snapshot_of(folder):
    return (folder.path / "snapshots/trial/files/0" / f"{folder.state()['snapshot']}.snapshot").read_bytes()


def models_of(folder):
    """Return the models in the snapshot by name, as bytes without what is told about them."""
    data = snapshot_of(folder)
    about, parts = snapshot.beside(data)
    return {
        name: snapshot.dumps(snapshot.loads(each))
        for name, each in ({contest_of(about).champion: data} | parts).items()
    }


def said_by(folder):
    """Return what each model said of each record, by name."""
    found = {}
    for output in folder.output():
        for name, said in ({"": output} | output.get("challengers", {})).items():
            found.setdefault(name, {})[output["id"]] = said and (said["prediction"], said["score"])
    return found


def bare(names, records, since=0):
    """Return the bare learners by name, and what they say."""
    found, models = {}, {}
    for name in names:
        models[name] = assemble(STEPS[name])[0]
        outputs = twin(models[name], records[since:])
        found[name] = {output["id"]: (output["prediction"], output["score"]) for output in outputs}
    return found, {name: snapshot.dumps(model) for name, model in models.items()}


def test_each_equals_the_bare_learner_bit_for_bit(folder):
    records = phishing(1200)
    folder.put(lines_of(records))
    counts = folder.run()
    expected, models = bare(["pa", "arow"], records)
    said = said_by(folder)
    assert (said[""], said["arow"]) == (expected["pa"], expected["arow"])
    assert models_of(folder) == models
    assert counts.learned == 960
    validator = jsonschema.Draft202012Validator(schema.of_output(folder.config()))
    assert all(validator.is_valid(output) for output in folder.output())
    jsonschema.validate(json.loads(folder.file().read_bytes()), schema.of_files())


def test_without_challengers_in_the_output_it_is_that_of_the_champion_alone(tmp_path):
    contents = []
    for name, others in (("alone", ()), ("contest", ("arow", "plain"))):
        (tmp_path / name).mkdir()
        folder = Folder(tmp_path / name)
        folder.settings |= roles("pa", *others)
        folder.put(disturbed("jsonl"))
        folder.run()
        contents.append((folder.content(), folder.rejects(), folder.model()))
    assert contents[0] == contents[1]


def test_models_exchange_their_roles_and_go_on(folder, caplog):
    records = phishing(900)
    folder.put(lines_of(records[:300]))
    folder.run()
    play(folder, "arow", "pa")
    folder.put(lines_of(records[:600]))
    folder.run()
    assert "the learner changes with the next snapshot: the champion is now `arow`, and no longer `pa`\n" in caplog.text
    play(folder, "arow")
    folder.put(lines_of(records))
    folder.run()
    assert "the model `pa` is dropped, as the file does not name it" in caplog.text
    expected, models = bare(["pa", "arow"], records)
    said, ids = said_by(folder), [record["id"] for record in records]
    assert [said[""][id] for id in ids] == [expected["pa" if n < 300 else "arow"][id] for n, id in enumerate(ids)]
    assert [said["arow"][id] for id in ids[:300]] == [expected["arow"][id] for id in ids[:300]]
    assert [said["pa"][id] for id in ids[300:600]] == [expected["pa"][id] for id in ids[300:600]]
    assert folder.model() == models["arow"] and snapshot.beside(snapshot_of(folder))[1] == {}
    assert folder.state()["examples"] == 720


def test_a_new_challenger_starts_empty_and_standings_are_kept_by_name(folder, caplog):
    records = phishing(900)
    folder.settings |= {"learner": STEPS["pa"], "challengers": {}}  # a file without names
    folder.settings["output"]["challengers"] = False
    folder.put(lines_of(records[:300]))
    folder.run()
    play(folder, "pa", "arow")
    folder.put(lines_of(records[:600]))
    folder.run()
    assert "the challenger `arow` is new" in caplog.text
    play(folder, "arow", "plain", "pa")
    folder.put(lines_of(records))
    folder.run()
    said = said_by(folder)
    late_arow, models = bare(["arow"], records, since=300)
    assert [said["arow"][r["id"]] for r in records[300:600]] == [late_arow["arow"][r["id"]] for r in records[300:600]]
    assert [said[""][r["id"]] for r in records[600:]] == [late_arow["arow"][r["id"]] for r in records[600:]]
    plain, last = bare(["plain"], records, since=600)
    assert said["plain"] == plain["plain"]
    assert models_of(folder) == models | last | bare(["pa"], records)[1]
    contest = contest_of(snapshot.beside(snapshot_of(folder))[0])
    assert contest.examples == {"arow": 480, "plain": 240, "pa": 720}
    judged = {name: found.judged for name, found in contest.standings.life.models.items()}
    assert judged == {"arow": 479, "plain": 239, "pa": 480}  # a first prediction is None, and alone nothing is compared


def test_a_challenger_starts_from_a_snapshot(folder, tmp_path):
    records = phishing(400)
    trained = assemble(STEPS["arow"])[0]
    twin(trained, records)
    snapshot.save(trained, tmp_path / "arow")
    folder.settings["challengers"] = {"arow": {"steps": STEPS["arow"], "start_from": str(tmp_path / "arow")}}
    folder.put(lines_of(records))
    folder.run()
    expected = {o["id"]: (o["prediction"], o["score"]) for o in twin(snapshot.load(tmp_path / "arow"), records)}
    assert said_by(folder)["arow"] == expected


@pytest.mark.parametrize("is_late", [False, True])
def test_other_parameters_than_those_of_the_snapshot_of_a_challenger_are_told(folder, tmp_path, caplog, is_late):
    records = phishing(100)
    trained = assemble(["StandardScaler", {"AROWClassifier": {"r": 2.0}}])[0]
    twin(trained, records)
    snapshot.save(trained, tmp_path / "arow")
    said = f"the model of `{tmp_path / 'arow'}` goes on with other parameters: AROWClassifier r 2.0 -> 1.0 ("
    folder.put(lines_of(records[:50]))
    if is_late:
        play(folder, "pa")
        folder.run()
        folder.put(lines_of(records))
    play(folder, "pa", "arow")
    folder.settings["challengers"] = {"arow": {"steps": STEPS["arow"], "start_from": str(tmp_path / "arow")}}
    for _ in range(2):  # and not again of a model that exists
        folder.run()
        assert sum(message.startswith(said) for message in caplog.messages) == 1


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            roles("plain", "pa", "arow"),
            "has no model `plain`, it has `pa`, `arow`: add the new learner to `challengers` first",
        ),
        ({"challengers": {"arow": ["PAClassifier"]}}, "`challengers.arow` is not the one of `arow` in the snapshot"),
        ({"learner": {"name": "pa", "steps": ["PAClassifier"]}}, "the learner is not the one of the snapshot"),
        (roles("arow", "pa") | {"learner": {"name": "arow", "steps": STEPS["pa"]}}, "the learner is not the one of"),
        (
            {"learner": STEPS["arow"], "challengers": {}, "output": {"file": "out.jsonl"}},
            "its champion (it has `arow`, too: for one of them, write its name in `learner`): step 2 was",
        ),
    ],
)
def test_models_that_are_not_those_of_the_snapshot(folder, settings, said):
    folder.put(lines_of(phishing(100)))
    folder.run()
    before = folder.content()
    with pytest.raises(StateError) as error:
        folder.run(**settings)
    assert said in str(error.value) and "put `" in str(error.value) and ",:" not in str(error.value)
    assert folder.content() == before


def test_a_challenger_learns_in_another_way_from_the_next_snapshot_on(folder, caplog):
    records = phishing(400)
    play(folder, "arow", "pa")
    folder.put(lines_of(records[:200]))
    folder.run()
    changed = ["StandardScaler", {"PAClassifier": {"C": 0.5, "mode": 1}}]
    folder.put(lines_of(records))
    folder.run(challengers={"pa": changed}, checkpoint={"every": "1h"})
    assert "`pa` PAClassifier C 0.01 -> 0.5" in caplog.text
    model = snapshot.loads(snapshot.beside(snapshot_of(folder))[1]["pa"])
    assert model["PAClassifier"].C == 0.5
    before = bare(["pa"], records)[0]["pa"]  # the only snapshot is the one at the end
    assert said_by(folder)["pa"] == before


def test_killed_at_any_moment_and_started_again(tmp_path):
    found = []
    for name in ("undisturbed", "killed"):
        (tmp_path / name).mkdir()
        folder = Folder(tmp_path / name)
        play(folder, "pa", "arow")
        folder.put(disturbed("jsonl")[:200_000].rpartition(b"\n")[0] + b"\n")
        if name == "killed":
            killed(folder, 14, 5)
        else:
            folder.run()
        contest = contest_of(snapshot.beside(snapshot_of(folder))[0])
        found.append((folder.content(), folder.rejects(), models_of(folder), contest))
    assert found[0] == found[1]


def test_predictions_are_judged_when_their_label_comes(tmp_path):
    """Labels come later; half-way the models exchange their roles, and records wait over that."""
    folder = LateFolder(tmp_path)
    play(folder, "pa", "arow")
    examples = [(x, y) for x, y in route.datasets.Phishing().take(400)]
    lines, labels, *_ = late(examples, 5, is_tied=True)
    folder.put(lines[:200])
    folder.put_labels(labels)
    end = json.loads(lines[199])["at"]
    first = [label for label in labels if json.loads(label)["at"] <= end]
    folder.put_labels(first)
    folder.run()
    play(folder, "arow", "pa")
    folder.put(lines)
    folder.put_labels(labels)
    folder.run()
    outcomes = folder.outcomes()
    said = {output["id"]: output for output in folder.output()}
    for outcome in outcomes:  # what was said then, by whoever was the champion then
        output = said[outcome["id"]]
        assert [outcome[key] for key in ("prediction", "score", "challengers")] == [
            output[key] for key in ("prediction", "score", "challengers")
        ]
        assert list(output["challengers"]) == (["arow"] if outcome["id"] < 200 else ["pa"])
    # where the first run ended makes a difference to the order, so the bare learners learn in the order of the outcomes
    contest = contest_of(snapshot.beside(snapshot_of(folder))[0])
    wrong = {"pa": 0, "arow": 0}
    for outcome in outcomes:
        other = dict(outcome["challengers"])
        other["pa" if "arow" in other else "arow"] = outcome
        for name, each in other.items():
            wrong[name] += each["prediction"] is not None and each["prediction"] != outcome["label"]
    assert {name: found.loss for name, found in contest.standings.life.models.items()} == wrong
    for name in ("pa", "arow"):
        model = assemble(STEPS[name])[0]
        for outcome in outcomes:
            fields = json.loads(lines[outcome["id"]])
            model.learn_one({key: fields[key] for key in fields if key not in ("id", "at")}, outcome["label"])
        assert models_of(folder)[name] == snapshot.dumps(model)


def test_late_labels_give_what_rivers_function_gives_for_each_model(tmp_path):
    folder = LateFolder(tmp_path)
    play(folder, "pa", "arow")
    examples = [(x, y) for x, y in route.datasets.Phishing().take(300)]
    lines, labels, moments, delays = late(examples, 9)
    folder.put(lines)
    folder.put_labels(labels)
    folder.run()
    for name in ("pa", "arow"):
        model, metric = assemble(STEPS[name])[0], metrics.Accuracy()
        expected = route.rivers(examples, model, metric, moments, delays)
        found = [(o if name == "pa" else o["challengers"][name])["prediction"] for o in folder.outcomes()]
        assert found == expected
        assert models_of(folder)[name] == snapshot.dumps(model)
        measured = evaluate.run(folder.config())
        assert measured.challengers.get(name, measured).metrics["Accuracy"].get() == metric.get()


def test_evaluate_measures_all_models(folder, capsys):
    records = phishing(300)
    folder.put(lines_of(records))
    found = report.run(folder.config(), names=["Accuracy"])
    for name, result in {"pa": found, "arow": found.challengers["arow"]}.items():
        metric = metrics.Accuracy()
        for output in twin(assemble(STEPS[name])[0], records):
            if "label" in output and output["prediction"] is not None:
                metric.update(output["label"], output["prediction"])
        assert result.metrics["Accuracy"].get() == metric.get()
    head = capsys.readouterr().out
    assert "arow" in head and "pa" in head
    with pytest.raises(ConfigError, match="standard input can be read once"):
        evaluate.run(folder.config(), "-")


def test_metrics_live_line_and_explanation_tell_all_models(folder):
    records = phishing(300)
    records[7]["extra"] = "text"  # refused by both
    folder.put(lines_of(records))
    settings = folder.config()
    health = Health(settings)
    files.run(settings, health=health)
    found = {}
    for family in health.metrics.collect():
        for sample in family.samples:
            if "model" in sample.labels:
                name = family.name.removeprefix("river_margins_")
                found[name, sample.labels["model"], sample.labels.get("of")] = sample.value
    said = said_by(folder)
    labels = {record["id"]: record["y"] for record in records if record.get("y") is not None}
    for name, answers in (("pa", said[""]), ("arow", said["arow"])):
        judged = {id: answers[id][0] for id in labels if id in answers and answers[id][0] is not None}
        assert found["compared_predictions", name, None] == len(judged)
        assert found["compared_loss", name, None] == sum(judged[id] != labels[id] for id in judged)
    assert found["challenger_examples", "arow", None] == health.metrics.work.counts.learned
    assert found["challenger_refusals", "arow", "features"] == 0
    line = str(live_line.Line(health).text())
    right = 1 - found["compared_loss", "arow", None] / found["compared_predictions", "arow", None]
    assert f"arow {right:.2%}" in line and "pa " in line
    text = explain.explain(settings)
    assert (
        "Challenger `arow`: StandardScaler() | AROWClassifier()" in text
        and "Each output also has their predictions" in text
    )


def test_a_file_without_challengers_has_no_metrics_of_models(folder):
    play(folder, "pa")
    folder.put(lines_of(phishing(50)))
    health = Health(folder.config())
    files.run(folder.config(), health=health)
    assert not any("model" in sample.labels for family in health.metrics.collect() for sample in family.samples)
    assert snapshot.beside(snapshot_of(folder))[1] == {}
