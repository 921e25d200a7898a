"""The state of a drift detector as values that JSON has, and back.

River's own pickling is not used: the attributes of a detector are walked, and only values of the types below are
written. Two parts of River are compiled and show their state as bytes only; their layouts are written down here.
"""

import collections
import math
import random
import struct
from typing import Any

import numpy as np

from connectors.drift.detectors import RiseDetector
from river_margins import river_internals

_PLAIN = (bool, int, str, type(None))
_ADWIN = struct.Struct("<diQ6d4iQ")  # the parameters, four sums, four counts, and the number of rows
_ADWIN_END = struct.Struct("<diQii")  # the parameters again
_EWMEAN = struct.Struct("<3d?d")
LONGEST_CHECK = 100_000  # losses
_MOST_ROWS = 64  # a row holds buckets of twice the size of the row before


class BadDrift(ValueError):
    """The state of a detector cannot be written, or is not one that it can have."""


def write(detector: RiseDetector) -> dict[str, Any]:
    """Return the state of a detector without its parameters. Raise BadDrift if it cannot be written.

    >>> detector = RiseDetector("DDM", {})
    >>> detector.update(1.0)
    False
    >>> write(detector)["_p"]
    {'n': 1.0, '_mean': 1.0}
    """
    return {name: _plain(value, detector.river) for name, value in _attributes(detector.river, detector).items()}


def read(name: str, parameters: dict[str, Any], state: dict[str, Any]) -> RiseDetector:
    """Return a detector with a state that `write` returned. Raise BadDrift if it is none."""
    try:
        _filled(name, parameters, state).update(1.0)  # a state that fails with the next loss fails now
    except BadDrift:
        raise
    except Exception as error:  # a detector raises because of the values that the snapshot gives it
        raise BadDrift(f"the state of the detector `{name}` is not well formed: {error!r}") from error
    return _filled(name, parameters, state)


def check(detector: RiseDetector) -> None:
    """Raise BadDrift unless the state of a detector can be written and read, whatever it was told.

    Some detectors use their parameters only once a window is full: whatever they raise then is raised here.
    """
    for loss in (0.0, 1.0) * 3:
        detector.update(loss)
        state = write(detector)
        if write(read(detector.name, detector.parameters, state)) != state:
            raise BadDrift("its state is not the same after it was written and read")
    given = river_internals.parameters(detector.river)
    sizes = [value for name, value in given.items() if name != "seed" and type(value) is int]
    for number in range(min(max(sizes, default=0), LONGEST_CHECK) + 1):
        detector.update(float(number % 2))


def _filled(name: str, parameters: dict[str, Any], state: dict[str, Any]) -> RiseDetector:
    detector = RiseDetector(name, parameters)
    _fill(detector.river, _attributes(detector.river, detector), state, detector.river)
    return detector


def _attributes(thing: Any, detector: RiseDetector | None = None) -> dict[str, Any]:
    """Return what an object of River holds, but for parameters of a detector and methods of its own."""
    parameters = (
        river_internals.parameters(detector.river).keys() - {"window"} if detector else ()
    )  # KSWIN fills its `window`
    return {name: value for name, value in vars(thing).items() if name not in parameters and not callable(value)}


def _is(value: Any, name: str) -> bool:
    return type(value).__name__ == name and type(value).__module__.startswith("river.")


def _is_of_river(value: Any) -> bool:
    return type(value).__module__.startswith("river.") and hasattr(value, "__dict__")


def _plain(value: Any, detector: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if kind is collections.deque:
        return [_plain(item, detector) for item in value]
    if kind is random.Random:
        version, numbers, spare = value.getstate()
        return [version, list(numbers), spare]
    if _is(value, "AdaptiveWindowing"):
        return _write_window(value, detector)
    if _is(value, "RsEWMean"):
        return list(_EWMEAN.unpack(value.__getstate__()))
    if _is_of_river(value):
        return {name: _plain(inner, detector) for name, inner in _attributes(value).items()}
    raise BadDrift(f"it holds `{kind.__module__}.{kind.__qualname__}`, which a snapshot cannot hold as data")


def _fill(thing: Any, attributes: dict[str, Any], saved: Any, detector: Any) -> None:
    if not isinstance(saved, dict) or saved.keys() != attributes.keys():
        needed = ", ".join(f"`{name}`" for name in attributes)
        raise BadDrift(f"the state of a `{type(thing).__name__}` is not well formed: it needs {needed}")
    for name, example in attributes.items():
        setattr(thing, name, _restored(example, saved[name], detector))


def _restored(example: Any, saved: Any, detector: Any) -> Any:
    """Return a saved value in the place of that of a new detector, which tells its type."""
    if isinstance(example, collections.deque):
        return collections.deque(map(_number, saved), maxlen=example.maxlen)
    if type(example) is random.Random:
        version, numbers, spare = saved
        example.setstate((version, tuple(numbers), spare))
        return example
    if _is(example, "AdaptiveWindowing"):
        example.__setstate__(_read_window(saved, detector))
        return example
    if _is(example, "RsEWMean"):
        example.__setstate__(_EWMEAN.pack(*saved))
        return example
    if _is_of_river(example):
        _fill(example, _attributes(example), saved, detector)
        return example
    if type(example) is bool:
        if type(saved) is not bool:
            raise BadDrift(f"{saved!r} is neither true nor false")
        return saved
    return saved if saved is None and example is None else _number(saved)


def _number(saved: Any) -> float:
    if isinstance(saved, dict) and saved.keys() == {"float"}:
        return float(saved["float"])
    if type(saved) not in (int, float):
        raise BadDrift(f"{saved!r} is not a number")
    return saved  # type: ignore[no-any-return]


def _write_window(window: Any, adwin: Any) -> dict[str, Any]:
    """Return the window of an ADWIN: rows of buckets, each with totals and variances of losses."""
    data = window.__getstate__()
    _, _, _, _, _, *numbers, count = _ADWIN.unpack_from(data)
    rows, row, buckets = [], _row_of(adwin), adwin.max_buckets + 1
    if len(data) == _ADWIN.size + count * row.size + _ADWIN_END.size:
        for _, used, _, *found in row.iter_unpack(data[_ADWIN.size : -_ADWIN_END.size]):
            rows.append({"used": used, "totals": found[:buckets], "variances": found[buckets + 1 :]})
    state = {"sums": numbers[:4], "counts": numbers[4:], "rows": rows}
    if _read_window(state, adwin) != data:
        raise BadDrift("this version of River writes the window of an `ADWIN` in a form that is not known here")
    return state


def _row_of(adwin: Any) -> struct.Struct:
    buckets = adwin.max_buckets + 1
    return struct.Struct(f"<QQQ{buckets}dQ{buckets}d")


def _read_window(state: dict[str, Any], adwin: Any) -> bytes:
    """Return the bytes of a window; raise BadDrift for one that an ADWIN with these parameters cannot have."""
    sums, counts, rows, most = state["sums"], state["counts"], state["rows"], adwin.max_buckets
    size, length, grace = adwin.clock, adwin.min_window_length, adwin.grace_period
    if not all(math.isfinite(number) for number in sums):
        raise BadDrift("a sum in the window of an `ADWIN` is not finite")
    if not 1 <= len(rows) <= _MOST_ROWS or not all(0 <= row["used"] <= most + 1 for row in rows):
        raise BadDrift("the window of an `ADWIN` has another number of buckets than it can have")
    if sum(row["used"] << level for level, row in enumerate(rows)) != sums[2]:
        raise BadDrift("the buckets in the window of an `ADWIN` do not hold as many losses as its width")
    packed = [_ADWIN.pack(adwin.delta, size, most, length, grace, *sums, *counts, len(rows))]
    of_row = _row_of(adwin)
    for row in rows:
        packed.append(of_row.pack(most, row["used"], most + 1, *row["totals"], most + 1, *row["variances"]))
    return b"".join([*packed, _ADWIN_END.pack(adwin.delta, size, most, length, grace)])
