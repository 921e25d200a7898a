"""A task of another package works with the learner as it is: rounds, predictions, copies, state."""

import importlib.util
import pickle
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from river import base

import river_margins as rm
from river_margins.core.learner import Learner
from tests.helpers.paths import ROOT

BUILD = """
import sys
from Cython.Build import cythonize
from setuptools import Extension, setup

part = Extension("outside_task", ["outside_task.pyx"], extra_compile_args=["-O0", "-g0"])
setup(
    script_args=["--quiet", "build_ext", "--inplace"],
    ext_modules=cythonize([part], include_path=[sys.argv[1]], compiler_directives={"binding": True}, quiet=True),
)
"""


@pytest.fixture(scope="module")
def outside_task(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outside")
    shutil.copy(Path(__file__).with_name("outside_task.pyx"), folder)
    subprocess.run([sys.executable, "-c", BUILD, str(ROOT)], cwd=folder, check=True, timeout=300)
    compiled = folder / f"outside_task{sysconfig.get_config_var('EXT_SUFFIX')}"
    module = importlib.util.module_from_spec(importlib.util.spec_from_file_location("outside_task", compiled))
    module.__spec__.loader.exec_module(module)
    sys.modules["outside_task"] = module
    Directional.task = module.UpOrDown
    yield module
    del sys.modules["outside_task"]


class Directional(Learner, base.Classifier):
    """An estimator with the task."""

    def __init__(self, margin=2.0):
        vars(self).update(margin=margin)
        self._open(rm.PA(), None, self.task(margin), False, None)


@pytest.mark.usefixtures("outside_task")
def test_a_task_of_another_package_learns_and_predicts():
    model = Directional()
    assert model.predict_learn_one({"a": 1.0}, "down") == "up"  # a score of 0
    assert dict(model.weights) == {"a": -2.0}  # PA reaches the margin of 2 exactly
    assert (model.predict_one({"a": 1.0}), model.score_one({"a": 0.5})) == ("down", -1.0)
    with pytest.raises(ValueError, match="neither 'up' nor 'down'"):
        model.check_label("left")


@pytest.mark.usefixtures("outside_task")
def test_the_state_of_a_task_of_another_package_is_its_own():
    model = Directional()
    model.learn_one({"a": 1.0}, "down")
    state = pickle.loads(pickle.dumps(model.__getstate__()))
    assert state["margin"] == 2.0
    twin = Directional(margin=5.0)
    twin.__setstate__(state)
    for one in (model, twin):
        one.learn_one({"b": 1.0}, "up")
    assert dict(twin.weights) == dict(model.weights) == {"a": -2.0, "b": 2.0}
