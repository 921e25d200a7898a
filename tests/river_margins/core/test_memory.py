"""What a learner takes of memory: all of it reported, none of it lost."""

import gc
import json
import os
import subprocess
import sys

import pytest

import river_margins as rm

MEASURE = """
import ctypes, gc, json, sys
import river_margins as rm

class Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in
                "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]

libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Mallinfo

def allocated():
    gc.collect()
    info = libc.mallinfo2()
    return info.uordblks + info.hblkhd
"""

TRUTH = """
def grown(make, learn, features):
    names = [f"feature {i}" for i in range(features)]
    x = dict.fromkeys(names, 1.0)
    before = allocated()
    model = make()
    learn(model, x)
    really = allocated() - before
    told = model._raw_memory_usage - sum(map(sys.getsizeof, names))
    return [really, told]

def three_classes(model, x):
    model.learn_one(x, "a"), model.learn_one(x, "b"), model.learn_one(x, "c")

cases = {
    "PAClassifier": (rm.PAClassifier, lambda model, x: model.learn_one(x, True)),
    "three classes": (rm.PAClassifier, three_classes),
    "PARegressor": (rm.PARegressor, lambda model, x: model.learn_one(x, 5.0)),
    "StandardScaler": (rm.StandardScaler, lambda model, x: model.learn_one(x)),
}
grown(rm.PAClassifier, cases["PAClassifier"][1], 10)  # what is imported late is not part of a model
print(json.dumps({f"{name}, {size} features": grown(*case, size) for name, case in cases.items()
                  for size in (20_000, 300_000)}))
"""

LEAK = """
import random
draw = random.Random(1)
names = [f"f{i}" for i in range(40)]
shared = [{name: draw.gauss(0, 1) for name in names[i % 30:i % 30 + 9]} for i in range(1000)]
labels = [draw.random() < 0.5 for _ in shared]
model, several, scaler = rm.PAClassifier(0.1), rm.PAClassifier(0.1), rm.StandardScaler()
written = [step | rm.PAClassifier(0.1) for step in (rm.BagOfWords("on"), rm.TFIDF(on="on"))]
others = [rm.Interactions() | rm.PAClassifier(0.1), rm.FeatureHasher(20) | rm.PAClassifier(0.1)]

def rounds(count):
    for i in range(count):
        x, y = shared[i % 1000], labels[i % 1000]
        model.predict_one(x)
        model.learn_one(x, y)
        if i % 4 == 0:
            several.predict_learn_one({"".join(("f", name[1:])): value for name, value in x.items()}, "abc"[i % 3])
            scaler.learn_one(x)
            model.learn_one(scaler.transform_one(x), y)
            model.score_one(x | {f"never learned {i}": 1.0})
        if i % 40 == 0:
            for one in others:
                one.learn_one(x, y)
                one[0].transform_one(x)
            for one in written:
                one.learn_one({"on": " ".join(x) + f" w{i % 100}"}, y)
                one[0].transform_one({"on": f"never learned {i}"})
        if i % 50 == 0:
            for bad in ({"f1": float("nan")}, {"f1": "text", "new": 1.0}, {"new": 1e200}):
                try:
                    model.learn_one(bad, y)
                except (ValueError, OverflowError):
                    pass

rounds(50_000)
before = allocated()
rounds(350_000)
print(json.dumps(allocated() - before))
"""


def run(script):
    """Run a script in a process in which all memory comes from malloc, which keeps the books."""
    if not sys.platform.startswith("linux"):
        pytest.skip("glibc's mallinfo2 keeps the books")
    if "asan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("the address sanitizer has an allocator of its own")
    done = subprocess.run(
        [sys.executable, "-c", MEASURE + script],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONMALLOC": "malloc"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_memory_reported_is_the_memory_taken():
    for case, (really, told) in run(TRUTH).items():
        assert told == pytest.approx(really, rel=0.1), case


def test_400_000_rounds_leak_nothing():
    # A single leaked float in each round would be 8 MB, in each fiftieth 168 kB; the caches of the interpreter come and
    # go by a few kB.
    assert abs(run(LEAK)) < 100_000


def test_an_estimator_that_is_dropped_is_freed():
    def live_and_die():
        model = rm.StandardScaler() | rm.PAClassifier()
        model.learn_one(dict.fromkeys(range(1000), 1.0), True)
        learner = model["PAClassifier"].clone(include_attributes=True)
        with pytest.raises(ValueError, match="feature 'a'"):
            learner.learn_one({"a": "text"}, True)

    for _ in range(3):
        live_and_die()  # what is cached at first use stays
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(50):
        live_and_die()
    gc.collect()
    assert sys.getallocatedblocks() - before < 500  # 50 learners of 1000 features would be 50,000 floats and more
