"""One entry a learner: what it is, and what every check needs to know of it.

The checks iterate over `LEARNERS`, or over `FORMS`: each learner in each of its tasks and spaces, ready to be made.
A module here is a family; each has entries of its own in `tests/golden` and `tests/reference`.
"""

from collections.abc import Callable

import pytest

from tests.helpers.cases import case
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

__all__ = ["CLASSES", "FORMS", "LEARNERS", "SEVERAL", "Form", "Learner", "forms"]

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
OF_FAMILIES = {
    family.__name__.rpartition(".")[2]: [form for form in FORMS if form.learner in family.LEARNERS]
    for family in FAMILIES
}


def forms(test: Callable[[Form], None]) -> Callable[[str], None]:
    """Call a test with each form. Those of a family are one test: thousands would take longer than what they assert.

    Each form is tried, and each that fails is named.
    """

    def run(family: str) -> None:
        errors = []
        for form in OF_FAMILIES[family]:
            try:
                with case(form):
                    test(form)
            # A skip would leave out all further forms, and so would a `pytest.raises` that does not raise.
            except (Exception, pytest.skip.Exception, pytest.fail.Exception) as error:
                errors.append(error)
        if errors:
            raise BaseExceptionGroup(f"{len(errors)} of {len(OF_FAMILIES[family])} forms", errors)

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return pytest.mark.parametrize("family", OF_FAMILIES)(run)
