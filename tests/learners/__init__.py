"""One entry a learner: what it is, and what every check needs to know of it.

The checks iterate over `LEARNERS`, or over `FORMS`: each learner in each of its tasks and spaces, ready to be made.
A module here is a family; each has entries of its own in `tests/golden` and `tests/reference`.
"""

from tests.learners import (
    coin_betting,
    gaussian,
    gradient,
    kernels,
    maximum_margin,
    multiplicative,
    passive_aggressive,
    perceptrons,
    second_order,
    sparse,
    tasks,
)
from tests.learners.entry import CLASSES, SEVERAL, Form, Learner

__all__ = ["CLASSES", "FORMS", "LEARNERS", "SEVERAL", "Form", "Learner"]

FAMILIES = [
    perceptrons,
    passive_aggressive,
    gradient,
    coin_betting,
    maximum_margin,
    sparse,
    multiplicative,
    kernels,
    tasks,
    gaussian,
    second_order,
]
LEARNERS = [learner for family in FAMILIES for learner in family.LEARNERS]
FORMS = [Form(learner, task, space) for learner in LEARNERS for task in learner.sections for space in learner.spaces]
