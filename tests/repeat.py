"""Run the whole suite again and again, on a quiet machine and under load: `python -m tests.repeat`.

The tally has a row for each run: how many tests passed, failed and were skipped, how long it took, the load
average of the machine meanwhile, and the names of the tests that failed. The log of each run stays in a folder, whose
name is printed first. Exit code 1 if any run failed.
"""

import argparse
import contextlib
import multiprocessing
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.helpers.paths import ROOT

SUMMARY = re.compile(r"^=+ (.+) in [\d.]+s", re.MULTILINE)
OUTCOME = re.compile(r"(\d+) (passed|failed|skipped|errors?)")
SAMPLE_EVERY = 5.0  # seconds
BROKEN = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass
class Run:
    """One run of the suite.

    `average` is the load average of the machine, the suite's own processes included. `broken` names the tests that
    failed, or is what pytest said instead of a count.
    """

    load: int
    minutes: float
    average: float
    counts: dict[str, int]
    broken: list[str]

    def row(self) -> str:
        counts = ", ".join(f"{count} {outcome}" for outcome, count in self.counts.items())
        load = f"load {self.load}" if self.load else "quiet"
        return f"{load:8} {self.minutes:5.1f} min at {self.average:4.1f}  {counts}" + "".join(
            f"\n    {name}" for name in self.broken
        )


def busy() -> None:
    while True:
        pass


@contextlib.contextmanager
def loaded(processes: int) -> Iterator[None]:
    """Keep so many processes busy."""
    loops = [multiprocessing.Process(target=busy, daemon=True) for _ in range(processes)]
    for loop in loops:
        loop.start()
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()


def run(log: Path, load: int, arguments: list[str]) -> Run:
    """Run the suite once, with its output in a file."""
    began = time.monotonic()
    with loaded(load), log.open("wb") as output:
        command = [sys.executable, "-m", "pytest", *arguments]
        suite = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        samples = []
        while suite.poll() is None:
            time.sleep(SAMPLE_EVERY)
            samples.append(os.getloadavg()[0])
        code = suite.returncode
    text = log.read_text(errors="replace")
    summaries = SUMMARY.findall(text)
    counts = {outcome: int(count) for count, outcome in OUTCOME.findall(summaries[-1] if summaries else "")}
    broken = BROKEN.findall(text) or ([f"pytest ended with code {code}, see {log}"] if code else [])
    return Run(load, (time.monotonic() - began) / 60, statistics.mean(samples), counts, broken)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quiet", type=int, default=5, help="runs on the machine as it is")
    parser.add_argument("--loaded", type=int, default=5, help="runs under load")
    parser.add_argument("--load", type=int, default=6, help="busy processes beside a run under load")
    parser.add_argument("--processes", default="4", help="processes that share the suite")
    parser.add_argument("tests", nargs="*", help="files or folders of tests; none for the whole suite")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="repeat-"))
    print(f"logs in {folder}", flush=True)
    runs = []
    for number, load in enumerate([0] * options.quiet + [options.load] * options.loaded, 1):
        runs.append(run(folder / f"run-{number}.log", load, ["-n", options.processes, *options.tests]))
        print(runs[-1].row(), flush=True)
    failed = sum(bool(each.broken) for each in runs)
    print(f"{len(runs) - failed} of {len(runs)} runs passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
