"""The demo without Kafka: a file of records, a processor killed in the middle of it, and the same proof."""

import collections
import contextlib
import json
import os
import pathlib
import signal
import tempfile
import time

from rich.console import Console
from rich.table import Table

from connectors import config
from connectors.tools import referee
from connectors.tools.demo.stage import EXAMPLES, Processor, Screen

FILES = EXAMPLES / "files.yaml"
PASSES = 200  # some seconds of work, so that the process can be killed half-way
FAULTS = (
    "without an output",
    "with more than one",
    "outputs more than inputs",
    "not the bare learner's, to the last bit, or not in its place",
)
LOOK_EVERY = 0.02  # seconds between two looks at the output


def run(console: Console) -> bool:
    """Run the demo and return whether every output is the bare learner's, bit for bit.

    Raises
    ------
    ConnectorError
        The processor ended by itself with an error.
    """
    with tempfile.TemporaryDirectory(prefix="river-margins-") as name, Screen(console) as screen:
        os.environ["FOLDER"] = name
        settings = config.load(FILES)
        assert isinstance(settings, config.FileConfig)
        stage = Stage(settings, pathlib.Path(name))
        stage.perform(screen)
        screen.event("comparing every output with the bare learner ...")
        found = compare(settings)
    table = Table(title="what the referee found", show_header=False)
    for row, number in found.items():
        table.add_row(row, f"{number:,}")
    table.add_row("bytes after the last checkpoint of the killed process, cut off", f"{stage.cut_off:,}")
    console.print(table)
    is_exact = not any(found[row] for row in FAULTS)
    if is_exact and stage.was_killed:
        console.print("exact: the kill cannot be seen in the output")
    elif is_exact:
        console.print("NOT proven: the processor had finished before it could be killed half-way")
    else:
        console.print("NOT exact: the output is not what the bare learner gives")
    return is_exact and stage.was_killed


class Stage:
    """Runs the file through two processes, one after the other, and counts their output."""

    def __init__(self, settings: config.FileConfig, folder: pathlib.Path) -> None:
        self._output, self._folder = pathlib.Path(settings.output.file), folder
        self._state = settings.snapshots / settings.name / "files" / "checkpoint.json"
        self._total = write_input(pathlib.Path(settings.input.file))
        self._size = self._lines = self.cut_off = 0
        self.was_killed = False

    def perform(self, screen: Screen) -> None:
        """Process the whole file: kill the first process half-way, and start the second one."""
        with contextlib.closing(Processor(FILES, self._folder / "first.log")) as first:
            screen.event(f"process {first.pid} started, to read {self._total:,} records from a file")
            while not self.was_killed and not first.has_ended():
                self._look(screen, first)
                if self._lines >= self._total / 2:
                    first.end(signal.SIGKILL)
                    self.was_killed = True
        self.cut_off = self._output.stat().st_size - json.loads(self._state.read_bytes())["output"]["mark"][0]
        screen.event(
            f"process {first.pid} killed (kill -9), {self.cut_off:,} bytes of output after its last checkpoint"
        )
        with contextlib.closing(Processor(FILES, self._folder / "second.log")) as second:
            screen.event(f"process {second.pid} started")
            while not second.has_ended():
                self._look(screen, second)
            self._look(screen, second)
        screen.event(f"process {second.pid} came to the end of the file: exit code 0")

    def _look(self, screen: Screen, process: Processor) -> None:
        time.sleep(LOOK_EVERY)
        self._count()
        rows = {"records out": f"{self._lines:,} of {self._total:,}", "process": f"{process.pid}"}
        screen.update("phishing: a file through one learner, exactly once", rows, self._total, self._lines)

    def _count(self) -> None:
        if not self._output.exists():
            return
        if self._output.stat().st_size < self._size:  # the second process has cut it back to the checkpoint
            self._size = self._lines = 0
        with self._output.open("rb") as file:
            file.seek(self._size)
            new = file.read()
        self._size, self._lines = self._size + len(new), self._lines + new.count(b"\n")


def write_input(path: pathlib.Path) -> int:
    """Write River's Phishing stream several times over, and return the number of records."""
    from river import datasets  # only here, see tests/connectors/cli/test_imports.py

    stream = list(datasets.Phishing())
    with path.open("w") as file:
        for turn in range(PASSES):
            for number, (features, label) in enumerate(stream):
                file.write(json.dumps({"id": f"site-{turn}-{number}", **features, "is_phishing": label}) + "\n")
    return PASSES * len(stream)


def compare(settings: config.FileConfig) -> dict[str, int]:
    """Return the numbers of inputs, outputs and each kind of fault, by the titles of the table."""
    learner, wanted = settings.first_learner(), []
    with open(settings.input.file, "rb") as inputs:
        for number, line in enumerate(inputs, 1):
            wanted.append(referee.expected(settings, learner, f"events.jsonl:{number}", line))
    with open(settings.output.file, "rb") as outputs:
        found = [json.loads(line) for line in outputs]
    times = collections.Counter(output["id"] for output in found)
    lost = sum(output["id"] not in times for output in wanted)
    doubled = sum(count > 1 for count in times.values())
    # `repr` of a float is exact, and tells 0.0 from -0.0 and 1 from True
    different = sum(repr(one) != repr(other) for one, other in zip(wanted, found, strict=False))
    counts = (lost, doubled, len(found) - len(wanted), different)
    return {"records in": len(wanted), "records out": len(found)} | dict(zip(FAULTS, counts, strict=True))
