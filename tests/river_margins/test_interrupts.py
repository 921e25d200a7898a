"""Ctrl-C in a notebook stops a learner that is written in Python anywhere in a round. What is left must still work."""

import copy
import pickle
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import river_margins as rm

LEARNERS = {
    "AutoClassifier": rm.AutoClassifier,
    "Calibrated": lambda: rm.Calibrated(rm.PAClassifier()),
    "CenterOfGravityClassifier": lambda: rm.CenterOfGravityClassifier(samples=10),
    "EllipsoidClassifier": rm.EllipsoidClassifier,
    "HedgeBackpropClassifier": lambda: rm.HedgeBackpropClassifier(width=4),
    "LogLinearClassifier": rm.LogLinearClassifier,
    "OnlineMLPClassifier": lambda: rm.OnlineMLPClassifier((4,)),
    "VolumetricCenterClassifier": rm.VolumetricCenterClassifier,
}
# each has features that are new, and a label that the learner does not expect; the space is sampled from 7 features on
STREAM = [
    ({"a": 1.0, "b": -1.0}, False),
    ({"a": -1.0, "c": 2.0, "d": 1.0}, True),
    ({"a": 1.0, "b": 1.0, "e": 1.0}, False),
    ({"a": 2.0, "b": 1.0, "c": 1.0, "f": 1.0, "g": -1.0, "h": 0.5}, True),
]


class Interrupt:
    """Raises KeyboardInterrupt in the round's call number `at`, where Python looks for signals."""

    def __init__(self, at: int) -> None:
        self.at, self.calls = at, 0

    def __call__(self, frame, event, argument) -> None:
        self.calls += event in ("call", "c_return")
        if self.calls == self.at:
            raise KeyboardInterrupt

    def learn(self, model, x, y) -> None:
        sys.setprofile(self)
        try:
            model.learn_one(x, y)
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(None)


def interrupted(make) -> Iterator[Any]:
    """Yield learners, each stopped at another place of a round."""
    for rounds, (x, y) in enumerate(STREAM):
        model = make()
        for seen in STREAM[:rounds]:
            model.learn_one(*seen)
        whole = Interrupt(0)
        whole.learn(copy.deepcopy(model), x, y)
        last = whole.calls
        for at in {*range(1, 30, 2), *range(30, last, max(last // 10, 1)), *range(max(last - 10, 1), last)}:
            stopped = copy.deepcopy(model)
            Interrupt(at).learn(stopped, x, y)
            yield stopped


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of generators that are stopped
@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)
def test_a_learner_works_after_an_interrupt(make):
    for model in interrupted(make):
        restored = pickle.loads(pickle.dumps(model))
        for x, y in STREAM:
            assert model.predict_proba_one(x) == restored.predict_proba_one(x)
            model.learn_one(x, y)
            restored.learn_one(x, y)
