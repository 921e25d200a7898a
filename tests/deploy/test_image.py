"""The image is built, and its processor survives kill -9: `make image-test`, because the compilation takes minutes."""

import os
import signal
import time
import urllib.error
import urllib.request

import pytest

from tests.deploy import image as images
from tests.docs.test_operating import outputs
from tests.helpers.ports import free_port
from tests.helpers.streams import Stream, phishing, twin, wait_for

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    if not os.environ.get("IMAGE_TEST"):
        pytest.skip("builds an image for some minutes: `make image-test`")
    if lacking := images.missing():
        pytest.skip(f"needs {', '.join(lacking)}: apt-get install buildah crun mmdebstrap")
    images.make_base_images()
    images.build(tmp_path_factory.mktemp("image"))
    found = images.Image()
    yield found
    found.close()


def answer(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=5) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


def test_kill_and_run_again(image, kafka, tmp_path, record_property):
    stream, port = Stream(kafka, tmp_path), free_port()
    stream.forget_the_dead_soon()
    snapshots = tmp_path / "snapshots"
    snapshots.mkdir()
    os.chown(snapshots, 10001, 10001)
    file = stream.file(snapshots="./snapshots", metrics={"port": port})
    environment = {"METRICS_PORT": str(port)}
    healthcheck = image.settings["Healthcheck"]["Test"]
    assert healthcheck[0] == "CMD"
    records = phishing(400)
    stream.produce(records[:200])
    began = time.monotonic()
    first = image.start(file, snapshots, environment)
    try:
        wait_for(lambda: first.has_ended() or answer(port, "ready") == 200, "the container is ready")
        ready = time.monotonic() - began
        stream.read(stream.output, 200)
        assert first.status("Uid") == "10001" and first.status("NSpid")
        assert int(first.status("CapBnd"), 16) == 0 and first.status("NoNewPrivs") == "1"
        memory = first.memory()
        check = image.start(file, snapshots, environment, *healthcheck[1:], entry=[])
        assert check.end() == (0, "")
        first.signal(signal.SIGKILL)
    finally:
        first.close()
    check = image.start(file, snapshots, environment, *healthcheck[1:], entry=[])
    code, said = check.end()
    assert code == 1 and "ConnectionRefusedError" in said
    stream.produce(records[200:])
    second = image.start(file, snapshots, environment)
    try:
        found = outputs(stream, 400)
        second.signal(getattr(signal, image.settings["StopSignal"]))
        code, said = second.end()
        assert code == 0 and "ended" in said
    finally:
        second.close()
    for number in range(2):
        assert found[number] == twin(stream.config().build_learner(), records[number::2])
    figures = f"size {image.size}, ready after {ready:.1f} s, memory {memory / 2**20:.0f} MiB"
    print(figures)  # shown by `make image-test`


def test_root_file_system_is_read_only(image, tmp_path):
    (tmp_path / "file.yaml").touch()
    tmp_path.chmod(0o777)
    script = "touch /tmp/it /snapshots/it; touch /it /opt/river-margins/it /etc/it"
    code, said = image.start(tmp_path / "file.yaml", tmp_path, {}, "-c", script, entry=["sh"]).end()
    assert code == 1 and said.count("Read-only file system") == 3 == len(said.splitlines())
    assert (tmp_path / "it").stat().st_uid == 10001


def test_nothing_of_the_build_is_left(image):
    settings = image.settings
    assert [line.split("=")[0] for line in settings["Env"]] == [
        "PATH",
        "MALLOC_ARENA_MAX",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONUNBUFFERED",
        "METRICS_PORT",
    ]
    places = [image.root / folder for folder in ("usr/bin", "usr/local/bin", "opt/river-margins/bin")]
    programs = {path.name for place in places for path in place.glob("*")}
    assert {"gcc", "cc", "pip", "pip3", "curl"}.isdisjoint(programs) and "river-margins" in programs
    assert not (image.root / "etc/pip.conf").exists() and not (image.root / "source").exists()
    assert {name for name in settings["Labels"] if name.startswith("org.opencontainers.image.")} >= {
        f"org.opencontainers.image.{name}" for name in ("title", "description", "licenses", "version", "revision")
    }
