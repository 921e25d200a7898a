"""Parts of another package in snapshots and files, once that package registers them, and no other class of it."""

import numpy as np
import pytest

import river_margins as rm
from connectors.config import catalogue
from connectors.config.learner import assemble
from connectors.errors import ConfigError
from river_margins import registered, snapshot
from river_margins.snapshot import SnapshotError, nodes
from tests.helpers.paths import ROOT

CODE = """
from river import base
import river_margins as rm

class MarginPerceptron(rm.Rule):
    _parameter_names = ("b",)

    def __init__(self, b=0.5):
        self.b = b

    def step(self, seen):
        return 1.0 if seen.margin <= self.b else 0.0

class Wide(rm.MarginClassifier):
    def __init__(self, b=0.5):
        vars(self).update(b=b)
        super().__init__(MarginPerceptron(b), intercept=True)

class Open(rm.PAClassifier):
    def __init__(self, b=0.5, **options):
        super().__init__(**options)
        self.b, self.options = b, options

class Counting(rm.PAClassifier):
    def __init__(self, C=0.01):
        super().__init__(C)
        vars(self).update(found=0)

    def learn_one(self, x, y, w=1.0):
        super().learn_one(x, y, w)
        vars(self).update(found=self.found + bool(y))

    def __getstate__(self):
        return super().__getstate__() | {"found": self.found}

    def __setstate__(self, state):
        super().__setstate__(state)
        vars(self).update(found=state["found"])

class Short(MarginPerceptron):
    pass

class Hidden(MarginPerceptron):
    pass

class TooMany(rm.RBF):
    _parameter_names = ("gamma", "c0", "c")
    c = 1.0

class Foreign(base.Transformer):
    def transform_one(self, x):
        return x

NUMBER = 3
"""
POINTS = """[river_margins]
MarginPerceptron = guest.parts:MarginPerceptron
Wide = guest.parts:Wide
Open = guest.parts:Open
Counting = guest.parts:Counting
Short = guest:Short
TooMany = guest.parts:TooMany
Number = guest.parts:NUMBER
Foreign = guest.parts:Foreign
Gone = guest.nowhere:Gone
"""


@pytest.fixture
def guest(tmp_path, monkeypatch):
    """An installed package with parts of its own."""
    (tmp_path / "guest").mkdir()
    (tmp_path / "guest" / "__init__.py").write_text("from guest.parts import Short\n")
    (tmp_path / "guest" / "parts.py").write_text(CODE)
    info = tmp_path / "guest-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: guest\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    entry_points = registered._entry_points
    entry_points.cache_clear()
    from guest import parts

    yield parts
    entry_points.cache_clear()


def test_a_snapshot_holds_a_registered_rule_and_a_registered_learner(guest):
    for model in (rm.MarginClassifier(guest.MarginPerceptron(b=0.25)), guest.Wide(b=0.25)):
        for n in range(20):
            model.learn_one({"a": n % 3 - 1.0, "b": 1.0}, n % 2 == 0)
        twin = snapshot.loads(snapshot.dumps(model))
        assert type(twin) is type(model) and repr(twin) == repr(model)
        assert dict(twin.weights) == dict(model.weights) and twin.n_updates == model.n_updates > 0


def test_a_snapshot_holds_what_a_learner_adds_to_its_state_as_the_page_says(guest):
    page = (ROOT / "docs" / "adding-a-learner.md").read_text()
    assert 'super().__getstate__() | {"found": self.found}' in page
    model = rm.StandardScaler() | guest.Counting()
    for n in range(20):
        model.predict_learn_one({"a": n % 3 - 1.0}, n % 2 == 0)
    assert snapshot.loads(snapshot.dumps(model))["Counting"].found == model["Counting"].found == 10
    model.mutate({"Counting": {"C": 0.25}})
    assert (model["Counting"].C, model["Counting"].rule.C, model["Counting"].found) == (0.25, 0.25, 10)
    with pytest.raises(AttributeError, match="has no parameter `lost`"):
        model["Counting"].lost = 1


class Renamed(rm.PAClassifier):
    """PA whose C has another name, and what follows from it."""

    def __init__(self, aggressiveness=0.1):
        super().__init__(C=aggressiveness)
        vars(self).update(aggressiveness=aggressiveness, half=self.C / 2, seen=np.zeros(2))

    @property
    def _mutable_attributes(self):
        return {"aggressiveness"}


def test_what_follows_from_a_parameter_is_changed_with_it_and_nothing_else():
    model = Renamed()
    vars(model)["seen"] = np.ones(2)
    model.mutate({"aggressiveness": 0.25})
    assert (model.C, model.rule.C, model.half, model.clone().C) == (0.25, 0.25, 0.125, 0.25)
    assert model.seen.tolist() == [1.0, 1.0]


def test_a_file_names_it_in_full(guest):
    learner, problems = assemble([{"MarginClassifier": {"rule": {"guest.parts.MarginPerceptron": {"b": 0.25}}}}])
    assert problems == [] and type(learner.rule) is guest.MarginPerceptron and learner.rule.b == 0.25
    learner, problems = assemble(["StandardScaler", {"guest.parts.Wide": {"b": 0.25}}])
    assert problems == [] and type(learner["Wide"]) is guest.Wide


def test_what_is_not_registered_is_refused(guest):
    with pytest.raises(SnapshotError, match=r"guest\.parts\.Hidden"):
        snapshot.dumps(rm.MarginClassifier(guest.Hidden()))
    ((_, problem),) = assemble(["guest.parts.Hidden"])[1]
    assert "there is no class `guest.parts.Hidden`" in problem
    ((_, problem),) = assemble(["guest.parts.Wid"])[1]
    assert "did you mean `guest.parts.Wide`?" in problem


def test_a_snapshot_of_a_package_that_is_gone_says_so(guest, monkeypatch):
    data = snapshot.dumps(guest.Wide())
    monkeypatch.setattr(registered, "_entry_points", dict)
    with pytest.raises(SnapshotError, match=r"names `guest\.parts\.Wide`, a class that snapshots cannot hold"):
        snapshot.loads(data)


def test_a_registration_that_is_wrong_is_named(guest):
    with pytest.raises(ImportError, match=r"`guest\.nowhere\.Gone` is registered .* No module named 'guest\.nowhere'"):
        registered.find_class("guest.nowhere.Gone")
    ((_, problem),) = assemble(["guest.nowhere.Gone"])[1]
    assert "cannot be imported: No module named 'guest.nowhere'" in problem
    with pytest.raises(
        ImportError,
        match=r"`guest\.parts\.NUMBER` is registered as an entry point, but is not built on an estimator",
    ):
        registered.find_class("guest.parts.NUMBER")
    ((_, problem),) = assemble(["guest.parts.Foreign"])[1]
    assert "is not built on an estimator, rule, space or kernel of river_margins" in problem
    with pytest.raises(SnapshotError, match=r"guest\.parts\.Foreign"):
        snapshot.dumps(guest.Foreign())


def test_a_class_may_be_registered_where_its_package_imports_it(guest):
    twin = snapshot.loads(snapshot.dumps(rm.MarginClassifier(guest.Short(b=0.25))))
    assert twin.rule == guest.Short(b=0.25)
    assert assemble([{"MarginClassifier": {"rule": {"guest.Short": {"b": 0.25}}}}])[1] == []


def test_a_snapshot_that_could_not_be_read_is_not_written(guest):
    with pytest.raises(SnapshotError, match=r"`guest\.parts\.TooMany`, whose signature has no parameter `c`"):
        snapshot.dumps(rm.KernelPerceptron(guest.TooMany()))


def test_a_snapshot_of_a_constructor_that_takes_any_parameters_is_not_written(guest):
    with pytest.raises(SnapshotError, match=r"`guest\.parts\.Open`, whose constructor takes `\*\*options`: name each"):
        snapshot.dumps(guest.Open(C=0.1))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("guest.nowhere.Gone", "cannot be imported: No module named 'guest.nowhere'"),
        ("guest.parts.MarginPerceptro", "did you mean `guest.parts.MarginPerceptron`?"),
        ("PAA1", "there is no class `PAA1`, did you mean `PA1`?"),
    ],
)
def test_a_part_that_is_not_there_is_named(guest, name, said):
    for rule in (name, {name: {"b": 0.25}}):
        ((path, problem),) = assemble([{"MarginClassifier": {"rule": rule}}])[1]
        assert path == (0, "MarginClassifier", "rule") and said in problem


def test_a_newer_package_reads_old_snapshots_or_says_why_not(guest, monkeypatch):
    """A parameter that the class has got since takes its default; one without a default cannot be guessed."""
    data = snapshot.dumps(rm.MarginClassifier(guest.MarginPerceptron(b=0.25)))

    def newer(self, b=0.5, lr=1.0):
        self.b, self.lr = b, lr

    def newest(self, b, lr):
        self.b, self.lr = b, lr

    monkeypatch.setattr(guest.MarginPerceptron, "__init__", newer)
    monkeypatch.setattr(guest.MarginPerceptron, "_parameter_names", ("b", "lr"))
    nodes.defaults.cache_clear()
    try:
        rule = snapshot.loads(data).rule
        assert (rule.b, rule.lr) == (0.25, 1.0)
        same, other = (rm.MarginClassifier(guest.MarginPerceptron(b=0.25, lr=lr)) for lr in (1.0, 2.0))
        assert snapshot.difference(data, same) == []
        (said,) = snapshot.difference(data, other)
        assert said.endswith("lr=2.0)")
        monkeypatch.setattr(guest.MarginPerceptron, "__init__", newest)
        nodes.defaults.cache_clear()
        with pytest.raises(SnapshotError, match=r"gives `guest\.parts\.MarginPerceptron` no parameter `lr`"):
            snapshot.loads(data)
        monkeypatch.delattr(guest, "MarginPerceptron")
        with pytest.raises(SnapshotError, match=r"^`guest\.parts\.MarginPerceptron` is registered .* be imported"):
            snapshot.loads(data)
    finally:
        nodes.defaults.cache_clear()


def test_the_catalogue_names_what_is_registered(guest, capsys):
    catalogue.show_all()
    assert "guest.parts.Wide" in capsys.readouterr().out
    with pytest.raises(ConfigError, match=r"cannot be imported: No module named 'guest\.nowhere'"):
        catalogue.show("guest.nowhere.Gone")
