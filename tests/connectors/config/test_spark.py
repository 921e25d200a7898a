"""What a Spark query reads of a file, which may be that of a processor."""

import pytest

from connectors import config
from connectors.config import spark_schema
from connectors.config.schema import Record
from connectors.errors import ConfigError

PROCESSOR = """\
name: cards
kafka:
  bootstrap_servers: ${NOT_SET_FOR_SPARK}
  sasl_plain_password: ${file:/no/such/secret}
input: {topic: payments}
record: {id: id, label: fraud, features: [amount]}
learner: [StandardScaler, PAClassifier: {C: 0.5}]
output: {topic: "${NOT_SET_FOR_SPARK}", explain: 2, timestamp: now, format: avro}
rejects: {topic: rejects}
checkpoint: {every: 1s}
snapshots: s3://models/cards
metrics: {port: 9464}
"""


def read(tmp_path, text):
    file = tmp_path / "p.yaml"
    file.write_text(text)
    return config.load_for_spark(file)


def problems(tmp_path, text):
    with pytest.raises(ConfigError) as error:
        read(tmp_path, text)
    return [line.partition("p.yaml:")[2] for line in str(error.value).splitlines()]


def test_the_file_of_a_processor_serves_spark(tmp_path):
    found = read(tmp_path, PROCESSOR)
    assert (found.record.id, found.record.label, found.record.features) == ("id", "fraud", ["amount"])
    assert found.output.explain == 2
    assert found.build_learner()["PAClassifier"].C == 0.5


def test_record_and_learner_are_enough(tmp_path):
    assert read(tmp_path, "learner: [PAClassifier]\n").record == Record()


def test_sections_that_would_change_what_is_learned_are_refused(tmp_path):
    others = "queries: {topic: q, sampler: MarginSampler, at_most: 1 per 10}\nchallengers: {b: [Perceptron]}\n"
    found = problems(tmp_path, f"learner: {{name: a, steps: [PAClassifier]}}\n{others}")
    assert [line.split(" ")[:2] for line in found] == [
        ["2:1:", "`queries`:"],
        ["3:1:", "`challengers`:"],
    ]
    avro = "learner: [PAClassifier]\nrecord: {format: avro, registry: 'http://localhost:8081'}\n"
    assert problems(tmp_path, avro)[0].endswith("decode other formats in the query before")


LATE = """\
record: {id: id}
learner: [PAClassifier]
labels: {topic: "${NOT_SET_FOR_SPARK}", id: id, label: y, within: 1d, wait: 5s}
outcomes: {topic: "${NOT_SET_FOR_SPARK}"}
"""


def test_labels_that_come_later_need_ids_and_no_topic(tmp_path):
    found = read(tmp_path, LATE)
    assert found.labels is not None and (found.labels.id, found.labels.within) == ("id", 86400)
    without = LATE.replace("{id: id}", "{time: at}").replace("id: id, ", "").replace("topic:", "format: avro, topic:")
    assert problems(tmp_path, without.replace("outcomes:", "#")) == [
        "1:1: `record.id` is missing: in Spark, nothing but a field tells which record a label is for",
        "3:1: `labels.id` is missing: in Spark, nothing but a field tells which record a label is for",
        "3:18: `labels.format`: a Spark query reads JSON, or columns: decode other formats in the query before",
    ]


def test_mistakes_in_what_spark_reads_are_reported_with_their_places(tmp_path):
    text = PROCESSOR.replace("label: fraud", "lable: fraud").replace("PAClassifier", "PAClasifier") + "lerner: []\n"
    found = problems(tmp_path, text)
    assert [line.partition(": ")[0] for line in found] == ["6:18", "7:27", "13:1"]
    assert "did you mean `label`" in found[0] and "did you mean `PAClassifier`" in found[1]
    assert "unknown key `lerner`, did you mean `learner`" in found[2]
    assert problems(tmp_path, "learner: [PAClassifier]\noutput: {topic: a, explian: 2, challengers: true}\n") == [
        "2:20: unknown key `output.explian`, did you mean `explain`?",
        "2:32: unknown key `output.challengers`; known are `score`, `explain`",
    ]
    assert problems(tmp_path, "name: x\n") == ["1:1: `learner` is missing"]
    assert problems(tmp_path, 'learner: [PAClassifier: {C: "${NOT_SET_FOR_SPARK}"}]\n')[0].startswith(
        "1:29: the environment"
    )


def test_each_section_of_a_processor_is_read_ignored_or_refused():
    known = {*config.Config.model_fields, *config.FileConfig.model_fields}
    ignored = [path[0] for path in spark_schema.IGNORED if len(path) == 1]
    sorts = [*ignored, *spark_schema.REFUSED, "record", "learner", "labels", "start_from", "output"]
    assert sorted(sorts) == sorted(known)


def test_the_registry_of_the_outputs_is_ignored_and_json_may_be_written_out(tmp_path):
    registry = "registry: {url: 'http://r:1', username: a, password: '${NOT_SET_FOR_SPARK}'}"
    found = read(tmp_path, PROCESSOR.replace("features:", f"{registry}, features:"))
    assert found.record.registry is None and found.record.features == ["amount"]
    assert read(tmp_path, LATE.replace("topic:", "format: json, topic:", 1)).labels.within == 86400
    avro = "learner: [PAClassifier]\nrecord: {format: avro, registry: 'http://localhost:8081'}\n"
    assert len(problems(tmp_path, avro)) == 1
