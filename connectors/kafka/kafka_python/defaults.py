"""The settings that kafka-python accepts, with their defaults, without an import of the library where possible.

An import of kafka-python takes a quarter of `river-margins lint`, and its settings need only names and types. So they
are also kept in `defaults.json`, with the version of the library that they were read from. The file is used only if the
installed version is that one; with any other version the library is imported. To write the file again:
`python -c "from connectors.kafka.kafka_python import defaults; defaults.write()"`.
"""

import functools
import importlib.util
import math
import pathlib
import re
import sys

import orjson

from connectors.kafka.settings import Settings

FILE = pathlib.Path(__file__).with_name("defaults.json")
CLASSES = {"consumer": "KafkaConsumer", "producer": "KafkaProducer", "admin": "KafkaAdminClient"}


def known_settings(side: str) -> Settings:
    """Return the settings of the consumer, the producer or the client for administration (`admin`).

    A default that JSON cannot express is None.

    >>> known_settings("consumer")["session_timeout_ms"], known_settings("admin")["bootstrap_servers"]
    (45000, 'localhost')
    """
    return _all_settings()[side]


@functools.cache
def _all_settings() -> dict[str, Settings]:
    if "kafka" not in sys.modules:
        kept = orjson.loads(FILE.read_bytes())
        if kept.pop("version") == installed_version():
            found: dict[str, Settings] = kept
            return found
    return read_library()


def installed_version() -> str | None:
    """Return the version of kafka-python from its file `version.py`; None if it is not there."""
    package = importlib.util.find_spec("kafka")
    for folder in (package.submodule_search_locations or []) if package else []:
        file = pathlib.Path(folder, "version.py")
        found = re.search(r"__version__ = ['\"]([^'\"]+)", file.read_text()) if file.exists() else None
        if found:
            return found[1]
    return None


def read_library() -> dict[str, Settings]:
    """Return all settings as the library has them."""
    import kafka

    plain = (bool, int, float, str)
    return {
        side: {
            name: default if isinstance(default, plain) and default != math.inf else None
            for name, default in getattr(kafka, kind).DEFAULT_CONFIG.items()
        }
        for side, kind in CLASSES.items()
    }


def write() -> None:
    """Write the file for the installed version."""
    content = {"version": installed_version()} | read_library()
    FILE.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
