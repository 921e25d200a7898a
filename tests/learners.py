"""One line a learner: what it is, and the worked rounds it must repeat."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import river_margins as rm
from tests import python_rules as rules

CLASSES = ["k0", "k1", "k2"]


@dataclass(frozen=True)
class Case:
    """A learner of some setting, made anew by each call of `make`."""

    name: str
    make: Callable[[], Any]
    golden: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        return self.name


LEARNERS = [
    Case("Perceptron", lambda: rm.Perceptron(), ("perceptron", "perceptron_slides_2d")),
    Case("Perceptron(tie_update=False)", lambda: rm.Perceptron(tie_update=False), ("perceptron_tie_plus",)),
    Case("Perceptron(classes)", lambda: rm.Perceptron(classes=CLASSES), ("multiclass_perceptron_max",)),
    Case("PAClassifier(mode=0)", lambda: rm.PAClassifier(mode=0), ("pa",)),
    Case("PAClassifier(mode=1)", lambda: rm.PAClassifier(C=0.25, mode=1), ("pa_i",)),
    Case("PAClassifier(mode=2)", lambda: rm.PAClassifier(C=0.5, mode=2), ("pa_ii",)),
    Case("PAClassifier(mode=0, classes)", lambda: rm.PAClassifier(mode=0, classes=CLASSES), ("pa_multiclass_0",)),
    Case("PAClassifier(mode=1, classes)", lambda: rm.PAClassifier(0.25, classes=CLASSES), ("pa_multiclass_1",)),
    Case("PAClassifier(mode=2, classes)", lambda: rm.PAClassifier(0.5, mode=2, classes=CLASSES), ("pa_multiclass_2",)),
    Case("PARegressor(mode=0)", lambda: rm.PARegressor(mode=0, eps=0.5), ("pa_regression_0",)),
    Case("PARegressor(mode=1)", lambda: rm.PARegressor(C=0.25, mode=1, eps=0.5), ("pa_regression_1",)),
    Case("PARegressor(mode=2)", lambda: rm.PARegressor(C=0.5, mode=2, eps=0.5), ("pa_regression_2",)),
]

WRITTEN_IN_PYTHON = [
    Case("margin perceptron", lambda: rm.MarginClassifier(rules.MarginPerceptron(0.5, 0.5)), ("margin_perceptron",)),
    Case("Adaline", lambda: rm.MarginRegressor(rules.Adaline(0.25), eps=0.0), ("adaline",)),
    Case("online gradient descent", lambda: rm.MarginClassifier(rules.GradientDescent()), ("ogd_hinge",)),
    Case("Pegasos", lambda: rm.MarginClassifier(rules.Pegasos(0.5)), ("pegasos",)),
    Case("ROMMA", lambda: rm.MarginClassifier(rules.ROMMA()), ("romma",)),
    Case("aggressive ROMMA", lambda: rm.MarginClassifier(rules.AggressiveROMMA()), ("aromma",)),
    Case("ALMA", lambda: rm.MarginClassifier(rules.ALMA()), ("alma2",)),
]
