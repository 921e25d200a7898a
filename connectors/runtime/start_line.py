"""The line of the log with which a processor starts."""

import logging

import river_margins
from connectors.config.schema import AnyConfig
from river_margins import snapshot


def log_start(log: logging.Logger, config: AnyConfig, **places: object) -> None:
    """Log version, file, name, what is special to the processor, and learner, in one line.

    Parameters
    ----------
    log
        The logger of the processor.
    config
        The processor's file.
    **places
        What else the line names, such as the client and the number of partitions.
    """
    learner, *others = [snapshot.describe(snapshot.dumps(each))[0] for each in config.build_learners().values()]
    named = {"version": river_margins.__version__, "file": config.path or "none", "name": config.name} | places
    said = "".join(f" {name}={other}" for name, other in zip(config.challengers, others, strict=True))
    if (plan := config.drift_plan) is not None:
        said += f" drift={plan.named} then={plan.action}"
    log.info("starting %s learner=%s%s", " ".join(f"{key}={value}" for key, value in named.items()), learner, said)
