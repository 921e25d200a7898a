"""A stream processor in a YAML file: records become predictions, and labels teach the model, exactly once.

>>> import connectors
>>> config = connectors.load("processor.yaml")  # doctest: +SKIP
>>> connectors.run(config).read  # doctest: +SKIP
1250

Everything here is imported when it is first used: `import connectors` itself costs nothing.
"""

import importlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from connectors.errors import (
    AccessError,
    CommitTimeoutError,
    ConfigError,
    ConnectorError,
    FencedError,
    StalledError,
    StartError,
    StateError,
)

if TYPE_CHECKING:
    from connectors.config import Config, FileConfig
    from connectors.model.counts import Counts
    from connectors.runtime.health import Health
    from connectors.runtime.stop import Stop
    from connectors.tools.result import Result

__all__ = [
    "AccessError",
    "CommitTimeoutError",
    "Config",
    "ConfigError",
    "ConnectorError",
    "Counts",
    "FencedError",
    "FileConfig",
    "Health",
    "StalledError",
    "StartError",
    "StateError",
    "Stop",
    "evaluate",
    "load",
    "run",
]

_MODULES = {
    "Config": "connectors.config",
    "Counts": "connectors.model.counts",
    "FileConfig": "connectors.config",
    "Health": "connectors.runtime.health",
    "Stop": "connectors.runtime.stop",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load(path: str | os.PathLike[str]) -> "Config | FileConfig":
    """Read the YAML file of a processor, with `${NAME}` filled in from the environment.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    A `Config` for a processor between topics of Kafka, a `FileConfig` for a processor between files.

    Raises
    ------
    ConfigError
        With every problem of the file, one a line, as `file:line:column: sentence`.
    """
    from connectors import config

    return config.load(path)


def run(config: "Config | FileConfig", stop: "Stop | None" = None, health: "Health | None" = None) -> "Counts":
    """Run a processor until its input ends, `stop` is requested, or a signal asks it to end (SIGTERM or Ctrl-C).

    A processor between files ends with its input. A processor between topics waits for more records. Before it returns,
    either one commits what it has done.

    Parameters
    ----------
    config
        The processor's file, as `load` returns it.
    stop
        Ends the processor when its `requested` is set; default: signals only. Signals are handled in the main thread,
        which must wait for the end of a `run` in another one: after its own end, nothing can be committed.
        A start that waits for brokers does not see it: it ends with a StartError after 15 s.
    health
        Where the processor keeps the state that other threads look at; default: a new one.

    Returns
    -------
    The counts of committed work: records read, predicted, learned, rejected, and more.

    Raises
    ------
    ConnectorError
        One of its classes for each reason that a processor cannot start or go on, but for a `CommitTimeoutError`:
        nothing can interrupt a commit, so a broker that stays silent in one ends the whole process, with exit code 8.
        What must live on, such as a web service, runs the processor in a process of its own.
    """
    _check_loaded(config)
    from connectors.config import FileConfig

    if isinstance(config, FileConfig):
        from connectors.files import processor as files

        return files.run(config, stop, health)
    from connectors.topics import processor as topics

    return topics.run(config, stop, health)


def evaluate(
    config: "Config | FileConfig",
    data: str | os.PathLike[str] | None = None,
    metrics: str | Sequence[str] = (),
    delay: int | None = None,
    labels: str | os.PathLike[str] | None = None,
    time: str | None = None,
    label_time: str | None = None,
) -> "Result":
    """Measure the learner of a processor on recorded examples: each one is predicted before it is learned.

    Parameters
    ----------
    config
        The processor's file, as `load` returns it; `learner`, `record` and `start_from` count.
    data
        A file, `-` for JSON lines from standard input, or the name of one of River's data sets; default: the input file
        of the processor.
    metrics
        One or more metrics of River; default: `Accuracy` for a classifier, `MAE` for a regressor.
    delay
        A label becomes known right before the example that comes so many later, 0 or more; default: at once.
    labels
        A file with labels that come later than the records of `data`, as the section `labels` of the processor says;
        default: the file of that section, if `data` is not given. A prediction is measured when its label comes.
    time, label_time
        The fields with the time of a record and of a label; default: `record.time` and `labels.time`.

    Returns
    -------
    The metrics by name, the trained learner, and how many examples were measured, unlabelled and rejected.

    Raises
    ------
    ConfigError
        There is no such metric or data set, or a metric does not fit the learner.
    StartError
        The data cannot be read.
    """
    _check_loaded(config)
    from connectors.tools import evaluate as evaluation

    return evaluation.run(config, data, metrics, delay, labels, time, label_time)


def _check_loaded(config: object) -> None:
    if isinstance(config, str | os.PathLike):  # the most likely slip: all else here that reads a file takes its path
        raise TypeError(f"`config` is what `connectors.load` returns, and no path: write `load({str(config)!r})`")
