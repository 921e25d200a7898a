"""The first trial of docs/files.md works word by word."""

import re
import subprocess
import sys

from tests.helpers.paths import ROOT

PAGE = (ROOT / "docs" / "files.md").read_text().split("## A first trial")[1].split("\n## ")[0]


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_the_first_trial(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (program,), (file,), (commands,), (predictions,) = map(blocks, ("python", "yaml", "sh", "text"))
    subprocess.run([sys.executable, "-c", program], check=True)
    (tmp_path / "trial.yaml").write_text(file)
    before = set(tmp_path.iterdir())

    def run(line):
        words = line.split("#")[0].split()[1:]
        done = subprocess.run([sys.executable, "-m", "connectors", *words], capture_output=True, text=True, check=True)
        return done.stdout + done.stderr

    lint, evaluate, trial = commands.splitlines()
    assert run(lint).strip() == lint.split("# ")[1]
    assert re.search(r"Accuracy\W+89\.67%", run(evaluate))
    assert "Accuracy 89.67%" in evaluate and set(tmp_path.iterdir()) == before
    run(trial)
    assert (tmp_path / "predictions.csv").read_text().startswith(predictions)
    written = {path.name for path in set(tmp_path.iterdir()) - before}
    assert written == {"predictions.csv", "rejects.jsonl", "snapshots"} and all(name in trial for name in written)
    assert "read=0" in run(trial)
    (again,) = re.findall(r"`(rm -r .*?)`", PAGE)
    subprocess.run(again.split(), check=True)
    assert "read=1250" in run(trial)
