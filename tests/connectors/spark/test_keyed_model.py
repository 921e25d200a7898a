"""The models of keys, without Spark."""

import datetime
import json
import zoneinfo

from connectors import config
from connectors.model.counts import Counts
from connectors.model.partition_model import PartitionModel
from connectors.spark import keyed_model
from connectors.spark.keyed_model import KeyedModels, Recipe
from connectors.spark.late_labels import KeysWithLabels


def test_a_refused_record_costs_no_more_after_many(tmp_path, monkeypatch):
    (tmp_path / "p.yaml").write_text("record: {label: y}\nlearner: [river.preprocessing.MaxAbsScaler, PAClassifier]\n")
    models = KeyedModels(Recipe.of(config.load_for_spark(tmp_path / "p.yaml")))
    rows = [[b'{"y": %s, "a": %d}' % (b"true" if n % 2 else b"false", n + 1)] for n in range(4500)]
    model, learned, learn_one = models.restore(None, "k"), [], PartitionModel._learn_one
    assert not any(scored.reject for scored in models.process(model, "k", rows, Counts()))
    before = models.save(model)
    monkeypatch.setattr(PartitionModel, "_learn_one", lambda *given: learned.append(1) or learn_one(*given))
    (scored,) = models.process(model, "k", [[b'{"y": true, "a": null}']], Counts())
    assert scored.reject and len(learned) <= keyed_model.REMEMBERED and models.save(model) == before


def test_the_hour_that_comes_twice_is_in_order():
    zone = zoneinfo.ZoneInfo("Europe/Berlin")
    first = datetime.datetime(2024, 10, 27, 2, 30, tzinfo=zone)
    later = datetime.datetime(2024, 10, 27, 2, 10, fold=1, tzinfo=zone)
    assert keyed_model.position_of((b"", first)) < keyed_model.position_of((b"", later))
    assert keyed_model.position_of((b"", None)) < keyed_model.position_of((b"", first))


def test_records_and_labels_that_nothing_else_orders_are_taken_by_their_times(tmp_path):
    (tmp_path / "p.yaml").write_text(
        "record: {id: id, time: at, features: [a]}\nlabels: {id: of, label: y, time: at, within: 1h}\n"
        "learner: [PAClassifier]\n"
    )
    records = [{"id": n, "at": 4_000 * n, "a": 1.0 + n} for n in range(6)]
    labels = [{"of": n, "at": 4_000 * n + 5_000, "y": n % 2 == 0} for n in range(6)]

    def told(places):
        keys = KeysWithLabels(Recipe.of(config.load_for_spark(tmp_path / "p.yaml")))
        rows = [(json.dumps(side[n]).encode(), side is labels, None) for side in (records, labels) for n in places]
        return [*keys.process(keys.restore(None, "k"), "k", rows, Counts())]

    ordered = told(range(6))
    assert [json.loads(row.output or row.outcome)["id"] for row in ordered] == [0, 1, 0, 2, 1, 3, 2, 4, 3, 5, 4, 5]
    assert told([5, 0, 3, 1, 4, 2]) == ordered
