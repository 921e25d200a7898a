"""The section `queries`: each mistake is named at its place, with what to do."""

import pytest

from connectors.config import load
from connectors.errors import ConfigError
from connectors.tools import schema

TOPICS = """
name: fraud
kafka: {bootstrap_servers: "localhost:1"}
input: {topic: payments}
record: {id: id}
learner:
  - PAClassifier
output: {topic: predictions}
labels: {topic: chargebacks, label: fraud, within: 1h}
queries:
  topic: to_label
  sampler: {SelectiveSampler: {c: 0.5}}
  at_most: 100 per 10000
""".lstrip()
FILES = """
name: fraud
input: {file: payments.jsonl}
record: {id: id, time: at}
learner: [PAClassifier]
output: {file: predictions.jsonl}
labels: {file: labels.csv, id: of, label: fraud, time: at, within: 1h}
queries:
  file: to_label.jsonl
  sampler: MarginSampler
  at_most: 1 per 2
""".lstrip()


def written(folder, text):
    path = folder / "p.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("text", [TOPICS, FILES])
def test_a_section_is_read(tmp_path, text):
    config = load(written(tmp_path, text))
    assert (config.queries.at_most, config.queries.all_wait) == ((100, 10_000) if text is TOPICS else (1, 2), True)
    sampler = config.build_sampler()
    assert type(sampler.classifier).__name__ == "PAClassifier" and sampler.n_rounds == 0
    assert load(written(tmp_path, text[: text.index("queries")])).build_sampler() is None


def test_a_sampler_asks_by_the_score_of_the_learner(tmp_path):
    text = TOPICS.replace("output: {", "output: {score: probability, ")
    with pytest.raises(
        ConfigError, match=r"`output.score`: `queries` ask by the score of the learner: write `learner`"
    ):
        load(written(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "old", "new", "said"),
    [
        (TOPICS, "100 per 10000", "3 of 10", "12:12: `queries.at_most`: a bound is a number of labels per a number of"),
        (TOPICS, "100 per 10000", "7", "`queries.at_most`: a bound is a number of labels per a number of records"),
        (TOPICS, "100 per 10000", "0 per 10", "12:12: `queries.at_most`: `0 per 10` bounds nothing: at least 1 label"),
        (TOPICS, "100 per 10000", "11 per 10", "`11 per 10` bounds nothing: at least 1 label, and at most as many"),
        (TOPICS, "100 per 10000", "10001 per 1000000", "is too long: at most 10000 labels, among fewer records"),
        (FILES, "sampler: MarginSampler", "sampler:", "9:11: `queries.sampler`: a class name or `Name: {parameter: v"),
        (TOPICS, "SelectiveSampler: {c: 0.5}", "SelectveSampler: {}", "did you mean `SelectiveSampler`?"),
        (TOPICS, "SelectiveSampler: {c: 0.5}", "PAClassifier: {}", "11:13: `queries.sampler`: there is no sampler `PA"),
        (TOPICS, "c: 0.5", "c: 0", "11:32: `queries.sampler`: `SelectiveSampler` refuses `c`: `c` must be a finite"),
        (TOPICS, "c: 0.5", "d: 1", "11:32: `queries.sampler`: `SelectiveSampler` has no parameter `d`"),
        (TOPICS, "c: 0.5", "classifier: PAClassifier", "11:32: `queries.sampler`: `SelectiveSampler` asks about the"),
        (TOPICS, "SelectiveSampler: {c: 0.5}", "ShareSampler: {}", "`ShareSampler` draws at random, and each start"),
        (TOPICS, "- PAClassifier", "- PARegressor", "and `learner` ends with `PARegressor`: end it with a classifier"),
        (TOPICS, "- PAClassifier", "- SelectiveSampler: {classifier: PAClassifier}", "make its classifier the last"),
        (TOPICS, "  at_most: 100 per 10000\n", "", "9:1: `at_most` is missing in `queries`"),
        (TOPICS, "  at_most", "  waits: none\n  at_most", "`queries.waits` must be `all` or `asked`, found the text"),
        (TOPICS, "topic: to_label", "topic: predictions", "`queries`: `predictions` is the output topic already"),
        (TOPICS, "topic: to_label", "file: to_label.jsonl", "what is read from a topic cannot go to a file exactly"),
        (TOPICS, TOPICS[TOPICS.index("labels") : TOPICS.index("queries")], "", "come back through `labels`: add that"),
        (FILES, "to_label.jsonl", "to_label.csv", "`queries.file`: `"),
        (FILES, "file: to_label.jsonl", "file: payments.jsonl", "is the input file already, this must be another one"),
        (FILES, "file: to_label.jsonl", "file: '-'", "standard output cannot be taken back after a crash"),
        (FILES, "file: to_label.jsonl", "topic: to_label", "what is read from a file cannot go to a topic exactly"),
    ],
)
def test_a_mistake_is_named_at_its_place(tmp_path, text, old, new, said):
    assert text.count(old) == 1
    with pytest.raises(ConfigError) as raised:
        load(written(tmp_path, text.replace(old, new)))
    assert said in str(raised.value)


def test_an_editor_knows_the_section():
    found = schema.of_files()["$defs"]["Queries"]
    assert set(found["properties"]) == {"topic", "sampler", "at_most", "waits"}
    assert found["required"] == ["sampler", "at_most", "topic"]
