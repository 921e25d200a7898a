"""Models go on bit for bit after a snapshot, equal models have equal bytes, and what cannot be written is named."""

import io
import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from river import compose, datasets, feature_extraction, feature_selection, linear_model, preprocessing, stats
from safetensors.numpy import load as read_safetensors

import river_margins as rm
from river_margins import snapshot
from river_margins.snapshot import SnapshotError, codec

KEYS = ("text", 7, 2.5, None, ("a", 1, None), True, "", "ünï", "\ud800", "$dict", 2**70, -0.0)


def numbers(label):
    """Examples with keys of every kind, some missing, some first seen half-way."""
    random = np.random.default_rng(7)
    for n in range(120):
        keys = KEYS[: 6 + n // 20]
        x = {key: float(value) for key, value in zip(keys, random.normal(size=len(keys)), strict=True) if value > -1}
        yield x, label(sum(x.values()), n)


def words(kinds=str):
    random = np.random.default_rng(8)
    for n in range(120):
        yield {"word": kinds(random.integers(40)), "group": f"g{n % 5}", "tags": [f"t{n % 3}", "all"]}, n % 3 == 0


def wide():
    """More features than the list form of a snapshot takes, some values whole numbers."""
    random = np.random.default_rng(9)
    for n in range(120):
        yield {f"f{i}": float(random.normal()) if i % 2 else int(random.integers(9)) for i in range(50)}, n % 2 == 0


def texts():
    random = np.random.default_rng(10)
    for n in range(120):
        yield {"text": " ".join(f"Word{i}" for i in random.integers(30, size=6)) + " the end"}, n % 3 == 0


def gaps():
    """Features that are null now and then."""
    random = np.random.default_rng(11)
    for n in range(120):
        features = {name: float(random.integers(9)) for name in ("mean", "min", "max", "constant", "mode")}
        yield {name: value if n < 2 or random.random() < 0.7 else None for name, value in features.items()}, n % 2 == 0


def sign(total, _):
    return total > 0.3


LEARNERS = [
    (rm.PAClassifier(C=0.1), numbers(sign)),
    (rm.PAClassifier(mode=2, classes=["no", "yes"]), numbers(lambda total, _: "yes" if total > 0 else "no")),
    (rm.PAClassifier(), numbers(lambda _, n: f"class {n % 4}")),
    (rm.PAClassifier(mode=0, intercept=True), numbers(lambda _, n: n % 3)),
    (rm.PAClassifier(max_features=4), numbers(sign)),
    (rm.PAClassifier(), wide()),
    (rm.Perceptron(intercept=True), numbers(sign)),
    (rm.Perceptron(), numbers(lambda _, n: ("a", n % 2) if n % 5 else "b")),
    (rm.PARegressor(C=0.5, mode=2, eps=0.01), numbers(lambda total, n: total * 3 - n)),
    (
        rm.PAMultiLabelClassifier(C=0.1),
        numbers(lambda total, n: {f"label {n % 7}": total > 0, ("a", n % 2): n % 3 == 0}),
    ),
    (rm.PAMultiLabelClassifier(mode=0, classes=["a", "b"]), numbers(lambda total, _: {"a": total > 0, "b": total < 1})),
    (rm.PAOneClass(C=0.5), numbers(lambda *_: None)),
    (rm.PAOneClass(mode=2, eps=5.0, learn_radius=True), numbers(lambda *_: None)),
    (rm.PAClassifier(C=0.1, exact=True), numbers(lambda _, n: f"class {n % 4}")),
    (rm.MIRAClassifier(C=0.1, best=2), numbers(lambda _, n: f"class {n % 4}")),
    (rm.MIRAClassifier(original=True), numbers(lambda _, n: f"class {n % 4}")),
    (rm.MarginClassifier(rm.PA1(C=0.1), rm.Linear(), intercept=True), numbers(sign)),
    (rm.MarginRegressor(rm.PA2(C=0.1)), numbers(lambda total, _: total)),
    (
        rm.KernelPerceptron(rm.Polynomial(2), budget=rm.RandomRemoval(20, seed=5)),
        numbers(lambda _, n: f"class {n % 4}"),
    ),
    (rm.KernelPAClassifier(rm.Laplace(0.5), budget=rm.SmallestRemoval(15), intercept=True), numbers(sign)),
    (rm.KernelPARegressor(rm.RBF(0.1), max_features=4), numbers(lambda total, _: total)),
    (rm.MarginClassifier(rm.ROMMARule(), rm.Kernel(rm.LinearKernel())), numbers(sign)),
    (rm.RandomizedBudgetPerceptron(budget=10), numbers(lambda _, n: n % 2 == 0)),
    (rm.Forgetron(budget=10), numbers(lambda _, n: n % 2 == 0)),
    (rm.Projectron(rm.RBF(0.1), eta=0.5, plus_plus=True), numbers(lambda _, n: n % 3)),
    (rm.BOGDClassifier(rm.RBF(0.1), lam=0.1, budget=10), numbers(sign)),
    (rm.BPAClassifier(rm.RBF(0.1), budget=10), numbers(sign)),
    (rm.FOGDClassifier(0.1, components=20), numbers(lambda _, n: n % 3)),
    (rm.Interactions(pairs=[("f1", "f*")]) | rm.PAClassifier(), wide()),
    (rm.FeatureHasher(16) | rm.PAClassifier(), wide()),
    (rm.StandardScaler() | rm.PAClassifier(C=0.01), datasets.Phishing().take(200)),
    (rm.StandardScaler() | rm.Perceptron(), datasets.ImageSegments().take(200)),
    (rm.StandardScaler() | rm.PARegressor(), datasets.TrumpApproval().take(200)),
]

RIVER_STEPS = [
    (preprocessing.StandardScaler(), numbers(sign)),
    (preprocessing.StandardScaler(with_std=False), wide()),
    (preprocessing.StandardScaler(window_size=5), wide()),
    (preprocessing.MinMaxScaler(), wide()),
    (preprocessing.MinMaxScaler(window_size=3), wide()),
    (preprocessing.MaxAbsScaler(window_size=3), wide()),
    (preprocessing.MaxAbsScaler() | preprocessing.Normalizer(order=1), wide()),
    (preprocessing.OneHotEncoder(), words()),
    (preprocessing.OneHotEncoder(drop_first=True), words(int)),
    (preprocessing.OneHotEncoder(categories={"word": {"1", "2"}, "group": {"g1"}, "tags": {"all"}}), words()),
    (preprocessing.FeatureHasher(n_features=8), wide()),
    (compose.Select("f1", "f3", "f40", "f7") | compose.Prefixer("p"), wide()),
    (compose.Discard("f1", "f2") | compose.Suffixer("s"), wide()),
    (compose.Renamer({"f1": "one"}) | preprocessing.PreviousImputer(), wide()),
    (
        compose.TransformerUnion(
            ("scaled", compose.Select("f1", "f2") | preprocessing.StandardScaler()),
            ("kept", compose.Select("f3") | preprocessing.MinMaxScaler()),
        ),
        wide(),
    ),
    (feature_selection.VarianceThreshold(threshold=0.1), wide()),
    (compose.Select("f1", "f2", "f3") | feature_extraction.PolynomialExtender(degree=2), wide()),
    (preprocessing.Binarizer(threshold=0.5, dtype=int), wide()),
    (compose.Discard("tags") | preprocessing.OrdinalEncoder(), words()),
    (compose.Select("word") | preprocessing.OrdinalEncoder(categories={"word": {"1": 4, "2": 5}}), words()),
    (feature_extraction.BagOfWords("text", ngram_range=(1, 2), stop_words={"the"}), texts()),
    (feature_extraction.TFIDF(on="text"), texts()),
    (
        preprocessing.StatImputer(
            ("mean", stats.Mean()),
            ("min", stats.Min()),
            ("max", stats.Max()),
            ("constant", 0.5),
            ("mode", stats.Mode(2)),
        ),
        gaps(),
    ),
    ((compose.Select("f1", "f3") * compose.Select("f2")) | rm.StandardScaler(), wide()),
]


def test_counts_are_kept():
    """A tie, a mistake, a tie again, and a right prediction."""
    model = rm.Perceptron()
    for value, label in ((1.0, True), (1.0, False), (1.0, False), (1.0, False)):
        model.learn_one({"a": value}, label)
    again = snapshot.loads(snapshot.dumps(model))
    assert (again.n_seen, again.n_mistakes, again.n_updates) == (model.n_seen, model.n_mistakes, model.n_updates)
    assert (again.n_seen, again.n_mistakes, again.n_updates) == (4, 3, 3)


def goes_on_alike(model, stream):
    stream = list(stream)
    for x, y in stream[: len(stream) // 2]:
        model.learn_one(dict(x), y)
    data = snapshot.dumps(model)
    again = snapshot.loads(data)
    assert snapshot.dumps(again) == data
    assert snapshot.difference(data, model) == []
    for x, y in stream[len(stream) // 2 :]:
        # repr tells every float from every other, -0.0 and the order of a dict's keys included
        assert repr(again.predict_one(dict(x))) == repr(model.predict_one(dict(x)))
        assert repr(again.score_one(dict(x))) == repr(model.score_one(dict(x)))
        model.learn_one(dict(x), y)
        again.learn_one(dict(x), y)
    assert snapshot.dumps(again) == snapshot.dumps(model) != data


@pytest.mark.parametrize(
    ("model", "stream"), LEARNERS, ids=lambda value: str(value) if hasattr(value, "learn_one") else ""
)
def test_learners_go_on_as_if_never_saved(model, stream):
    goes_on_alike(model, stream)


@pytest.mark.parametrize(
    ("step", "stream"), RIVER_STEPS, ids=lambda value: str(value) if hasattr(value, "learn_one") else ""
)
def test_pipelines_with_river_steps_go_on_as_if_never_saved(step, stream):
    goes_on_alike(step | rm.PAClassifier(C=0.1), stream)


@pytest.mark.parametrize("model", [rm.PAClassifier(), rm.PARegressor(), rm.StandardScaler() | rm.Perceptron()], ids=str)
def test_a_model_without_any_example_can_be_saved(model):
    again = snapshot.loads(snapshot.dumps(model))
    assert snapshot.dumps(again) == snapshot.dumps(model)
    again.learn_one({"a": 1.0}, True)
    model.learn_one({"a": 1.0}, True)
    assert snapshot.dumps(again) == snapshot.dumps(model)


def test_statistics_of_numpy_numbers_stay_numpy_numbers():
    scaler = preprocessing.StandardScaler()
    for value in (1.5, 2.5, -3.0):
        scaler.learn_one({f"f{i}": np.float64(value + i) for i in range(40)} | {"g": np.float32(value)})
    again = snapshot.loads(snapshot.dumps(scaler))
    assert {type(value) for value in again.means.values()} == {np.float64, np.float32}
    assert again.means == scaler.means
    assert again.vars == scaler.vars


def test_values_of_unlike_types_stay_what_they_are():
    scaler = preprocessing.MinMaxScaler()
    scaler.learn_one({"int": 3, "huge": 10**400, "float": -0.0, "infinite": float("inf"), "bool": True})
    again = snapshot.loads(snapshot.dumps(scaler))
    assert repr([statistic.min for statistic in again.min.values()]) == repr([s.min for s in scaler.min.values()])


IN_ANOTHER_PROCESS = """
    import sys
    sys.modules["sklearn"] = None  # River imports it for one function, which takes longer than all the rest
    from river import compose, preprocessing
    import river_margins as rm
    from river_margins import snapshot

    model = (
        (compose.Select(*"abcdefg") | rm.StandardScaler()) + (compose.Select("word") | preprocessing.OneHotEncoder())
    ) | rm.PAClassifier(C=0.1)
    if sys.argv[1] == "load":
        model = snapshot.load(sys.argv[2])
    for n in range(50):
        x = {key: 1.1 ** (n * place % 17) for place, key in enumerate("abcdefg")}
        x["word"] = str(n % 13)
        if n >= 25 or sys.argv[1] == "save":
            model.learn_one(x, n % 3 == 0)
            print(model.score_one(x)) if n >= 25 else None
        if n == 24 and sys.argv[1] == "save":
            snapshot.save(model, sys.argv[2])
    print(snapshot.dumps(model).hex())
"""


def test_a_process_with_other_hashes_goes_on_alike(tmp_path):
    def run(what, seed):
        command = [sys.executable, "-c", textwrap.dedent(IN_ANOTHER_PROCESS), what, str(tmp_path / "model")]
        environment = os.environ | {"PYTHONHASHSEED": str(seed)}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    first = run("save", 1)
    assert first.count("\n") == 26
    assert run("load", 2) == first


def test_the_file_is_ordinary_safetensors():
    model = rm.PAClassifier(C=0.5, intercept=False)
    model.learn_one({"a": 1.0, "b": 2.0}, True)  # loss 1, |x|² = 5, so the step is min(0.5, 1/5)
    tensors = read_safetensors(snapshot.dumps(model))
    assert sorted(tensors) == ["document", "weights.0"]
    assert tensors["weights.0"].tolist() == [[0.2], [0.4]]
    assert b'"features":["a","b"]' in tensors["document"].tobytes()


def test_an_object_held_twice_comes_back_as_two():
    scaler = preprocessing.StandardScaler()
    again = snapshot.loads(snapshot.dumps(compose.Pipeline(("one", scaler), ("two", scaler))))
    assert again["one"] is not again["two"]


# Files


def test_save_and_load_take_paths_and_file_objects(tmp_path):
    model = rm.PAClassifier(C=0.25)
    snapshot.save(model, tmp_path / "model")
    snapshot.save(model, str(tmp_path / "again"))
    buffer = io.BytesIO()
    snapshot.save(model, buffer)
    assert (tmp_path / "model").read_bytes() == (tmp_path / "again").read_bytes() == buffer.getvalue()
    buffer.seek(0)
    for source in (tmp_path / "model", str(tmp_path / "again"), buffer):
        assert snapshot.load(source).C == 0.25
    assert sorted(os.listdir(tmp_path)) == ["again", "model"]


def test_an_error_names_the_file(tmp_path):
    (tmp_path / "model").write_bytes(b"nothing")
    with pytest.raises(SnapshotError, match=r"model: these bytes are not a river_margins snapshot"):
        snapshot.load(tmp_path / "model")
    with pytest.raises(FileNotFoundError):
        snapshot.load(tmp_path / "absent")


def test_a_save_that_fails_leaves_the_old_file(tmp_path):
    snapshot.save(rm.PAClassifier(C=0.25), tmp_path / "model")
    with pytest.raises(SnapshotError):
        snapshot.save(linear_model.LogisticRegression(), tmp_path / "model")
    # A process that may write 1000 bytes a file: the disk itself says no, in the middle of the file.
    script = """
        import resource, signal, sys
        import river_margins as rm
        from river_margins import snapshot

        model = rm.PAClassifier()
        model.learn_one({f"feature {i}": 1.0 for i in range(1000)}, True)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            snapshot.save(model, sys.argv[1])
        except OSError as error:
            print(error.strerror)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "model")]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout == "File too large\n"
    assert snapshot.load(tmp_path / "model").C == 0.25
    assert os.listdir(tmp_path) == ["model"]


def test_save_follows_a_link_and_keeps_it(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "model")
    snapshot.save(rm.PAClassifier(), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert Path(tmp_path / "model").read_bytes() == snapshot.dumps(rm.PAClassifier())


# What cannot be written


class OwnRule(rm.Rule):
    def step(self, seen):
        return 1.0


class OwnLearner(rm.PAClassifier):
    pass


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            rm.StandardScaler() | (lambda x: x) | rm.PAClassifier(),
            "step 2, `river.compose.FuncTransformer` cannot be written",
        ),
        (
            (compose.Select("a") + (compose.Select("b") | preprocessing.RobustScaler())) | rm.PAClassifier(),
            "step 1, branch 2, step 2, `river.preprocessing.RobustScaler` cannot be written to a snapshot: a snapshot",
        ),
        (linear_model.LogisticRegression(), "`river.linear_model.LogisticRegression` cannot be written to a snapshot"),
        (OwnLearner(), r"`tests.river_margins.snapshot.test_snapshot.OwnLearner` cannot be written"),
        (
            rm.StandardScaler() | rm.MarginClassifier(OwnRule()),
            r"step 2, `MarginClassifier` cannot be written to a snapshot: it holds `[a-z_.]*test_snapshot.OwnRule`",
        ),
        ({"a": 1}, "`dict` cannot be written"),
    ],
    ids=str,
)
def test_what_cannot_be_written_is_refused_by_name(model, message):
    with pytest.raises(SnapshotError, match=message):
        snapshot.check(model)


def test_attributes_that_would_be_lost_are_refused():
    scaler = preprocessing.StandardScaler()
    scaler.note = "mine"
    with pytest.raises(SnapshotError, match="it has the attribute `note`, of which snapshots know nothing"):
        snapshot.dumps(scaler)
    del scaler.note, scaler.counts
    with pytest.raises(SnapshotError, match="it lacks the attribute `counts`"):
        snapshot.dumps(scaler)
    scaler = preprocessing.MinMaxScaler()
    scaler.min["a"] = stats.Max()
    with pytest.raises(SnapshotError, match="it holds statistics of another class than `Min`"):
        snapshot.dumps(scaler)


def test_a_pipeline_within_itself_is_refused():
    pipeline = compose.Pipeline(rm.StandardScaler())
    pipeline.steps["itself"] = pipeline
    with pytest.raises(SnapshotError, match="nested more than"):
        snapshot.dumps(pipeline)


def test_parts_go_with_a_model_and_are_none_of_it():
    model = rm.StandardScaler() | rm.AROWClassifier()
    model.learn_one({"a": 1.0, "b": -2.0}, True)
    parts = {"pa": snapshot.dumps(rm.PAClassifier(C=0.5)), "empty": b"", "more": bytes(range(256)) * 100}
    data = snapshot.dumps(model, {"x": 1.5}, parts)
    assert snapshot.beside(data) == ({"x": 1.5}, parts)
    assert list(snapshot.beside(data)[1]) == list(parts)
    assert snapshot.dumps(snapshot.loads(data)) == snapshot.dumps(model)
    assert snapshot.changes(data, model).refused == snapshot.difference(data, model) == []
    assert snapshot.beside(snapshot.dumps(model)) == ({}, {})


def test_a_part_that_is_not_listed_or_not_there_is_refused():
    document, arrays = codec.read(snapshot.dumps(rm.PAClassifier(), parts={"pa": b"bytes"}))
    for names in ([], ["pa", "other"], 3):
        damaged = codec.write(document | {"parts": names}, arrays)
        with pytest.raises(SnapshotError):
            snapshot.loads(damaged)
    with pytest.raises(SnapshotError, match="not well formed"):
        snapshot.beside(damaged)


def test_a_file_that_is_written_again_keeps_its_permissions(tmp_path):
    path = tmp_path / "model.snapshot"
    snapshot.save(rm.PAClassifier(), path)
    path.chmod(0o600)
    snapshot.save(rm.PAClassifier(), path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_pipe_is_written_to_and_stays(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    snapshot.save(rm.PAClassifier(), tmp_path / "pipe")
    assert os.read(reader, 100_000) == snapshot.dumps(rm.PAClassifier())
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)
    os.close(reader)


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_bytes_of_any_kind_are_read(kind):
    data = snapshot.dumps(rm.PAClassifier(), about={"label": "y"}, parts={"other": b"bytes"})
    assert snapshot.dumps(snapshot.loads(kind(data))) == snapshot.dumps(rm.PAClassifier())
    assert snapshot.describe(kind(data)) == snapshot.describe(data)
    assert snapshot.beside(kind(data)) == ({"label": "y"}, {"other": b"bytes"})
    assert snapshot.difference(kind(data), rm.PAClassifier()) == snapshot.changes(kind(data), rm.PAClassifier()).refused


def test_of_many_words_only_the_changed_ones_are_named():
    words = [f"word{n}" for n in range(300)]
    before, after = (
        rm.BagOfWords("body", stop_words=each) | rm.PAClassifier() for each in (words, [*words[1:], "new"])
    )
    (sentence,) = snapshot.changes(snapshot.dumps(before), after).refused
    assert sentence.endswith("stop_words without {'word0'}, with {'new'}") and len(sentence) < 600


def learned(model, examples):
    for x, y in examples:
        model.learn_one(x, y)
    return model


def older(model, change):
    """The snapshot of a model as an earlier version wrote it: `change` takes its document's state and its arrays."""
    document, arrays = codec.read(snapshot.dumps(model))
    change(document["model"]["$object"]["state"], arrays)
    return codec.write(document, arrays)


def test_a_calibration_of_before_it_counted_more_is_read():
    model = learned(rm.Calibrated(rm.PAClassifier()), numbers(sign))

    def take_out(state, arrays):
        del state["calibration"]["top"], state["calibration"]["crossed"]

    found = snapshot.loads(older(model, take_out))
    for x, _ in numbers(sign):
        assert found.predict_proba_one(x) == model.predict_proba_one(x)
    learned(found, numbers(sign))
    assert snapshot.dumps(snapshot.loads(snapshot.dumps(found))) == snapshot.dumps(found)


def test_a_calibration_of_many_labels_of_before_it_counted_more_is_read():
    """Long lists are arrays, whose names tell their place among all arrays."""
    model = rm.Calibrated(rm.PAClassifier())
    for i in range(100):
        model.learn_one({"a": float(i % 7), "b": float(i % 3)}, i % 20)

    def take_out(state, arrays):
        del state["calibration"]["top"]
        del arrays[state["calibration"].pop("crossed")["$list"]]
        arrays["weights.1"] = arrays.pop("weights.2")
        rename(state)

    def rename(node):
        for key, value in node.items() if isinstance(node, dict) else ():
            if value == "weights.2":
                node[key] = "weights.1"
            rename(value)

    found = snapshot.loads(older(model, take_out))
    assert found.predict_proba_one({"a": 1.0}) == model.predict_proba_one({"a": 1.0})


def test_an_ellipsoid_of_before_it_was_kept_by_a_factor_is_read():
    model = learned(rm.EllipsoidClassifier(), numbers(sign))

    def square(state, arrays):
        factor = arrays.pop(state["body"].pop("factor")["$array"])
        arrays["matrix"] = factor @ factor.T
        state["body"]["matrix"] = {"$array": "matrix"}

    found = snapshot.loads(older(model, square))
    for x, _ in numbers(sign):
        assert found.score_one(x) == pytest.approx(model.score_one(x))


def test_a_projectron_of_before_its_inverse_was_kept_by_a_factor_is_read():
    model = learned(rm.Projectron(), numbers(sign))

    def invert(state, arrays):
        factor = arrays.pop(state["space"].pop("inverse_factor")["$array"])
        arrays["inverse"] = factor.T @ factor
        state["space"]["inverse"] = {"$array": "inverse"}

    found = snapshot.loads(older(model, invert))
    for each in (model, found):
        learned(each, numbers(lambda total, _: total < 0.3))
    for x, _ in numbers(sign):
        assert found.score_one(x) == pytest.approx(model.score_one(x))


def test_the_model_comes_before_the_file(tmp_path):
    with pytest.raises(TypeError, match="the model comes first, then the file"):
        snapshot.save(tmp_path / "model.snapshot", rm.PAClassifier())
