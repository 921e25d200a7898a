"""Files of svmlight."""

import io
import json

import pytest
from river.evaluate import progressive_val_score
from river.metrics import Accuracy
from sklearn.datasets import dump_svmlight_file

from connectors.files.svmlight import parse
from connectors.model.rejects import Reject
from connectors.tools import evaluate
from tests.connectors.files.test_processor import Folder
from tests.helpers.streams import twin


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"1 2:x", "the value of 2 is `x`"),
        (b"1 2:1_5", "the value of 2 is `1_5`"),
        ("1 2:\uff11".encode(), "the value of 2 is `\uff11`"),
        (b"yes 2:1", "the label is `yes`"),
        (b"1 2:1 2:3", "the index 2 appears twice"),
        (b"1 2:1 b", "`b` is not `index:value`"),
        (b"1,2 2:1", "the label is `1,2`"),
        (b"1 a:1", "`a:1` is not `index:value`"),
        (b"1 \xff:1", "not UTF-8: byte 2"),
    ],
)
def test_what_is_no_line(line, reason):
    with pytest.raises(Reject, match=reason):
        parse(line)


def test_a_line_without_a_label():
    assert parse(b"1:0.5 2:1e-3") == {"1": 0.5, "2": 0.001}


def test_a_file_of_scikit_learn_teaches_the_same_as_the_bare_learner(tmp_path):
    rows, labels = [[0.5 * n, 1.0, 0.0] for n in range(-20, 20)], [1 if n > 0 else -1 for n in range(-20, 20)]
    file = io.BytesIO()
    dump_svmlight_file(rows, labels, file, comment="made by a test", zero_based=False)
    comments = sum(line.startswith(b"#") for line in file.getvalue().splitlines())
    assert comments
    folder = Folder(tmp_path, "svm", record={"label": "label"}, output={"file": str(tmp_path / "out.jsonl")})
    folder.put(b"\xef\xbb\xbf" + file.getvalue() + b"# the end\n1 3:spam\n")
    counts = folder.run()
    assert (counts.read, counts.learned, counts.rejected) == (41, 40, 1)
    (reject,) = folder.rejects()
    assert reject["source"] == f"in.svm:{42 + comments}" and reject["text"] == "1 3:spam"
    records = [
        {"id": f"in.svm:{n + comments + 1}", "y": y} | {str(index): x for index, x in enumerate(row, 1) if x}
        for n, (row, y) in enumerate(zip(rows, labels, strict=True))
    ]
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_bytes().splitlines()]
    expected = twin(folder.config().build_learner(), records)
    assert found == json.loads(json.dumps(expected))


def test_evaluate_equals_river(tmp_path):
    rows, labels = [[0.5 * n % 7, n % 3, 0.0] for n in range(60)], [1 if n % 7 > n % 3 else -1 for n in range(60)]
    dump_svmlight_file(rows, labels, str(tmp_path / "in.svm"), zero_based=False)
    config = Folder(tmp_path, "svm", record={"label": "label"}, output={"file": str(tmp_path / "out.jsonl")}).config()
    found = evaluate.run(config, str(tmp_path / "in.svm"), ["Accuracy"])
    examples = [({str(i): x for i, x in enumerate(row, 1) if x}, y) for row, y in zip(rows, labels, strict=True)]
    expected = progressive_val_score([each for each in examples if each[0]], config.build_learner(), Accuracy())
    assert found.metrics["Accuracy"].get() == expected.get()
    assert (found.examples, found.rejected) == (sum(bool(x) for x, _ in examples), sum(not x for x, _ in examples))
