"""Weights of classes: each round is that of a sample weight, which the tests compute here."""

import copy
import inspect
import math
import pickle
import random
import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from river import base, metrics
from sklearn.utils.class_weight import compute_class_weight

import river_margins as rm
from river_margins import snapshot
from tests.helpers.cases import case
from tests.helpers.rounds import assert_a_snapshot_goes_on, state, stream, stream_for, takes_no_negatives, trained

CLASSIFIERS = [
    kind for name in rm.__all__ if isinstance(kind := getattr(rm, name), type) and issubclass(kind, rm.MarginClassifier)
]
WEIGHING = [kind for kind in CLASSIFIERS if "class_weight" in inspect.signature(kind).parameters]
REQUIRED = {rm.MarginClassifier: {"rule": rm.PA1(0.01)}, rm.Winnow: {"theta": 2.0}}
THREE = ["k0", "k1", "k2"]
each = pytest.mark.parametrize("kind", WEIGHING, ids=lambda kind: kind.__name__)


def make(kind, **parameters):
    return kind(**REQUIRED.get(kind, {}) | parameters)


def forms(kind):
    """Names of labels, and the learner that takes them."""
    yield (False, True), {}
    if make(kind)._multiclass:
        yield THREE, {}
        yield THREE, {"classes": THREE}


def unbalanced(kind, labels, rounds=150):
    """A stream in which the last label is rare, and comes late."""
    draw = random.Random(3)
    negative = not takes_no_negatives(make(kind))
    for number, (x, y) in enumerate(stream(rounds=rounds, labels=labels, negative=negative)):
        rare = y == labels[-1] and (number < 20 or draw.random() < 0.8)
        yield x, labels[0] if rare else y


def learned(model):
    """The state without the counts, which a learner without "balanced" does not have."""
    return pickle.dumps({name: value for name, value in model.__getstate__().items() if name != "class_counts"})


def balanced_weights(labels):
    """n/(k·n_y), at most n_y, before each example is learned, the example itself included."""
    counts = Counter()
    for number, label in enumerate(labels, 1):
        counts[label] += 1
        yield min(number / (len(counts) * counts[label]), counts[label])


def test_every_classifier_that_takes_sample_weights_takes_weights_of_classes():
    for kind in CLASSIFIERS:
        settings = [kind(**parameters) for parameters in kind._unit_test_params()]
        assert any(model.rule.weighted for model in settings) == (kind in WEIGHING), kind


# -------------------------------------------------------------------------------------------- what a weight does


def test_pa1_with_weight_2_has_twice_its_C():
    """By hand: x = (a: 1), so that the step is min(weight·C, loss)."""
    model = rm.PAClassifier(0.1, class_weight={True: 2.0}, intercept=False)
    model.learn_one({"a": 1.0}, True)
    assert dict(model.weights) == {"a": 0.2}  # min(0.2, 1)
    model.learn_one({"a": 1.0}, False)
    assert dict(model.weights) == {"a": 0.1}  # 0.2 - min(0.1, 1.2)
    model.learn_one({"a": 1.0}, True, w=2.0)
    assert dict(model.weights) == {"a": 0.5}  # 0.1 + min(0.4, 0.9): both weights count


def test_balanced_by_hand():
    """Of T, T, F, T, F the weights are 1/(1·1), 2/(1·2), the smaller of 3/(2·1) and 1, 4/(2·3) and 5/(2·2)."""
    model = rm.PAClassifier(0.125, class_weight="balanced", intercept=False)
    for feature, label in zip("abcde", (True, True, False, True, False), strict=True):
        model.learn_one({feature: 1.0}, label)
    assert dict(model.weights) == {"a": 0.125, "b": 0.125, "c": -0.125, "d": 0.125 * 4 / 6, "e": -0.125 * 5 / 4}


def test_a_label_that_comes_late_does_not_outweigh_all_others():
    """By the formula without its bound, the first of them would weigh 500 times as much as an example before it."""
    model = rm.PAClassifier(0.0001, class_weight="balanced", classes=[False, True], intercept=False)
    for number in range(1000):
        model.learn_one({number: 1.0}, False)
    for number, weight in (("first", 1), ("second", 2), ("third", 3)):
        model.learn_one({number: 1.0}, True)
        assert model.weights[number] == 0.0001 * weight


def test_balanced_is_the_formula_of_scikit_learn():
    """In every round the weight is that of the stream so far, and at most the number of examples with the label."""
    labels = [y for _, y in unbalanced(rm.PAClassifier, THREE)]
    model = rm.PAClassifier(1e-6, class_weight="balanced", classes=THREE, intercept=False)
    for number, label in enumerate(labels, 1):
        classes = np.unique(labels[:number])
        weight = dict(zip(classes, compute_class_weight("balanced", classes=classes, y=labels[:number]), strict=True))
        model.learn_one({number: 1.0}, label)  # a new feature: the loss is 1, so that C times the weight is the step
        assert model.weights[label][number] == 1e-6 * min(weight[label], labels[:number].count(label))


@each
def test_a_mapping_is_the_sample_weight_of_each_label(kind):
    for labels, parameters in forms(kind):
        with case(labels):
            factors = {labels[-1]: 3.5, labels[0]: 0.25}
            ours, by_hand = make(kind, class_weight=factors, **parameters), make(kind, **parameters)
            for x, y in unbalanced(kind, labels):
                ours.learn_one(x, y)
                by_hand.learn_one(x, y, w=factors.get(y, 1.0))
            assert state(ours) == state(by_hand)


@each
def test_balanced_is_the_sample_weight_by_the_counts(kind):
    for labels, parameters in forms(kind):
        with case(labels):
            rounds = list(unbalanced(kind, labels))
            ours = make(kind, class_weight="balanced", **parameters)
            by_hand = make(kind, **parameters)
            for (x, y), weight in zip(rounds, balanced_weights([y for _, y in rounds]), strict=True):
                ours.learn_one(x, y, w=0.5)
                by_hand.learn_one(x, y, w=0.5 * weight)
            assert learned(ours) == learned(by_hand)


@each
def test_batches_learn_as_single_rounds(kind):
    for labels, parameters in forms(kind):
        for class_weight in ("balanced", {labels[-1]: 4.0}):
            with case((labels, class_weight)):
                one, many, fused = (make(kind, class_weight=class_weight, **parameters) for _ in range(3))
                rounds = [(dict.fromkeys("abc", 0.0) | x, y) for x, y in unbalanced(kind, labels, 60)]
                frame = pd.DataFrame([x for x, _ in rounds]).fillna(0.0)
                weights = np.linspace(0.0, 2.0, len(rounds))
                many.learn_many(frame, [y for _, y in rounds], w=weights)
                for x, (_, y), w in zip(frame.to_dict("records"), rounds, weights, strict=True):
                    one.learn_one(x, y, w=w)
                    fused.predict_learn_one(x, y, w=w)
                assert state(many) == state(one) == state(fused)


# ---------------------------------------------------------------------------------- rare labels: whether it helps

MISTAKES = "it moves on mistakes only, of which both classes already have about as many; each rare one now overshoots"
WITHOUT_GAIN = {
    rm.Perceptron: MISTAKES,
    rm.AveragedPerceptron: MISTAKES,
    rm.PNormPerceptron: MISTAKES,
    rm.SecondOrderPerceptron: MISTAKES,
    rm.KernelPerceptron: MISTAKES,
    rm.KernelSecondOrderPerceptron: MISTAKES,
    rm.Winnow: MISTAKES,
    rm.BalancedWinnow: MISTAKES,
}


def rare_positives(kind, rounds=4000):
    """2 % positives, whose first four features are one standard deviation higher."""
    draw = random.Random(3)
    for _ in range(rounds):
        y = draw.random() < 0.02
        x = {f"f{i}": draw.gauss(1.0 if y and i < 4 else 0.0, 1.0) for i in range(6)}
        yield ({name: float(value > 0.5) for name, value in x.items()} if takes_no_negatives(make(kind)) else x), y


def f1(model, rounds):
    found = metrics.F1()
    for x, y in rounds:
        found.update(y, model.predict_learn_one(x, y))
    return found.get()


@each
def test_balanced_finds_more_rare_labels(kind):
    rounds = list(rare_positives(kind))
    gains = f1(make(kind, class_weight="balanced"), rounds) > f1(make(kind), rounds)
    assert gains == (kind not in WITHOUT_GAIN), WITHOUT_GAIN.get(kind)


def test_scw_with_a_large_c_finds_rare_labels_without_weights():
    """As the page of learners says; C bounds the steps by which it would find them."""
    rounds = list(rare_positives(rm.SCWClassifier))
    assert f1(rm.SCWClassifier(C=1.0), rounds) > 0.25 > 0.15 > f1(rm.SCWClassifier(), rounds)


# ------------------------------------------------------------------------------------------- copies and snapshots


@each
def test_counts_are_in_snapshots_and_copies_and_not_in_clones(kind):
    assert_a_snapshot_goes_on(make(kind, class_weight="balanced"))
    model = trained(make(kind, class_weight="balanced"), rounds=60)
    twins = [copy.deepcopy(model), pickle.loads(pickle.dumps(model)), model.clone(include_attributes=True)]
    assert state(model.clone()) == state(make(kind, class_weight="balanced"))
    trained(model, seed=1, rounds=40)
    assert [state(trained(twin, seed=1, rounds=40)) for twin in twins] == [state(model)] * 3


def test_a_damaged_state_is_refused():
    model = trained(rm.PAClassifier(class_weight="balanced"))
    good = model.__getstate__()
    assert sum(good["class_counts"]) == 200
    for counts in ([1, 2, 3], [-1, 2], [1.0, 2.0], [True, 1]):
        with pytest.raises(ValueError, match="`class_counts` must be a count for each of the labels"):
            rm.PAClassifier(class_weight="balanced").__setstate__(good | {"class_counts": counts})


def test_a_mapping_survives_a_snapshot_with_the_types_of_its_labels():
    for given in ({True: 10}, {1: 2.0, "a": 3.0}, {np.int64(1): np.float64(0.5)}):
        model = rm.PAClassifier(class_weight=given)
        again = snapshot.loads(snapshot.dumps(model))
        assert repr(again.class_weight) == repr(model.class_weight)
        assert again.class_weight == {int(key) if isinstance(key, np.integer) else key: w for key, w in given.items()}


def test_the_given_mapping_may_change_later():
    given = {True: 2.0}
    model = rm.PAClassifier(0.1, class_weight=given, intercept=False)
    given[True] = 5.0
    model.learn_one({"a": 1.0}, True)
    assert model.class_weight == {True: 2.0} and dict(model.weights) == {"a": 0.2}
    assert "class_weight={True: 2.0}" in repr(model).replace("\n", "").replace(" ", "").replace(":", ": ")


# --------------------------------------------------------------------------------------------------------- mutate


def test_mutate_changes_weights_of_classes_in_place():
    model = rm.PAClassifier(0.1, intercept=False)
    model.learn_one({"a": 1.0}, True)
    model.mutate({"class_weight": {True: 3.0}})
    model.learn_one({"b": 1.0}, True)
    model.class_weight = None
    model.learn_one({"c": 1.0}, True)
    assert dict(model.weights) == {"a": 0.1, "b": pytest.approx(0.3), "c": 0.1}
    model.mutate({"class_weight": "balanced"})  # the counts begin here
    for feature, label in (("d", True), ("e", False)):
        model.learn_one({feature: 1.0}, label)
    model.mutate({"C": 0.2})  # and go on
    model.learn_one({"f": 1.0}, True)
    assert model.weights["e"] == -0.1  # 2/(2·1)
    assert model.weights["f"] == 0.2 * 3 / 4
    with pytest.raises(ValueError, match="`class_weight` must be None, 'balanced' or a mapping"):
        model.class_weight = 3
    with pytest.raises(ValueError, match=r"`PA\(\)` takes no sample weights, .* leave out class_weight='balanced', or"):
        model.mutate({"mode": 0})
    assert (model.class_weight, model.mode) == ("balanced", 1)


def test_the_changes_of_a_snapshot_tell_it():
    data = snapshot.dumps(trained(rm.PAClassifier()))
    for new in ("balanced", {True: 2.0}):
        model, wanted = snapshot.loads(data), rm.PAClassifier(class_weight=new)
        found = snapshot.changes(data, wanted)
        assert found.refused == [] and found.made == [f"PAClassifier class_weight None -> {new!r}"]
        found.apply(model)
        assert model.class_weight == new
        assert snapshot.changes(snapshot.dumps(model), wanted).made == []


# --------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("given", [3, 0.5, "balancd", "", ["a"], True])
def test_anything_else_is_refused(given):
    with pytest.raises(ValueError, match="`class_weight` must be None, 'balanced' or a mapping from labels to weights"):
        rm.PAClassifier(class_weight=given)


@pytest.mark.parametrize("weight", [0, -1.0, math.nan, math.inf, "2", None])
def test_a_weight_out_of_range_is_refused(weight):
    with pytest.raises(ValueError, match=r"`class_weight\['a'\]` must be a finite number above 0, not "):
        rm.PAClassifier(class_weight={"a": weight})


def test_a_label_that_the_learner_cannot_take_is_refused():
    """Its weight would never have an effect."""
    with pytest.raises(ValueError, match=r"`class_weight`: label 'a', .* is neither 'b' nor 'c'"):
        rm.PAClassifier(class_weight={"a": 2.0}, classes=["b", "c"])
    with pytest.raises(ValueError, match=r"`class_weight`: label 'a', .* is neither False nor True"):
        rm.BalancedWinnow(class_weight={"a": 2.0})
    with pytest.raises(ValueError, match=r"`class_weight`: label nan is not a class"):
        rm.PAClassifier(class_weight={math.nan: 2.0}, classes=THREE)
    model = rm.PAClassifier(class_weight={"spam": 2.0})
    before = pickle.dumps(model)
    for learn in (
        lambda: model.learn_one({"a": 1.0}, True),
        lambda: model.check_label(True),
        lambda: model.learn_many(pd.DataFrame({"a": [1.0]}), [True]),
    ):
        with pytest.raises(ValueError, match=r"`class_weight`: label 'spam', .* is neither False nor True"):
            learn()
        assert pickle.dumps(model) == before
    model.learn_one({"a": 1.0}, "spam")


@each
def test_a_round_that_fails_counts_nothing(kind):
    model = trained(make(kind, class_weight="balanced"), rounds=20)
    before = pickle.dumps(model)
    for x, y in (({"f0": "text"}, True), ({"f0": 1.0}, None), ({"f0": math.nan}, False)):
        with pytest.raises((ValueError, TypeError)):
            model.learn_one(x, y)
        assert pickle.dumps(model) == before


@each
def test_a_product_beyond_floating_point_is_refused(kind):
    model = trained(make(kind, class_weight={True: 1e308}, classes=[False, True]), rounds=0)
    before = pickle.dumps(model)
    with pytest.raises(OverflowError, match=r"the sample weight 10\.0 times that of its class is beyond"):
        model.learn_one({"a": 1.0}, True, w=10.0)
    assert pickle.dumps(model) == before


def test_a_new_class_that_fails_is_not_counted():
    model = rm.PAClassifier(class_weight="balanced", intercept=False)
    for label in "ab":
        model.learn_one({"a": 1.0}, label)
    before = pickle.dumps(model)
    with pytest.raises(OverflowError):
        model.learn_one({"a": 1e200}, "c")
    assert pickle.dumps(model) == before
    model.learn_one({"b": 1e-300}, "d")
    assert model.__getstate__()["class_counts"] == [1, 1, 1]


@pytest.mark.parametrize("kind", [kind for kind in CLASSIFIERS if kind not in WEIGHING], ids=lambda kind: kind.__name__)
def test_learners_without_sample_weights_refuse_it(kind):
    assert kind(**{}).clone().rule.weighted is False
    with pytest.raises(
        ValueError,
        match=f"`{kind.__name__}` takes no sample weights, because no cost of a loss limits its steps: leave out "
        r"`class_weight`, or use .* PAClassifier\(mode=1\), AROWClassifier\(\) or SCWClassifier\(\)",
    ):
        kind(class_weight="balanced")


@pytest.mark.parametrize(
    "make",
    [
        lambda **given: rm.PAClassifier(mode=0, **given),
        lambda **given: rm.MarginClassifier(rm.CWRule(), rm.Diagonal(), **given),
    ],
)
def test_rules_without_sample_weights_refuse_it(make):
    with pytest.raises(ValueError, match=r"` takes no sample weights, .*: leave out class_weight=\{True: 2\}, or"):
        make(class_weight={True: 2})


def test_sets_of_labels_have_no_weights_of_classes():
    with pytest.raises(
        ValueError, match="`PAMultiLabelClassifier` has no `class_weight`: an example has several labels"
    ):
        rm.PAMultiLabelClassifier(class_weight="balanced")


def test_a_rule_in_python_gets_the_product():
    class Noting(rm.Rule):
        weighted = True

        def step(self, seen):
            return seen.weight

    model = rm.MarginClassifier(Noting(), class_weight={True: 4.0}, intercept=False)
    model.learn_one({"a": 1.0}, True, w=0.5)
    model.learn_one({"b": 1.0}, False, w=0.5)
    assert dict(model.weights) == {"a": 2.0, "b": -0.5}


def test_a_pipeline_passes_sample_weights_on():
    """River's pipelines hand `w` to the step that takes it, and the weights of classes multiply it."""
    model = rm.StandardScaler(with_std=False) | rm.PAClassifier(0.1, class_weight={True: 2.0})
    bare = rm.StandardScaler(with_std=False) | rm.PAClassifier(0.1)
    for x, y in stream_for(rm.PAClassifier()):
        model.learn_one(x, y, w=0.5)
        bare.learn_one(x, y, w=1.0 if y else 0.5)
    assert state(model["PAClassifier"]) == state(bare["PAClassifier"])


@each
def test_the_weights_can_change(kind):
    assert "class_weight" in make(kind)._mutable_attributes


def test_a_weight_of_a_bool_for_labels_that_are_none():
    with pytest.raises(ValueError, match="label True is a bool; write another, such as 1 in place of True: bools"):
        rm.PAClassifier(class_weight={True: 20}).learn_one({"a": 1.0}, 1)


def test_a_change_that_does_not_suit_the_labels_of_a_snapshot_is_refused():
    model = rm.PAClassifier()
    for label in ("ham", "spam"):
        model.learn_one({label: 1.0}, label)
    data = snapshot.dumps(model)
    found = snapshot.changes(data, rm.PAClassifier(class_weight={True: 3.0}))
    assert found.made == [] and "label True is a bool" in found.refused[0]
    assert snapshot.changes(data, rm.PAClassifier(class_weight={"spam": 3.0})).refused == []


def test_such_a_change_within_a_wrapper_is_refused():
    model = rm.Calibrated(rm.PAClassifier())
    for label in ("ham", "spam"):
        model.learn_one({label: 1.0}, label)
    data = snapshot.dumps(model)
    found = snapshot.changes(data, rm.Calibrated(rm.PAClassifier(class_weight={True: 3.0})))
    assert found.made == [] and "label True is a bool" in found.refused[0]
    assert snapshot.changes(data, rm.Calibrated(rm.PAClassifier(class_weight={"spam": 3.0}))).refused == []


def test_a_weight_for_a_label_that_was_not_learned_changes_nothing():
    model = trained(rm.PAClassifier())
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=r"`class_weight`: label 'spam', .* is neither False nor True"):
        model.mutate({"class_weight": {"spam": 2.0}})
    assert pickle.dumps(model) == before


def test_the_counts_of_a_clone_begin_with_it():
    model = trained(rm.PAClassifier())
    changed, copied = (
        model.clone(include_attributes=True),
        model.clone({"class_weight": "balanced"}, include_attributes=True),
    )
    changed.mutate({"class_weight": "balanced"})
    for twin in (changed, copied):
        twin.learn_one({"f0": 1.0}, True)
    assert state(changed) == state(copied)


@pytest.mark.parametrize(
    ("make", "y"),
    [
        (lambda: rm.PARegressor(mode=0), 3.7),
        (lambda: rm.KernelPARegressor(mode=0), 3.7),
        (lambda: rm.PAMultiLabelClassifier(mode=0), {"a": True, "b": False}),
        (lambda: rm.PAOneClass(mode=0), None),
    ],
)
def test_the_advice_about_sample_weights_is_for_the_same_task(make, y):
    with pytest.raises(ValueError, match="takes no sample weights") as refused:
        make().learn_one({"a": 1.0}, y, w=2.0)
    _, _, advised = str(refused.value).partition("for example ")
    calls = re.findall(r"\w+\([^)]*\)", advised)
    assert calls
    for call in calls:
        other = eval(f"rm.{call}")
        other.learn_one({"a": 1.0}, y, w=2.0)
        assert isinstance(other, base.Regressor) == isinstance(make(), base.Regressor)


@pytest.mark.parametrize(("key", "labels"), [(1, ["0", "1"]), ("1", [0, 1]), (1.5, ["0", "1.5"])])
def test_a_label_that_is_written_in_another_way_than_its_weight_is_told(key, labels):
    """Its weight has no effect."""
    model = rm.AROWClassifier(class_weight={key: 20})
    model.learn_one({"a": 1.0}, labels[0])
    with pytest.warns(UserWarning, match=f"has the label {key!r}, and this label is {labels[1]!r}"):
        model.learn_one({"a": -1.0}, labels[1])
    model.learn_one({"a": -1.0}, labels[1])  # once is enough; a warning fails this test
    model.learn_one({"a": -1.0}, 7 if isinstance(labels[0], int) else "seven")
