"""Several threads on one estimator: it never crashes, forgets no round, and learns each name once."""

import pickle
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest

import river_margins as rm
from river_margins.core import learner
from tests.helpers.python_rules import MarginPerceptron
from tests.helpers.rounds import stream, stream_for

THREADS = 4


class Slow:
    """A number that lets other threads run while it is read."""

    def __init__(self, value):
        self.value = value

    def __float__(self):
        time.sleep(0)
        return self.value


class SlowRule(MarginPerceptron):
    """A rule that lets other threads run while it thinks."""

    def step(self, seen):
        time.sleep(0)
        return super().step(seen)


@pytest.fixture(autouse=True)
def threads_take_turns_often():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def together(work):
    errors = []

    def guarded(number):
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors


def goes_on_from_its_state(model):
    """Names that stand twice, or weights that no longer fit them, are found when a state is read back."""
    return pickle.dumps(pickle.loads(pickle.dumps(model))) == pickle.dumps(model)


MODELS = {
    "two classes": lambda: rm.PAClassifier(),
    "three classes": lambda: rm.PAClassifier(classes=["a", "b", "c"]),
    "regression": lambda: rm.PARegressor(),
    "a rule in Python": lambda: rm.MarginClassifier(SlowRule()),
    "a rule in Python, intercept": lambda: rm.MarginClassifier(SlowRule(), intercept=True),
}


@pytest.mark.parametrize("number", [float, Slow], ids=["floats", "numbers in Python"])
@pytest.mark.parametrize("name", MODELS)
def test_threads_share_a_learner(name, number):
    model = MODELS[name]()

    def work(thread):
        for i, (x, y) in enumerate(stream_for(model, seed=thread, rounds=100)):
            # Every name is new to all threads at about the same time.
            x = {f"{key} {i}": number(value) for key, value in x.items()}
            model.learn_one(x, y)
            model.predict_one(x)
            model.predict_learn_one(x, y)

    together(work)
    assert model.n_seen == THREADS * 200
    assert goes_on_from_its_state(model)


def test_threads_may_bring_new_classes():
    model = rm.MarginClassifier(SlowRule())

    def work(thread):
        for i, (x, _) in enumerate(stream(seed=thread, rounds=100)):
            model.learn_one({key: Slow(value) for key, value in x.items()}, f"class {i}")

    together(work)
    assert model.n_seen == THREADS * 100
    assert sorted(model.weights) == sorted(f"class {i}" for i in range(100))
    assert goes_on_from_its_state(model)


def test_threads_share_a_scaler():
    scaler = rm.StandardScaler()

    def work(thread):
        for i in range(200):
            scaler.learn_one({f"name {i}": Slow(1.0), "every": Slow(1.0)})
            scaler.transform_one({f"name {i}": Slow(1.0), "never": Slow(1.0)})

    together(work)
    assert scaler.counts == {f"name {i}": THREADS for i in range(200)} | {"every": THREADS * 200}
    assert goes_on_from_its_state(scaler)


def test_threads_share_a_pipeline():
    model = rm.StandardScaler() | rm.PAClassifier()
    model.learn_one({"every": 1.0}, True)

    def work(thread):
        for i in range(100):
            x = {f"name {i}": Slow(float(i)), "every": Slow(float(thread))}
            model.learn_one(x, i % 2 == 0)
            model.predict_one(x)
            prediction, score = model.predict_score_one({"every": Slow(1.0), "never": Slow(1.0)})
            assert prediction is (score >= 0.0)

    together(work)
    assert model[0].counts == {f"name {i}": THREADS for i in range(100)} | {"every": THREADS * 100 + 1}
    assert model[1].n_seen == THREADS * 100 + 1
    assert goes_on_from_its_state(model[0]) and goes_on_from_its_state(model[1])


@pytest.mark.parametrize("make", [rm.Interactions, lambda: rm.FeatureHasher(16)], ids=["Interactions", "FeatureHasher"])
def test_threads_share_a_transformer(make):
    """Each gets the features of its own example, although all use the memory of one estimator."""
    shared, model = make(), make() | rm.PAClassifier()

    def work(thread):
        for i in range(100):
            x = {f"name {thread}": float(i), f"other {i % 7}": 2.0, "every": float(thread)}
            slow = {name: Slow(value) for name, value in x.items()}
            assert shared.transform_one(slow) == make().transform_one(x)
            model.learn_one(slow, i % 2 == 0)
            model.predict_one(slow)

    together(work)
    assert model["PAClassifier"].n_seen == THREADS * 100
    assert goes_on_from_its_state(model["PAClassifier"])


def test_threads_share_the_words_of_their_texts():
    model = rm.TFIDF(on="body") | rm.PAClassifier()
    counts = rm.BagOfWords()

    def work(thread):
        for i in range(200):
            text = f"every every thread{thread} word{i}"
            assert counts.transform_one(text) == {"every": 2, f"thread{thread}": 1, f"word{i}": 1}
            model.learn_one({"body": text}, i % 2 == 0)
            model.predict_one({"body": text})

    together(work)
    threads = {f"thread{thread}": 200 for thread in range(THREADS)}
    assert model[0].dfs == {"every": THREADS * 200} | threads | {f"word{i}": THREADS for i in range(200)}
    assert model[0].n == model[1].n_seen == THREADS * 200


@pytest.mark.parametrize("kind", [rm.PAClassifier, rm.StandardScaler])
def test_an_estimator_does_not_learn_in_the_midst_of_learning(kind):
    class Nested:
        def __float__(self):
            learn({"b": 1.0})

    def learn(x):
        model.learn_one(x, True) if kind is rm.PAClassifier else model.learn_one(x)

    model = kind()
    before = pickle.dumps(model)
    with pytest.raises(RuntimeError, match="while it learns"):
        learn({"a": Nested()})
    assert pickle.dumps(model) == before
    learn({"a": 1.0})
    assert list(model.__getstate__().get("space", model.__getstate__())["features"]) == ["a"]


def test_threads_share_experts():
    experts = [rm.MarginClassifier(SlowRule()), rm.PAClassifier(), rm.AROWClassifier(), rm.MarginClassifier(SlowRule())]
    model = rm.AutoClassifier(experts)

    def work(thread):
        for i, (x, y) in enumerate(stream(seed=thread, rounds=60)):
            # At first all names are known to all experts or to some of them; later new ones come.
            x = {f"{key} {i // 20}": Slow(value) for key, value in x.items()}
            model.learn_one(x, y)
            model.predict_one(x)

    together(work)
    assert [expert.n_seen for _, expert in model.experts] == [THREADS * 60] * 4
    assert sum(weight for weight, _ in model.experts) == pytest.approx(1.0)
    assert goes_on_from_its_state(model)


def test_threads_draw_the_same_random_features():
    x = {f"f{i}": 0.01 * i for i in range(300)}
    model = rm.FOGDClassifier(0.1, components=20)
    model.learn_one(x, True)
    expected = model.score_one(x)
    for _ in range(20):
        shared = pickle.loads(pickle.dumps(model))  # which draws its frequencies anew
        together(lambda thread, shared=shared: shared.score_one(x))
        assert shared.score_one(x) == expected


def test_a_parameter_that_changes_while_another_thread_learns_stays_changed():
    model = rm.PARegressor(eps=0.1)
    changing = threading.Thread(target=lambda: model.mutate({"eps": 5.0}))

    class Late:
        def __float__(self):
            changing.start()
            changing.join(0.05)
            return 1.0

    model.learn_one({"a": Late()}, 1.0)
    changing.join()
    updates = model.n_updates
    model.learn_one({"a": 1.0}, 4.0)
    assert (model.eps, model.n_updates) == (5.0, updates)


SAVE_MEANWHILE = """
import pickle, sys, threading
import numpy as np
import river_margins as rm
kind, parameters = getattr(rm, sys.argv[1]), eval(sys.argv[2])
rounds = [({"every": 1.0, f"name {i}": 1.0}, f"class {i % 5}") for i in range(12)]
threads = []

def learn(model, x, y):
    model.learn_one(x) if kind is rm.StandardScaler else model.learn_one(x, y)

def letting_others_run(function):
    def call(*args, **kwargs):
        made = function(*args, **kwargs)
        if left:
            threads.append(threading.Thread(target=learn, args=(model, *left.pop(0))))
            threads[-1].start()
            threads[-1].join(0.1)  # it may have to wait
        return made
    return call

model, left = kind(**parameters), rounds[3:]
for x, y in rounds[:3]:
    learn(model, x, y)
usual = np.zeros, np.array, np.empty
np.zeros, np.array, np.empty = map(letting_others_run, usual)
saved = pickle.dumps(model)
np.zeros, np.array, np.empty = usual
for thread in threads:
    thread.join()
twin = kind(**parameters)
for x, y in rounds[:3]:
    learn(twin, x, y)
print(pickle.dumps(pickle.loads(saved)) == pickle.dumps(twin), len(threads) > 0)
"""


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("PAClassifier", {}),
        ("AROWClassifier", {"half_life": 2.0}),
        ("FTRLProximalClassifier", {}),
        ("CoinBettingClassifier", {}),
        ("AROWClassifier", {"class_weight": "balanced"}),
        ("StandardScaler", {}),
    ],
)
def test_a_model_is_saved_as_it_is_while_another_thread_learns(kind, parameters):
    """Numpy lets other threads run while it makes or copies an array. A process of its own: it may write behind one."""
    command = [sys.executable, "-c", SAVE_MEANWHILE, kind, repr(parameters)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "True True\n"), done.stderr


def meanwhile(work, *arguments):
    """Let another thread work, or begin to: it may have to wait for the present call."""
    thread = threading.Thread(target=work, args=arguments)
    thread.start()
    thread.join(0.1)


def test_a_label_that_comes_during_a_prediction_has_its_score():
    class Tag(str):
        new = None

        def __hash__(self):
            if Tag.new:
                labels, Tag.new = Tag.new, {}
                meanwhile(model.learn_one, {"a": 1.0}, labels)
            return str.__hash__(self)

    model = rm.PAMultiLabelClassifier(intercept=False)
    model.learn_one({"a": 1.0}, {Tag("p"): True, Tag("q"): False})
    Tag.new = {f"t{i}": i % 2 == 0 for i in range(50)}
    prediction, score = model.predict_score_one({"a": 1.0})
    assert prediction == {label: number > 0.0 for label, number in score.items()}
    assert score == model.score_one({"a": 1.0})


@pytest.mark.parametrize(
    "read", [lambda model: model.weights, lambda model: model.explain_one({"a": 1.0})], ids=["weights", "explain_one"]
)
def test_a_class_may_come_while_weights_are_read(read, monkeypatch):
    model = rm.PAClassifier(intercept=False)
    for label in ("a", "b"):
        model.learn_one({"a": 1.0}, label)

    def late(function):
        def call(*arguments):
            meanwhile(model.learn_one, {"a": 1.0}, "new")
            return function(*arguments)

        return call

    for name in ("Weights", "largest_first"):
        monkeypatch.setattr(learner, name, late(getattr(learner, name)))
    assert list(read(model)) == ["a", "b"]


def test_a_frame_is_scaled_by_the_moments_of_one_moment(monkeypatch):
    scaler = rm.StandardScaler()
    array = np.array

    def late(*arguments, **others):
        for value in (1e6, 1e6 + 1.0):
            meanwhile(scaler.learn_one, {"a": value})
        return array(*arguments, **others)

    X = pd.DataFrame({"a": [1e6]})
    with monkeypatch.context() as patch:
        patch.setattr(np, "array", late)
        assert scaler.transform_many(X)["a"].tolist() in ([0.0], [-1.0])  # before the two numbers, or after them


def test_the_rows_of_a_matrix_keep_their_labels_while_a_class_comes():
    class Name(str):
        is_late = False

        def __hash__(self):
            if Name.is_late:
                Name.is_late = False
                meanwhile(model.learn_one, {"a": 1.0}, "new")
            return str.__hash__(self)

    model = rm.PAClassifier(intercept=False)
    for label in ("a", "b"):
        model.learn_one({Name("a"): 1.0}, label)
    Name.is_late = True
    assert model.weight_matrix().labels == ["a", "b"]


def test_a_rule_may_read_the_model_in_its_round():
    class Reads(rm.Rule):
        def step(self, seen):
            read.append((dict(model.weights), model.__getstate__()["n_seen"]))
            return 1.0

    read = []
    model = rm.MarginClassifier(Reads(), intercept=False)
    for _ in range(2):
        model.learn_one({"a": 1.0}, True)
    assert read == [({}, 0), ({"a": 1.0}, 1)]


def test_a_class_may_come_while_a_score_is_shown():
    class Late:
        calls = 0

        def __float__(self):
            Late.calls += 1
            if Late.calls == 2:  # `score_one` reads it, after `explain_one`
                meanwhile(lambda: [model.learn_one({"a": 5.0}, "new") for _ in range(3)])
            return 1.0

    model = rm.PAClassifier(intercept=False)
    for label in ("a", "b"):
        model.learn_one({"a": 1.0}, label)
    assert "a" in model.debug_one({"a": Late()})


def test_two_threads_each_change_a_parameter():
    class Slow(rm.PARegressor):
        def __init__(self, C=1.0, eps=0.1):
            super().__init__(C, eps=eps)
            if others:
                meanwhile(model.mutate, others.pop())

    others = []
    model = Slow()
    others.append({"eps": 5.0})
    deadline = time.monotonic() + 5.0
    model.mutate({"C": 0.5})
    while model.eps != 5.0 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert (model.C, model.eps) == (0.5, 5.0)
