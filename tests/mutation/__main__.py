"""Makes the faults of `edits.py`, one after the other, in copies of the repository, and runs tests that may find it.

`python -m tests.mutation [WORD ...] [--processes N]`: with words, only the faults whose file or description has one.
Ends with 1 if a fault survives without an explanation. A fault takes some seconds to compile, and to be found.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.helpers.paths import ROOT
from tests.mutation.edits import EDITS, Edit

BUILT = (".so", ".c")


def copy_of_the_repository(folder: Path) -> Path:
    """The tracked files, and what was compiled of them."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    for name in filter(None, [*listed, *built()]):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    return folder


def built() -> list[str]:
    """What was compiled, of both packages: without that of the processor none of its tests begins."""
    packages = (ROOT / "river_margins", ROOT / "connectors")
    return [str(path.relative_to(ROOT)) for root in packages for path in root.rglob("*") if path.suffix in BUILT]


def outcome(edit: Edit, folder: Path) -> str:
    """Make one fault, run the tests, and undo it."""
    path = folder / edit.file
    text = path.read_text()
    if text.count(edit.old) != 1:
        return f"NOT MADE: the text to replace occurs {text.count(edit.old)} times"
    path.write_text(text.replace(edit.old, edit.new))
    try:
        if path.suffix in (".pyx", ".pxd", ".h"):
            compiled = run(folder, "setup.py", "-q", "build_ext", "--inplace")
            if compiled.returncode:
                return f"NOT MADE: it does not compile: {compiled.stdout.splitlines()[-1]}"
        for tests in edit.tests:
            ran = run(folder, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"tests/{tests}")
            if ran.returncode == 1:
                return (
                    f"found by {next(line for line in ran.stdout.splitlines() if line.startswith(('FAILED', 'ERROR')))}"
                )
            if ran.returncode:
                return f"found: {tests} ended with {ran.returncode}"
        return f"survives, as expected: {edit.survives}" if edit.survives else "SURVIVES"
    finally:
        path.write_text(text)
        for name in built():
            shutil.copy(ROOT / name, folder / name)  # newer than the source again


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    chosen = [edit for edit in EDITS if not options.words or any(w in edit.file + edit.fault for w in options.words)]
    folders: SimpleQueue[Path] = SimpleQueue()
    with tempfile.TemporaryDirectory(prefix="mutation-") as parent, ThreadPoolExecutor(options.processes) as pool:
        for number in range(options.processes):
            folders.put(copy_of_the_repository(Path(parent) / str(number)))

        def judged(edit: Edit) -> str:
            folder, began = folders.get(), time.monotonic()
            try:
                said = outcome(edit, folder)
            finally:
                folders.put(folder)
            print(f"{edit.file}: {edit.fault}: {said} ({time.monotonic() - began:.0f} s)", flush=True)
            return said

        said = list(pool.map(judged, chosen))
    wrong = sum(each.startswith(("SURVIVES", "NOT MADE")) for each in said)
    print(f"{len(said)} faults, {len(said) - wrong} found or explained, {wrong} not")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
