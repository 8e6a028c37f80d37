"""Expansion of paths, glob patterns and folders to the files that are read."""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from treebank.base.errors import SynparseError, TreebankError
from treebank.base.files import PART
from treebank.io.compression import DAMAGED
from treebank.io.content import is_binary
from treebank.io.formats import TEXT, TREEBANK_SUFFIXES, XML_FORMATS, Format, detect, format_by_suffix, suffix_of
from treebank.io.parsed_folder import NOTE, is_parsed, parsed_files
from treebank.io.source import Source
from treebank.io.streams import STDIN

Notify = Callable[[str], None]

#: files of a folder that the program wrote itself: a model, several models, or parsed text
_OWN_FILES = ("model.safetensors", "resume.safetensors", "ensemble.json", "family.json", NOTE)
_HIDDEN = re.compile(rf"^\.|{PART.pattern}")  # the latter are being written, perhaps by this call
_NOT_TEXT_NAMES = ("readme", "licen", "copying", "notice", "change", "citation", "authors", "makefile")
_NOT_TEXT_SUFFIXES = frozenset(
    f".{name}"
    for names in (
        "md rst html htm xml json csv tsv pdf doc docx odt rtf tex bib py sh pl",
        "png jpg jpeg gif svg yml yaml toml sha256",
    )
    for name in names.split()
)


def expand(
    paths: Iterable[str | os.PathLike[str]], *, trees: bool | None = None, notify: Notify | None = None
) -> list[str]:
    """The files that ``paths`` name: files, glob patterns, folders (all files below, sorted) and ``-`` for stdin.

    In folders, hidden files and folders, pipes and devices are skipped, and inner folders that synparse wrote. The
    files of a folder are those of its most frequent treebank format by suffix, or by content for XML. If there are
    none, they are all files except read-me files, licenses and files that are not text by their suffix or first bytes;
    with ``trees``, they are those of the most frequent treebank format by content. A folder written by ``parse
    --output-dir`` is expanded in the order of its texts. ``notify`` is called with a message about skipped files.
    Raises SynparseError for a path, pattern or folder without a file, for a folder of incomplete parses and for a
    prepared corpus.
    """
    files: list[str] = []
    for path in [os.fspath(path) for path in paths]:
        files.extend([path] if path == STDIN else _expand_one(os.path.expanduser(path), trees, notify))
    return files


def _expand_one(path: str, trees: bool | None, notify: Notify | None) -> list[str]:
    if os.path.isdir(path):
        if _is_corpus(os.listdir(path)):
            problem = "a prepared corpus, which only synparse train reads; name the text from which it was prepared"
            raise SynparseError(f"{path}: {problem}")
        return parsed_files(path) if is_parsed(path) else _expand_folder(path, trees, notify)
    if os.path.lexists(path):
        return [path]
    if not glob.has_magic(path):
        raise SynparseError(f"{path}: no such file or folder")
    matches = sorted(glob.glob(path, recursive=True))
    if not matches:
        raise SynparseError(f"{path}: no file matches this pattern")
    files = [name for name in matches if not os.path.isdir(name) and not _is_device(name)]
    return files or [file for folder in matches for file in _expand_folder(folder, trees, notify)]


def _expand_folder(path: str, trees: bool | None, notify: Notify | None) -> list[str]:
    """The files below a folder that are read, sorted by path."""
    files: list[str] = []
    own_folders: list[str] = []
    for folder, inner, names in os.walk(path, onerror=_raise_unreadable):
        inner[:] = [name for name in inner if not name.startswith(".")]
        if folder != path and _is_written_by_synparse(folder, names):
            own_folders.append(folder)
            inner.clear()
            continue
        visible = [os.path.join(folder, name) for name in names if not _HIDDEN.search(name)]
        files.extend(name for name in visible if not _is_device(name))
    selected = _select(files, trees)
    if not selected:
        kind = f" of a treebank ({' '.join(sorted(TREEBANK_SUFFIXES))})" if trees else " of text" if files else ""
        raise SynparseError(f"{path}: this folder holds no file{kind}")
    if notify and own_folders:
        dots = ", …" if own_folders[3:] else ""
        notify(f"{path}: leaving out what synparse wrote in {', '.join(sorted(own_folders)[:3])}{dots}")
    skipped = sorted(set(files) - set(selected))
    if notify and skipped:
        notify(f"{path}: reading {_summary(selected)}, leaving out {_summary(skipped)}")
    return sorted(selected)


def _is_device(path: str) -> bool:
    """Whether a path is a pipe or device, from which reading would wait forever."""
    return os.path.exists(path) and not os.path.isfile(path)


def _is_written_by_synparse(folder: str, names: Sequence[str]) -> bool:
    """Whether a folder with files of these ``names`` contains a model, parsed text or a prepared corpus."""
    return not set(names).isdisjoint(_OWN_FILES) or _is_corpus(names)


def _is_corpus(names: Sequence[str]) -> bool:
    """Whether files of these ``names`` are those of a prepared corpus."""
    return {"corpus.json", "ids.i32"} <= set(names)


def _select(files: Sequence[str], trees: bool | None) -> list[str]:
    """The files of the most frequent treebank format. Without ``trees``, all files of text if no name suggests one."""
    formats = {name: of_file for name in files if (of_file := _format_by_name(name))}
    if not formats:
        texts = list(filter(_may_be_text, files))
        if not trees:
            return texts
        formats = {name: detected for name in texts if (detected := _detected(name)).structure}
    most_frequent = next(iter(Counter(formats.values()).most_common(1)), (None, 0))[0]
    return [name for name, of_file in formats.items() if of_file is most_frequent]


def _format_by_name(path: str) -> Format | None:
    """The format of a treebank by the suffix of a file, and by the content of XML, or None."""
    if (suffix := suffix_of(path)) == ".xml":
        return detected if (detected := _detected(path)) in XML_FORMATS else None
    return format_by_suffix(path) if suffix in TREEBANK_SUFFIXES else None


def _detected(path: str) -> Format:
    """The format of a file, which is `TEXT` if its content cannot be read."""
    try:
        return detect(path)
    except TreebankError:
        return TEXT


def _may_be_text(path: str) -> bool:
    """Whether a file is text by its name and its first bytes. A file that cannot be opened may be text."""
    name = os.path.basename(path).lower()
    if name.startswith(_NOT_TEXT_NAMES) or suffix_of(name) in _NOT_TEXT_SUFFIXES:
        return False
    try:
        return not is_binary(Source(path).head())
    except (OSError, TreebankError, *DAMAGED):
        return True


def _summary(files: Sequence[str]) -> str:
    """The number of files and the names of three, such as ``3 files (a.txt, b.txt, …)``."""
    names = sorted(map(os.path.basename, files))
    listed = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
    return f"{len(names)} file{'s' if len(names) > 1 else ''} ({listed})"


def _raise_unreadable(error: OSError) -> None:
    raise TreebankError(str(error.filename), 0, f"cannot be read: {(error.strerror or str(error)).lower()}")
