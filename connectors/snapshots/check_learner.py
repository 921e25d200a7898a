"""Compare the learner and the record section of a file with those of a snapshot."""

from typing import Any

from connectors.config.schema import Record
from connectors.errors import StateError
from river_margins import snapshot

GOES_ON = (
    "to go on from this model anyway, give a processor with another `name` and other outputs a copy of this "
    "snapshot as `start_from`; it learns what is left of the input once more"
)


def note_of(record: Record) -> dict[str, Any]:
    """Return what a snapshot tells about its model: which features and labels it learned."""
    return {"record": record.shape}


def check_learner(
    learner: Any,
    record: Record,
    data: bytes,
    named: str,
    start_over: str,
    key: str = "learner",
    goes_on: str | None = GOES_ON,
    replays: bool = False,
) -> snapshot.Changes:
    """Raise StateError if a snapshot does not hold this learner, or one of other records; training does not matter.

    Parameters
    ----------
    learner
        The learner of the processor's file.
    record
        The section of the file about records. A snapshot that tells nothing about them fits each, and so does a model
        that has learned nothing.
    data
        The bytes of the snapshot.
    named
        How messages name the snapshot.
    start_over
        How messages describe a start with a new model.
    key
        The key of the learner in the file.
    goes_on
        How messages describe what to do to go on from the model of other records; None if nothing can be done.
    replays
        Whether the model learns again what it had learned since the snapshot, from the same records.

    Returns
    -------
    The parameters that only say how to learn and have changed. Apply them right before the next snapshot is written:
    then each snapshot was learned with the parameters that the one before it has.
    """
    try:
        changes = snapshot.changes(data, learner)
    except snapshot.SnapshotError as error:
        raise StateError(f"{named} cannot be read: {error}; {start_over}") from error
    if changes.refused:
        which = "the learner" if key == "learner" else f"`{key}`"
        said = f"{which} is not the one of {named.removesuffix(',')}: {'; '.join(changes.refused)}"
        instead = "" if key == "learner" else "give it another name, with which it begins anew, or "
        raise StateError(f"{said}; put `{key}` back as it was, or {instead}{start_over}")
    moved = _differences(changes.about.get("record"), record.shape)
    if moved and (replays or not _is_untrained(data)):
        said = f"{named} learned other records: {'; '.join(moved)}"
        anyway = "" if goes_on is None else f"; {goes_on}"
        raise StateError(f"{said}; put `record` back as it was, or {start_over}{anyway}")
    return changes


def _is_untrained(data: bytes) -> bool:
    """Tell whether a model has learned nothing yet, such as after a first trial whose records were all rejected."""
    model = snapshot.loads(data)
    return snapshot.dumps(model) == snapshot.dumps(model.clone())


def _differences(before: Any, now: dict[str, Any]) -> list[str]:
    if not isinstance(before, dict):  # written before snapshots told it
        return []
    keys = {*before, *now} - ({"id"} if "features" in before or "features" in now else set())
    return [
        f"`record.{key}` was {_text_of(before.get(key))} and is now {_text_of(now.get(key))}"
        for key in sorted(keys)
        if _unordered(before.get(key)) != _unordered(now.get(key))
    ]


def _unordered(value: Any) -> Any:
    return sorted(map(repr, value)) if isinstance(value, list) else value


def _text_of(value: Any) -> str:
    if isinstance(value, list):
        return f"`[{', '.join(map(str, value))}]`"
    return "left out" if value is None else f"`{value}`"
