"""`learn`: each key has a learner of its own, exact to the bit, whatever becomes of records and micro-batches."""

import json
import random

import pytest

from connectors import spark as in_spark
from connectors.errors import ConfigError, StartError
from tests.connectors.spark.customers import FIELDS, LEARNER, records, run, twins, write


def outputs(rows):
    found = [json.loads(row.output) for row in rows]
    assert len({output["id"] for output in found}) == len(found)
    return {output["id"]: output for output in found}


def stream_of(spark, folder, fields=FIELDS):
    return spark.readStream.schema(fields).option("maxFilesPerTrigger", 1).json(str(folder))


def test_each_key_has_the_predictions_of_a_learner_of_its_own(spark, file, tmp_path):
    examples = list(records(3000))
    for batch in range(3):
        part = examples[batch * 1000 : (batch + 1) * 1000]
        random.Random(batch).shuffle(part)  # `order` puts them in order again
        write(tmp_path / "in" / f"{batch}.json", part)
    rows = run(in_spark.learn(stream_of(spark, tmp_path / "in"), "customer", file, order="id"), tmp_path)
    assert outputs(rows) == twins(file, examples)
    assert all(row.reject is row.record is None and row.source == str(json.loads(row.output)["id"]) for row in rows)
    learned = {row.customer: 0 for row in rows}
    for row in sorted(rows, key=lambda row: int(row.source)):
        assert row.examples == learned[row.customer]
        learned[row.customer] += "label" in json.loads(row.output)


def test_a_restart_goes_on_with_the_models_of_the_checkpoint(spark, file, tmp_path):
    examples = list(records(400))
    for part in (examples[:200], examples[200:]):
        write(tmp_path / "in" / f"{part[0]['id']}.json", part)
        rows = run(in_spark.learn(stream_of(spark, tmp_path / "in"), "customer", file, order="id"), tmp_path)
    assert outputs(rows) == twins(file, examples)


def test_bad_records_are_rejected_with_their_bytes_and_change_nothing(spark, file, tmp_path):
    examples = list(records(30, keys=1))
    good = [json.dumps(example) for example in examples]
    bad_label = json.dumps(examples[0] | {"id": 97, "y": ["no label"]})
    bad = {"{half": "not JSON", "[1]": "not a JSON object but a list", '{"id": 98}': "no features"}
    bad |= {json.dumps(examples[0] | {"id": 99, "f0": "text"}): "'f0' is the text", bad_label: "the label is a list"}
    lines = [*good[:10], *bad, *good[10:]]
    write(tmp_path / "in" / "all.text", [f"{number:03}{line}" for number, line in enumerate(lines)])
    read = spark.readStream.text(str(tmp_path / "in"))
    stream = read.selectExpr("'c0' as customer", "substr(value, 1, 3) as place", "substr(value, 4) as json")
    rows = run(in_spark.learn(stream, "customer", file, value="json", order="place"), tmp_path)
    rejected = sorted((row for row in rows if row.reject is not None), key=lambda row: row.source)
    assert [bytes(row.record).decode() for row in rejected] == list(bad)
    assert [row.source for row in rejected] == ["010", "011", "012", "013", "014"]
    for row, reason in zip(rejected, bad.values(), strict=True):
        assert reason in row.reject
    # what cannot be learned is predicted all the same
    assert [json.loads(row.output)["id"] for row in rejected if row.output is not None] == [97]
    assert outputs(row for row in rows if row.reject is None) == twins(file, examples)


def test_rows_without_a_key_or_a_value_are_rejected(spark, file, tmp_path):
    example = next(records(1))
    write(tmp_path / "in" / "a.json", [{"customer": None, "json": json.dumps(example)}, {"customer": "c0"}])
    stream = spark.readStream.schema("customer STRING, json STRING").json(str(tmp_path / "in"))
    rows = run(in_spark.learn(stream, "customer", file, value="json"), tmp_path)
    assert {(row.customer, row.reject) for row in rows} == {
        (None, "the key is null, and a model needs a key"),
        ("c0", "the value is null"),
    }


def test_columns_are_fields_without_key_and_order(spark, tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text("record: {label: y}\nlearner: [PAClassifier]\noutput: {explain: 9}\n")
    write(tmp_path / "in" / "a.json", [{"n": n, "k": 7, "y": True, "a": n + 1, "b": None} for n in range(2)])
    stream = stream_of(spark, tmp_path / "in", "n LONG, k LONG, y BOOLEAN, a LONG, b DOUBLE")
    rows = run(in_spark.learn(stream.drop("b"), "k", file, order=["n"]), tmp_path)
    assert [set(json.loads(row.output)["explanation"]) for row in rows] == [set(), {"a"}]
    scored = in_spark.learn(stream, stream.k + 1, file, order=["n"])
    assert scored.columns[0] == "(k + 1)"
    for row in run(scored.withColumnRenamed("(k + 1)", "k"), tmp_path / "other"):
        assert "feature 'b' is null" in row.reject and row.k == 8


def test_a_changed_learner_is_refused_and_a_changed_parameter_taken(spark, file, tmp_path):
    from pyspark.errors import StreamingQueryException

    def go_on(settings, number):
        file.write_text(json.dumps(settings))
        write(tmp_path / "in" / f"{number}.json", list(records(20)))
        return run(in_spark.learn(stream_of(spark, tmp_path / "in"), "customer", file, order="id"), tmp_path)

    assert len(go_on(LEARNER, 0)) == 20
    assert len(go_on(LEARNER | {"learner": ["StandardScaler", {"PAClassifier": {"C": 0.1, "mode": 1}}]}, 1)) == 40
    with pytest.raises(StreamingQueryException, match="the learner is not the one of the model of the key `c"):
        go_on(LEARNER | {"learner": ["StandardScaler", "Perceptron"]}, 2)


def test_changed_records_are_refused_with_advice_for_a_query(spark, file, tmp_path):
    from pyspark.errors import StreamingQueryException

    write(tmp_path / "in" / "0.json", list(records(20)))
    run(in_spark.learn(stream_of(spark, tmp_path / "in"), "customer", file, order="id"), tmp_path)
    file.write_text(json.dumps(LEARNER | {"record": LEARNER["record"] | {"nulls": "absent"}}))
    write(tmp_path / "in" / "1.json", list(records(20)))
    with pytest.raises(StreamingQueryException, match=r"`record\.nulls` was left out") as failed:
        run(in_spark.learn(stream_of(spark, tmp_path / "in"), "customer", file, order="id"), tmp_path)
    assert "new checkpoint location" in str(failed.value) and "processor" not in str(failed.value)


def test_what_is_wrong_is_said_before_the_query_starts(spark, file, tmp_path):
    write(tmp_path / "in" / "a.json", [{"a": 1}])
    stream = stream_of(spark, tmp_path / "in")
    with pytest.raises(ConfigError, match="`key`: the DataFrame has no column `custmer`, did you mean `customer`"):
        in_spark.learn(stream, "custmer", file)
    with pytest.raises(ConfigError, match="`order`: the DataFrame has no column `when`; there are `id`, `customer`"):
        in_spark.learn(stream, "customer", file, order=["when"])
    with pytest.raises(ConfigError, match="`value`: the DataFrame has no column `json`"):
        in_spark.learn(stream, "customer", file, value="json")
    with pytest.raises(ConfigError, match="the result has a column `output` already"):
        in_spark.learn(stream.withColumnRenamed("customer", "output"), "output", file)
    with pytest.raises(ConfigError, match="the result has a column `Source` already"):
        in_spark.learn(stream.withColumnRenamed("customer", "Source"), "Source", file)
    with pytest.raises(ConfigError, match=r"of several columns, `F\.struct\('a', 'b'\)`"):
        in_spark.learn(stream, ["customer", "id"], file)
    for nested in ("array(id)", "map('a', id)", "struct(array(id))"):
        with pytest.raises(ConfigError, match="`key`: PySpark cannot read keys with an array or a map"):
            in_spark.learn(stream.selectExpr("*", f"{nested} AS nested"), "nested", file)
        with pytest.raises(ConfigError, match="`order`: the column `nested` is of type"):
            in_spark.learn(stream.selectExpr("*", f"{nested} AS nested"), "id", file, order="nested")
    file.write_text("learner: [PAClasifier]\n")
    with pytest.raises(ConfigError, match=r"processor\.yaml:1:11: .*did you mean `PAClassifier`"):
        in_spark.learn(stream, "customer", file)
    provider = "spark.sql.streaming.stateStore.providerClass"
    rocksdb = spark.conf.get(provider)
    spark.conf.set(provider, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    try:
        file.write_text(json.dumps(LEARNER))
        with pytest.raises(StartError, match=f"set `{provider}` to `{rocksdb}`"):
            in_spark.learn(stream, "customer", file)
    finally:
        spark.conf.set(provider, rocksdb)
