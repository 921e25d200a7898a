"""The settings of kafka-python that are kept in a file are those of the library."""

import math

import kafka
import orjson
import pytest

from connectors.kafka.kafka_python import defaults


@pytest.fixture
def fresh(monkeypatch):
    """Let the settings be read again, as if kafka-python were not imported yet."""
    monkeypatch.delitem(defaults.sys.modules, "kafka")
    defaults._all_settings.cache_clear()
    yield
    defaults._all_settings.cache_clear()


def test_the_version_is_found_without_an_import():
    assert defaults.installed_version() == kafka.__version__


def test_the_file_holds_what_the_library_has(fresh):
    kept = orjson.loads(defaults.FILE.read_bytes())
    assert kept.pop("version") == kafka.__version__, "write the file again, as its module says"
    assert kept == {side: defaults.known_settings(side) for side in defaults.CLASSES} == defaults.read_library()
    for side, kind in defaults.CLASSES.items():
        library = getattr(kafka, kind).DEFAULT_CONFIG
        assert kept[side].keys() == library.keys()
        # the checks of settings tell `true` or `false`, numbers and the rest apart
        for plain in (bool, int | float, str):
            assert {name for name in kept[side] if isinstance(kept[side][name], plain)} == {
                name for name in library if isinstance(library[name], plain) and library[name] != math.inf
            }


def test_a_file_of_another_version_is_not_used(fresh, monkeypatch, tmp_path):
    file = tmp_path / "defaults.json"
    file.write_text('{"version": "1.0", "consumer": {"old": 1}, "producer": {}, "admin": {}}')
    monkeypatch.setattr(defaults, "FILE", file)
    assert "old" not in defaults.known_settings("consumer")
    assert "session_timeout_ms" in defaults.known_settings("consumer")
