"""Brokers map Kafka's classes from a file of the cache, which the first broker writes; a bad file does no harm."""

import os
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from connectors.kafka.local import VERSION, LocalKafka
from connectors.kafka.local.jars import kafka_jars


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with the jars of Kafka only. On a busy machine, writing to it may take longer than a user waits."""
    for module in ("broker", "class_archive"):
        monkeypatch.setattr(f"connectors.kafka.local.{module}.WRITE_TIMEOUT", 120.0)
    folder = tmp_path / "river-margins" / f"kafka-{VERSION}"
    folder.mkdir(parents=True)
    for jar in kafka_jars(VERSION):
        (folder / jar.name).symlink_to(jar)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return folder


def mapped(kafka: LocalKafka) -> set[str]:
    """The archives that the broker has in memory."""
    maps = Path(f"/proc/{kafka._processes[1].pid}/maps").read_text().split()
    return {os.path.basename(path) for path in maps if path.endswith(".jsa")}


@pytest.mark.kafka
def test_brokers_map_what_the_first_one_wrote_unless_it_is_damaged(cache):
    with LocalKafka() as kafka:
        assert all(name.startswith("java-") for name in mapped(kafka))
    written = {path.name for path in cache.glob("*.jsa")}
    assert len(written) == 2
    with LocalKafka() as kafka:
        assert mapped(kafka) == written
    assert not list(cache.glob("*.partial"))
    for path in cache.glob("*.jsa"):
        path.write_bytes(path.read_bytes()[:1000])
    with LocalKafka() as kafka:
        assert mapped(kafka) == set()
        kafka.create_topics({"works": 1})


def test_an_archive_that_is_not_finished_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("connectors.kafka.local.broker.WRITE_TIMEOUT", 0.1)
    kafka, kept = LocalKafka(), []
    kafka._folder, kafka._new_archive = tmp_path / "broker", tmp_path / "broker" / "classes.jsa"
    kafka._folder.mkdir()
    kafka._ports = [SimpleNamespace(number=1, release=lambda: None)]
    kafka._archive = SimpleNamespace(is_complete=False, keep=kept.append)
    command = ["/bin/sh", "-c", "trap '' TERM; echo; exec sleep 60"]  # what is ignored stays so
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    process.stdout.readline()
    kafka._processes[1] = process
    kafka.__exit__()
    process.stdout.close()
    assert process.returncode == -signal.SIGKILL and not kept
