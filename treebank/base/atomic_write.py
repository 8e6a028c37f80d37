"""Files that are replaced as a whole: written under a name of their own beside their place, made to last, and renamed.

Whatever fails or is killed, the earlier file is whole until the new one is, its permissions stay, a link stays a link,
and no other file is touched. What a kill leaves is a ``NAME.….part``, which readers of folders pass over.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from treebank.base.errors import SynparseError, placed

LONGEST_NAME = 230  # bytes, so that there is room for what makes it another's
PART = re.compile(r"\.[0-9a-f]{6}\.part$")  # the end of a name under which something is being written


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A stream for the new content of the file ``path``, which has it at the end, or is as it was after an error."""
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
    """The file to replace: what ``path`` points to, if it is a link."""
    return os.path.realpath(path) if os.path.islink(path) else os.fspath(path)


def begin(target: str) -> tuple[str, int]:
    """A new file beside ``target``, with its permissions if it is there: the name, and a descriptor to write it."""
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
            raise OSError(error.errno, error.strerror, target) from None
    if before:
        make_alike(descriptor, before)
    return part, descriptor


def make_alike(descriptor: int, before: os.stat_result) -> None:
    """Give an open file the permissions of the one that it replaces, and its group and owner as far as one may.

    Without them those with whom a file is shared could not read it any more.
    """
    if hasattr(os, "fchown"):
        for owner, group in ((-1, before.st_gid), (before.st_uid, -1)):
            with suppress(OSError):
                os.fchown(descriptor, owner, group)
    with suppress(PermissionError):  # a file system without them
        os.fchmod(descriptor, stat.S_IMODE(before.st_mode))


def finish(part: str, target: str) -> None:
    """Rename ``part``, a file or a folder whose files are safe, to ``target``, so that no power cut undoes it."""
    sync(part, target)
    os.replace(part, target)
    sync(os.path.dirname(target) or ".", target)


def own_name(target: str) -> str:
    """A name beside ``target`` that nobody else takes."""
    folder, name = os.path.split(target)
    while len(os.fsencode(name)) > LONGEST_NAME:
        name = name[:-1]
    return os.path.join(folder, f"{name}.{secrets.token_hex(3)}.part")


def sync(path: str | os.PathLike[str], told: str | os.PathLike[str] = "") -> None:
    """Wait until what is in the file, or the names in the folder ``path``, are on the disk.

    Not every file system can do so with a folder. An error names ``told``, by default ``path``.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with placed(told or path):
            os.fsync(descriptor)
    except OSError as error:
        if not os.path.isdir(path) or error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(descriptor)
