"""What the recipes of the Makefile leave, and what they must not touch."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.helpers.paths import ROOT


def test_clean_removes_what_was_made_and_no_source(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    sources, made = ["connectors/model/yyjson/yyjson.c", "connectors/a.pyx"], ["connectors/a.c", "river_margins/b.so"]
    for name in (*sources, *made):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    subprocess.run(["make", "clean"], cwd=tmp_path, check=True, capture_output=True)
    assert all((tmp_path / name).exists() for name in sources) and not any((tmp_path / name).exists() for name in made)


@pytest.mark.parametrize(("is_old", "said"), [(1, "needs Python 3.11 or later"), (0, "")])
def test_an_environment_that_failed_is_not_kept(tmp_path, is_old, said):
    shutil.copy(ROOT / "Makefile", tmp_path)
    python = tmp_path / "python"  # as Debian's without python3-venv
    python.write_text(
        f'#!/bin/sh\n[ "$1" = -c ] && exit {is_old}\nmkdir -p .venv/bin; touch .venv/bin/python; exit 1\n'
    )
    python.chmod(0o755)
    command = ["make", ".venv/bin/python", f"PYTHON={python}"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode != 0 and said in ended.stderr and not (tmp_path / ".venv").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [("sys.platform = 'win32'", "use WSL"), ("sys.version_info = 3, 10", "needs Python 3.11 or later, and this is ")],
)
def test_what_cannot_work_is_refused_before_anything_is_compiled(change, said):
    code = (
        f"import runpy, sys, Cython.Build, setuptools.command.build_ext, setuptools.modified; {change}; "
        "runpy.run_path('setup.py', run_name='__main__')"
    )
    ended = subprocess.run([sys.executable, "-c", code], check=False, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 1 and said in ended.stderr


def test_the_sanitizers_get_the_modules_that_were_built_for_them(tmp_path):
    """Not those of the source tree, which pytest puts before all other folders unless it is told not to."""
    (options,) = re.findall(r"-P -m pytest \$\(CORE_TESTS\) (.*)", (ROOT / "Makefile").read_text())
    (tmp_path / "river_margins").symlink_to(ROOT / "river_margins")
    (tmp_path / "where.py").write_text(
        "from river_margins.core import learner\ndef pytest_collection_finish(): print('loaded', learner.__file__)\n"
    )
    command = [sys.executable, "-P", "-m", "pytest", "tests/golden", "-p", "where", "--collect-only", "-qs"]
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}."}
    said = subprocess.run([*command, *options.split()], cwd=ROOT, env=environment, capture_output=True, text=True)
    (loaded,) = re.findall(r"^loaded (.*)$", said.stdout, re.MULTILINE)
    assert loaded.startswith(str(tmp_path)), said.stderr


def test_the_suite_runs_in_a_folder_whose_name_has_a_space():
    """Lines of a shell must quote the Python of the environment, which lies in that folder."""
    unquoted = "exec {" + "sys.executable}"
    assert not [path for path in (ROOT / "tests").rglob("*.py") if unquoted in path.read_text()]


def test_a_pip_that_installs_for_the_user_installs_into_the_environment(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    command = ["make", "--no-print-directory", "--eval", "asked:; @echo $$PIP_USER", "asked"]
    ended = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PIP_USER": "1"}, check=True, capture_output=True, text=True
    )
    assert ended.stdout == "0\n"
