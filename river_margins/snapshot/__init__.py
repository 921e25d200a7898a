"""Writes a model to a file and reads it back, exact to the bit. A file holds data only; nothing in it is ever run.

>>> import river_margins as rm
>>> from river_margins import snapshot
>>> model = rm.PAClassifier(C=0.5)
>>> model.learn_one({"a": 1.0, "b": 2.0}, True)
>>> again = snapshot.loads(snapshot.dumps(model))
>>> again.score_one({"a": 1.0}) == model.score_one({"a": 1.0})
True

A file can hold every learner and transformer of river_margins with the rules and spaces of river_margins, those of
other packages that `river_margins.registered` describes, and these steps of River: Pipeline, TransformerUnion,
TransformerProduct, Select, Discard, Prefixer, Suffixer and Renamer of `compose`, and StandardScaler, MinMaxScaler,
MaxAbsScaler, Normalizer, OneHotEncoder, OrdinalEncoder, Binarizer, FeatureHasher, PreviousImputer and StatImputer of
`preprocessing`; PolynomialExtender, BagOfWords and TFIDF of `feature_extraction`; and VarianceThreshold of
`feature_selection`. Names of features and labels may be None, bools, numbers, strings and tuples of these. An object
that a model holds twice is read back as two equal ones.
"""

import contextlib
import functools
import os
import platform
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from river import base

from river_margins import registered
from river_margins.snapshot import codec, nodes, river_steps
from river_margins.snapshot.changes import Changes, find_changes
from river_margins.snapshot.codec import SnapshotError
from river_margins.snapshot.difference import Part, compare

__all__ = [
    "Changes",
    "SnapshotError",
    "beside",
    "changes",
    "check",
    "describe",
    "difference",
    "dumps",
    "load",
    "loads",
    "save",
    "write_file",
]

LONGEST_REASON = 1_000  # characters
PART = "$part."  # what the array of a part is named, and none of a model
# Values of a state that have got another form since 0.1.0 was begun, with their present names. Their classes read both.
FORMER_NAMES = {"inverse": "inverse_factor", "matrix": "factor"}
Content = tuple[Any, codec.Arrays]


def save(model: base.Base, file: str | os.PathLike[str] | BinaryIO) -> None:
    """Write a model to a file. A reader of the path finds the old file or the new one, never a part of it.

    Parameters
    ----------
    model
        Any model that `check` accepts.
    file
        A path, or a file object opened for writing bytes.

    Raises
    ------
    SnapshotError
        The model cannot be written. The file is unchanged.
    TypeError
        The model and the file are in the wrong order.
    OSError
        The file system refused. The file at the path is unchanged.
    """
    if isinstance(model, str | os.PathLike):
        raise TypeError("the model comes first, then the file: `save(model, file)`")
    data = dumps(model)
    if isinstance(file, str | os.PathLike):
        write_file(file, data)
    else:
        file.write(data)


def load(file: str | os.PathLike[str] | BinaryIO) -> Any:
    """Read a model. From then on it predicts and learns like the model that was saved, bit for bit.

    Parameters
    ----------
    file
        A path, or a file object opened for reading bytes.

    Raises
    ------
    SnapshotError
        The file is truncated, damaged, not a snapshot, from a newer version, or names a class that it cannot hold.
    OSError
        The file cannot be read.
    """
    if not isinstance(file, str | os.PathLike):
        return loads(file.read())
    try:
        return loads(Path(file).read_bytes())
    except SnapshotError as error:
        raise SnapshotError(f"{os.fspath(file)}: {error}") from error


def dumps(model: base.Base, about: Mapping[str, Any] | None = None, parts: Mapping[str, bytes] | None = None) -> bytes:
    """Return a model as bytes. Models of the same class, parameters and state give the same bytes.

    Parameters
    ----------
    model
        Any model that `check` accepts.
    about
        Facts about the model, by name, as values that JSON has. They are not part of the model; `changes` and `beside`
        return them. None (default) is none.
    parts
        Bytes to keep beside the model, by name, such as snapshots of other models. `beside` returns them. None
        (default) is none.

    Raises
    ------
    SnapshotError
        The model cannot be written.
    """
    node, arrays = _encode(model)
    more: dict[str, Any] = {"about": dict(about)} if about else {}
    if parts:
        more["parts"] = list(parts)
        arrays |= {f"{PART}{n}": np.frombuffer(part, np.uint8) for n, part in enumerate(parts.values())}
    return codec.write({"written_by": _versions(), "model": node, **more}, arrays)


def loads(data: bytes) -> Any:
    """Return the model in the bytes of a snapshot. Raise SnapshotError, and nothing else, for any other bytes."""
    document, arrays = codec.read(data)
    try:
        _take_parts(document, arrays)
        model = codec.decode(document["model"], arrays, nodes.put_together)
        if not isinstance(model, base.Base):
            raise SnapshotError("the object in the snapshot is not a model")
        # Writing the model again must give the same content: then nothing in the file was ignored or lost. An older
        # file may lack what its classes have got since.
        written, again = (document["model"], arrays), _encode(model)
        if not (_equal(again, written) or _are_alike(again, written)):
            raise SnapshotError("the snapshot holds more, or other values, than the model it describes can have")
    except SnapshotError as error:
        raise _failure(str(error), document) from error
    except Exception as error:
        raise _failure(f"the snapshot is not well formed: {error!r}", document) from error
    return model


def beside(data: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return what was written into a snapshot beside its model: `about`, and the parts by name.

    Raise SnapshotError if the bytes are not a snapshot.

    >>> import river_margins as rm
    >>> from river_margins import snapshot
    >>> snapshot.beside(snapshot.dumps(rm.PAClassifier(), about={"label": "y"}, parts={"other": b"bytes"}))
    ({'label': 'y'}, {'other': b'bytes'})
    """
    document, arrays = codec.read(data)
    with _well_formed(document):
        about = document.get("about")
        return about if isinstance(about, dict) else {}, _take_parts(document, arrays)


def _take_parts(document: Any, arrays: codec.Arrays) -> dict[str, bytes]:
    """Take the parts out of the arrays of a snapshot."""
    names = document.get("parts", [])
    return {str(name): arrays.pop(f"{PART}{n}").tobytes() for n, name in enumerate(names)}


def check(model: base.Base) -> None:
    """Raise SnapshotError if a model cannot be saved; the message names the first step that cannot be written.

    >>> from river import compose
    >>> from river_margins import snapshot
    >>> snapshot.check(compose.Select("a") | compose.FuncTransformer(abs))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    river_margins.snapshot.SnapshotError: step 2, `river.compose.FuncTransformer` cannot be written to a snapshot: ...
    """
    _encode(model)


def difference(data: bytes | base.Base, model: base.Base) -> list[str]:
    """Describe how the model in a snapshot differs from another: in classes, parameters and attributes of the state.

    Parameters
    ----------
    data
        The bytes of a snapshot, or a model.
    model
        The model to compare with. Weights and counts are not compared.

    Returns
    -------
    A sentence for each difference, so none if the two learn alike. The order of a Select's keys does not count.

    Raises
    ------
    SnapshotError
        The bytes are not a snapshot, or the model cannot be written.

    >>> import river_margins as rm
    >>> from river_margins import snapshot
    >>> snapshot.difference(snapshot.dumps(rm.PAClassifier(C=1.0)), rm.PAClassifier(C=0.01))
    ['the learner was `PAClassifier(C=1.0)` and is now `PAClassifier(C=0.01)`: C 1.0 -> 0.01']
    """
    document, arrays = ({}, {}) if isinstance(data, base.Base) else codec.read(data)
    with _well_formed(document):
        before = _encode(data) if isinstance(data, base.Base) else (document["model"], arrays)
        parts = [codec.decode(*each, Part.of) for each in (before, _encode(model))]
        return [found.sentence for found in compare(*parts)]


def changes(data: bytes, model: base.Base) -> Changes:
    """Compare the model in a snapshot with another, as `difference` does, and tell what `mutate` can make up for.

    Parameters
    ----------
    data
        The bytes of a snapshot.
    model
        The model to compare with. Weights and counts are not compared.

    Raises
    ------
    SnapshotError
        The bytes are not a snapshot, or the model cannot be written.

    >>> import river_margins as rm
    >>> from river_margins import snapshot
    >>> data = snapshot.dumps(rm.PAClassifier(C=1.0), about={"label": "y"})
    >>> found = snapshot.changes(data, rm.PAClassifier(C=0.1))
    >>> found.refused, found.made, found.about
    ([], ['PAClassifier C 1.0 -> 0.1'], {'label': 'y'})
    >>> model = snapshot.loads(data)
    >>> found.apply(model)
    >>> model.C
    0.1
    """
    document, arrays = codec.read(data)
    with _well_formed(document):
        return find_changes(document, arrays, model, _encode)


@contextlib.contextmanager
def _well_formed(document: Any) -> Iterator[None]:
    """Turn any exception about the content of a snapshot into a SnapshotError, with the versions that wrote it."""
    try:
        yield
    except SnapshotError as error:
        raise _failure(str(error), document) from error
    except Exception as error:
        raise _failure(f"the snapshot is not well formed: {error!r}", document) from error


def describe(data: bytes) -> tuple[str, dict[str, str]]:
    """Return the learner in a snapshot as a text, and the versions that wrote it; the learner is not built.

    Parameters
    ----------
    data
        The bytes of a snapshot.

    Returns
    -------
    The call that makes the learner, without parameters at their default, and the versions by package.

    Raises
    ------
    SnapshotError
        The bytes are not a snapshot.

    >>> import river_margins as rm
    >>> from river_margins import snapshot
    >>> snapshot.describe(snapshot.dumps(rm.StandardScaler() | rm.PAClassifier(C=0.5)))[0]
    'StandardScaler() | PAClassifier(C=0.5)'
    """
    document, arrays = codec.read(data)
    with _well_formed(document):
        return codec.decode(document["model"], arrays, Part.of).show(), dict(document["written_by"])


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write bytes to a path atomically and durably: write and sync a new file, rename it, sync its folder.

    A device or a pipe is written to: a file in its place would take it away from all others.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as device:
            device.write(data)
        return
    target = Path(os.path.realpath(path))
    new = target.with_name(f".{target.name}.{secrets.token_hex(4)}.new")
    try:
        with open(new, "xb") as file:
            with contextlib.suppress(OSError):  # there is no file yet, or a file system without permissions
                os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, target)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _encode(model: Any) -> tuple[Any, codec.Arrays]:
    try:
        if not isinstance(model, base.Base):
            raise SnapshotError("is not a River estimator")
        return codec.encode(model, nodes.take_apart)
    except SnapshotError as error:
        raise SnapshotError(_refusal(model, error)) from None


def _refusal(model: Any, error: SnapshotError) -> str:
    where, culprit = "", model
    for inner in error.within[1:]:
        places = [id(step) for step in (river_steps.contents(culprit) or {}).values()]
        if id(inner) not in places:
            break
        where += f"{river_steps.word(culprit)} {places.index(id(inner)) + 1}, "
        culprit = inner
    reason = f"it {error}"
    if not nodes.is_known(type(culprit)):
        steps = ", ".join(name.rpartition(".")[2] for name in river_steps.STEPS)
        reason = (
            f"a snapshot holds learners, rules, spaces and transformers of river_margins, those a package registers "
            f"as entry points in the group `{registered.GROUP}`, and of River {steps}"
        )
    return f"{where}`{nodes.name_of(type(culprit))}` cannot be written to a snapshot: {reason}"


def _are_alike(again: Content, written: Content) -> bool:
    """Tell whether a model and what was written of it differ only because its classes have changed since.

    These have got parameters and values, which took their defaults, and a value has another name and form.
    """
    if _arrays_of(written[0]) != written[1].keys():
        return False
    # The name of an array tells its place among all arrays, and one more before it changes that: compare the contents.
    is_now, was = _filled_in(*again), _filled_in(*written)
    return bool(
        _without(is_now, was, lambda name, node, there: name not in there)
        == _without(
            was,
            is_now,
            lambda name, node, there: (
                name not in there and FORMER_NAMES.get(name) in there and FORMER_NAMES[name] not in node
            ),
        )
    )


def _filled_in(node: Any, arrays: codec.Arrays) -> Any:
    """Return a description of a model with the contents of the arrays in place of their names."""
    if isinstance(node, list):
        return [_filled_in(each, arrays) for each in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _content(arrays[value]) if key in codec.ARRAY_TAGS else _filled_in(value, arrays)
        for key, value in node.items()
    }


def _without(node: Any, other: Any, is_left_out: Callable[[str, Any, Any], bool], part: str = "") -> Any:
    """Return a description of a model without some parameters and values of its classes; `part` is where it lies."""
    if isinstance(node, list) and isinstance(other, list) and len(node) == len(other):
        return [_without(one, there, is_left_out, part) for one, there in zip(node, other, strict=True)]
    if not (isinstance(node, dict) and isinstance(other, dict)):
        return node
    # within the state, spaces and the like are plain values; within the parameters, all values are a user's
    parts = {"parameters": "parameters", "state": "state"} if "class" in node else {}
    inner = "state" if part == "state" else ""
    return {
        name: _without(value, other.get(name), is_left_out, parts.get(name, inner))
        for name, value in node.items()
        if not (part and is_left_out(name, node, other))
    }


def _arrays_of(node: Any) -> set[str]:
    """Return the names of the arrays in a description of a model."""
    if isinstance(node, list):
        return set().union(*map(_arrays_of, node))
    if not isinstance(node, dict):
        return set()
    return set().union(*({value} if key in codec.ARRAY_TAGS else _arrays_of(value) for key, value in node.items()))


def _equal(one: Content, other: Content) -> bool:
    (document, arrays), (other_document, other_arrays) = one, other
    return (
        document == other_document
        and arrays.keys() == other_arrays.keys()
        and all(_content(array) == _content(other_arrays[name]) for name, array in arrays.items())
    )


def _content(array: Any) -> tuple[Any, ...]:
    return array.dtype, array.shape, array.tobytes()


@functools.cache
def _versions() -> dict[str, str]:
    return {name: _version(name) for name in ("river-margins", "river", "numpy")} | {
        "python": platform.python_version()
    }


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version  # slow to import, and needed to write snapshots only

    try:
        return version(package)
    except PackageNotFoundError:
        return "from its sources"


def _failure(reason: str, document: Any) -> SnapshotError:
    writer = document.get("written_by") if isinstance(document, dict) else None
    if isinstance(writer, dict) and writer != _versions():
        there, here = (", ".join(f"{name} {number}" for name, number in who.items()) for who in (writer, _versions()))
        reason += f" (written by {there}; here are {here})"
    if len(reason) > LONGEST_REASON:  # it may quote much of the file
        reason = f"{reason[: LONGEST_REASON // 2]} ... {reason[-LONGEST_REASON // 2 :]}"
    return SnapshotError(reason)
