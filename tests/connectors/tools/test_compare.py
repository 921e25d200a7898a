"""Which model is better: its figures against scipy and numpy."""

import json
import math

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from connectors.cli.main import app
from connectors.errors import ConfigError, StateError
from connectors.tools import compare
from tests.connectors.files.test_challengers import STEPS, play, said_by
from tests.connectors.files.test_processor import Folder, lines_of
from tests.helpers.streams import Stream, phishing, running

NUMBERS = {
    "learner": {"name": "bold", "steps": ["PARegressor"]},
    "challengers": {"shy": [{"PARegressor": {"C": 1e-3}}]},
}


def wrong_by(outputs, champion):
    """The losses of all models by name, for the records with a label that both predicted."""
    found = {}
    for output in outputs:
        said = {champion: output} | output["challengers"]
        if "label" in output and all(each["prediction"] is not None for each in said.values()):
            for name, each in said.items():
                found.setdefault(name, []).append(float(each["prediction"] != output["label"]))
    return {name: np.array(losses) for name, losses in found.items()}


def assert_shares(row, first, second):
    """Independently: scipy's exact binomial interval, by search."""
    only, other = int(((first == 1) & (second == 0)).sum()), int(((first == 0) & (second == 1)).sum())
    interval = stats.binomtest(only, only + other).proportion_ci(0.95, "exact")
    scale = (only + other) / len(first)
    assert (row.compared, row.loss, row.its_loss) == pytest.approx((len(first), first.mean(), second.mean()))
    assert row.difference == pytest.approx(first.mean() - second.mean())
    assert (row.low, row.high) == pytest.approx(((2 * interval.low - 1) * scale, (2 * interval.high - 1) * scale))


def test_the_models_of_a_file_are_compared(tmp_path):
    folder = Folder(tmp_path)
    play(folder, "pa", "arow", "plain")
    folder.put(lines_of(phishing(1200)))
    with pytest.raises(StateError, match="no snapshot of `trial` has challengers yet: run the file first"):
        compare.compare(folder.config())
    folder.run()
    losses = wrong_by(folder.output(), "pa")
    rows = compare.compare(folder.config())
    assert [(row.over, row.challenger) for row in rows] == [
        ("life", "arow"), ("life", "plain"), ("last 10,000", "arow"), ("last 10,000", "plain"),
    ]  # fmt: skip
    for row in rows:
        assert_shares(row, losses["pa"], losses[row.challenger])
        expected = row.challenger if row.low > 0 else "pa" if row.high < 0 else None
        assert row.better == expected
    assert rows[1].better == "pa"  # a scaler makes a difference
    done = CliRunner().invoke(app, ["compare", str(folder.file())])
    assert done.exit_code == 0 and done.output.splitlines()[0].split("\t") == list(compare.TITLES)
    assert done.output.splitlines()[2].endswith("\tpa")
    swapped = compare.compare(folder.config(learner={"name": "plain", "steps": STEPS["plain"]},
                                            challengers={"pa": STEPS["pa"]}))  # fmt: skip
    assert_shares(swapped[0], losses["plain"], losses["pa"])
    with pytest.raises(ConfigError, match="there are no `challengers` to compare"):
        compare.compare(folder.config(challengers=None, output={"file": folder.settings["output"]["file"]}))


def test_numbers_are_compared_by_the_mean_of_their_differences(tmp_path):
    folder = Folder(tmp_path)
    folder.settings |= NUMBERS
    folder.settings["output"]["challengers"] = True
    random = np.random.default_rng(1)
    values = random.normal(size=400).tolist()
    folder.put(lines_of({"id": n, "a": value, "y": 3 * value + 1} for n, value in enumerate(values)))
    folder.run()
    said, labels = said_by(folder), [3 * value + 1 for value in values]
    errors = [np.abs([said[name][n][0] - labels[n] for n in range(400)]) for name in ("", "shy")]
    difference = errors[0] - errors[1]
    margin = stats.t.ppf(0.975, len(difference) - 1) * stats.sem(difference)
    row = compare.compare(folder.config())[0]
    assert (row.low, row.high) == pytest.approx((difference.mean() - margin, difference.mean() + margin))
    assert (row.loss, row.its_loss, row.better) == (*map(pytest.approx, (errors[0].mean(), errors[1].mean())), "bold")


@pytest.mark.parametrize("share", [0.3, 0.5])
def test_an_interval_holds_the_truth_in_nineteen_of_twenty_comparisons(share):
    random, held = np.random.default_rng(7), 0
    for only in random.binomial(40, share, 1000):
        low, high = compare.interval_of_shares(200, 2.0 * only - 40, 40.0)
        held += low <= (2 * share - 1) * 40 / 200 <= high
    assert held >= 950


def test_nothing_is_decided_by_nothing():
    assert compare.interval_of_shares(100, 0.0, 0.0) == (0.0, 0.0)
    assert compare.interval_of_mean(1, 5.0, 25.0) == (-math.inf, math.inf)


def test_the_models_of_all_partitions_are_compared_together(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=2, checkpoint={"every": "50ms"})
    settings = {
        "learner": {"name": "pa", "steps": STEPS["pa"]}, "challengers": {"plain": STEPS["plain"]},
        "output": {"topic": stream.output, "challengers": True},
    }  # fmt: skip
    stream.produce(phishing(400))
    with running(stream.config(**settings)) as process:
        outputs = [json.loads(message.value) for message in stream.read(stream.output, 400)]
        losses = wrong_by(outputs, "pa")
        assert_shares(compare.compare(stream.config(**settings))[0], losses["pa"], losses["plain"])
        process.end()
    stream.snapshot_path(1).unlink()
    with pytest.raises(StateError, match="does not exist; `river-margins lint --check-broker FILE` says how to go on"):
        compare.compare(stream.config(**settings))


@pytest.mark.parametrize("count", [2, 5])
def test_an_interval_of_few_numbers_holds_the_truth_as_often(count):
    rows = np.random.default_rng(3).normal(size=(4000, count))
    found = [compare.interval_of_mean(count, row.sum(), (row * row).sum()) for row in rows]
    assert np.mean([low <= 0.0 <= high for low, high in found]) == pytest.approx(0.95, abs=0.015)


def test_a_challenger_that_refuses_everything_is_told(tmp_path):
    folder = Folder(tmp_path)
    play(folder, "pa", "arow")
    folder.settings["challengers"]["nul"] = [
        {"river.preprocessing.StatImputer": {"imputers": [["zzz", 0]]}},
        "PAClassifier",
    ]
    folder.put(lines_of(phishing(20)))
    folder.run()
    assert compare.table(folder.config())[2] == "`nul` refused the features of 20 records, and 0 labels"


def test_what_nobody_judges_is_told(tmp_path):
    folder = Folder(tmp_path)
    play(folder, "pa", "arow")
    labels = tmp_path / "labels.jsonl"
    labels.write_text('{"id": "r1", "y": true, "at": 2}\n')
    late = {"file": str(labels), "id": "id", "label": "y", "time": "at", "within": "1m", "otherwise": False}
    folder.put(lines_of([{"id": f"r{number}", "at": number, "a": 1.0} for number in range(5)]))
    folder.settings |= {"record": {"id": "id", "time": "at"}, "labels": late}
    folder.run()
    done = CliRunner().invoke(app, ["compare", str(folder.file())])
    assert done.exit_code == 0
    assert "records whose label did not come were learned as `false` and are not compared" in done.output


def test_a_snapshot_that_is_gone_is_told(tmp_path):
    folder = Folder(tmp_path)
    play(folder, "pa", "arow")
    folder.put(lines_of(phishing(20)))
    folder.run()
    for path in (tmp_path / "snapshots").rglob("*.snapshot"):
        path.unlink()
    with pytest.raises(StateError, match=r"the snapshot that the checkpoint `.*checkpoint\.json` names does not exist"):
        compare.compare(folder.config())
