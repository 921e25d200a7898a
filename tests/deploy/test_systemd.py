"""The unit is valid, confined, and gives the processor all that it needs."""

import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from connectors import config
from connectors.errors import AccessError, ConfigError, FencedError, StartError, StateError
from connectors.snapshots.stores import FolderStore
from tests.deploy.tools import DEPLOY, LEAVING, PAGE, check, needs
from tests.helpers.deadline import DEADLINE
from tests.helpers.streams import BOTH_CLIENTS, Stream, phishing

UNIT = DEPLOY / "systemd" / "river-margins@.service"
TEXT = UNIT.read_text()
PROGRAM = "/opt/river-margins/bin/river-margins"
# Refuses memory that is writable and executable, as MemoryDenyWriteExecute of the unit does.
REFUSE = """
import ctypes
PR_SET_MDWE = 65  # since Linux 6.3
assert ctypes.CDLL(None).prctl(PR_SET_MDWE, 1, 0, 0, 0) == 0
"""


def value(key):
    (found,) = re.findall(f"^{key}=(.*)$", TEXT, re.MULTILINE)
    return found


@pytest.fixture
def unit(tmp_path):
    """The unit with a program that this machine has."""
    assert TEXT.count(PROGRAM) == 1
    file = tmp_path / "river-margins@phishing.service"
    file.write_text(TEXT.replace(PROGRAM, f'"{sys.executable}"'))  # its path may have spaces
    return file


def test_unit_is_valid(unit):
    assert not check(needs("systemd-analyze", "apt-get install systemd"), "verify", "--man=no", unit)


def test_unit_is_confined(unit):
    analyze = needs("systemd-analyze", "apt-get install systemd")
    said = check(analyze, "security", "--offline=true", "--threshold=15", "--no-pager", unit)
    assert "Overall exposure level" in said


def test_a_person_is_waited_for():
    codes = {int(code) for code in value("RestartPreventExitStatus").split()}
    errors = (ConfigError, StateError, FencedError, AccessError)
    assert codes == {error.exit_code for error in errors} and StartError.exit_code not in codes


def test_stop_has_time_to_commit():
    assert (
        float(value("TimeoutStopSec").removesuffix("s"))
        >= sum(config.load_topics(DEPLOY / "compose/processor.yaml").kafka.timeouts) + LEAVING
    )


def permitted(analyze):
    """The system calls that the lines of the unit permit, applied in their order."""
    found = set()
    for sign, names in re.findall("^SystemCallFilter=(~?)(.*)$", TEXT, re.MULTILINE):
        calls = set().union(*(resolved(analyze, name) for name in names.split()))
        found = found - calls if sign else found | calls
    return found


def resolved(analyze, name):
    """A system call, or all of a group, with those of the groups in it."""
    if name[0] != "@":
        return {name}
    lines = [line.strip() for line in check(analyze, "syscall-filter", "--no-pager", name).splitlines()[1:]]
    return set().union(*(resolved(analyze, line) for line in lines if line and line[0] != "#"))


@BOTH_CLIENTS
def test_processor_needs_no_more(client, kafka, tmp_path):
    strace, analyze = needs("strace", "apt-get install strace"), needs("systemd-analyze", "apt-get install systemd")
    for needed in ([strace, "-qq", "-o", os.devnull], []):
        if ended := subprocess.run([*needed, sys.executable, "-c", REFUSE], capture_output=True, text=True).stderr:
            pytest.skip(f"this kernel does not let the test trace or confine a process: {ended.splitlines()[-1]}")
    stream = Stream(kafka, tmp_path)
    stream.produce(phishing(200))
    trace = tmp_path / "trace"
    code = REFUSE + "from connectors import cli; cli.main()"
    command = [strace, "-f", "-qq", "-o", str(trace), sys.executable, "-c", code, "run", str(stream.file())]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            stream.read(stream.output, 200)
            (traced,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            os.kill(int(traced), signal.SIGTERM)
            _, said = process.communicate(timeout=DEADLINE)
        finally:
            process.kill()
    assert process.returncode == 0, said
    called = set(re.findall(r"^\d+ +(\w+)\(", trace.read_text(), re.MULTILINE))
    assert "openat" in called and called <= permitted(analyze)


def test_an_outage_of_any_length_is_survived():
    assert value("StartLimitIntervalSec") == "0" and value("Restart") == "on-failure"


def test_a_shared_folder_may_be_written(tmp_path):
    unit = tmp_path / "river-margins@phishing.service"
    (lines,) = re.findall(r"^    \[Unit\]\n(?:    .*\n)+", PAGE, re.MULTILINE)
    text = UNIT.read_text().replace("/opt/river-margins/bin/river-margins", "/bin/true")
    assert "ProtectSystem=strict" in text and "ReadWritePaths=" in lines and "RequiresMountsFor=" in lines
    unit.write_text(f"{text}\n{textwrap.dedent(lines)}")
    assert not check(needs("systemd-analyze", "apt-get install systemd"), "verify", "--man=no", unit)


def test_the_unit_may_change_what_root_has_written(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    os.chown(tmp_path, 61_234, 61_234)
    FolderStore(tmp_path / "snapshots").write(0, "00000000000000000017-0-20261121T102500Z-0badcafe-empty", b"model")
    (command,) = re.findall("^    (chown .*)$", PAGE, re.MULTILINE)
    subprocess.run(command.split(), cwd=tmp_path, check=True)
    owners = {(path.stat().st_uid, path.stat().st_gid) for path in tmp_path.rglob("*")}
    assert owners == {(61_234, 61_234)} and len(list(tmp_path.rglob("*"))) == 3
