"""`learn` with labels that come later: records of customers, and what a bare learner with a dict says about them."""

import json
import os
import random

import pytest

from connectors import config
from connectors import spark as in_spark
from connectors.errors import ConfigError
from tests.connectors.spark.customers import LABEL_FIELDS, NAMES, TIMED_FIELDS, run, write
from tests.connectors.spark.test_crashes import complete, rows_of, started
from tests.helpers import spark as local
from tests.helpers.streams import wait_for

WITHIN = 60_000
FILE = {
    "record": {"id": "id", "time": "at", "features": NAMES},
    "learner": ["StandardScaler", {"PAClassifier": {"C": 0.01, "mode": 1}}],
    "labels": {"topic": "not read", "id": "of", "label": "y", "time": "at", "within": "1m"},
    "outcomes": {"topic": "not read"},
}


def events(count, seed=0):
    """Records and labels in the order of time: most labels come later, others early, twice, too late or for nobody."""
    draw, records, labels = random.Random(seed), [], []
    for id in range(count):
        at, customer = id * 2_000, f"c{draw.randrange(3)}"
        x = {name: draw.gauss(0, 1) for name in NAMES}
        records.append({"id": id, "customer": customer, "at": at, **x})
        delay = draw.choice([-6_000, 0, 10_000, WITHIN, 90_000, None])  # the time of another record, in even seconds
        if delay is not None:
            label = {"of": str(id), "customer": customer, "at": at + delay, "y": x["f0"] + x["f1"] > draw.gauss(0, 0.3)}
            labels += [label] * (1 + (id % 10 == 0)) + [{**label, "of": f"nobody{id}"}] * (id % 15 == 0)
    labels.sort(key=lambda label: label["at"])
    for rows in (records, labels):
        rows[:] = [{"n": n, **row} for n, row in enumerate(rows)]
    return records, labels


class Twin:
    """The join by its rules, for one customer; `told` has outcomes, and sentences about labels that nobody learned."""

    def __init__(self, learner):
        self.learner = learner
        self.waiting, self.early, self.gone = {}, {}, {}
        self.outputs, self.outcomes, self.rejects = {}, {}, []

    def expire(self, now):
        for id in [id for id, (at, *_) in self.waiting.items() if at + WITHIN < now]:
            del self.waiting[id]
            self.gone[id] = now, "late"
        self.gone = {id: (at, why) for id, (at, why) in self.gone.items() if at + WITHIN >= now}
        for id in [id for id, (at, *_) in self.early.items() if at + WITHIN < now]:
            self.rejects.append((self.early.pop(id)[2], "unknown"))

    def record(self, row):
        self.expire(row["at"])
        x, id = {name: row[name] for name in NAMES}, str(row["id"])
        score = self.learner.score_one(x)
        said = self.learner.predict_one(x), None if score == {} else score
        self.outputs[row["id"]] = {"id": row["id"], "prediction": said[0], "score": said[1]}
        self.waiting[id] = row["at"], x, said, row["id"]
        if id in self.early:
            at, y, n = self.early.pop(id)
            self.settle(id, y, n, at - row["at"], row["at"])

    def label(self, row):
        self.expire(row["at"])
        if row["of"] in self.waiting:
            self.settle(row["of"], row["y"], row["n"], row["at"] - self.waiting[row["of"]][0], row["at"])
        elif row["of"] in self.gone:
            self.rejects.append((row["n"], self.gone[row["of"]][1]))
        elif row["of"] in self.early:
            self.rejects.append((row["n"], "second"))
        else:
            self.early[row["of"]] = row["at"], row["y"], row["n"]

    def settle(self, id, y, n, delay, now):
        _, x, (prediction, score), own = self.waiting.pop(id)
        self.gone[id] = now, "second"
        self.learner.learn_one(x, y)
        self.outcomes[n] = {"id": own, "prediction": prediction, "score": score, "label": y, "delay": delay}


SENTENCES = {"has its label already": "second", "waited longer than": "late", "no record": "unknown"}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "processor.yaml"
    path.write_text(json.dumps(FILE))
    return path


class Join:
    """Twins of three customers, and what they say about rows that Spark has written."""

    def __init__(self, file, records, labels):
        self.twins = {f"c{n}": Twin(config.load_for_spark(file).build_learner()) for n in range(3)}
        self.records, self.labels = records, labels

    def part(self, begin, end):
        """Records and labels between two moments, in seconds / 2; the first part has the labels before all records."""
        found = [[row for row in rows if begin <= row["at"] // 2_000 < end] for rows in (self.records, self.labels)]
        found[1] += [row for row in self.labels if row["at"] < 0] if begin == 0 else []
        ordered = [(row["at"], "of" not in row, row["n"], row) for part in found for row in part]
        for *_, row in sorted(ordered, key=lambda each: each[:3]):
            twin = self.twins[row["customer"]]
            (twin.label if "of" in row else twin.record)(row)
        return found

    def check(self, rows):
        found = {key: [] for key in ("outputs", "outcomes", "rejects")}
        for row in rows:
            if row["output"] is not None:
                found["outputs"].append((json.loads(row["output"])["id"], json.loads(row["output"])))
            if row["outcome"] is not None:
                found["outcomes"].append((int(row["source"]), json.loads(row["outcome"])))
            if row["reject"] is not None:
                (why,) = [why for text, why in SENTENCES.items() if text in row["reject"]]
                label = self.labels[int(row["source"])]
                assert json.loads(row["record"]) == {name: label[name] for name in ("of", "at", "y")}
                found["rejects"].append((int(row["source"]), why))
        for kind in ("outputs", "outcomes"):
            expected = {key: value for twin in self.twins.values() for key, value in getattr(twin, kind).items()}
            assert len(found[kind]) == len(expected) and dict(found[kind]) == expected
        rejects = sorted(each for twin in self.twins.values() for each in twin.rejects)
        assert sorted(found["rejects"]) == rejects and {why for _, why in rejects} == {"second", "late", "unknown"}


def test_the_join_is_exact_over_micro_batches_and_a_restart(spark, file, tmp_path):
    join = Join(file, *events(600))

    def frame(name, fields):
        return spark.readStream.schema(fields).option("maxFilesPerTrigger", 1).json(str(tmp_path / name))

    for batch, (begin, end) in enumerate([(0, 400), (400, 500), (500, 600)]):
        for name, part in zip(("in", "labels"), join.part(begin, end), strict=True):
            write(tmp_path / name / f"{batch}.json", random.Random(batch).sample(part, len(part)))  # in any order
        scored = in_spark.learn(
            frame("in", TIMED_FIELDS), "customer", file, order="n", labels=frame("labels", LABEL_FIELDS)
        )
        rows = run(scored, tmp_path)
    join.check(rows)


@pytest.mark.timeout(600)
def test_kill_and_restart_change_nothing(file, tmp_path):
    pytest.importorskip("pyspark", reason=local.MISSING)
    join = Join(file, *events(600))
    for number in range(12):
        for name, part in zip(("in", "labels"), join.part(number * 50, number * 50 + 50), strict=True):
            write(tmp_path / name / f"{number:02}.json", part)
            os.utime(tmp_path / name / f"{number:02}.json", (number, number))  # Spark reads the oldest first
    # the sink has a batch that the checkpoint does not know
    with started(tmp_path, 4) as process:
        wait_for(lambda: (tmp_path / "held").exists() or process.poll() is not None, "a batch is written")
    before = {number: rows_of(batch) for number, batch in complete(tmp_path).items()}
    assert sorted(before) == list(range(5))
    with started(tmp_path) as process:
        assert process.wait() == 0, (tmp_path / "log").read_text()[-3000:]
    after = {number: rows_of(batch) for number, batch in complete(tmp_path).items()}
    assert {number: after[number] for number in before} == before
    join.check(row for rows in after.values() for row in rows)


def read_both(reader, tmp_path, count):
    """Return the DataFrames of so many records, and of their labels."""
    frames = []
    for name, fields, rows in zip(("in", "labels"), (TIMED_FIELDS, LABEL_FIELDS), events(count), strict=True):
        write(tmp_path / name / "a.json", rows)
        frames.append(reader.schema(fields).json(str(tmp_path / name)))
    return frames


def test_without_order_labels_have_no_source(spark, file, tmp_path):
    payments, late = read_both(spark.read, tmp_path, 20)
    rows = in_spark.learn(payments, "customer", file, labels=late).collect()
    assert any(row.outcome for row in rows) and {row.source for row in rows if row.reject is None} == {None}


def test_what_belongs_together_is_asked_for(spark, file, tmp_path):
    stream, late = read_both(spark.readStream, tmp_path, 3)
    with pytest.raises(ConfigError, match="section `labels`, so give the labels, too"):
        in_spark.learn(stream, "customer", file)
    with pytest.raises(ConfigError, match="`key`: the DataFrame has no column `customer`"):
        in_spark.learn(stream, "customer", file, labels=late.drop("customer"))
    with pytest.raises(ConfigError, match="order0 bigint` in the stream, and `key string, order0 string` in"):
        in_spark.learn(stream, "customer", file, labels=late.withColumn("n", late.n.cast("string")), order="n")
    with pytest.raises(ConfigError, match="are `key string` in the stream, and `key bigint` in the labels: cast"):
        in_spark.learn(stream, "customer", file, labels=late.withColumn("customer", late.n))
    with pytest.raises(ConfigError, match="models of a batch learn labels that are in the record"):
        in_spark.learn_many_models(spark.read.schema(TIMED_FIELDS).json(str(tmp_path / "in")), "customer", file)
    without = {name: value for name, value in FILE["labels"].items() if name != "time"}
    file.write_text(json.dumps({**FILE, "labels": without}))
    with pytest.raises(ConfigError, match=r"`labels\.time` is missing: only rows from Kafka have a timestamp"):
        in_spark.learn(stream, "customer", file, labels=late)
    file.write_text(json.dumps({"learner": FILE["learner"]}))
    with pytest.raises(ConfigError, match="the file has no section `labels`"):
        in_spark.learn(stream, "customer", file, labels=late)
