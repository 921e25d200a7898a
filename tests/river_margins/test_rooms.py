"""The rooms of river_margins that few programs use: imported with the first use of a name, listed like the others."""

import importlib
import shutil
import subprocess
import sys

import pytest

import river_margins as rm

LOADED = """
import sys
import river_margins as rm
assert set(rm.ROOMS) | set(rm.__all__) <= set(dir(rm))
print(*[room for room in rm.ROOMS if f"river_margins.{room}" in sys.modules])
"""


def test_no_room_is_imported_before_it_is_used():
    shown = subprocess.run([sys.executable, "-c", LOADED], check=True, capture_output=True, text=True)
    assert shown.stdout.split() == []


@pytest.mark.parametrize("room", rm.ROOMS)
def test_the_classes_of_a_room_are_names_of_the_package(room):
    module = importlib.import_module(f"river_margins.{room}")
    assert getattr(rm, room) is module
    for name in rm.ROOMS[room]:
        assert getattr(rm, name).__module__.startswith(f"river_margins.{room}") and name in rm.__all__


@pytest.mark.parametrize("name", ["snapshot.save", "evaluate.progressive", "theory.bounds"])
def test_a_module_that_the_pages_name_needs_no_import_of_its_own(name):
    subprocess.run([sys.executable, "-c", f"import river_margins as rm; rm.{name}"], check=True)


def test_python_suggests_the_name_that_was_meant():
    shown = subprocess.run(
        [sys.executable, "-c", "import river_margins; river_margins.Hegde"], capture_output=True, text=True
    )
    assert "Did you mean: 'Hedge'?" in shown.stderr


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="has no attribute 'Hegde'"):
        rm.Hegde  # noqa: B018


def test_sources_that_are_not_compiled_say_so(tmp_path):
    (tmp_path / "river_margins").mkdir()
    shutil.copy(rm.__file__, tmp_path / "river_margins")
    # An editable install finds the compiled modules wherever Python starts.
    code = "import sys; sys.meta_path = [each for each in sys.meta_path if 'ditable' not in repr(each)]; "
    code += "import river_margins"
    line = [sys.executable, "-c", code]
    said = subprocess.run(line, check=False, cwd=tmp_path, capture_output=True, text=True).stderr
    assert "sources that are not compiled" in said and "circular" not in said.splitlines()[-1]


def test_an_older_river_gets_a_hint():
    """As if another project had brought one from before `river.utils.dataframe`."""
    code = "import sys; sys.modules['river.utils.dataframe'] = None; import river_margins"
    said = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True).stderr
    assert said.splitlines()[-1].startswith("`pip check` tells")


def test_an_editor_completes_the_names_of_theory():
    assert set(rm.theory.__all__) <= set(dir(rm.theory))
    with pytest.raises(AttributeError) as raised:
        rm.theory.MistakeBoun  # noqa: B018
    assert raised.value.name == "MistakeBoun" and raised.value.obj is rm.theory
