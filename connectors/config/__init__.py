"""The YAML file of a processor: schema, reader and learner."""

from connectors.config.files_schema import FileConfig
from connectors.config.load import load, load_any
from connectors.config.topics_schema import Config

__all__ = ["Config", "FileConfig", "load", "load_any"]
