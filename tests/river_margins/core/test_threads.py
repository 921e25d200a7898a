"""Several threads on one estimator: it never crashes, forgets no round, and learns each name once."""

import pickle
import sys
import threading
import time

import pytest

import river_margins as rm
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
