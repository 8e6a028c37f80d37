"""Which files are meant: patterns, folders, and the format that a file has by the end of its name."""

from __future__ import annotations

import glob
import os
import re
import stat
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from treebank.base.atomic_write import PART
from treebank.base.errors import SynparseError, TreebankError
from treebank.io.opening import COMPRESSED, STDIN
from treebank.io.parsed_folder import NOTE, is_parsed, parsed_files

BRACKETED = "treebank.io.bracketed:read_bracketed"
SINICA = "treebank.io.sinica:read_sinica"
PLAIN = "treebank.io.text:read_text"
RAW = "treebank.io.text:read_raw"
JSON_LINES = "treebank.io.jsonl:read_json"
JSON_TEXT = "treebank.io.jsonl:read_json_text"

Tell = Callable[[str], None]  # hears what the user should know

#: suffix (``.gz`` after it is transparent) -> reader of treebank files; what others hold is told by their content
FORMATS: dict[str, str] = {
    ".mrg": BRACKETED,
    ".ptb": BRACKETED,
    ".psd": BRACKETED,
    ".tree": BRACKETED,
    ".trees": BRACKETED,
    ".tbf": "treebank.io.cess:read_cess",
    ".sinica": SINICA,
    ".conllu": "treebank.io.conllu:read_conllu",
    ".conllx": "treebank.io.conllu:read_conllx",
    ".conll": "treebank.io.conllu:read_conllx",
    ".dp": "treebank.io.conllu:read_dp",
}

#: name of a format, as in ``--as`` -> its reader
KINDS: dict[str, str] = {
    "text": PLAIN,
    "brackets": BRACKETED,
    "conllu": FORMATS[".conllu"],
    "conllx": FORMATS[".conllx"],
    "dp": FORMATS[".dp"],
    "cess": FORMATS[".tbf"],
    "sinica": SINICA,
    "jsonl": JSON_LINES,
}
JSON = (".json", ".jsonl")
#: what a folder of a model, of several, or of parsed text has in it
OURS = ("checkpoint.json", "ensemble.json", "family.json", NOTE)
_HIDDEN = re.compile(rf"^\.|{PART.pattern}")  # the latter are being written, perhaps by this call
_NO_TEXT = ("readme", "licen", "copying", "notice", "change", "citation", "authors", "makefile")
_NO_TEXT_NAMES = (
    ".md .rst .html .htm .xml .json .csv .tsv .pdf .doc .docx .odt .rtf .tex .bib .py .sh .pl .png .jpg .jpeg .gif "
    ".svg .yml .yaml .toml .sha256"
)
_NO_TEXT_SUFFIXES = frozenset(_NO_TEXT_NAMES.split())
HEAD_SUFFIXES = frozenset(name for name, reader in FORMATS.items() if ".conllu:" in reader)  # of files with heads


def suffix(path: str) -> str:
    """The suffix of a file name in lower case, ``.gz`` looked through: ``.mrg`` for ``a.MRG.gz``."""
    name, end = os.path.splitext(path.lower())
    return os.path.splitext(name)[1] if end in COMPRESSED else end


def check_output(output: str | None, paths: Iterable[str | os.PathLike[str]]) -> None:
    """Raises SynparseError for an output that is one of the files to read, or that lies in no folder.

    Writing would destroy the input, or fail only after all the work; or never end, if standard output is added to it.
    """
    if output is None or output in (STDIN, "/dev/stdout"):
        if (inode := _standard_output()) and any(_inode(path) == inode for path in expand(paths)):
            raise SynparseError("standard output is one of the files that are read; send it to another, or use -o")
        return
    folder = os.path.dirname(os.path.realpath(output))
    if not os.path.isdir(folder):
        raise SynparseError(f"{output}: there is no folder {folder}; make it first, or name another file")
    if os.path.isfile(output) and any(_same(output, path) for path in expand(paths)):
        raise SynparseError(f"{output}: this file is read, so it cannot be written as well; name another with -o")


def _standard_output() -> tuple[int, int] | None:
    """Device and number of the file that standard output goes to, if it is a file."""
    try:
        status = os.fstat(sys.stdout.fileno())
    except (AttributeError, OSError, ValueError):  # closed, or no stream of the system
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def _inode(path: str) -> tuple[int, int] | None:
    if path == STDIN or not os.path.isfile(path):
        return None
    status = os.stat(path)
    return status.st_dev, status.st_ino


def _same(one: str, other: str) -> bool:
    return os.path.isfile(other) and os.path.samefile(one, other)


def expand(
    paths: Iterable[str | os.PathLike[str]], *, trees: bool | None = None, tell: Tell | None = None
) -> list[str]:
    """The files that ``paths`` name: files, glob patterns, folders (files below, sorted) and ``-`` for stdin.

    In folders, hidden files and folders, pipes and devices are skipped, and folders below that synparse wrote. A
    folder gives the files of its commonest treebank format; if it has none, and no ``trees`` are wanted, all but
    read-me files, licences and other files that are no text. One that ``parse --output-dir`` wrote gives its files in
    the order of their texts. ``tell`` hears what a folder gave and what was left out.
    Raises SynparseError for a path, pattern or folder without a file, and for a batch of parsed text that is not whole.
    """
    files: list[str] = []
    for path in [os.fspath(given) for given in paths]:
        files.extend([path] if path == STDIN else _expand_one(os.path.expanduser(path), trees, tell))
    return files


def _expand_one(path: str, trees: bool | None, tell: Tell | None) -> list[str]:
    if os.path.isdir(path):
        return parsed_files(path) if is_parsed(path) else _folder(path, trees, tell)
    if os.path.lexists(path):
        return [path]
    if not glob.has_magic(path):
        raise SynparseError(f"{path}: no such file or folder")
    found = sorted(glob.glob(path, recursive=True))
    if not found:
        raise SynparseError(f"{path}: no file matches this pattern")
    files = [name for name in found if not os.path.isdir(name) and not _never_ends(name)]
    return files or [file for folder in found for file in _folder(folder, trees, tell)]


def _folder(path: str, trees: bool | None, tell: Tell | None) -> list[str]:
    """The files below a folder that are to be read, sorted by path."""
    files: list[str] = []
    ours: list[str] = []
    for folder, inner, names in os.walk(path, onerror=_unreadable):
        inner[:] = [name for name in inner if not name.startswith(".")]
        if folder != path and _is_ours(folder, names):
            ours.append(folder)
            inner.clear()
            continue
        paths = [os.path.join(folder, name) for name in names if not _HIDDEN.search(name)]
        files.extend(name for name in paths if not _never_ends(name))
    chosen = _of_one_kind([name for name in files if suffix(name) in FORMATS] if trees else files)
    if not chosen:
        kinds = f" of a treebank ({' '.join(FORMATS)})" if trees else " of text" if files else ""
        raise SynparseError(f"{path}: this folder holds no file{kinds}")
    if tell and ours:
        tell(f"{path}: leaving out what synparse wrote in {', '.join(sorted(ours)[:3])}{', …' if ours[3:] else ''}")
    left_out = sorted(set(files) - set(chosen))
    if tell and left_out:
        tell(f"{path}: reading {_named(chosen)}, leaving out {_named(left_out)}")
    return sorted(chosen)


def _never_ends(path: str) -> bool:
    """Whether there is something else than a file, such as a pipe, for which reading would wait for ever."""
    return os.path.exists(path) and not os.path.isfile(path)


def _is_ours(folder: str, names: Sequence[str]) -> bool:
    """Whether a folder holds what synparse writes: a model, parsed text, a prepared corpus; ``names`` are its files."""
    found = set(names)
    runs = (os.path.join(folder, name, "checkpoint.json") for name in ("best", "last"))
    return not found.isdisjoint(OURS) or {"corpus.json", "ids.i32"} <= found or any(map(os.path.exists, runs))


def _of_one_kind(files: Sequence[str]) -> list[str]:
    """The files of the treebank format that most of them have; without one, those that may be text."""
    kinds = Counter(FORMATS[suffix(name)] for name in files if suffix(name) in FORMATS)
    if kinds:
        kind = kinds.most_common(1)[0][0]
        return [name for name in files if FORMATS.get(suffix(name)) == kind]
    return [name for name in files if not _is_no_text(os.path.basename(name).lower())]


def _is_no_text(name: str) -> bool:
    return name.startswith(_NO_TEXT) or suffix(name) in _NO_TEXT_SUFFIXES


def _named(files: Sequence[str]) -> str:
    """``3 files (a.txt, b.txt, …)``."""
    names = sorted(map(os.path.basename, files))
    shown = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
    return f"{len(names)} file{'s' if len(names) > 1 else ''} ({shown})"


def _unreadable(error: OSError) -> None:
    raise TreebankError(str(error.filename), 0, f"cannot be read: {(error.strerror or str(error)).lower()}")
