"""kill -9 of the driver, with all its processes, changes no prediction."""

import contextlib
import json
import os
import signal
import subprocess
import sys

import pytest

from tests.connectors.spark.customers import records, twins, write
from tests.helpers import spark as local
from tests.helpers.paths import ROOT
from tests.helpers.streams import wait_for


@contextlib.contextmanager
def started(folder, *arguments):
    """The driver as a process. At the end it is killed, with its Java and its Python workers, as kill -9 does."""
    command = [sys.executable, "-m", "tests.connectors.spark.job", str(folder), *map(str, arguments)]
    with (folder / "log").open("a") as log:
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, start_new_session=True)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def complete(folder):
    """The folders of the batches of the sink that are complete, by number."""
    found = [done.parent for done in (folder / "out").glob("batch=*/_SUCCESS")]
    return {int(batch.name.removeprefix("batch=")): batch for batch in found}


def rows_of(batch):
    import pyarrow.parquet as parquet

    return [row for path in sorted(batch.glob("*.parquet")) for row in parquet.ParquetFile(path).read().to_pylist()]


@pytest.mark.timeout(600)
def test_kill_and_restart_change_nothing(file, tmp_path):
    pytest.importorskip("pyspark", reason=local.MISSING)
    examples = list(records(2000))
    for number in range(20):
        write(tmp_path / "in" / f"{number:02}.json", examples[number * 100 : (number + 1) * 100])
        os.utime(tmp_path / "in" / f"{number:02}.json", (number, number))  # Spark reads the oldest first
    # the sink has a batch that the checkpoint does not know
    with started(tmp_path, 5) as process:
        wait_for(lambda: (tmp_path / "held").exists() or process.poll() is not None, "a batch is written")
    before = {number: rows_of(batch) for number, batch in complete(tmp_path).items()}
    assert sorted(before) == list(range(6))
    # anywhere in a later batch
    with started(tmp_path) as process:
        wait_for(lambda: max(complete(tmp_path)) >= 9 or process.poll() is not None, "some batches are written")
        assert process.poll() is None
    with started(tmp_path) as process:
        assert process.wait() == 0, (tmp_path / "log").read_text()[-3000:]
    # Spark may put the next file into a batch that was not written down yet: there can be fewer batches than files
    after = {number: rows_of(batch) for number, batch in complete(tmp_path).items()}
    assert {number: after[number] for number in before} == before
    found = [json.loads(row["output"]) for rows in after.values() for row in rows]
    assert len(found) == len(examples)
    assert {output["id"]: output for output in found} == twins(file, examples)
