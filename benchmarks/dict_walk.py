"""What does the fast walk of a dict save, which is not compiled in on Python 3.14 and later?

    python benchmarks/dict_walk.py

Compiles the modules that read dicts a second time, with `RIVER_MARGINS_PORTABLE_DICT_WALK`, into a copy of the package.
Both builds then run in turn, each round in a process of its own, on the same examples. What is printed is also written
to benchmarks/results/dict_walk.md.
"""

import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "dict_walk.md"
MODULES = ["core/reader", "core/transformed_row", "preprocessing/scaler"]
ROUNDS = 15
REPEATS = 20  # in a process, of which the fastest counts: another program may take the caches at any time
BUILD = """
from setuptools import Extension, setup
from Cython.Build import cythonize
flags = ["-O3", "-ffp-contract=off", "-DRIVER_MARGINS_PORTABLE_DICT_WALK"]
directives = dict(language_level=3, binding=True, boundscheck=False, wraparound=False, initializedcheck=False,
                  cdivision=True)
setup(ext_modules=cythonize(
    [Extension("river_margins." + m.replace("/", "."), [f"river_margins/{m}.pyx"], include_dirs=["."],
               extra_compile_args=flags) for m in MODULES], compiler_directives=directives))
"""


def build(folder: Path) -> None:
    """Copy the package, and compile the modules that read dicts again."""
    shutil.copytree(ROOT / "river_margins", folder / "river_margins")
    for module in MODULES:
        path = folder / "river_margins" / module
        for compiled in path.parent.glob(f"{path.name}.*.so"):
            compiled.unlink()
    (folder / "build.py").write_text(f"MODULES = {MODULES!r}\n{BUILD}")
    subprocess.run([sys.executable, "build.py", "-q", "build_ext", "--inplace"], cwd=folder, check=True)


def measure() -> None:
    """Print the CPU microseconds of an example, by calls and number of features."""
    from examples import one_call, pa, shared, two_calls

    found = {}
    for name, rows in shared():
        for calls, run in (("predict_one, learn_one", two_calls(pa)), ("predict_learn_one", one_call(pa))):
            found[f"{calls}|{name}"] = min(seconds(run, rows) for _ in range(REPEATS)) / len(rows) * 1e6
    print(json.dumps(found))


def seconds(run: Callable[[Any], None], rows: Any) -> float:
    start = time.process_time()
    run(rows)
    return time.process_time() - start


def times(package: Path) -> dict[str, float]:
    environment = os.environ | {"PYTHONPATH": str(package)}
    command = [sys.executable, __file__, "measure"]
    return json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


def report(rounds: list[tuple[dict[str, float], dict[str, float]]]) -> str:
    """Two tables in one: the time with each walk, and the median of the ratios within a round with its quartiles."""
    names = list(rounds[0][0])
    columns = list(dict.fromkeys(name.partition("|")[2] for name in names))
    lines = [
        "# The fast walk of a dict",
        "",
        f"Python {platform.python_version()}, {platform.machine()}; {ROUNDS} rounds, the least CPU time of {REPEATS} "
        "runs in each, PAClassifier. A cell is the median of µs an example; in brackets how many times as long as with "
        "the fast walk, median and quartiles.",
        "",
        f"| µs an example | {' | '.join(columns)} |",
        "|---" * (len(columns) + 1) + "|",
    ]
    for calls in dict.fromkeys(name.partition("|")[0] for name in names):
        fast, portable = [], []
        for column in columns:
            pairs = [(a[f"{calls}|{column}"], b[f"{calls}|{column}"]) for a, b in rounds]
            low, middle, high = statistics.quantiles([b / a for a, b in pairs], n=4)
            fast.append(f"{statistics.median(a for a, _ in pairs):.3g}")
            slow = f"{statistics.median(b for _, b in pairs):.3g}"
            portable.append(f"{slow} ({middle:.2f}x, {low:.2f}-{high:.2f})")
        lines += [f"| {calls} | {' | '.join(fast)} |", f"| the same with `PyDict_Next` | {' | '.join(portable)} |"]
    return "\n".join(lines) + "\n"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder))
        rounds = [(times(ROOT), times(Path(folder))) for _ in range(ROUNDS)]
    RESULTS.write_text(report(rounds))
    print(RESULTS.read_text())


if __name__ == "__main__":
    measure() if sys.argv[1:] == ["measure"] else main()
