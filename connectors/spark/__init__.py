"""Learners as keyed state of Apache Spark: a model for each of many keys, in a streaming or a batch DataFrame.

`learn` predicts and learns a stream, `learn_many_models` trains a model for each key of a batch, and `score` predicts
the rows of a DataFrame by one model. Needs `pip install 'river-margins[spark]'` on the driver and on each executor.
"""

import importlib
from typing import TYPE_CHECKING, Any

from connectors.errors import StartError

if TYPE_CHECKING:
    from connectors.spark.batch import learn_many_models, score
    from connectors.spark.streaming import learn

__all__ = ["learn", "learn_many_models", "score"]

_MODULES = {"learn": "streaming", "learn_many_models": "batch", "score": "batch"}
_PACKAGES = ("pyspark", "pandas", "pyarrow", "google.protobuf")


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    try:
        for package in _PACKAGES:
            importlib.import_module(package)
    except ImportError as error:
        said = f"`connectors.spark` needs the package `{error.name}`: `pip install 'river-margins[spark]'`"
        raise StartError(f"{said} (on the driver and on each executor)") from error
    return getattr(importlib.import_module(f"connectors.spark.{_MODULES[name]}"), name)
