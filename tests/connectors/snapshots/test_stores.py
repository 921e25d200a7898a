"""Where snapshots lie: a folder and an S3-compatible server keep the same promises, and say what is wrong with them."""

import concurrent.futures
import contextlib
import errno
import functools
import json
import logging
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import s3fs
from botocore.exceptions import ClientError
from s3fs.errors import translate_boto_error

from connectors.errors import StartError, StateError
from connectors.snapshots.stores import FolderStore, StoreError, UrlStore, open_store
from connectors.topics import processor
from tests.helpers.s3 import serving
from tests.helpers.streams import Stream, phishing, running, twin, wait_for


@pytest.fixture(scope="module")
def s3():
    with serving("bucket") as server:
        yield server


@pytest.fixture(params=["folder", "s3", "renaming"])
def store(request, tmp_path):
    below = ("group", "cluster", tmp_path.name)
    if request.param == "s3":
        request.getfixturevalue("s3")
        return open_store("s3://bucket/models", *below)
    if request.param == "renaming":  # a protocol whose files are seen while they grow
        return UrlStore(f"local://{tmp_path}/models")
    return open_store(str(tmp_path), *below)


def test_what_is_written_is_read(store):
    store.check()
    store.write(3, "b", b"two")
    store.write(3, "a", b"first")
    assert store.read(3, "a") == b"first"
    assert store.sizes(3) == {"a": 5, "b": 3} and store.sizes(4) == {}
    assert store.path(3, "a") == f"{store.folder}/3/a.snapshot"


def test_deleting_is_final_and_may_be_repeated(store):
    store.write(0, "a", b"one")
    store.delete(0, "a")
    store.delete(0, "a")
    assert store.sizes(0) == {}
    with pytest.raises(FileNotFoundError):
        store.read(0, "a")


def test_one_process_sees_what_another_writes(store):
    other = type(store)(Path(store.folder) if isinstance(store, FolderStore) else store.folder)
    assert store.sizes(7) == {}
    other.write(7, "a", b"one")
    assert store.sizes(7) == {"a": 3} and store.read(7, "a") == b"one"


def test_the_folders_beside_are_found(store):
    place = f"{store.folder}-other"
    assert place not in {found.folder for found in store.beside()}
    for written in (store, type(store)(Path(place) if isinstance(store, FolderStore) else place)):
        written.write(0, "a", b"one")
    beside = {found.folder: found.sizes(0) for found in store.beside()}
    assert beside[place] == {"a": 3} and store.folder not in beside


def test_half_written_files_are_not_seen(tmp_path):
    for store in (FolderStore(tmp_path), UrlStore(f"local://{tmp_path}")):
        store.write(0, "a", b"one")
        Path(store.path(0, "a").removeprefix("local://")).with_name(".b.snapshot.1f.new").write_bytes(b"half")
        Path(store.path(0, "a").removeprefix("local://")).with_name(".c.snapshot").write_bytes(b"hidden")
        assert store.sizes(0) == {"a": 3}


def test_what_a_killed_process_has_left_half_written_is_deleted_later(tmp_path):
    """The process ends right before it renames its file, as `kill -9` may do."""
    code = """
import os, pathlib, sys
from connectors.snapshots.stores import FolderStore
os.replace = lambda *paths: os._exit(1)
FolderStore(pathlib.Path(sys.argv[1])).write(0, "a", b"half")
"""
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == 1
    (left,) = (tmp_path / "0").iterdir()
    store = FolderStore(tmp_path)
    store.delete_unfinished(0)
    assert left.exists(), "another process may be writing it"
    os.utime(left, (0, 0))
    store.write(0, "b", b"whole")
    store.delete_unfinished(0)
    store.delete_unfinished(1)
    assert [path.name for path in (tmp_path / "0").iterdir()] == ["b.snapshot"]


def test_a_file_that_another_process_deletes_meanwhile_is_not_listed(tmp_path):
    """It is in the folder when that is read and gone when its size is asked for, as a link to nowhere is."""
    store = FolderStore(tmp_path)
    store.write(0, "b", b"one")
    for name in ("a", "c"):
        Path(store.path(0, name)).symlink_to(tmp_path / "gone")
    assert store.sizes(0) == {"b": 3}


def test_half_a_file_never_has_the_name(tmp_path, monkeypatch):
    """Where files are seen while they grow, a write that dies half-way leaves nothing under the name."""
    store, names = UrlStore(f"local://{tmp_path}/models"), []

    def dies(path, data):
        Path(path).write_bytes(data[:2])
        names.append(Path(path).name)
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(store._files, "pipe_file", dies)
    with pytest.raises(StoreError, match="it is full: make room"):
        store.write(0, "a", b"data")
    assert store.sizes(0) == {} and names[0].startswith(".")


@pytest.mark.parametrize("name", ["../precious", "a/b", "/etc/passwd", ".hidden", "", "..", "a\n"])
def test_a_name_leads_to_no_other_folder(store, name):
    store.write(0, "a", b"one")
    for use in (store.read, store.delete, lambda partition, name: store.write(partition, name, b"x")):
        with pytest.raises(StoreError, match="a snapshot has no such name"):
            use(0, name)
    assert store.sizes(0) == {"a": 3}


def test_a_link_leads_to_no_other_folder(tmp_path):
    victim = FolderStore(tmp_path / "victim")
    victim.write(0, "precious", b"data")
    store = FolderStore(tmp_path / "models")
    store.write(0, "a", b"one")
    Path(store.path(0, "b")).symlink_to(victim.path(0, "precious"))
    (tmp_path / "models" / "1").symlink_to(tmp_path / "victim" / "0")
    uses = store.read, store.delete, lambda partition, name: store.write(partition, name, b"x")
    for partition, name in ((0, "b"), (1, "precious")):
        for use in uses:
            with pytest.raises(StoreError, match="is a link to"):
                use(partition, name)
    with pytest.raises(StoreError, match="is a link to"):
        store.sizes(1)
    assert victim.read(0, "precious") == b"data"


def test_the_folder_itself_may_be_a_link(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "models").symlink_to(tmp_path / "disk")
    store = FolderStore(tmp_path / "models")
    store.write(0, "a", b"one")
    assert store.read(0, "a") == b"one" and store.sizes(0) == {"a": 3}


def test_a_file_url_is_a_folder(tmp_path):
    assert isinstance(open_store(f"file://{tmp_path}", "a"), FolderStore)


def test_a_package_that_is_missing_is_named():
    with pytest.raises(StartError, match=r"`nowhere://x` need the extra `stores` .*river-margins\[stores\]"):
        open_store("nowhere://x")


def test_a_file_in_the_way(tmp_path):
    (tmp_path / "group").write_text("a file where a folder should be")
    with pytest.raises(StoreError, match=r"group/0/a.snapshot` cannot be written: Not a directory"):
        FolderStore(tmp_path / "group").write(0, "a", b"one")


def test_a_bucket_that_is_gone_is_named(tmp_path, monkeypatch):
    """What cannot be found is an answer when a snapshot is read; nobody who writes expects it."""
    store = UrlStore(f"local://{tmp_path}/models")

    def missing(*arguments, **options):
        raise FileNotFoundError("The specified bucket does not exist")

    monkeypatch.setattr(store._files, "pipe_file", missing)
    with pytest.raises(StoreError, match=r"models/0/a.snapshot` cannot be written: The specified bucket does"):
        store.write(0, "a", b"one")
    monkeypatch.undo()
    with pytest.raises(FileNotFoundError):
        store.read(0, "a")
    store.delete(0, "a")
    assert store.sizes(0) == {}


# A processor whose store fails


@contextlib.contextmanager
def mounted(folder, size):
    """A small disk of its own."""
    folder.mkdir()
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this user may not mount a disk of its own")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def fill(disk):
    with (disk / "filling").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"x" * 4096):
            pass


def remount(disk, mode):
    subprocess.run(["mount", "-o", f"remount,{mode}", disk], check=True)


def exact_through(stream, fail, repair, said, caplog):
    """The store fails in the middle: nothing is committed meanwhile, and all goes on exactly when it is repaired."""
    records = phishing(60)
    stream.produce(records[:20])
    with caplog.at_level(logging.WARNING), running(stream.config()):
        stream.read(stream.output, 20)
        before = wait_for(lambda: stream.committed(0), "the first commit")
        fail()
        stream.produce(records[20:40])
        wait_for(lambda: said in caplog.text, f"`{said}` in the log")
        assert "reset: " in caplog.text
        assert stream.committed(0) == before
        repair()
        stream.produce(records[40:])
        found = [json.loads(message.value) for message in stream.read(stream.output, 60)]
    assert found == twin(stream.config().build_learner(), records)
    return stream.pointer().snapshot


def test_a_full_disk(kafka, tmp_path, caplog):
    with mounted(tmp_path / "disk", "96k") as disk:
        stream = Stream(kafka, tmp_path, partitions=1, snapshots=str(disk))
        named = exact_through(stream, lambda: fill(disk), (disk / "filling").unlink, "it is full: make room", caplog)
        assert [path.stem for path in disk.rglob(f"{named}*")] == [named]
        fill(disk)
        with pytest.raises(StoreError, match="it is full: make room"):  # at the next start, and by `lint`
            FolderStore(disk).check()


def test_a_limit_on_the_size_of_files(tmp_path):
    """Where no disk can be mounted, the limit of a process shows the same: an error, and nothing under the name."""
    code = (
        "import resource, signal, sys, pathlib\n"
        "from connectors.snapshots.stores import FolderStore\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "FolderStore(pathlib.Path(sys.argv[1])).write(0, 'a', b'x' * 2000)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True)
    assert "raise the limit on file sizes" in ended.stderr.splitlines()[-1]
    assert list((tmp_path / "0").iterdir()) == []


def test_a_disk_that_becomes_read_only(kafka, tmp_path, caplog):
    with mounted(tmp_path / "disk", "256k") as disk:
        stream = Stream(kafka, tmp_path, partitions=1, snapshots=str(disk))
        exact_through(
            stream, lambda: remount(disk, "ro"), lambda: remount(disk, "rw"), "it is read-only: mount it", caplog
        )
        remount(disk, "ro")
        with pytest.raises(
            StartError, match=f"the folder of the snapshots `{disk}` cannot be written: it is read-only"
        ):
            processor.run(stream.config())


def test_a_store_that_denies_access(kafka, tmp_path, caplog, s3):
    stream = Stream(kafka, tmp_path, partitions=1, snapshots="s3://bucket/models")
    named = exact_through(stream, s3.deny, s3.allow, "access is denied: allow this user", caplog)
    (found,) = [key for key in s3.keys("models/") if named in key]
    assert found.startswith(f"models/{stream.name}/") and found.endswith(f"/0/{named}.snapshot")
    s3.deny()
    try:
        with pytest.raises(StartError, match="`s3://bucket/models` cannot be written: access is denied"):
            processor.run(stream.config())
    finally:
        s3.allow()


def test_a_store_that_does_not_answer(kafka, tmp_path, caplog, s3):
    """It takes connections and is silent: a write is given up while its transaction is open."""
    stream = Stream(kafka, tmp_path, partitions=1, snapshots="s3://bucket/models")
    stream.forget_the_dead_soon()
    exact_through(stream, s3.hold, s3.go_on, "cannot be written: no answer within 1.9 s", caplog)
    s3.hold()
    try:
        with pytest.raises(StartError, match=r"`s3://bucket/models` cannot be written: no answer .*is the store run"):
            processor.run(stream.config())
    finally:
        s3.go_on()


def test_a_lost_store(kafka, tmp_path, s3):
    """What the offset names is gone from the server: the processor does not begin, and says what to do."""
    stream = Stream(kafka, tmp_path, partitions=1, snapshots="s3://bucket/lost")
    stream.produce(phishing(20))
    with running(stream.config()):
        stream.read(stream.output, 20)
    before = stream.committed(0)
    for key in s3.keys("lost/"):
        s3.client.delete_object(Bucket="bucket", Key=key)
    with pytest.raises(StateError, match=r"the snapshot `s3://bucket/lost/.*does not exist; restore it from a backup"):
        processor.run(stream.config())
    assert stream.committed(0) == before


def test_a_store_that_cannot_be_reached(kafka, tmp_path, monkeypatch):
    stream = Stream(kafka, tmp_path, partitions=1, snapshots="s3://bucket/models")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 1)
    s3fs.S3FileSystem.clear_instance_cache()
    try:
        with pytest.raises(StartError, match=r"`s3://bucket/models` cannot be written: .*is the store running"):
            processor.run(stream.config())
    finally:
        s3fs.S3FileSystem.clear_instance_cache()


def test_a_refusal_without_a_text_names_credentials_that_have_expired(monkeypatch):
    """As S3 answers a HEAD of expired credentials: s3fs asks for the size of a file before it reads it."""
    refusal = ClientError({"Error": {"Code": "400", "Message": "Bad Request"}}, "HeadObject")

    async def refuse(*arguments, **options):
        raise translate_boto_error(refusal)

    monkeypatch.setattr(s3fs.S3FileSystem, "_cat_file", refuse)
    with pytest.raises(
        StoreError, match=r"cannot be read: Bad Request; have the credentials expired\? Renew them, and"
    ):
        open_store("s3://models/p").read(0, "17-abc")


def test_sftp_gets_no_option_that_its_connection_refuses(monkeypatch):
    given = []
    monkeypatch.setattr("fsspec.url_to_fs", lambda url, **options: given.append(options) or (None, "/models"))
    for url in ("sftp://host/models", "s3://bucket/models"):
        UrlStore(url)
    assert given == [{}, {"use_listings_cache": False}]


@pytest.mark.parametrize("error", [OSError("Unable to load libhdfs"), OSError(-2, "not known"), RuntimeError("no")])
def test_a_store_that_cannot_be_opened_is_named(monkeypatch, error):
    def refuse(url, **options):
        raise error

    monkeypatch.setattr("fsspec.url_to_fs", refuse)
    with pytest.raises(StoreError, match="`hdfs://host/models` cannot be opened: "):
        open_store("hdfs://host/models")


def test_a_package_that_is_not_asynchronous_is_asked_by_one_thread_at_a_time(tmp_path, monkeypatch):
    """On a connection of SFTP, a thread drops the answer for another one, which then waits for ever."""
    stores = [UrlStore(f"local://{tmp_path}/models") for _ in range(2)]
    files, inside, most = stores[0]._files, [], [0]
    assert files is stores[1]._files, "fsspec gives one thread one connection, for all of its stores"

    def noted(method, *arguments, **options):
        inside.append(method)
        most.append(len(inside))
        time.sleep(0.002)  # others may begin meanwhile
        try:
            return method(*arguments, **options)
        finally:
            inside.remove(method)

    for name in ("makedirs", "pipe_file", "mv", "cat_file", "ls", "rm_file"):
        monkeypatch.setattr(files, name, functools.partial(noted, getattr(files, name)))

    def work(number):
        store = stores[number % 2]
        store.write(number, "a", b"data")
        found = store.read(number, "a"), store.sizes(number)
        store.delete(number, "a")
        return found

    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        assert list(threads.map(work, range(8))) == [(b"data", {"a": 4})] * 8
    assert max(most) == 1


def test_a_failed_upload_leaves_nothing(tmp_path, monkeypatch):
    store = UrlStore(f"local://{tmp_path}/models")
    store.write(0, "a", b"one")

    def write_half(path, data, **options):
        Path(path).write_bytes(data[:1])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(StoreError, match="it is full"):
        patch.setattr(store._files, "pipe_file", write_half)
        store.write(0, "b", b"two")
    with monkeypatch.context() as patch, pytest.raises(StoreError):
        patch.setattr(store._files, "mv", lambda *_: 1 / 0)
        store.write(0, "b", b"two")
    assert [path.name for path in (tmp_path / "models" / "0").iterdir()] == ["a.snapshot"]


def test_after_a_failure_a_store_connects_anew(tmp_path):
    """A connection of SFTP that the server has ended fails for ever, and fsspec gives it to all stores of a thread."""
    url = f"local://{tmp_path}/models"
    store = UrlStore(url)
    store.write(0, "a", b"one")
    files = store._files
    with pytest.raises(FileNotFoundError):
        store.read(0, "b")
    assert UrlStore(url)._files is store._files is files, "that is an answer, and no failure"

    def ended(*arguments, **options):
        raise OSError("Socket is closed")

    for name in ("makedirs", "pipe_file", "mv", "cat_file", "ls", "rm_file"):
        setattr(files, name, ended)
    with pytest.raises(StoreError, match="Socket is closed"):
        store.read(0, "a")
    assert UrlStore(url).read(0, "a") == store.read(0, "a") == b"one"
    store.write(0, "b", b"two")
    assert store.sizes(0) == {"a": 3, "b": 3}
