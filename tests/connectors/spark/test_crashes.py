"""kill -9 of the driver, with all its processes, changes no prediction."""

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


def start(folder, *arguments):
    command = [sys.executable, "-m", "tests.connectors.spark.job", str(folder), *map(str, arguments)]
    with (folder / "log").open("a") as log:
        return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, start_new_session=True)


def kill(process):
    """Ends the driver, its Java and its Python workers as kill -9 does, all at once."""
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
    process = start(tmp_path, 5)
    wait_for(lambda: (tmp_path / "held").exists() or process.poll() is not None, "a batch is written")
    kill(process)
    before = {number: rows_of(batch) for number, batch in complete(tmp_path).items()}
    assert sorted(before) == list(range(6))
    # anywhere in a later batch
    process = start(tmp_path)
    wait_for(lambda: max(complete(tmp_path)) >= 9 or process.poll() is not None, "some batches are written")
    assert process.poll() is None
    kill(process)
    assert start(tmp_path).wait() == 0, (tmp_path / "log").read_text()[-3000:]
    # Spark may put the next file into a batch that was not written down yet: there can be fewer batches than files
    after = {number: rows_of(batch) for number, batch in complete(tmp_path).items()}
    assert {number: after[number] for number in before} == before
    found = [json.loads(row["output"]) for rows in after.values() for row in rows]
    assert len(found) == len(examples)
    assert {output["id"]: output for output in found} == twins(file, examples)
