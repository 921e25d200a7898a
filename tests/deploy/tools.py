"""Programs that check the files of `deploy/`; a test that needs one is skipped where it is missing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

DEPLOY = ROOT / "deploy"
PAGE = (ROOT / "docs" / "deploying.md").read_text()
LEAVING = 10.0  # seconds that a processor may take to finish a batch and to leave the group
# Programs of pip packages are beside the Python that runs the tests, also where its environment is not activated.
PLACES = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


def needs(program: str, source: str) -> str:
    """Return the path of a program; skip the test if the machine does not have it."""
    found = shutil.which(program, path=PLACES)
    if found is None:
        pytest.skip(f"needs {program}: {source}")
    return found


def check(*command: str | Path, **changes: str) -> str:
    """Run a program with changes to the environment, and return what it prints; fail with that if it fails."""
    ended = subprocess.run(command, cwd=DEPLOY, capture_output=True, text=True, env=os.environ | changes, timeout=120)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout
