"""The folder of a new broker is the one that Kafka's tool makes, but for its ids."""

import re
import subprocess
from pathlib import Path

import pytest

from connectors.kafka.local import VERSION, LocalKafka, blank_folder
from connectors.kafka.local.jars import kafka_folder, kafka_jars


def ids(folder: Path) -> dict[str, str]:
    return dict(re.findall(r"^([a-z.]+)=(\S+)$", (folder / blank_folder.META).read_text(), re.M))


def contents(folder: Path) -> bytes:
    """The checkpoint without checksums and times: the head of each batch of records is 61 bytes, some of them times."""
    return b"".join(re.findall(rb"[a-z.]{8,}\x00.", (folder / blank_folder.CHECKPOINT).read_bytes(), re.S))


@pytest.mark.kafka
def test_kafkas_tool_formats_the_first_folder_and_makes_the_same_as_the_others_have(kafka, tmp_path, monkeypatch):
    """For one broker as for three. The archives of classes, which the fixture `kafka` has made, save time here."""
    cache = tmp_path / "river-margins" / f"kafka-{VERSION}"
    cache.mkdir(parents=True)
    for file in (*kafka_jars(VERSION), *kafka_folder(VERSION).glob("*.jsa")):
        (cache / file.name).symlink_to(file)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    runs = []
    run = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda *given, **more: runs.append(given) or run(*given, **more))
    found = []
    for brokers in (3, 1):
        with monkeypatch.context() as patch:
            if brokers == 3:  # that three brokers take such folders, `test_broker.py` shows
                for step in ("_spawn", "_wait_until_ready"):
                    patch.setattr(LocalKafka, step, lambda self, node: None)
            with LocalKafka(brokers) as own:
                folders = [own._folder / str(node) for node in own.nodes]
                found += [(ids(folder), contents(folder)) for folder in folders]
                if brokers == 1:
                    own.create_topics({"works": 1})
        assert sum("kafka.tools.StorageTool" in given[0] for given in runs) == 1, brokers
    assert not list(cache.glob("*.partial"))
    assert len({known for _, known in found}) == 1 and b"metadata.version" in found[0][1]
    assert {frozenset(names) for names, _ in found} == {frozenset(("version", "cluster.id", "node.id", "directory.id"))}
    assert [names["node.id"] for names, _ in found] == ["1", "2", "3", "1"]
    assert [names["cluster.id"] == found[0][0]["cluster.id"] for names, _ in found] == [True, True, True, False]
    assert len({names["directory.id"] for names, _ in found}) == 4
