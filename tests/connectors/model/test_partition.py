"""One partition's model: predictions do not move it, a failure leaves it as it was."""

import gc
import weakref

import pytest
from river import base, compose, preprocessing

import river_margins as rm
from connectors.kafka import Committed
from connectors.model.partition import Partition
from connectors.model.records import Reject
from connectors.snapshots.names import Pointer
from river_margins import snapshot

EXAMPLES = [({"a": n % 3 - 1.0, "b": n % 5 * 0.25}, n % 3 > 0) for n in range(30)]


def build():
    return compose.Pipeline(rm.StandardScaler(), rm.PAClassifier(C=0.1, mode=1))


def partition_of(learner, saved):
    return Partition(learner, Committed(0, ""), "s", 0, lambda name: snapshot.loads(saved[name]))


@pytest.mark.parametrize("scaler", [rm.StandardScaler, preprocessing.StandardScaler], ids=["ours", "River's"])
def test_a_partition_that_is_dropped_is_freed_at_once(scaler):
    partition = partition_of(scaler() | rm.PAClassifier(), {})
    gone = weakref.ref(partition)
    gc.disable()  # which would find it some day
    try:
        partition.predict({"a": 1.0})
        del partition
        assert gone() is None
    finally:
        gc.enable()


def test_predicting_moves_nothing():
    partition = partition_of(build(), {})
    for example in EXAMPLES:
        partition.learn(*example)
    before = snapshot.dumps(partition.learner)
    for features, _ in EXAMPLES:
        partition.predict(features)
    assert snapshot.dumps(partition.learner) == before


def test_prediction_and_score_are_those_of_the_pipeline():
    partition, bare = partition_of(build(), {}), build()
    for features, label in EXAMPLES:
        prediction, score = partition.predict(features)
        assert prediction == bare.predict_one(features)
        assert score == bare["PAClassifier"].score_one(bare["StandardScaler"].transform_one(features))
        partition.learn(features, label)
        bare.learn_one(features, label)


def test_a_step_that_raises_half_way_leaves_the_model_as_it_was():
    """The scaler has moved when the classifier finds that the example would overflow it."""

    def build():
        return compose.Pipeline(rm.StandardScaler(with_std=False), rm.PAClassifier(C=0.1, mode=1))

    start = build()
    start.learn_one(*EXAMPLES[0])
    partition = partition_of(start, {"s": snapshot.dumps(start)})
    for example in EXAMPLES[1:10]:
        partition.learn(*example)
    before = snapshot.dumps(partition.learner)
    with pytest.raises(Reject, match="scale the features"):
        partition.learn(dict.fromkeys("ab", 1.2e154), True)
    assert snapshot.dumps(partition.learner) == before
    assert partition.examples == 9
    for example in EXAMPLES[10:]:
        partition.learn(*example)
    bare = build()
    for example in EXAMPLES:
        bare.learn_one(*example)
    assert snapshot.dumps(partition.learner) == snapshot.dumps(bare)


def test_after_a_checkpoint_a_failure_goes_back_to_that_checkpoint():
    saved = {"s": snapshot.dumps(build())}
    partition = partition_of(build(), saved)
    for n, example in enumerate(EXAMPLES):
        partition.learn(*example)
        if n == 20:
            saved["t"] = snapshot.dumps(partition.learner)
            partition.remember(Committed(21, ""), "t")
            del saved["s"]
    before = snapshot.dumps(partition.learner)
    with pytest.raises(Reject):
        partition.learn({"a": 1.0}, "spam")
    assert snapshot.dumps(partition.learner) == before


class OutOfMemory(base.Classifier):
    def learn_one(self, x, y):
        raise MemoryError

    def predict_one(self, x):
        raise MemoryError


def test_no_memory_is_not_the_fault_of_a_record():
    partition = partition_of(OutOfMemory(), {"s": snapshot.dumps(build())})
    with pytest.raises(MemoryError):
        partition.predict({})
    with pytest.raises(MemoryError):
        partition.learn({}, True)


def test_foreign_metadata_is_no_pointer():
    pointer = Pointer.to(b"data", 17, 5, False, topic_id="t", partitions=4, host="h")
    assert pointer.snapshot.startswith("00000000000000000017-5-") and len(pointer.to_text()) < 400
    assert Pointer.from_text(pointer.to_text()) == pointer
    for text in ("", "mine", "[]", "{}", '{"river_margins": 2}', pointer.to_text().replace("sha256", "md5")):
        assert Pointer.from_text(text) is None


def test_a_label_that_cannot_be_taken_moves_no_step():
    partition = partition_of(build(), {})  # with nothing to build it again from
    for example in EXAMPLES:
        partition.learn(*example)
    before = snapshot.dumps(partition.learner)
    with pytest.raises(Reject, match="'spam'"):
        partition.learn({"a": 1.0, "new": 7.0}, "spam")
    assert snapshot.dumps(partition.learner) == before


def test_a_transformer_of_rivers_forgets_what_it_was_asked_about_a_reject():
    start = compose.Pipeline(preprocessing.StandardScaler(), rm.PAClassifier())
    for example in EXAMPLES[:5]:
        start.learn_one(*example)
    saved = snapshot.dumps(start)
    partition = partition_of(start, {"s": saved})
    with pytest.raises(Reject):
        partition.predict({"new": 1.0, "a": "text"})
    assert snapshot.dumps(partition.learner) == saved
