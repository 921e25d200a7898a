"""The folder of a new broker, as Kafka's tool formats it, without a Java that takes as long as the broker to start.

For one version of Kafka, what the tool writes differs only in the ids. Its first `bootstrap.checkpoint` is kept in the
cache, for all brokers after it.
"""

import base64
import contextlib
import os
import shutil
import uuid
from pathlib import Path

from connectors.kafka.local.jars import kafka_folder

CHECKPOINT, META = "bootstrap.checkpoint", "meta.properties"


def new_id() -> str:
    """Return a random id in the form of Kafka's."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()


def make(folder: Path, version: str, cluster: str, node: int) -> bool:
    """Make the folder of a broker of this cluster. Return False if the cache has no checkpoint for it yet."""
    kept = kafka_folder(version) / CHECKPOINT
    if not kept.exists():
        return False
    folder.mkdir()
    shutil.copyfile(kept, folder / CHECKPOINT)
    (folder / META).write_text(f"version=1\ncluster.id={cluster}\nnode.id={node}\ndirectory.id={new_id()}\n")
    return True


def keep(folder: Path, version: str) -> None:
    """Keep the checkpoint of a folder that the tool has formatted; if that fails, the tool formats the next one."""
    kept = kafka_folder(version) / CHECKPOINT
    partial = kept.with_suffix(f".{os.getpid()}.partial")
    with contextlib.suppress(OSError):
        shutil.copyfile(folder / CHECKPOINT, partial)
        partial.rename(kept)
