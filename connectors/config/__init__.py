"""The YAML file of a processor: schema, reader and learner."""

import importlib
from typing import TYPE_CHECKING, Any

from connectors.config.load import load, load_for_spark, load_topics

if TYPE_CHECKING:
    from connectors.config.files_schema import FileConfig
    from connectors.config.topics_schema import Config

__all__ = ["Config", "FileConfig", "load", "load_for_spark", "load_topics"]

# A processor between files needs nothing of the schema of topics, which imports parts of Kafka.
_SCHEMAS = {"Config": "connectors.config.topics_schema", "FileConfig": "connectors.config.files_schema"}


def __getattr__(name: str) -> Any:
    if name not in _SCHEMAS:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    return getattr(importlib.import_module(_SCHEMAS[name]), name)
