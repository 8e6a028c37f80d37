"""Reading of sentences from files, folders and patterns in any format, streamed.

A folder written by ``synparse parse --output-dir`` is read as one file: its files in the order of their texts. A note
in the folder names all files, so that an interrupted batch is detected.
"""

from __future__ import annotations

import glob
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from treebank.base.errors import SynparseError, TreebankError, UnknownNameError
from treebank.base.files import PART
from treebank.base.metadata import FileFormat, read_metadata
from treebank.core.sentence import Location, Sentence
from treebank.io.checks import INNER_MARK, DamageSigns
from treebank.io.formats import (
    BRACKETS,
    FORMATS,
    TEXT,
    TREEBANK_SUFFIXES,
    XML_FORMATS,
    Format,
    ReadOptions,
    detect,
    format_by_suffix,
    suffix_of,
)
from treebank.io.lines import OnBad
from treebank.io.source import DAMAGED, STDIN, AnyPath, Source, is_binary
from treebank.tokenize import NONE, tokenization

MARK = "\ufeff"  # byte-order mark
OnSentence = Callable[[Location], None]  # called with the location of each sentence that was read


@dataclass(frozen=True, slots=True)
class InputOptions:
    """The options for reading input.

    ``tokenize`` is the rule that splits plain text into sentences and words: "" for tokenized text or the rule of a
    model, "none" to overrule the rule of a model. With ``paragraphs``, lines may be broken anywhere and a blank line
    ends a paragraph. ``form`` is the name of a format in `FORMATS` and replaces detection. ``encoding`` is "" for
    UTF-8. With ``symbols``, the text consists of expressions, so files without a known suffix are text whatever they
    look like. ``keep_annotation`` stores the columns of CoNLL-U and CoNLL-X in the sentence. ``notify`` is called with
    a message about skipped files and detected formats, ``on_sentence`` with the location of each sentence that was
    read.
    """

    tokenize: str = ""
    paragraphs: bool = False
    form: str = ""
    encoding: str = ""
    symbols: bool = False
    keep_annotation: bool = False
    notify: Callable[[str], None] = lambda text: print(f"note: {text}", file=sys.stderr, flush=True)
    on_sentence: OnSentence | None = None

    def __post_init__(self) -> None:
        """Raises UnknownNameError for an unknown encoding or tokenization rule."""
        if self.encoding:
            try:
                "".encode(self.encoding)
            except (LookupError, ValueError):  # ValueError: not a name at all
                raise UnknownNameError(
                    f"there is no encoding {self.encoding!r}; try utf-8, iso-8859-15 or cp1252"
                ) from None
        if self.tokenize not in ("", NONE):
            tokenization(self.tokenize)

    @property
    def is_raw_text(self) -> bool:
        """Whether the input is declared as text, so that all text files of a folder are read."""
        return FORMATS[self.form] is TEXT if self.form else self.tokenize not in ("", NONE)


DEFAULT_INPUT = InputOptions()


def read_sentences(
    paths: AnyPath | Iterable[AnyPath],
    *,
    input_options: InputOptions = DEFAULT_INPUT,
    trees: bool | None = None,
    on_bad: OnBad | None = None,
) -> Iterator[Sentence]:
    """The sentences of all files in order, streamed. The format of each file is detected.

    With ``trees``, only treebank files of a folder are read, and apparent text is read as brackets unless
    ``input_options`` declare it as text. ``on_bad`` is called with the error of each malformed sentence, which is
    skipped, and of each of several files that cannot be read to its end; without it, the first error is raised.
    """
    if isinstance(paths, str | os.PathLike | Source):
        paths = [paths]
    sources: list[Source] = []
    for path in paths:
        if isinstance(path, Source):
            sources.append(path)
        else:
            files = expand([path], trees=trees and not input_options.is_raw_text, notify=input_options.notify)
            sources.extend(Source(file, input_options.encoding) for file in files)
    return _read_all(sources, input_options, bool(trees), on_bad)


def _read_all(
    sources: Sequence[Source], options: InputOptions, trees: bool, on_bad: OnBad | None
) -> Iterator[Sentence]:
    rule = "" if options.tokenize == NONE else options.tokenize
    read_options = ReadOptions(
        rule, options.paragraphs, options.keep_annotation, on_bad, bool(options.form), options.notify
    )
    empty = list[str]()  # files without sentences
    for source in sources:
        signs, is_empty = DamageSigns(source.path, options.notify), True
        try:
            for sentence in _input_format(source, options, trees).read(source, read_options):
                is_empty = False
                if MARK in "".join(sentence.words):
                    signs.add(INNER_MARK, sentence.location.line)
                yield sentence
                if options.on_sentence:
                    options.on_sentence(sentence.location)
        except TreebankError as error:
            if on_bad is None or len(sources) == 1:
                raise
            on_bad(rest_left_out(error))
        signs.report()
        empty += [source.path] * is_empty
    if 0 < len(empty) < len(sources):
        options.notify(f"there are no sentences in {_summary(empty)}")


def rest_left_out(error: TreebankError) -> TreebankError:
    """The error of a file that is read up to this error, among others."""
    return TreebankError(error.path, error.line, f"{error.message}; the rest of this file is left out")


def _input_format(source: Source, options: InputOptions, trees: bool) -> Format:
    """The format in which a source is read. A format other than text that was detected by content is reported."""
    if options.form or options.symbols:
        return input_format(source, options)
    detected = detect(source, is_raw=options.is_raw_text)
    if trees:
        return BRACKETS if detected is TEXT and not options.is_raw_text else detected
    if detected is not TEXT and not format_by_suffix(source.path):
        name = "standard input" if source.path == STDIN else source.path
        options.notify(f"{name}: read as {detected.name}, by its content; --input-format text reads it as plain text")
    return detected


def input_format(path: AnyPath, input_options: InputOptions = DEFAULT_INPUT) -> Format:
    """The format that ``input_options`` declare, else the detected one.

    Raises TreebankError for content that cannot be read.
    """
    source = Source(Source.of(path).path, input_options.encoding)
    if input_options.form:
        return FORMATS[input_options.form]
    if input_options.symbols:
        return format_by_suffix(source.path) or TEXT
    return detect(source, is_raw=input_options.is_raw_text)


def is_plain_text(path: AnyPath, input_options: InputOptions = DEFAULT_INPUT) -> bool:
    """Whether a file is read as text, line by line. Raises TreebankError for content that cannot be read."""
    return input_format(path, input_options) is TEXT


Notify = Callable[[str], None]


NOTE_FORMAT = FileFormat(1, "the note of a batch", "name the files of trees themselves")
BATCH_NOTE = "synparse-batch.json"


@dataclass(frozen=True, kw_only=True)
class BatchNote:
    """Metadata of a folder of parsed files: its files in the order of the input, and the model that parsed them."""

    files: tuple[str, ...]
    job: dict[str, Any] = field(default_factory=dict)  # model and options

    def __post_init__(self) -> None:
        """Raises ValueError for a file that is not in the folder."""
        for name in self.files:
            if os.path.isabs(name) or ".." in Path(name).parts or not name:
                raise ValueError(f"the file {name!r} is not in this folder")


def read_note(folder: str | os.PathLike[str], remedy: str = NOTE_FORMAT.remedy) -> BatchNote:
    """The note in a folder of parsed text. Raises MetadataError, with the ``remedy``, if it is missing or damaged."""
    return read_metadata(os.path.join(folder, BATCH_NOTE), BatchNote, replace(NOTE_FORMAT, remedy=remedy))


def is_parsed(folder: str | os.PathLike[str]) -> bool:
    """Whether ``parse --output-dir`` has written to this folder."""
    return os.path.isfile(os.path.join(folder, BATCH_NOTE))


def parsed_files(folder: str) -> list[str]:
    """The files of trees or heads in a folder of parsed text, in order.

    Raises SynparseError if files are missing, or if the note is damaged.
    """
    names = read_note(folder).files
    paths = [os.path.join(folder, name) for name in names]
    missing = [path for path in paths if not os.path.isfile(path)]
    if missing:
        problem = f"{len(missing):,} of {len(paths):,} files are incomplete, such as {missing[0]}"
        raise SynparseError(f"{folder}: {problem}; continue with synparse parse --resume")
    return paths


#: files of a folder that the program wrote itself: a model, several models, or parsed text
_OWN_FILES = frozenset(("model.safetensors", "resume.safetensors", "ensemble.json", "family.json", BATCH_NOTE))
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
        if folder != path and (_is_corpus(names) or not _OWN_FILES.isdisjoint(names)):
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
