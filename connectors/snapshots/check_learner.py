"""Compare the learner of a file with the learner in a snapshot."""

from typing import Any

from connectors.errors import StateError
from river_margins import snapshot


def check_learner(learner: Any, data: bytes, named: str, start_over: str) -> None:
    """Raise StateError if a snapshot does not hold this learner; training does not matter.

    Parameters
    ----------
    learner
        The learner of the processor's file.
    data
        The bytes of the snapshot.
    named
        How messages name the snapshot.
    start_over
        How messages describe a start with a new model.
    """
    try:
        changes = snapshot.difference(data, learner)
    except snapshot.SnapshotError as error:
        raise StateError(f"{named} cannot be read: {error}; {start_over}") from error
    if changes:
        said = f"the learner is not the one of {named}: {'; '.join(changes)}"
        raise StateError(f"{said}; put `learner` back as it was, or {start_over}")
