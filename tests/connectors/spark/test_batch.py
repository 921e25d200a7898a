"""The batch forms: models of all keys at once, and one model for all rows."""

import json

import pytest

from connectors import config
from connectors import spark as in_spark
from connectors.errors import ConfigError, StateError
from river_margins import INTERCEPT, PAClassifier, snapshot
from tests.connectors.spark.customers import FIELDS, LEARNER, NAMES, records, run, write


@pytest.fixture
def frame(spark, tmp_path):
    write(tmp_path / "in" / "a.json", [*records(300), {"id": 300, "customer": "c0"}, {"id": 301}])
    return spark.read.schema(FIELDS).json(str(tmp_path / "in"))


def test_models_are_those_that_the_stream_has(spark, frame, file, tmp_path):
    found = {row.customer: row for row in in_spark.learn_many_models(frame, "customer", file, order="id").collect()}
    assert set(found) == {"c0", "c1", "c2"}
    for customer, row in found.items():
        learner, learned = config.load_for_spark(file).build_learner(), 0
        for example in records(300):
            if example["customer"] == customer and example["y"] is not None:
                learner.learn_one({name: example[name] for name in NAMES}, example["y"])
                learned += 1
        about, _ = snapshot.beside(bytes(row.model))
        assert bytes(row.model) == snapshot.dumps(learner, about) and row.examples == learned
    assert [(row.rejected, row.reject and row.reject[:20]) for _, row in sorted(found.items())] == [
        (1, "feature 'f0' is null"),
        (0, None),
        (0, None),
    ]


def test_keys_start_from_a_snapshot(frame, file, tmp_path):
    trained = config.load_for_spark(file).build_learner()
    trained.learn_one(dict.fromkeys(NAMES, 1.0), True)
    snapshot.save(trained, tmp_path / "trained.snapshot")
    file.write_text(json.dumps(LEARNER | {"start_from": str(tmp_path / "trained.snapshot")}))
    labelled = next(example for example in records(300) if example["y"] is not None)
    (row,) = in_spark.learn_many_models(frame.where(f"id = {labelled['id']}"), "customer", file).collect()
    trained.learn_one({name: labelled[name] for name in NAMES}, labelled["y"])
    x = dict.fromkeys(NAMES, 0.5)
    assert snapshot.loads(bytes(row.model)).score_one(x) == trained.score_one(x) and row.examples == 1


def test_score_predicts_each_row_by_one_model(spark, frame, file, tmp_path):
    row = in_spark.learn_many_models(frame, "customer", file, order="id").where("customer = 'c1'").first()
    path = tmp_path / "c1.snapshot"
    path.write_bytes(row.model)
    model = snapshot.loads(bytes(row.model))
    for form in (path, bytes(row.model)):
        scored = in_spark.score(frame, form)
        assert scored.columns == [*frame.columns, "output", "reject"]
        for found in scored.where("id < 300").collect():
            x = {name: found[name] for name in NAMES}
            output = json.loads(found.output)
            assert (output["prediction"], output["score"]) == (model.predict_one(x), model.score_one(x))
            assert found.reject is None
        assert all("feature 'f0' is null" in found.reject for found in scored.where("id >= 300").collect())
    features = frame.select(*NAMES).where("f0 is not null")
    assert in_spark.score(features, model).select("output").collect() == [
        (
            json.dumps(
                {"id": None, "prediction": model.predict_one(x), "score": model.score_one(x)}, separators=(",", ":")
            ),
        )
        for x in (row.asDict() for row in features.collect())
    ]


def test_score_broadcasts_nothing(frame, monkeypatch):
    """Spark Connect cannot."""
    from pyspark import SparkContext

    monkeypatch.delattr(SparkContext, "broadcast")
    assert in_spark.score(frame.select("f0"), PAClassifier()).first().output is not None


def test_score_of_a_stream(spark, file, tmp_path):
    model = PAClassifier()
    model.learn_one({"f0": 1.0}, True)
    write(tmp_path / "in" / "a.json", [{"f0": 2.0, "f1": 1.0}])
    stream = spark.readStream.schema("f0 DOUBLE, f1 DOUBLE").json(str(tmp_path / "in"))
    (row,) = run(in_spark.score(stream, model), tmp_path)
    assert json.loads(row.output)["score"] == model.score_one({"f0": 2.0, "f1": 1.0})


@pytest.mark.parametrize(
    ("setting", "value"),
    [("spark.sql.session.timeZone", "Europe/Berlin"), ("spark.sql.execution.arrow.useLargeVarTypes", "true")],
)
def test_a_key_may_be_a_time(spark, frame, file, setting, value):
    from pyspark.sql import functions as F

    before = spark.conf.get(setting)
    spark.conf.set(setting, value)
    try:
        time = F.expr("timestamp'2024-05-01 10:00:00'")
        for key in (time, F.struct(time, F.lit("c0")), F.array(time)):
            (row,) = in_spark.learn_many_models(frame, key.alias("at"), file, order="id").collect()
            assert row.examples + row.rejected > 200 and "datetime.datetime(2024, 5, 1, " in repr(row.at)
    finally:
        spark.conf.set(setting, before)


def test_a_stream_has_no_models_of_a_batch(spark, file, tmp_path):
    write(tmp_path / "in" / "a.json", [{"f0": 2.0}])
    stream = spark.readStream.schema("customer STRING, f0 DOUBLE").json(str(tmp_path / "in"))
    with pytest.raises(ConfigError, match="each micro-batch would begin anew: take `learn`"):
        in_spark.learn_many_models(stream, "customer", file)


def test_rows_whose_order_is_not_a_number_come_first(spark, tmp_path):
    nan = float("nan")
    rows = [("k", n, 1.0, n > 1) for n in (3.0, nan, 1.0, 2.0, 0.0)]
    frame = spark.createDataFrame(rows, "k STRING, n DOUBLE, a DOUBLE, y BOOLEAN").coalesce(1)
    (tmp_path / "p.yaml").write_text("record: {label: y}\nlearner: [PAClassifier]\n")
    found = in_spark.learn(frame, "k", tmp_path / "p.yaml", order="n").orderBy("examples").collect()
    assert [row.source for row in found] == ["None", "0.0", "1.0", "2.0", "3.0"]


def test_a_key_that_is_not_a_number_is_null(spark, tmp_path):
    from pyspark.sql import functions as F

    rows = [("k", key, n, 1.0, True) for key, n in ((2.0, 1), (float("nan"), 3), (2.0, 0), (float("nan"), 2))]
    frame = spark.createDataFrame(rows, "s STRING, k DOUBLE, n LONG, a DOUBLE, y BOOLEAN").coalesce(1)
    (tmp_path / "p.yaml").write_text("record: {label: y, features: [a]}\nlearner: [PAClassifier]\n")
    found = in_spark.learn(frame, "k", tmp_path / "p.yaml", order="n").collect()
    assert {(row.k, row.source, row.examples, row.reject and row.reject[:15]) for row in found} == {
        (2.0, "0", 0, None),
        (2.0, "1", 1, None),
        (None, "2", 0, "the key is null"),
        (None, "3", 0, "the key is null"),
    }
    (row,) = in_spark.learn_many_models(frame, "k", tmp_path / "p.yaml", order="n").collect()
    assert (row.k, row.examples) == (2.0, 2)
    found = in_spark.learn(frame, F.struct("s", "k").alias("of"), tmp_path / "p.yaml", order="n").collect()
    # one model for each of the two, in the order of n
    assert sorted((row.of.k is None, row.source, row.examples) for row in found) == [
        (False, "0", 0),
        (False, "1", 1),
        (True, "2", 0),
        (True, "3", 1),
    ]


def test_a_key_by_an_expression_that_is_a_column_is_no_feature(spark, tmp_path):
    from pyspark.sql import functions as F

    frame = spark.createDataFrame([(7, 1.0, True)], "customer LONG, a DOUBLE, y BOOLEAN")
    (tmp_path / "p.yaml").write_text("record: {label: y}\nlearner: [PAClassifier]\n")
    for key in ("customer", F.col("customer"), frame.customer):
        (row,) = in_spark.learn_many_models(frame, key, tmp_path / "p.yaml").collect()
        model = snapshot.loads(bytes(row.model))
        assert set(model.weights) - {INTERCEPT} == {"a"}
        scored = in_spark.score(frame, bytes(row.model)).first()
        assert json.loads(scored.output)["score"] == model.score_one({"a": 1.0})


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz", "date"])
def test_a_time_that_python_cannot_hold_fails_no_query(spark, tmp_path, kind):
    times = f"{kind}'+12000-01-01', {kind}'2024-05-01', {kind}'-0100-01-01'"
    frame = spark.range(1).selectExpr("'k' AS k", "1.0D AS a", "true AS y", f"explode(array({times})) AS at")
    (tmp_path / "p.yaml").write_text("record: {label: y}\nlearner: [PAClassifier]\n")
    found = in_spark.learn(frame, "k", tmp_path / "p.yaml", order="at").orderBy("examples").collect()
    assert [row.source[:4] for row in found] == ["0001", "2024", "9999"]


def test_what_is_no_model_is_refused(frame, tmp_path):
    with pytest.raises(StateError, match=r"the snapshot `.*none` cannot be read: No such file"):
        in_spark.score(frame, tmp_path / "none")
    with pytest.raises(StateError, match="the snapshot cannot be read"):
        in_spark.score(frame, b"no snapshot")
    with pytest.raises(ConfigError, match="`value`: the DataFrame has no column `json`"):
        in_spark.score(frame, PAClassifier(), value="json")


def test_a_dot_in_the_name_of_a_column(spark, tmp_path):
    frame = spark.createDataFrame([("k", 1.0, 2.0, True)], "`my.key` STRING, `a.b` DOUBLE, c DOUBLE, y BOOLEAN")
    (tmp_path / "p.yaml").write_text("record: {label: y, features: [a.b, c]}\nlearner: [PAClassifier]\n")
    (row,) = in_spark.learn_many_models(frame, "my.key", tmp_path / "p.yaml").collect()
    assert row.examples == 1 and row.reject is None
    assert in_spark.score(frame, bytes(row.model)).columns == [*frame.columns, "output", "reject"]


def test_score_changes_no_column_of_the_frame(frame):
    from pyspark.sql import functions as F

    assert in_spark.score(frame.withColumn("scored", F.lit(7)), PAClassifier()).first().scored == 7
    with pytest.raises(ConfigError, match="a column `output` already"):
        in_spark.score(in_spark.score(frame, PAClassifier()), PAClassifier())


def test_nan_is_null_as_in_other_formats(spark, tmp_path):
    nan = float("nan")
    rows = [("k", 0.0, 1.0, 1.0), ("k", 1.0, nan, 2.0), ("k", nan, 1.0, 1.0)]
    frame = spark.createDataFrame(rows, "k STRING, y DOUBLE, a DOUBLE, b DOUBLE")
    (tmp_path / "p.yaml").write_text("record: {label: y, nulls: absent}\nlearner: [PAClassifier]\n")
    (row,) = in_spark.learn_many_models(frame, "k", tmp_path / "p.yaml").collect()
    assert (row.examples, row.rejected) == (2, 0)
    assert set(snapshot.loads(bytes(row.model)).score_one({"a": 1.0})) == {0.0, 1.0}


def test_the_format_of_the_topic_does_not_matter(frame):
    model = snapshot.dumps(PAClassifier(), {"record": {"features": ["f0"], "format": "a_codec_that_is_not_here"}})
    assert in_spark.score(frame.where("f0 is not null"), model).where("reject is not null").count() == 0


def test_key_and_order_are_no_features_of_the_rows_that_are_scored(spark, tmp_path):
    rows = [("k", n, n - 1.5, n > 1) for n in range(4)]
    frame = spark.createDataFrame(rows, "customer STRING, n LONG, a DOUBLE, y BOOLEAN")
    (tmp_path / "p.yaml").write_text("record: {label: y}\nlearner: [PAClassifier]\n")
    data = bytes(in_spark.learn_many_models(frame, "customer", tmp_path / "p.yaml", order="n").first().model)
    for row in in_spark.score(frame, data).collect():
        assert row.reject is None
        assert json.loads(row.output)["score"] == snapshot.loads(data).score_one({"a": row.a})


def test_an_infinite_number_is_a_reject_as_in_other_formats(spark, tmp_path):
    rows = [("k", True, float("inf"), [1.0]), ("k", True, 1.0, [-float("inf")]), ("k", True, 1.0, None)]
    frame = spark.createDataFrame(rows, "k STRING, y BOOLEAN, a DOUBLE, b ARRAY<DOUBLE>")
    (tmp_path / "p.yaml").write_text("record: {label: y, features: [a]}\nlearner: [OneHotEncoder, PAClassifier]\n")
    (row,) = in_spark.learn_many_models(frame, "k", tmp_path / "p.yaml").collect()
    assert (row.examples, row.rejected) == (1, 2) and "not JSON" in row.reject
