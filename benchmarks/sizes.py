"""How many bytes does a feature take in memory and in a snapshot? `python benchmarks/sizes.py`

Every learner meets 200,000 features with names of 12 letters, 50 in each example, in a process of its own. Memory is
what the process has grown by; the last column is by how much it is larger still while the snapshot is made. What is
printed is also written to benchmarks/results/sizes.md.
"""

import os
import platform
import subprocess
import sys
from pathlib import Path

FEATURES, IN_EXAMPLE = 200_000, 50
LEARNERS = {
    "`PAClassifier`": "rm.PAClassifier()",
    "`StandardScaler`, `PAClassifier`": "rm.StandardScaler() | rm.PAClassifier()",
    "`AROWClassifier`": "rm.AROWClassifier()",
    "`StandardScaler`, `AROWClassifier`": "rm.StandardScaler() | rm.AROWClassifier()",
    "`FTRLProximalClassifier`": "rm.FTRLProximalClassifier()",
    "`PAClassifier`, ten classes": "rm.PAClassifier(classes=list(range(10)))",
    "`PAClassifier(max_features=50_000)`": "rm.PAClassifier(max_features=50_000)",
}
RESULTS = Path(__file__).parent / "results" / "sizes.md"


def value_of(file: str, key: str) -> int:
    (line,) = [line for line in Path(file).read_text().splitlines() if line.startswith(f"{key}:")]
    return int(line.split()[1]) * 1024


def measure(learner: str) -> None:
    import river_margins as rm
    from river_margins import snapshot

    model = eval(learner, {"rm": rm})
    labels = getattr(model, "classes", None) or [True, False]
    model.learn_one({"a": 1.0}, labels[0])
    before = value_of("/proc/self/status", "VmRSS")
    for number, first in enumerate(range(0, FEATURES, IN_EXAMPLE)):
        names = range(first, first + IN_EXAMPLE)
        model.learn_one({f"word_{n:07d}": 1.0 + n % 7 / 10 for n in names}, labels[number % len(labels)])
    after = value_of("/proc/self/status", "VmRSS")
    size = len(snapshot.dumps(model))
    peak = value_of("/proc/self/status", "VmHWM")
    print(round((after - before) / FEATURES), round(size / FEATURES), round((peak - after) / FEATURES))


def main() -> None:
    lines = [
        "# Bytes of a feature",
        "",
        f"{FEATURES:,} features with names of 12 letters, {IN_EXAMPLE} in each example; "
        f"Python {platform.python_version()}, `MALLOC_ARENA_MAX=2`.",
        "",
        "| learner | memory | snapshot | memory while the snapshot is made, in addition |",
        "|---|---|---|---|",
    ]
    for name, learner in LEARNERS.items():
        command = [sys.executable, __file__, learner]
        said = subprocess.run(
            command, env=os.environ | {"MALLOC_ARENA_MAX": "2"}, capture_output=True, text=True, check=True
        )
        lines.append(f"| {name} | {' | '.join(said.stdout.split())} |")
    print("\n".join(lines))
    RESULTS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    measure(sys.argv[1]) if len(sys.argv) > 1 else main()
