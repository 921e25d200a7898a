"""Schemas of Protobuf: their text compiled by Google's compiler, in a process of its own with narrow limits.

Whoever writes a record chooses its schema, and the compiler is written in C++. If a schema makes it run for ever, take
all memory or crash, only that process ends, and the record is a reject. It is started once for each schema.
"""

import base64
import functools
import importlib.util
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from connectors.formats.registry import INSTALL, Schema

try:
    from google.protobuf import (
        any_pb2,
        descriptor_pb2,
        descriptor_pool,
        duration_pb2,
        empty_pb2,
        field_mask_pb2,
        message_factory,
        struct_pb2,
        timestamp_pb2,
        wrappers_pb2,
    )
except ImportError as error:
    raise ValueError(f"the format `protobuf` needs packages: {INSTALL}") from error
if importlib.util.find_spec("grpc_tools") is None:
    raise ValueError(f"the format `protobuf` needs packages: {INSTALL}")

NAME, RESULT = "schema_of_the_record.proto", "result"
OF_GOOGLE = "google/protobuf/"  # the compiler has these files itself
KNOWN = {
    module.DESCRIPTOR.name: module.DESCRIPTOR
    for module in (any_pb2, duration_pb2, empty_pb2, field_mask_pb2, struct_pb2, timestamp_pb2, wrappers_pb2)
}
BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
SAFE_NAME = re.compile(r"([A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}/){0,20}[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}\.proto")
CPU_SECONDS, MEMORY, LARGEST_RESULT = 10, 2**30, 2**22
WAIT = 120.0  # seconds, of which the process may be given few by a busy machine
COMPILE = f"""
import resource, sys
def limit(kind, most):
    hard = resource.getrlimit(kind)[1]  # a lower one of this environment stays: it cannot be raised
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, most))
limit(resource.RLIMIT_CPU, {CPU_SECONDS})
if sys.platform != "darwin": limit(resource.RLIMIT_AS, {MEMORY})  # macOS refuses it
limit(resource.RLIMIT_FSIZE, {LARGEST_RESULT})
limit(resource.RLIMIT_CORE, 0)
import importlib.resources, grpc_tools.protoc
own = importlib.resources.files("grpc_tools") / "_proto"
sys.exit(grpc_tools.protoc.main(["protoc", "-I.", f"-I{{own}}", *sys.argv[1:]]))
"""


class Kind(NamedTuple):
    """A type of messages.

    Attributes
    ----------
    make
        Makes an empty message.
    inner_fields
        The number of fields of the largest type among those inside of it.
    """

    make: Any
    inner_fields: int


class File:
    """A file of message types."""

    def __init__(self, descriptor: Any) -> None:
        self._descriptor, self._types = descriptor, list(descriptor.message_types_by_name.values())
        self._kinds: dict[tuple[int, ...], Kind] = {}

    def message(self, path: tuple[int, ...]) -> Kind:
        """Return the type at a path, or raise ValueError if there is none."""
        if path not in self._kinds:
            types, found = self._types, None
            for number in path:
                if not 0 <= number < len(types):
                    raise ValueError(f"the schema has no message type number {number} at {list(path)}")
                found = types[number]
                types = found.nested_types
            self._kinds[path] = Kind(message_factory.GetMessageClass(found), _inner_fields(found))
        return self._kinds[path]


def _inner_fields(descriptor: Any) -> int:
    """Return how many fields the largest type has that can be inside of a type."""
    seen, left = dict[str, int](), [descriptor]
    while left:
        for field in left.pop().fields:
            inner = field.message_type
            if inner is not None and inner.full_name not in seen:
                seen[inner.full_name] = len(inner.fields)
                left.append(inner)
    return max(seen.values(), default=0)


def compiled(schema: Schema) -> File:
    """Return the types of a schema. Raise ValueError if it cannot be used, OSError if the compiler cannot run."""
    given = _descriptor(schema.text)
    if given is not None:
        return _linked([*((name, _descriptor(text)) for name, text in schema.references), (NAME, given)])
    files = {name: text for name, text in schema.references if not name.startswith(OF_GOOGLE)}
    taken = {NAME, *files}
    for name in files:
        # a file in a folder whose name another file has cannot be written: that would look like an error of the disk
        if not SAFE_NAME.fullmatch(name) or name == NAME or not taken.isdisjoint(map(str, Path(name).parents)):
            raise ValueError(f"`{name[:100]}` cannot be the name of a file that a schema imports")
    return _compiled(schema.text, tuple(sorted(files.items())))


def _descriptor(text: str) -> Any:
    """Return what a text in base64 describes, which some clients of Confluent register; None for the text of a file."""
    if not BASE64.fullmatch(text):
        return None
    return descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(text))


def _linked(files: list[tuple[str, Any]]) -> File:
    """Return the types of the last file; those before it are what it imports."""
    pool = descriptor_pool.DescriptorPool()
    added = {name for name, _ in files}
    for name, file in files:
        if file is None:
            raise ValueError(
                f"it is a descriptor, and `{name[:100]}`, which it imports, is text: register both as text"
            )
        for used in KNOWN.keys() & set(file.dependency) - added:
            added.add(used)
            pool.AddSerializedFile(KNOWN[used].serialized_pb)
        file.name = name
        pool.Add(file)
    return File(pool.FindFileByName(NAME))


@functools.lru_cache(maxsize=16)  # records, labels and outputs may have the same one
def _compiled(text: str, files: tuple[tuple[str, str], ...]) -> File:
    with tempfile.TemporaryDirectory(prefix="river-margins-") as folder:
        for name, content in (*files, (NAME, text)):
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        _compile(folder)
        result = descriptor_pb2.FileDescriptorSet.FromString(Path(folder, RESULT).read_bytes())
    return _linked([(file.name, file) for file in result.file])


def _compile(folder: str) -> None:
    command = [sys.executable, "-P", "-c", COMPILE, "--include_imports", f"--descriptor_set_out={RESULT}", NAME]
    try:
        # In a session of its own, a Ctrl-C does not reach it: this process still finishes its batch.
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=WAIT, start_new_session=True
        )
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(f"the compiler of Protobuf did not end within {WAIT:g} s") from error
    if -done.returncode in (signal.SIGINT, signal.SIGTERM):  # systemd stops all processes of a service
        raise InterruptedError(f"the compiler of Protobuf was ended from outside, by signal {-done.returncode}")
    if done.returncode < 0:
        raise ValueError(
            f"the compiler of Protobuf was ended by signal {-done.returncode}: it takes too much to compile"
        )
    if done.returncode > 0:
        lines = done.stderr.decode(errors="replace").splitlines()
        said = [line.replace(f"{NAME}:", "line ") for line in lines if ".proto:" in line]  # and no warnings
        raise ValueError("; ".join(said)[:500] or "it cannot be compiled")
