"""The model of a partition: predictions do not move it, a failure leaves it as it was."""

import gc
import weakref

import pytest
from river import base, compose, preprocessing, stats

import river_margins as rm
from connectors.model.counts import Counts
from connectors.model.partition_model import PartitionModel, ReplayNeeded
from connectors.model.process_record import process_record
from connectors.model.records import Decoder, Record
from connectors.model.rejects import Reject, Unlearnable
from river_margins import snapshot

EXAMPLES = [({"a": n % 3 - 1.0, "b": n % 5 * 0.25}, n % 3 > 0) for n in range(30)]


def build():
    return compose.Pipeline(rm.StandardScaler(), rm.PAClassifier(C=0.1, mode=1))


def model_of(learner, saved):
    return PartitionModel(learner, "s", 0, lambda name: snapshot.loads(saved[name]))


def learn(model, features, label):
    model.learn(Record.of_example(features, label))


def predict(model, features):
    record = Record.of_example(features)
    model.predict(record)
    return record.prediction, record.score


@pytest.mark.parametrize("scaler", [rm.StandardScaler, preprocessing.StandardScaler], ids=["ours", "River's"])
def test_a_model_that_is_dropped_is_freed_at_once(scaler):
    model = model_of(scaler() | rm.PAClassifier(), {})
    gone = weakref.ref(model)
    gc.disable()  # which would find it some day
    try:
        predict(model, {"a": 1.0})
        del model
        assert gone() is None
    finally:
        gc.enable()


def test_predicting_moves_nothing():
    model = model_of(build(), {})
    for example in EXAMPLES:
        learn(model, *example)
    before = snapshot.dumps(model.learner)
    for features, _ in EXAMPLES:
        predict(model, features)
    assert snapshot.dumps(model.learner) == before


def test_prediction_and_score_are_those_of_the_pipeline():
    model, bare = model_of(build(), {}), build()
    for features, label in EXAMPLES:
        prediction, score = predict(model, features)
        assert prediction == bare.predict_one(features)
        assert score == bare["PAClassifier"].score_one(bare["StandardScaler"].transform_one(features))
        learn(model, features, label)
        bare.learn_one(features, label)


def build_overflowing():
    """A pipeline whose scaler has moved when the classifier finds that an example of `TOO_LARGE` would overflow it."""
    return compose.Pipeline(rm.StandardScaler(with_std=False), rm.PAClassifier(C=0.1, mode=1))


TOO_LARGE = dict.fromkeys("ab", 1.2e154)


def test_a_step_that_raises_half_way_leaves_the_model_as_it_was():
    start = build_overflowing()
    start.learn_one(*EXAMPLES[0])
    model = model_of(start, {"s": snapshot.dumps(start)})
    for example in EXAMPLES[1:10]:
        learn(model, *example)
    before = snapshot.dumps(model.learner)
    with pytest.raises(Reject, match="scale the features"):
        learn(model, TOO_LARGE, True)
    assert snapshot.dumps(model.learner) == before
    assert model.examples == 9
    for example in EXAMPLES[10:]:
        learn(model, *example)
    bare = build_overflowing()
    for example in EXAMPLES:
        bare.learn_one(*example)
    assert snapshot.dumps(model.learner) == snapshot.dumps(bare)


def test_after_a_checkpoint_a_failure_goes_back_to_that_checkpoint():
    saved = {"s": snapshot.dumps(build_overflowing())}
    model, loaded = model_of(build_overflowing(), saved), []
    model._load = lambda name: loaded.append(name) or snapshot.loads(saved[name])
    for n, example in enumerate(EXAMPLES):
        learn(model, *example)
        if n == 20:
            saved["t"] = snapshot.dumps(model.learner)
            model.saved_as("t")
            del saved["s"]
    before = snapshot.dumps(model.learner)
    with pytest.raises(Reject, match="scale the features"):
        learn(model, TOO_LARGE, True)
    assert loaded == ["t"] and snapshot.dumps(model.learner) == before


def test_an_undone_failure_learns_with_the_weights_again():
    """Held as examples or as bytes, each with its weight."""
    for value in (None, b"held"):
        model, bare = model_of(build_overflowing(), {"s": snapshot.dumps(build_overflowing())}), build_overflowing()
        held = []
        for number, (features, label) in enumerate(EXAMPLES):
            record = Record.of_example(features, label, number % 4 * 0.5)
            record.value = value
            held.append(record)
            model.learn(record)
            bare.learn_one(features, label, w=record.weight)
        again = iter(held)
        model._example = lambda _, again=again: next(again)
        with pytest.raises(Reject, match="scale the features"):
            learn(model, TOO_LARGE, True)
        assert snapshot.dumps(model.learner) == snapshot.dumps(bare)


def test_a_weight_that_is_too_large_is_not_the_fault_of_the_features():
    learner = rm.MarginClassifier(rm.LeastMeanSquares(1e300, normalised=False), classes=[False, True])
    model = model_of(learner, {"s": snapshot.dumps(learner)})
    with pytest.raises(Unlearnable) as caught:
        model.learn(Record.of_example({"a": 1.0}, True, 1e100))
    assert caught.value.kind == "overflow"
    assert model.examples == 0


class OutOfMemory(base.Classifier):
    def learn_one(self, x, y):
        raise MemoryError

    def predict_one(self, x):
        raise MemoryError


def test_no_memory_is_not_the_fault_of_a_record():
    model = model_of(OutOfMemory(), {"s": snapshot.dumps(build())})
    with pytest.raises(MemoryError):
        predict(model, {})
    with pytest.raises(MemoryError):
        learn(model, {}, True)


def test_a_label_that_cannot_be_taken_moves_no_step():
    model = model_of(build(), {})  # with nothing to build it again from
    for example in EXAMPLES:
        learn(model, *example)
    before = snapshot.dumps(model.learner)
    with pytest.raises(Reject, match="'spam'"):
        learn(model, {"a": 1.0, "new": 7.0}, "spam")
    assert snapshot.dumps(model.learner) == before


@pytest.mark.parametrize(("label", "score"), [(None, None), (False, 0.0), ("red", {}), (3, {}), (0, {})])
def test_a_score_before_the_first_label_has_the_type_of_those_after_it(label, score):
    def decode(record):
        record.id, record.features, record.label = "r", {"a": 1.0}, label

    model = PartitionModel(rm.StandardScaler() | rm.PAClassifier(), "s", 0, lambda name: None, decode)
    record = Record("s", None, b"")
    process_record(model, record, Counts())
    assert record.prediction is None and record.score == score and type(record.score) is type(score)
    if label is not None:
        assert type(predict(model, {"a": 1.0})[1]) is type(score)


class Picky(base.Classifier):
    """Learns half of what it is given before it finds the label wrong."""

    def __init__(self):
        self.learned = []

    def learn_one(self, x, y):
        self.learned.append(y)
        if y == "bad":
            raise TypeError("no such label")

    def predict_one(self, x):
        return None

    def score_one(self, x):
        return 0.0


@pytest.mark.parametrize("can_replay", [True, False])
def test_a_label_that_fails_while_it_is_learned(can_replay):
    """The record is predicted; the model goes back, by itself or by a replay."""
    model = PartitionModel(Picky(), "s", 0, lambda name: Picky(), can_replay=can_replay)
    learn(model, {"a": 1.0}, "good")
    if can_replay:
        with pytest.raises(ReplayNeeded) as needed:
            learn(model, {"a": 1.0}, "bad")
        reject = needed.value.reject
    else:
        with pytest.raises(Unlearnable) as refused:
            learn(model, {"a": 1.0}, "bad")
        reject = refused.value
        assert model.learner.learned == ["good"]
    assert isinstance(reject, Unlearnable) and (str(reject), reject.kind) == ("TypeError: no such label", "label")


def test_a_known_reject_is_predicted_only_if_its_label_is_to_blame():
    def decode(record):
        record.id, record.features, record.label = "r", {"a": 1.0}, "bad"

    for known, is_predicted in ((Unlearnable("why", "label"), True), (Reject("why", "overflow"), False)):
        model = PartitionModel(Picky(), "s", 0, lambda name: Picky(), decode)
        record, counts = Record("s", None, b"", known=known), Counts()
        process_record(model, record, counts)
        assert record.reason == "why" and model.learner.learned == []
        assert record.output == (b'{"id":"r","prediction":null,"score":0.0}' if is_predicted else None)
        assert (counts.read, counts.predicted, counts.rejected) == (1, int(is_predicted), 1)
        assert counts.reasons == {known.kind: 1}


@pytest.mark.parametrize("label", [1e300, 1.0])
def test_an_overflow_is_the_fault_of_the_largest_number(label):
    class Overflowing(Picky, base.Regressor):
        def learn_one(self, x, y):
            raise OverflowError("too large")

    model = PartitionModel(Overflowing(), "s", 0, lambda name: Overflowing())
    with pytest.raises(Reject, match="too large") as refused:
        learn(model, {"a": 1e200, "b": "text"}, label)
    assert isinstance(refused.value, Unlearnable) == (label > 1) and refused.value.kind == "overflow"


def test_an_overflow_with_classes_that_are_texts_is_the_fault_of_the_features():
    start = rm.StandardScaler() | rm.PAClassifier()
    start.learn_one(EXAMPLES[0][0], "a")
    model = model_of(start, {"s": snapshot.dumps(start)})
    with pytest.raises(Reject, match="variance beyond floating point") as refused:
        learn(model, {"a": 1e300}, "b")
    assert not isinstance(refused.value, Unlearnable) and refused.value.kind == "overflow"


def test_a_transformer_of_rivers_forgets_what_it_was_asked_about_a_reject():
    start = compose.Pipeline(preprocessing.StandardScaler(), rm.PAClassifier())
    for example in EXAMPLES[:5]:
        start.learn_one(*example)
    saved = snapshot.dumps(start)
    model = model_of(start, {"s": saved})
    with pytest.raises(Reject):
        predict(model, {"new": 1.0, "a": "text"})
    assert snapshot.dumps(model.learner) == saved


@pytest.mark.parametrize("classes", [[False, True], ["no", "maybe", "yes"]], ids=["two", "three"])
def test_the_features_that_weighed_most_are_in_the_output(classes):
    """The contributions are those of the weights, computed here by hand; the constant feature is none of them."""
    learner = rm.StandardScaler() | rm.PAClassifier(C=0.1, classes=classes, intercept=True)
    model = PartitionModel(learner, "s", 0, lambda name: None, explain=2)
    for number, (features, label) in enumerate(EXAMPLES):
        learn(model, features | {"c": number % 7, "d": 1.0}, classes[-1] if label else classes[0])
    record = Record.of_example({"a": 1.0, "b": 0.5, "c": 6, "d": 1.0, "new": 3.0})
    model.predict(record)
    weights = learner["PAClassifier"].weights
    weights = weights if len(classes) == 2 else weights[record.prediction]
    scaled = learner["StandardScaler"].transform_one(record.features)
    parts = {name: value * weights.get(name, 0.0) for name, value in scaled.items()}
    expected = sorted(((name, part) for name, part in parts.items() if part), key=lambda pair: -abs(pair[1]))[:2]
    assert list(record.explanation) == [name for name, _ in expected]
    assert list(record.explanation.values()) == pytest.approx([part for _, part in expected])


@pytest.mark.parametrize(
    "classes",
    [[False, True], ["no", "yes"], [1, 0], ["no", "maybe", "yes"], None],
    ids=["two", "texts", "numbers", "three", "unknown"],
)
def test_the_score_is_the_probability_if_asked_for(classes):
    learner = rm.StandardScaler() | rm.Calibrated(rm.PAClassifier(C=0.1, classes=classes))
    model = PartitionModel(learner, "s", 0, lambda name: None, probability=True)
    labels = classes or ["no", "yes"]
    for number, (features, label) in enumerate(EXAMPLES):
        record = Record.of_example(features)
        model.predict(record)
        found = learner.predict_proba_one(features)
        told = found[labels[1]] if classes and len(classes) == 2 else found
        expected = {} if classes is None and number == 0 else told
        assert record.score == expected, "as no label is known, the type of the score is not either"
        learn(model, features, labels[-1] if label else labels[0])
    assert model.plain_fields is None, "the compiled route writes the score of the learner"


def test_nothing_is_explained_unless_asked_for():
    model = model_of(build(), {})
    record = Record.of_example({"a": 1.0})
    model.predict(record)
    assert record.explanation is None


@pytest.mark.parametrize("can_replay", [False, True])
def test_a_learner_that_failed_outside_of_the_model_is_brought_back_or_asks_for_a_replay(can_replay):
    value = b'{"a": 1.0, "y": "bad"}'
    model = PartitionModel(Picky(), "s", 0, lambda name: Picky(), Decoder(None, "y", None).decode, can_replay)
    learn(model, {"a": 1.0}, "good")
    with pytest.raises(TypeError) as failed:
        model.learner.learn_one({"a": 1.0}, "bad")
    if can_replay:
        with pytest.raises(ReplayNeeded) as needed:
            model.undo_learning(failed.value, value)
        assert (str(needed.value.reject), needed.value.reject.kind) == ("TypeError: no such label", "label")
    else:
        model.undo_learning(failed.value, value)
        assert model.learner.learned == ["good"]


class Taking(base.Transformer):
    """A step of another package, whose name begins like ours, that changes what it is given."""

    __module__ = "river_margins_extra.steps"

    def transform_one(self, x):
        return {"b": x.pop("b", 5.0)}


def test_a_step_of_another_package_gets_a_copy():
    model, features = model_of(Taking() | rm.PAClassifier(), {}), {"a": 1.0, "b": 2.0}
    predict(model, features)
    assert features == {"a": 1.0, "b": 2.0}


def test_a_feature_that_a_step_misses_is_named():
    learner = compose.Pipeline(preprocessing.StatImputer(("a", stats.Mean())), rm.PAClassifier())
    with pytest.raises(Reject, match=r"^KeyError: 'a', perhaps a feature that a step of the learner needs"):
        predict(model_of(learner, {"s": snapshot.dumps(learner)}), {"b": 1.0})


@pytest.mark.parametrize(
    ("features", "reason"),
    [
        ({"b": 1.0, "a": None}, "feature 'a' is null: `record: {nulls: absent}` leaves nulls out, and `river.prepro"),
        ({"a": {"city": "CH"}}, "of type dict: a number is needed: list the fields in it in `record.features`, by"),
        ({"a": [1.0]}, "of type list: a number is needed: list the fields in it in `record.features`, by their paths"),
        ({"a": "x", "b": 1.0}, "feature 'a' is the text 'x': encode it in a step before"),
    ],
    ids=["null", "object", "list", "text"],
)
@pytest.mark.parametrize("make", [build, rm.AROWClassifier, rm.AutoClassifier])
def test_a_reject_says_what_the_file_can_do(make, features, reason):
    with pytest.raises(Reject) as caught:
        predict(model_of(make(), {}), features)
    assert reason in str(caught.value) and caught.value.kind == "features"
