"""Forged snapshots by the hundred thousand: `python -m tests.torture.snapshot_fuzz [--cases N] [--seed N]`.

Each case takes the snapshot of a trained model apart, changes some of it (the sizes, types, shapes, offsets and names
of the safetensors header; the JSON document; the numbers), puts a right checksum on it and loads it. That must end in
SnapshotError or in a model that can be used and saved, within `SECONDS` and `MEMORY`, and with nothing executed,
opened or imported meanwhile. A case is known by its seed and number alone.
"""

import argparse
import hashlib
import json
import os
import random
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from river import compose, preprocessing

import river_margins as rm
from river_margins import snapshot
from river_margins.snapshot import SnapshotError
from tests.helpers.paths import ROOT

SECONDS = 10.0
MEMORY = 256 * 1024 * 1024  # bytes more than the process has before the first case
NO_DIGEST = b"0" * 64
# What a file could try to do; the interpreter reports each of them.
FORBIDDEN = ("exec", "compile", "import", "open", "os.", "subprocess.", "socket.", "ctypes.", "pickle.", "marshal.")


def trained() -> list[bytes]:
    models: list[Any] = [
        rm.PAClassifier(C=0.5),
        rm.PAClassifier(intercept=True, max_features=16, classes=["no", "yes"]),
        rm.MarginClassifier(rm.PA2(C=0.5), rm.Linear()),
        rm.PARegressor(),
        rm.KernelPerceptron(rm.RBF(0.5), budget=rm.RandomRemoval(10)),
        rm.Projectron(eta=0.3),
        rm.FOGDClassifier(components=4),
        rm.StandardScaler() | rm.Perceptron(),
        preprocessing.StandardScaler(window_size=3) | rm.PAClassifier(),
        preprocessing.MinMaxScaler(window_size=2) | rm.MarginRegressor(rm.PA1(C=0.5), rm.Linear()),
        (compose.Select("a", "b") + preprocessing.OneHotEncoder())
        | preprocessing.FeatureHasher(8, seed=1)
        | rm.PARegressor(),
        compose.Discard("b") | compose.Renamer({"a": "z"}) | preprocessing.Normalizer() | rm.Perceptron(),
        preprocessing.PreviousImputer() | preprocessing.MaxAbsScaler() | rm.PAClassifier(),
    ]
    draw = random.Random(5)
    for number, model in enumerate(models):
        last = list(model.steps.values())[-1] if isinstance(model, compose.Pipeline) else model
        is_regression = isinstance(last, rm.PARegressor | rm.MarginRegressor)
        for n in range(40):
            x = {name: draw.gauss(0, 1) for name in ("a", "b", *(f"f{k}" for k in range(n)))}
            labels = (n * 0.5, "yes" if n % 2 else "no", n % 2 == 0)
            model.learn_one(x, labels[0] if is_regression else labels[1 if number == 1 else 2])
    return [snapshot.dumps(model) for model in models]


# Taking apart and putting together, apart from the code under test


def opened(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The header and the bytes of the tensors of a safetensors file."""
    (size,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + size]), data[8 + size :]


def closed(header: Any, body: bytes, size: int | None = None) -> bytes:
    """A safetensors file with the right checksum for whatever it holds."""
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    text = text.ljust(-(-len(text) // 8) * 8)
    data = struct.pack("<Q", len(text) if size is None else size) + text + body
    start = data.find(b", sha256 ") + len(b", sha256 ")
    blank = data[:start] + NO_DIGEST + data[start + 64 :]
    return data[:start] + hashlib.sha256(blank).hexdigest().encode() + data[start + 64 :]


class Forger:
    """The cases of a seed."""

    def __init__(self, seed: int) -> None:
        self.seed, self.originals = seed, trained()

    def case(self, number: int) -> bytes:
        draw = random.Random(f"{self.seed} {number}")
        data = draw.choice(self.originals)
        for _ in range(draw.choice([1, 1, 2, 4])):
            change = draw.choice([self.document, self.document, self.document, self.header, self.numbers, self.raw])
            try:
                data = change(draw, data)
            except (ValueError, KeyError, struct.error, UnicodeDecodeError, RecursionError):
                break  # the change before this one left nothing to change in this way
        return data

    def document(self, draw: random.Random, data: bytes) -> bytes:
        """Another value somewhere in the JSON document."""
        header, body = opened(data)
        first, last = header["document"]["data_offsets"]
        document = json.loads(body[first:last])
        places = list(walk(document))
        node, key = draw.choice(places)
        node[key] = draw.choice([odd_value, tagged])(draw, document, places)
        return replaced(header, body, "document", json.dumps(document).encode())

    def header(self, draw: random.Random, data: bytes) -> bytes:
        """Another type, shape, offset or name in the header."""
        header, body = opened(data)
        name = draw.choice([name for name in header if name != "__metadata__"])
        tensor = header[name]
        match draw.randrange(6):
            case 0:
                tensor["dtype"] = draw.choice(["F64", "F32", "I64", "U8", "BOOL", "BF16", "F8_E4M3", "C64", "", "O", 3])
            case 1:
                tensor["shape"] = draw.choice(
                    [[], [0], [2**62, 4], [2**32, 2**32], [-1], [1] * 70, [1.5], "x", [2**64]]
                )
            case 2:
                tensor["data_offsets"] = [draw.choice(SIZES), draw.choice(SIZES)]
            case 3:
                header[draw.choice(["weights.0", "x", "", "\x00", "../x", "__metadata__", "document"])] = header.pop(
                    name
                )
            case 4:
                header |= {f"more {n}": dict(tensor) for n in range(draw.choice([1, 100]))}
            case 5:
                size = draw.choice(SIZES)
                return closed(header, body, size if size >= 0 else 0)
        return closed(header, body)

    def numbers(self, draw: random.Random, data: bytes) -> bytes:
        """Other numbers, or more or fewer of them."""
        header, body = opened(data)
        name = draw.choice([name for name in header if name != "__metadata__"])
        first, last = header[name]["data_offsets"]
        content = bytearray(body[first:last])
        if name != "document" and draw.randrange(2):
            count = draw.choice([0, 1, 31, 1000])
            header[name]["shape"] = draw.choice([[count], [count, 1], [1, count], [0, count]])
            empty = 0 in header[name]["shape"]
            content = bytearray(b"" if empty else draw.randbytes(8) * count)
        elif content:
            place = draw.randrange(len(content)) // 8 * 8
            odd = draw.choice([float("nan"), float("inf"), -1.0, 5e-324, 1e308, 2.0**63])
            content[place : place + 8] = draw.choice([struct.pack("<d", odd), draw.randbytes(8), b"\xff" * 8])
        return replaced(header, body, name, bytes(content))

    def raw(self, draw: random.Random, data: bytes) -> bytes:
        """Header or body cut, doubled, or with other bytes."""
        header, body = opened(data)
        text = json.dumps(header, separators=(",", ":")).encode()
        place = draw.randrange(100, len(text))
        match draw.randrange(5):
            case 0:
                return closed(text[:place], body)
            case 1:
                return closed(text[:place] + draw.randbytes(3) + text[place:], body)
            case 2:
                return closed(text[:-1] + b"," + text[1:], body)  # every name twice
            case 3:
                return closed(header, body[: draw.randrange(len(body) + 1)])
        return closed(header, body + draw.randbytes(draw.choice([1, 8, 1000])))


SIZES = [-1, 0, 1, 7, 8, 64, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64 - 1]
ODD = [
    None, True, False, "", "a", "\ud800", "\x00", "$list", "river_margins.PA1", "os.system", "x" * 5_000, -1, 0, 1, 2,
    31, 64, 2**31, 2**32 - 1, 10**9, 10**12, 2**53, 2**62, 2**63 - 1, 2**63, 2**64, 10**100, -(2**63), 0.5, -0.0, 1e308,
    float("nan"), float("inf"), [], {}, [[]], {"": {}},
]  # fmt: skip


def odd_value(draw: random.Random, document: Any, places: list[Any]) -> Any:
    match draw.randrange(5):
        case 0:
            levels = draw.choice([3, 70, 300, 900])
            text = draw.choice(["[", '{"a":', '{"$tuple":[', '{"$dict":[[1],[']) * levels
            closing = {"[": "]", "{": "}"}
            return json.loads(text + "1" + "".join(closing[sign] for sign in reversed(text) if sign in closing))
        case 1:
            return [draw.choice(ODD)] * draw.choice([1, 40, 1_000])
        case 2:
            node, key = draw.choice(places)  # what stands somewhere else, apart from it
            return json.loads(json.dumps(node[key]))
    return draw.choice(ODD)


def tagged(draw: random.Random, document: Any, places: list[Any]) -> Any:
    names = [node[key] for node, key in places if isinstance(node, dict) and "$list" in node] or ["weights.0"]
    classes = [
        "os.system",
        "builtins.eval",
        "river_margins.PAClassifier",
        "river_margins.Rule",
        "river.compose.Pipeline",
    ]
    inner = {"class": draw.choice(classes), "parameters": {}, "state": {}}
    return draw.choice(
        [
            {f"${draw.choice(['array', 'list', 'scalars', 'scalar'])}": draw.choice([*names, "absent", 3, "document"])},
            {
                f"${draw.choice(['float', 'int'])}": draw.choice(
                    ["7ff8000000000000", "f" * 20_000, "-", 3, "0x10", "1_0"]
                )
            },
            {
                f"${draw.choice(['tuple', 'set', 'object', 'dict'])}": draw.choice(
                    [[], [1, [2]], {}, 3, [[1], [2]], inner]
                )
            },
            {"$object": inner},
            {"$python": "1 + 1"},
        ]
    )


def walk(node: Any) -> Any:
    """Each value of a document, as what holds it and its key there."""
    for key, item in list(node.items() if isinstance(node, dict) else enumerate(node)):
        yield node, key
        if isinstance(item, dict | list):
            yield from walk(item)


def replaced(header: Any, body: bytes, name: str, content: bytes) -> bytes:
    """The file with other content for a tensor: the offsets of the others move with it."""
    parts, offset = [], 0
    named = [other for other in header if other != "__metadata__"]
    for other in sorted(named, key=lambda other: header[other]["data_offsets"]):
        first, last = header[other]["data_offsets"]
        part = content if other == name else body[first:last]
        header[other]["data_offsets"] = [offset, offset + len(part)]
        offset += len(part)
        parts.append(part)
    if name == "document":
        header[name]["shape"] = [len(content)]
    return closed(header, b"".join(parts))


# One case, in a process of its own that may break


def use(data: bytes) -> str:
    """Loads, uses and saves; returns what came of it, and lets everything but SnapshotError escape."""
    try:
        model = snapshot.loads(data)
    except SnapshotError as error:
        said = str(error)
        if "MemoryError" in said or "nable to allocate" in said:
            raise AssertionError(f"it asked for much memory: {said[:200]}") from error
        if not said or len(said) > 2_000:
            raise AssertionError(f"an error of {len(said)} characters") from error
        return "refused"
    snapshot.dumps(model)
    for label in (True, "yes", 1.5):
        try:
            model.predict_one({"a": 1.0, "new": 2.0})
            model.learn_one({"a": 1.0, "new": 2.0}, label)
        except (ValueError, TypeError, OverflowError, KeyError, ArithmeticError, AttributeError):
            continue  # a model of odd numbers may refuse an example; it must not break the process
    return "loaded"


def work(seed: int, first: int, last: int, note: str) -> None:
    forger = Forger(seed)
    for data in forger.originals:
        assert use(data) == "loaded"
    for number in range(200):  # so that what is imported once is
        with np.errstate(all="ignore"):
            _quietly(forger.case(-1 - number))
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    counts: Counter[str] = Counter()
    watching = [False]

    def hook(event: str, arguments: Any) -> None:
        if watching[0] and event.startswith(FORBIDDEN):
            watching[0] = False
            raise BaseException(f"{event} {str(arguments)[:200]}")

    warnings.simplefilter("ignore")  # to show one, Python opens the source it comes from
    sys.addaudithook(hook)
    file = os.open(note, os.O_WRONLY | os.O_CREAT)
    for number in range(first, last):
        data = forger.case(number)
        os.pwrite(file, f"{number:12d}".encode(), 0)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)  # which ends the process
        try:
            watching[0] = True
            with np.errstate(all="ignore"):
                counts[use(data)] += 1
        except BaseException as error:
            watching[0] = False
            print(json.dumps({"wrong": f"case {number}: {type(error).__name__}: {error}"[:500]}), flush=True)
        watching[0] = False
        signal.setitimer(signal.ITIMER_REAL, 0)
    print(json.dumps({"counts": counts}), flush=True)


def _quietly(data: bytes) -> None:
    try:
        use(data)
    except Exception:
        return


def run(cases: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Returns how many cases were refused and loaded, and a sentence for each that was neither."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    first = 0
    with tempfile.TemporaryDirectory() as folder:
        note = Path(folder, "case")
        while first < cases:
            numbers = ["--seed", str(seed), "--work", str(first), str(cases)]
            command = [sys.executable, "-m", __spec__.name, *numbers, str(note)]
            ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            for line in ended.stdout.splitlines():
                said = json.loads(line)
                counts.update(said.get("counts", {}))
                wrong += [said["wrong"]] if "wrong" in said else []
            if ended.returncode == 0:
                break
            if not note.exists():
                raise RuntimeError(f"no case was tried: {ended.stderr}")
            number = int(note.read_text())
            wrong.append(f"case {number}: the process ended with {ended.returncode}: {ended.stderr[-300:]}")
            first = number + 1
    return counts, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        first, last, note = options.work
        work(options.seed, int(first), int(last), note)
        return 0
    print(f"{options.cases} cases, seed {options.seed}", flush=True)
    counts, wrong = run(options.cases, options.seed)
    print(f"refused {counts['refused']}, loaded {counts['loaded']}, wrong {len(wrong)}", *wrong[:20], sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
