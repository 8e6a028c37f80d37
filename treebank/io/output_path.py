"""One check of every path that a call writes against the paths that it reads."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress

from treebank.base.errors import SynparseError, UsageError
from treebank.io.source import STDIN

STANDARD_OUTPUT = (STDIN, "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")  # names of an output file
#: suffix -> how files of synparse that get a default name begin, within `HEAD_BYTES`
OWN_MARKS = {
    ".csv": (b"System,", b"Models,Convention", b"Relation,Arcs,", b"Distance,Arcs,"),
    ".html": (b'<meta name="generator" content="synparse">',),
    ".json": (b'{\n  "synparse": "',),
    ".tsv": (b"system\tmetric\tconvention\tlocation\t",),
}
HEAD_BYTES = 256
BINARY_SUFFIXES = (".xlsx", ".xls", ".ods", ".docx", ".doc", ".odt", ".rtf", ".pdf", ".png", ".jpg", ".jpeg")
_FileId = tuple[int, int]  # device and inode


def check_default_output(path: str, *, overwrite: bool, remedy: str = "name a file with -o") -> None:
    """Raises SynparseError if the file ``path``, whose name the user did not give, is not from synparse.

    Every command calls this for a default name and for a name inside a folder that the user gave. ``overwrite``: any
    file may be replaced. ``remedy`` is another way out.
    """
    if overwrite or not os.path.isfile(path):
        return
    with open(path, "rb") as stream:
        head = stream.read(HEAD_BYTES)
    if not any(mark in head for mark in OWN_MARKS[os.path.splitext(path)[1]]):
        raise SynparseError(f"{path}: not written by synparse; move it, {remedy}, or replace it with --overwrite")


def check_output(
    path: str | None,
    reads: Iterable[str | os.PathLike[str]] = (),
    *,
    suffixes: Iterable[str] = (),
    is_protected: Callable[[str], bool] = lambda folder: False,
) -> None:
    """Raises SynparseError if the file ``path`` cannot be written or would replace a file that the call reads.

    ``path`` is None or ``-`` for standard output. ``reads`` are all files and folders that the call reads: text, gold
    trees, models and settings. A file inside one of these folders is refused as well if it exists. ``suffixes`` are the
    allowed ends of the name, if there are any, and then ``-`` is refused; without them, suffixes of binary files are
    refused. A file in a folder for which ``is_protected`` is true, such as a model folder, is refused.
    """
    if path == "":
        raise UsageError("-o: an empty name; name a file to write, or - for standard output")
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        os.lstat(path or ".")  # raises OSError for a name that is too long
    allowed = tuple(suffixes)
    if path is None or (path in STANDARD_OUTPUT and not allowed):
        if (output := _standard_output()) and output in _file_ids(reads):
            raise SynparseError("standard output is one of the files that are read; send it to another, or use -o")
        return
    if os.path.isdir(path):
        raise SynparseError(f"{path}: this is a folder; name a file to write")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise SynparseError(f"{path}: there is no folder {folder}; make it first, or name another file")
    if allowed and not path.lower().endswith(allowed):
        raise SynparseError(f"{path}: unknown suffix; end the name in {', '.join(allowed)}")
    if not allowed and path.lower().endswith(BINARY_SUFFIXES):
        end = os.path.splitext(path)[1]
        raise SynparseError(f"{path}: this command writes text, not {end}; name a file such as .txt, .csv or .html")
    if is_protected(folder):
        raise SynparseError(f"{path}: this folder is a model and cannot contain other files; name another folder")
    if os.path.isfile(path) and _file_id(path) in _file_ids(reads):
        raise SynparseError(f"{path}: this file is read, so it cannot be written as well; name another with -o")


def _file_ids(paths: Iterable[str | os.PathLike[str]]) -> set[_FileId]:
    """The identities of files, and of all files below folders."""
    ids: set[_FileId] = set()
    for path in [os.fspath(path) for path in paths]:
        if os.path.isdir(path):
            files = (os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)
            ids.update(file_id for file in files if (file_id := _file_id(file)))
        elif file_id := _file_id(path):
            ids.add(file_id)
    return ids


def _file_id(path: str) -> _FileId | None:
    """The identity of a regular file, the same for all links to it, or None for anything else."""
    if path == STDIN or not os.path.isfile(path):
        return None
    status = os.stat(path)
    return status.st_dev, status.st_ino


def _standard_output() -> _FileId | None:
    """The identity of the file to which standard output is redirected, if it is one."""
    try:
        status = os.fstat(sys.stdout.fileno())
    except (AttributeError, OSError, ValueError):  # closed, or not a stream of the operating system
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None
