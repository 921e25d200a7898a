"""River's progressive validation on our learners: labels at once, late, and timed by the features."""

import pytest
from river import datasets, evaluate, metrics, stream

import river_margins as rm


def phishing():
    return datasets.Phishing().take(800)


def approval():
    return datasets.TrumpApproval()


def classifier():
    return rm.StandardScaler() | rm.PAClassifier(0.05)


def regressor():
    return rm.StandardScaler() | rm.PARegressor(1.0, mode=2, intercept=True)


@pytest.mark.parametrize("delay", [1, 20])
def test_labels_that_come_late(delay):
    rows = list(phishing())
    by_hand, right, waiting = classifier(), 0, []
    for i, (x, y) in enumerate(rows):
        while waiting and waiting[0][0] <= i:
            _, old, label, predicted = waiting.pop(0)
            right += predicted == label
            by_hand.learn_one(old, label)
        waiting.append((i + delay, x, y, by_hand.predict_one(x)))
    right += sum(predicted == label for _, _, label, predicted in waiting)
    scored = evaluate.progressive_val_score(rows, classifier(), metrics.Accuracy(), delay=delay)
    # What was predicted before any label came is None, and River leaves it out.
    assert scored.get() == pytest.approx(right / (len(rows) - delay))


def test_a_moment_in_the_features_times_the_labels():
    rows = list(approval())
    by_hand = regressor()
    scored = evaluate.progressive_val_score(rows, regressor(), metrics.MAE(), moment="ordinal_date", delay=3)
    error, waiting = 0.0, []
    for x, y in rows:
        while waiting and waiting[0][0] <= x["ordinal_date"]:
            _, old, target, predicted = waiting.pop(0)
            error += abs(target - predicted)
            by_hand.learn_one(old, target)
        waiting.append((x["ordinal_date"] + 3, x, y, by_hand.predict_one(x)))
    error += sum(abs(target - predicted) for _, _, target, predicted in waiting)
    assert scored.get() == pytest.approx(error / len(rows))


def test_iterated_progressive_validation_yields_what_the_whole_ends_with():
    steps = list(evaluate.iter_progressive_val_score(phishing(), classifier(), metrics.Accuracy(), step=200))
    assert [each["Step"] for each in steps] == [200, 400, 600, 800]
    by_hand, right = classifier(), []
    for x, y in phishing():
        right.append(by_hand.predict_one(x) == y)
        by_hand.learn_one(x, y)
    # The first prediction is None and not counted.
    assert steps[-1]["Accuracy"].get() == pytest.approx(sum(right) / (len(right) - 1))


def test_rivers_own_bookkeeping_of_questions_and_answers():
    model, asked = classifier(), {}
    for i, x, y in stream.simulate_qa(phishing(), moment=None, delay=5):
        if y is None:
            asked[i] = model.predict_one(x)
        else:
            assert i in asked
            model.learn_one(x, y)
    assert model["PAClassifier"].n_seen == len(asked) == 800
