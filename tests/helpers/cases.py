"""Many cases in one test: a test of its own for each of thousands would take longer than what it asserts."""

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def case(name: object) -> Iterator[None]:
    """Names the case in whatever the block raises."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"in the case {name}")
        raise
