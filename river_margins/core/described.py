"""Three facts that every estimator states about itself."""

import inspect
from typing import Any, ClassVar


class Described:
    """A class that says what one round costs, what is guaranteed, and when to use it, in one sentence each.

    The sentences are attributes, so that programs can read them (`river-margins learners` does), also under
    `python -OO`, which drops docstrings. Where there is a docstring, they are appended to it for `help()`.
    """

    round_cost: ClassVar[str]
    guarantee: ClassVar[str]
    advice: ClassVar[str]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__doc__ and "advice" in vars(cls):
            cls.__doc__ = f"{inspect.cleandoc(cls.__doc__)}\n\n{at_a_glance(cls)}"


def at_a_glance(kind: type[Described]) -> str:
    """Return the three sentences of a class as a section of a docstring."""
    return (
        "At a glance\n-----------\n"
        f"Cost of a round: {kind.round_cost}\n\n"
        f"Guarantee: {kind.guarantee}\n\n"
        f"Advice: {kind.advice}\n"
    )
