"""Which files are meant: patterns, folders, and the format that a file has by the end of its name."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable

from treebank.errors import SynparseError, TreebankError
from treebank.formats.lines import STDIN

BRACKETED = "treebank.formats.bracketed:read_bracketed"
SINICA = "treebank.formats.sinica:read_sinica"
PLAIN = "treebank.formats.text:read_text"
RAW = "treebank.formats.text:read_raw"

#: suffix (``.gz`` after it is transparent) -> reader of treebank files; every other file is plain text
FORMATS: dict[str, str] = {
    ".mrg": BRACKETED,
    ".ptb": BRACKETED,
    ".psd": BRACKETED,
    ".tree": BRACKETED,
    ".trees": BRACKETED,
    ".tbf": "treebank.formats.cess:read_cess",
    ".sinica": SINICA,
    ".conllu": "treebank.formats.conllu:read_conllu",
    ".conllx": "treebank.formats.conllu:read_conllx",
    ".conll": "treebank.formats.conllu:read_conllx",
    ".dp": "treebank.formats.conllu:read_dp",
}

HEAD_SUFFIXES = frozenset(name for name, reader in FORMATS.items() if ".conllu:" in reader)  # of files with heads


def suffix(path: str) -> str:
    """The suffix of a file name in lower case, ``.gz`` looked through: ``.mrg`` for ``a.MRG.gz``."""
    return os.path.splitext(path.lower().removesuffix(".gz"))[1]


def expand(paths: Iterable[str | os.PathLike[str]], *, trees: bool | None = None) -> list[str]:
    """The files that ``paths`` name: files, glob patterns, folders (all files below, sorted) and ``-`` for stdin.

    Hidden files and folders are skipped in folders. With ``trees``, a folder gives only its treebank files.
    Raises SynparseError for a path, pattern or folder without a file.
    """
    files: list[str] = []
    for path in [os.fspath(given) for given in paths]:
        files.extend([path] if path == STDIN else _expand_one(os.path.expanduser(path), trees))
    return files


def _expand_one(path: str, trees: bool | None) -> list[str]:
    if os.path.isdir(path):
        return _folder(path, trees)
    if os.path.lexists(path):
        return [path]
    if not glob.has_magic(path):
        raise SynparseError(f"{path}: no such file or folder")
    found = sorted(glob.glob(path, recursive=True))
    if not found:
        raise SynparseError(f"{path}: no file matches this pattern")
    files = [name for name in found if not os.path.isdir(name)]
    return files or [file for folder in found for file in _folder(folder, trees)]


def _folder(path: str, trees: bool | None) -> list[str]:
    """All files below a folder, sorted by path."""
    files: list[str] = []
    for folder, inner, names in os.walk(path, onerror=_unreadable):
        inner[:] = [name for name in inner if not name.startswith(".")]
        files.extend(os.path.join(folder, name) for name in names if not name.startswith("."))
    if trees:
        files = [name for name in files if suffix(name) in FORMATS]
    if not files:
        kinds = f" of a treebank ({' '.join(FORMATS)})" if trees else ""
        raise SynparseError(f"{path}: this folder holds no file{kinds}")
    return sorted(files)


def _unreadable(error: OSError) -> None:
    raise TreebankError(str(error.filename), 0, f"cannot be read: {(error.strerror or str(error)).lower()}")
