"""Builds the drift detector of a YAML file, and says what is wrong with it."""

import math
from typing import Any

from connectors.config.steps import LearnerBuilder
from connectors.config.yaml_file import Path
from connectors.drift import state
from connectors.drift.detectors import MODULES, RiseDetector, check_parameters, detector_class, is_binary
from connectors.suggest import did_you_mean


def assemble_detector(step: Any, is_regressor: bool) -> tuple[RiseDetector | None, list[tuple[Path, str]]]:
    """Build the detector of the section `drift`.

    Parameters
    ----------
    step
        A class name, or a mapping of one class name to its parameters.
    is_regressor
        Whether the learner predicts numbers.

    Returns
    -------
    The detector or None, and all problems, as pairs of a path within the step and a sentence.

    >>> detector, problems = assemble_detector({"ADWIN": {"delta": 0.01}}, is_regressor=False)
    >>> detector.river.delta, problems
    (0.01, [])
    """
    builder = LearnerBuilder()
    named = builder.split_step(step, ())
    if named is None:
        return None, builder.problems
    name, parameters, path = named
    if name not in MODULES:
        hint = did_you_mean(name, MODULES) or f": known are {', '.join(f'`{each}`' for each in MODULES)}"
        return None, [(path, f"there is no drift detector `{name}`{hint}")]
    if is_regressor and is_binary(name):
        numbers = ", ".join(f"`{each}`" for each in MODULES if not is_binary(each))
        said = f"`{name}` watches right or wrong, and `learner` predicts numbers: use one of {numbers}"
        return None, [(path, said)]
    for key, value in parameters.items():
        if isinstance(value, float) and not math.isfinite(value):
            return None, [((*path, key), f"`{name}` needs a finite number as `{key}`")]
    try:
        check_parameters(name, parameters)
    except ValueError as error:
        return None, [(path, f"`{name}` cannot be used: {error}")]
    river: Any = builder.build(name, detector_class(name), parameters, path)
    if river is None:
        return None, builder.problems
    if getattr(river, "seed", 0) is None:
        return None, [(path, f"`{name}` draws at random, and each start must draw the same: give it a `seed`")]
    detector = RiseDetector(name, parameters)
    try:
        state.check(detector)
    except Exception as error:  # a detector may raise anything about its parameters at the first loss
        return None, [(path, f"`{name}` cannot be used: {error}")]
    return detector, []
