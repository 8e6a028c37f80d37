"""Treebanks in numbered files: in a folder, or in the archives that nltk distributes."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from treebank.base.errors import TreebankError
from treebank.core.brackets import root_offsets
from treebank.core.sentence import Location, Sentence
from treebank.io.bracketed import parse_trees, read_bracketed
from treebank.io.compression import open_zip
from treebank.io.lines import OnBad
from treebank.io.source import Source

MAX_MEMBER_BYTES = 1 << 26  # of one file in an archive


@dataclass(frozen=True, slots=True)
class NumberedFiles:
    """The paths of files by number, in ascending order. Files in a zip ``archive`` have its path before theirs."""

    paths: dict[int, str]
    archive: str = ""

    def read(
        self, has_file: Callable[[int], bool], encoding: str = "", on_bad: OnBad | None = None
    ) -> Iterator[Sentence]:
        """The sentences of the files whose numbers fulfill ``has_file``.

        A file that is not UTF-8 is read in ``encoding``. ``on_bad`` is called with the error of each malformed
        sentence, which is skipped.
        """
        paths = [path for number, path in self.paths.items() if has_file(number)]
        if self.archive:
            for path, text in _read_archive(self.archive, paths):
                yield from _read_text(path, text)
            return
        for path in paths:
            yield from read_bracketed(_in_encoding(path, encoding), on_bad=on_bad)


def numbered_files(folder: str, pattern: str, inner: str = "") -> NumberedFiles:
    """The files below ``folder`` whose names match ``pattern``, which has the number as its first group.

    In a folder with an inner folder called ``inner``, only this one is searched. The first file of each number counts.
    """
    name_pattern = re.compile(pattern, re.IGNORECASE)
    paths: dict[int, str] = {}
    for parent, folders, names in os.walk(folder):
        folders[:] = [inner] if inner in folders else sorted(folders)
        for name in sorted(names):
            if match := name_pattern.fullmatch(name):
                paths.setdefault(int(match[1]), os.path.join(parent, name))
    return NumberedFiles(dict(sorted(paths.items())))


def nltk_folders() -> list[str]:
    """The folders in which nltk searches its data, in order."""
    from nltk.data import path

    return [*filter(None, os.environ.get("NLTK_DATA", "").split(os.pathsep)), *path]


def nltk_files(corpus: str, pattern: str) -> NumberedFiles | None:
    """The numbered files of a corpus of nltk, unpacked or in its archive, or None if it is not installed."""
    for folder in nltk_folders():
        unpacked = numbered_files(os.path.join(folder, "corpora", corpus, "combined"), pattern)
        if unpacked.paths:
            return unpacked
        archive = os.path.join(folder, "corpora", f"{corpus}.zip")
        if os.path.isfile(archive):
            return NumberedFiles(_members(archive, re.compile(rf"(?:.*/)?{pattern}", re.IGNORECASE)), archive)
    return None


def _members(archive: str, pattern: re.Pattern[str]) -> dict[int, str]:
    """The members of a zip archive whose paths match ``pattern``, by number.

    Raises TreebankError for a damaged archive.
    """
    try:
        with open_zip(archive) as handle:
            matches = [match for name in handle.namelist() if (match := pattern.fullmatch(name))]
    except Exception as error:  # zipfile raises many exceptions for a damaged archive
        raise _damaged(archive, error) from None
    return dict(sorted((int(match[1]), f"{archive}/{match[0]}") for match in matches))


def _read_archive(archive: str, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The path and the text of each file in an archive, which is opened once."""
    try:
        with zipfile.ZipFile(archive) as handle:
            for path in paths:
                member = path[len(archive) + 1 :]
                if handle.getinfo(member).file_size > MAX_MEMBER_BYTES:
                    raise zipfile.BadZipFile(f"{member} is too large for a file of this treebank")
                yield path, handle.read(member).decode()
    except Exception as error:
        raise _damaged(archive, error) from None


def _damaged(archive: str, error: Exception) -> TreebankError:
    return TreebankError(archive, 0, f"damaged archive ({error}); download it again")


def _read_text(path: str, text: str) -> Iterator[Sentence]:
    """The sentences in the text of one file called ``path``."""
    line, last = 1, 0
    try:
        for tree, offset in zip(parse_trees(text), root_offsets(text), strict=False):
            line, last = line + text.count("\n", last, offset), offset
            plain = tree.without_traces()
            yield Sentence(plain.words, plain.tags, tree, location=Location(path, line))
    except ValueError as error:
        raise TreebankError(path, 0, str(error)) from None


def _in_encoding(path: str, encoding: str) -> Source:
    """The file in ``encoding`` if it is not UTF-8."""
    if encoding:
        try:
            with open(path, encoding="utf-8") as stream:
                stream.read()
        except UnicodeDecodeError:
            return Source(path, encoding)
    return Source(path)
