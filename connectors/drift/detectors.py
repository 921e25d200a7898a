"""The drift detectors of River that a file may name, and what each of them is told of a loss."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any

MODULES = {
    "ADWIN": "river.drift",
    "KSWIN": "river.drift",
    "PageHinkley": "river.drift",
    "DDM": "river.drift.binary",
    "EDDM": "river.drift.binary",
    "FHDDM": "river.drift.binary",
    "HDDMA": "river.drift.binary",
    "HDDMW": "river.drift.binary",
}


# The window of ADWIN is compiled: with others than these it ends the process, or never sees anything.
_RANGES = {"delta": (0.0, 1.0), "clock": (1, 10**9), "max_buckets": (1, 1000)}


def check_parameters(name: str, parameters: Mapping[str, Any]) -> None:
    """Raise ValueError if the detector would not survive its parameters."""
    for key, (least, most) in _RANGES.items() if name == "ADWIN" else ():
        value = parameters.get(key, most)
        if type(value) in (int, float) and (not least <= value <= most or value == 0.0):
            raise ValueError(f"`{key}` is {value!r}: it must lie between {least} and {most}")


def detector_class(name: str) -> type:
    """Import the class of a name in `MODULES`; River's detectors import SciPy, which takes time."""
    found: type = getattr(importlib.import_module(MODULES[name]), name)
    return found


def is_binary(name: str) -> bool:
    """Tell whether a detector watches right or wrong, and no number."""
    return MODULES[name].endswith("binary")


def _mean_of_window(detector: Any) -> float:
    return sum(detector.window) / max(1, len(detector.window))


# For detectors that also see falls: the mean loss they see now. It is compared with the one before the detection.
_MEANS: Mapping[str, Callable[[Any], float]] = {
    "ADWIN": lambda detector: detector.estimation,
    "KSWIN": _mean_of_window,
}
# For others that can see falls: whether the loss rose, right after a detection.
_ROSE: Mapping[str, Callable[[Any], bool]] = {
    "PageHinkley": lambda detector: detector._sum_increase - detector._min_increase > detector.threshold,
    "HDDMA": lambda detector: detector._mean_incr(detector.drift_confidence),
    "HDDMW": lambda detector: detector._detect_mean_incr(detector.drift_confidence),
}


class RiseDetector:
    """A detector of River that is told losses, and answers whether they rose.

    Parameters
    ----------
    name
        The name of its class, a key of `MODULES`.
    parameters
        The parameters of its class.

    >>> found = RiseDetector("ADWIN", {"delta": 0.01})
    >>> [number for number in range(2000) if found.update(float(number >= 1000))]
    [1023]
    >>> found = RiseDetector("ADWIN", {})
    >>> [number for number in range(2000) if found.update(float(number < 1000))]
    []
    """

    def __init__(self, name: str, parameters: Mapping[str, Any]) -> None:
        check_parameters(name, parameters)
        self.name, self.parameters = name, dict(parameters)
        self.river: Any = detector_class(name)(**parameters)
        self._mean, self._rose = _MEANS.get(name), _ROSE.get(name)
        self._is_binary = is_binary(name)

    def update(self, loss: float) -> bool:
        """Take the next loss, and return whether the detector sees a drift with a higher loss than before."""
        before = self._mean(self.river) if self._mean else 0.0
        self.river.update(self._told(loss))
        if not self.river.drift_detected:
            return False
        if self._mean:
            return self._mean(self.river) > before
        return self._rose is None or bool(self._rose(self.river))

    def _told(self, loss: float) -> float:
        if self.name == "FHDDM":  # it looks for fewer ones, so a one is a right prediction
            return int(loss == 0.0)
        return int(loss) if self._is_binary else loss
