"""Files: atomic replacement, and SHA-256 digests of bytes, files and JSON values in hexadecimal. Handlers of signals.

A file is written under a temporary name in the same folder, synced, and renamed. After an error or a kill, it has its
previous or its new content, unless it is mounted (`_write_in_place`). Its permissions are preserved, a link stays a
link, and no other file changes. A kill leaves a file ``NAME.….part``, which readers of folders ignore.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import signal
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import current_thread, main_thread
from typing import IO, Any

from treebank.base.errors import SynparseError, placed

# --- replacement

MAX_NAME_BYTES = 230  # so that there is room for the suffix of a temporary name
PART = re.compile(r"\.[0-9a-f]{6}\.part$")  # suffix of a temporary name


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A stream for the new content of the file ``path``. After an error the file is unchanged."""
    if os.path.isdir(path):
        raise SynparseError(f"{os.fspath(path)}: this is a folder; name a file to write")
    target = real(path)
    part, descriptor = begin(target)
    try:
        with placed(target), os.fdopen(descriptor, "wb") as stream:
            yield stream
        finish(part, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write ``data`` as the file ``path``."""
    with replacing(path) as stream:
        stream.write(data)


def real(path: str | os.PathLike[str]) -> str:
    """The file to replace: the target of ``path`` if it is a link."""
    return os.path.realpath(path) if os.path.islink(path) else os.fspath(path)


def begin(target: str) -> tuple[str, int]:
    """The temporary file for ``target``, with its permissions if it exists: the name, and a descriptor for writing."""
    before = os.stat(target) if os.path.exists(target) else None
    if before and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), target)
    while True:
        part = own_name(target)
        try:
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600 if before else 0o666)
            break
        except FileExistsError:
            continue
        except OSError as error:
            is_of_folder = before and isinstance(error, PermissionError)  # the file itself could be written
            name = os.path.dirname(target) or "." if is_of_folder else target
            raise OSError(error.errno, error.strerror, name) from None
    if before:
        make_alike(descriptor, before)
    return part, descriptor


def make_alike(descriptor: int, before: os.stat_result) -> None:
    """Give an open file the permissions of the file that it replaces, and its group and owner if this is allowed.

    Without them, other users of a shared file could no longer read it.
    """
    if hasattr(os, "fchown"):
        for owner, group in ((-1, before.st_gid), (before.st_uid, -1)):
            with suppress(OSError):
                os.fchown(descriptor, owner, group)
    with suppress(PermissionError):  # a file system without permissions
        os.fchmod(descriptor, stat.S_IMODE(before.st_mode))


def finish(part: str, target: str) -> None:
    """Rename ``part``, a file or a folder with synced files, to ``target``, and sync the folder of both."""
    finish_all({part: target})


def finish_all(targets: Mapping[str, str]) -> None:
    """Rename each key, a complete file, to its value once all of them are on the disk, and sync each folder once."""
    if len(targets) > 1 and hasattr(os, "sync"):
        os.sync()  # writes all files at once, so that the following calls wait for nothing and only report errors
    for part, target in targets.items():
        sync(part, target)
    for part, target in targets.items():
        try:
            os.replace(part, target)
        except OSError as error:
            if error.errno != errno.EBUSY or not os.path.isfile(target):
                raise
            _write_in_place(part, target)
    for folder, target in {os.path.dirname(target) or ".": target for target in targets.values()}.items():
        sync(folder, target)


def _write_in_place(part: str, target: str) -> None:
    """Copy the file ``part`` into ``target``, which is mounted, as in a container, and thus cannot be replaced.

    After an error, the complete file is left under a name that the error contains.
    """
    try:
        shutil.copyfile(part, target)
        sync(target)
    except OSError as error:
        name = part.removesuffix(".part")
        os.replace(part, name)
        error.add_note(f"the complete output is in {name}")
        raise
    os.unlink(part)


def own_name(target: str) -> str:
    """A temporary name for ``target`` in the same folder."""
    folder, name = os.path.split(target)
    while len(os.fsencode(name)) > MAX_NAME_BYTES:
        name = name[:-1]
    return os.path.join(folder, f"{name}.{secrets.token_hex(3)}.part")


def sync(path: str | os.PathLike[str], name: str | os.PathLike[str] = "") -> None:
    """Wait until the content of a file, or the names in a folder, are on the disk.

    Not every file system can sync a folder. An error message contains ``name``, by default ``path``.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:
        if os.path.isdir(path):  # names can be written in this folder, but not read
            return
        descriptor = os.open(path, os.O_WRONLY)
    try:
        with placed(name or path):
            os.fsync(descriptor)
    except OSError as error:
        if not os.path.isdir(path) or error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(descriptor)


# --- digests

BLOCK_BYTES = 1 << 20  # that are read at a time


@dataclass(frozen=True)
class FileFacts:
    """Size and digest of a file."""

    bytes: int
    sha256: str


def describe_file(path: str | os.PathLike[str]) -> FileFacts:
    """Size and digest of a file."""
    return FileFacts(os.path.getsize(path), digest_file(path))


def digest_bytes(data: bytes) -> str:
    """The digest of ``data``."""
    return hashlib.sha256(data).hexdigest()


def digest_file(path: str | os.PathLike[str]) -> str:
    """The digest of the content of a file."""
    return digest_files([path])


def digest_files(paths: Iterable[str | os.PathLike[str]]) -> str:
    """The digest of the contents of several files, one after the other."""
    digest = hashlib.sha256()
    for path in paths:
        with placed(path), open(path, "rb") as stream:
            while block := stream.read(BLOCK_BYTES):
                digest.update(block)
    return digest.hexdigest()


def copy_with_digest(source: IO[bytes], target: IO[bytes]) -> str:
    """Copy a stream from its position to its end, and return the digest of these bytes."""
    digest = hashlib.sha256()
    while block := source.read(BLOCK_BYTES):
        digest.update(block)
        target.write(block)
    return digest.hexdigest()


def digest_json(value: Any) -> str:
    """The digest of a JSON value, whatever the order of its keys and its white space."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return digest_bytes(text.encode("ascii"))


@contextmanager
def handled(handlers: Mapping[Any, Any]) -> Iterator[None]:
    """Install a handler for each signal temporarily, in the main thread only. Ignored signals (nohup) stay ignored."""
    if current_thread() is not main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in handlers}
    for number, handler in handlers.items():
        if before[number] not in (signal.SIG_IGN, None):
            signal.signal(number, handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)
