"""Builds the image of `deploy/Dockerfile` and runs it, as root, without a daemon and without a registry.

buildah builds it. mmdebstrap makes the two base images that the Dockerfile names of packages of Debian, with its Python
3.11, because a registry is not always within reach. They are in a store of the tests. A container is a process in
namespaces of its own for mounts and processes, with the settings of the image: user, environment, working directory and
command. Its root file system is read-only, it has no capabilities, and it shares the network of the host.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.helpers.paths import ROOT

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "river-margins" / "images"
RUN_IMAGE = "docker.io/library/python:3.11-slim-bookworm"
BUILD_IMAGE = "docker.io/library/python:3.11-bookworm"
IMAGE = "localhost/river-margins:test"
NEEDED = ("buildah", "crun", "mmdebstrap", "unshare", "setpriv")
ENVIRONMENT = os.environ | {"BUILDAH_ISOLATION": "chroot"}  # namespaces of its own would need cgroups
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
# The packages that the official images have and this test needs; of the larger one a C compiler and pip.
RUN_PACKAGES = "python3,python3-venv,ca-certificates"
BUILD_PACKAGES = "gcc libc6-dev python3-dev python3-pip"
# The process gets number 1, as in Docker. `unshare` ends with its exit code, and with it ends the process.
ENTER = """
set -e
root=$1 snapshots=$2 file=$3 directory=$4 user=$5; shift 5
mount --bind "$root" "$root"
mount --bind "$snapshots" "$root/snapshots"
mount -o remount,bind,ro "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$root/tmp"
mount -t tmpfs -o mode=0755 tmpfs "$root/etc/river-margins"
cp "$file" "$root/etc/river-margins/processor.yaml"
exec chroot "$root" setpriv --reuid "${user%:*}" --regid "${user#*:}" --clear-groups --no-new-privs \
    --bounding-set=-all --inh-caps=-all sh -c 'cd "$0" && exec "$@"' "$directory" "$@"
"""


def missing() -> list[str]:
    """Return what a machine lacks to build and run the image here."""
    return [tool for tool in NEEDED if shutil.which(tool) is None] + ([] if os.geteuid() == 0 else ["root"])


def buildah(*arguments: str) -> str:
    """Run buildah on the store of the tests; return what it prints."""
    ended = subprocess.run([*command(), *arguments], capture_output=True, text=True, env=ENVIRONMENT)
    assert ended.returncode == 0, f"buildah {' '.join(arguments)}\n{ended.stdout[-3000:]}\n{ended.stderr[-3000:]}"
    return ended.stdout.strip()


def command() -> list[str]:
    """The beginning of each command of buildah: the store of the tests."""
    return ["buildah", "--root", str(CACHE / "store"), "--runroot", str(CACHE / "run")]


def make_base_images() -> None:
    """Make the two images that the Dockerfile starts from, unless the store has them."""
    CACHE.mkdir(parents=True, exist_ok=True)
    found = buildah("images", "--format", "{{.Name}}:{{.Tag}}").split()
    if RUN_IMAGE not in found:
        archive = CACHE / "debian.tar"
        options = ["--quiet", "--variant=apt", f"--include={RUN_PACKAGES}", '--aptopt=APT::Sandbox::User "root"']
        options += [f"--dpkgopt=path-exclude=/usr/share/{folder}/*" for folder in ("man", "doc", "locale")]
        subprocess.run(["mmdebstrap", *options, "bookworm", str(archive)], check=True)
        container = buildah("from", "scratch")
        buildah("add", container, str(archive), "/")
        buildah("commit", "--rm", container, RUN_IMAGE)
        archive.unlink()
    if BUILD_IMAGE not in found:
        container = buildah("from", "--pull-never", RUN_IMAGE)
        script = f"apt-get update && apt-get install -y --no-install-recommends {BUILD_PACKAGES}"
        buildah("run", container, "--", "sh", "-c", script)
        buildah("commit", "--rm", container, BUILD_IMAGE)


def build(folder: Path) -> None:
    """Build the image by `make image`. Certificates of this machine are there during the build only."""
    options = ["--pull-never"]
    if os.path.exists(CERTIFICATES):
        configuration = folder / "pip.conf"
        configuration.write_text(f"[global]\ncert = {CERTIFICATES}\ntimeout = 180\n")
        options += [f"--secret=id=pip.conf,src={configuration}", f"--volume={CERTIFICATES}:{CERTIFICATES}:ro"]
    given = {"BUILDER": " ".join(command()), "IMAGE": IMAGE, "IMAGE_OPTIONS": " ".join([*options, "--layers"])}
    ended = subprocess.run(
        ["make", "image", *(f"{name}={value}" for name, value in given.items())],
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout[-5000:] + ended.stderr[-5000:]


class Image:
    """An image whose file system is mounted, until `close`."""

    def __init__(self) -> None:
        described = json.loads(buildah("inspect", "--type", "image", IMAGE))
        self.settings: dict[str, Any] = described["Docker"]["config"]
        self.layers = described["Docker"]["rootfs"]["diff_ids"]
        (self.size,) = buildah("images", "--format", "{{.Size}}", IMAGE).splitlines()
        self._container = buildah("from", "--pull-never", IMAGE)
        self.root = Path(buildah("mount", self._container))
        for point in ("etc/river-margins", "snapshots"):  # the points of mounts, which a runtime makes by itself
            (self.root / point).mkdir(exist_ok=True)

    def close(self) -> None:
        buildah("rm", self._container)

    def start(
        self,
        file: Path,
        snapshots: Path,
        environment: Mapping[str, str],
        *arguments: str,
        entry: list[str] | None = None,
    ) -> "Container":
        """Start a container with a processor's file and a folder of snapshots, and with other arguments if given."""
        whole = [*(self.settings["Entrypoint"] if entry is None else entry), *(arguments or self.settings["Cmd"])]
        place = [str(self.root), str(snapshots), str(file), self.settings["WorkingDir"], self.settings["User"]]
        variables = dict(line.split("=", 1) for line in self.settings["Env"]) | environment
        command = ["unshare", "--mount", "--pid", "--ipc", "--fork", "--kill-child", "--propagation", "private"]
        process = subprocess.Popen(
            [*command, "sh", "-c", ENTER, "sh", *place, *whole],
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return Container(process)


class Container:
    """A running container."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    @property
    def pid(self) -> int:
        """The process of the container, as the host numbers it."""
        (child,) = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(child)

    def status(self, field: str) -> str:
        """A field of what the kernel says about the process."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        (found,) = [line.split(":", 1)[1].split() for line in lines if line.startswith(f"{field}:")]
        return found[0]

    def memory(self) -> int:
        """The memory of the process in bytes, with its share of what it shares with others."""
        lines = Path(f"/proc/{self.pid}/smaps_rollup").read_text().splitlines()
        (found,) = [line.split() for line in lines if line.startswith("Pss:")]
        return int(found[1]) * 1024

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def has_ended(self) -> bool:
        """Fail the test with the output of the container if it has ended by itself."""
        assert self.process.poll() is None, self.end()
        return False

    def end(self, timeout: float = 60.0) -> tuple[int, str]:
        """Wait for the end; return exit code and output."""
        output, _ = self.process.communicate(timeout=timeout)
        return self.process.returncode, output

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
