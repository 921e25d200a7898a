"""Three facts that every estimator states about itself."""

import functools
import inspect
from collections.abc import Callable
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
        if "__init__" in vars(cls):
            cls.__init__ = _checked(cls, cls.__init__)  # type: ignore[method-assign]


def _checked(kind: type, construct: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor that raises TypeError if it has not called that of its base.

    A compiled base that was not constructed would end the process when it is used.
    """

    @functools.wraps(construct)
    def __init__(self: Any, *args: Any, **options: Any) -> None:
        construct(self, *args, **options)
        if type(self).__init__ is __init__ and not getattr(self, "_is_made", True):
            raise TypeError(f"`{kind.__name__}.__init__` must call `super().__init__(...)`")

    return __init__


def at_a_glance(kind: type[Described]) -> str:
    """Return the three sentences of a class as a section of a docstring."""
    return (
        "At a glance\n-----------\n"
        f"Cost of a round: {kind.round_cost}\n\n"
        f"Guarantee: {kind.guarantee}\n\n"
        f"Advice: {kind.advice}\n"
    )
