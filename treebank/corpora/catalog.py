"""Gold treebanks by name or by path, and treebanks in numbered files, in a folder or in an archive of nltk.

``sample`` is the built-in corpus; `corpora.toml` describes the other names. The Wall Street Journal is read from the
folder that the caller or ``$SYNPARSE_PTB`` names, else from the 5 % sample that nltk distributes, and the note of the
treebank says so. Everything else, and an existing path with the name of a treebank, is a file, folder or pattern.
"""

from __future__ import annotations

import glob
import os
import re
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from itertools import chain, compress, groupby
from typing import Any

from treebank.base.arguments import Registry, nearest
from treebank.base.errors import SynparseError, TreebankError, UnknownNameError
from treebank.base.files import digest_bytes
from treebank.core.brackets import root_offsets
from treebank.core.sentence import Location, Sentence, Treebank, short_sentences
from treebank.corpora.sample import SAMPLE, sample_treebank
from treebank.io.bracketed import parse_trees, read_bracketed
from treebank.io.lines import OnBad
from treebank.io.read import DEFAULT_INPUT, InputOptions, expand, read_sentences
from treebank.io.source import AnyPath, Source, open_zip

NLTK_NOTE = "5 % sample"  # printed next to every score on nltk's part of the Penn Treebank
NLTK_HELP = (
    f"for nltk's {NLTK_NOTE} run `python -m nltk.downloader treebank`, "
    "or set NLTK_DATA to a folder that holds corpora/treebank.zip"
)


@dataclass(frozen=True, slots=True)
class Corpus:
    """A treebank in numbered files. Names match ``pattern``. The folder is in the environment ``variable``."""

    title: str
    variable: str
    pattern: str
    example: str
    help: str
    folder: str = ""
    encoding: str = ""
    nltk: str = ""
    nltk_files: str = ""
    nltk_last: int = -1


@dataclass(frozen=True, slots=True)
class NamedTreebank:
    """The files of a corpus under one name, or the short sentences of another named treebank.

    ``files`` are the first and last numbers of ranges, and ``sentences`` is the known number of sentences, if there is
    one.
    """

    corpus: str = ""
    contents: str = ""
    files: Sequence[Sequence[int]] = ()
    part_of: str = ""
    max_length: int | None = None
    sentences: int | None = None

    def has_file(self, number: int) -> bool:
        """Whether the file with this number belongs to the treebank."""
        return any(first <= number <= last for first, last in self.files)


_TABLES: dict[str, Any] = tomllib.loads((files(__package__) / "corpora.toml").read_text("utf-8"))
CORPORA = {name: Corpus(**values) for name, values in _TABLES["corpora"].items()}
TREEBANKS = Registry("treebank", {name: NamedTreebank(**values) for name, values in _TABLES["treebanks"].items()})
NAMES = (SAMPLE, *TREEBANKS)


def is_name(source: str) -> bool:
    """Whether this is the name of a treebank, and not an existing path."""
    return source in NAMES and not os.path.lexists(source)


def check_known(source: str) -> None:
    """Raises UnknownNameError unless this is the name of a treebank, an existing path, a pattern or standard input."""
    if source in NAMES or source == "-" or os.path.lexists(os.path.expanduser(source)) or glob.has_magic(source):
        return
    error = SynparseError if os.path.splitext(source)[1] or os.sep in source else UnknownNameError
    raise error(f"no treebank {source!r}: neither a file nor a name; {nearest(source, NAMES)}")


def load_gold(
    name_or_path: str,
    *,
    ptb: str | None = None,
    max_length: int | None = None,
    on_bad: OnBad | None = None,
    input_options: InputOptions = DEFAULT_INPUT,
) -> Treebank:
    """The treebank of that name, or the trees of a file, folder or pattern.

    ``ptb`` is the folder of a full Penn Treebank. With a maximal length, as an argument or in the name, the treebank
    consists of the sentences with 1 to that many words, counted as in the default convention. ``on_bad`` is called with
    the error of each malformed sentence, which is skipped; without it, the first error is raised. Raises SynparseError
    for missing data and says how to get it.
    """
    gold = load_whole(name_or_path, ptb=ptb, on_bad=on_bad, input_options=input_options)
    return up_to(gold, bound_of(name_or_path, max_length))


def bound_of(name_or_path: str, max_length: int | None = None) -> int | None:
    """The maximal number of words of a sentence, by the name or by ``max_length``, whichever is less."""
    bound = TREEBANKS.get(name_or_path).max_length if name_or_path in TREEBANKS and is_name(name_or_path) else None
    return min((limit for limit in (bound, max_length) if limit is not None), default=None)


def load_whole(
    name_or_path: str,
    *,
    ptb: str | None = None,
    on_bad: OnBad | None = None,
    input_options: InputOptions = DEFAULT_INPUT,
) -> Treebank:
    """The treebank with sentences of any length: ``wsj10`` gives all sentences, under the name ``wsj10``."""
    if not is_name(name_or_path):
        check_known(name_or_path)
        annotated = []
        for sentence in read_sentences([name_or_path], trees=True, on_bad=on_bad, input_options=input_options):
            if not on_bad or sentence.tree is not None or sentence.heads:
                annotated.append(sentence)
            else:
                on_bad(TreebankError(*sentence.location, "this sentence has neither a tree nor heads"))
        if not annotated:
            raise TreebankError(name_or_path, 0, "no sentence in this file has a tree or heads")
        return Treebank(name_or_path, annotated)
    if name_or_path == SAMPLE:
        return Treebank(name_or_path, sample_treebank("test").sentences)
    base = _base(name_or_path)
    source = _Files(CORPORA[base.corpus], ptb)
    return source.cut(name_or_path, source.read(base.has_file, on_bad))


def _base(name: str) -> NamedTreebank:
    """The treebank of that name, or the one of which it is a part."""
    named = TREEBANKS.get(name)
    return TREEBANKS.get(named.part_of) if named.part_of else named


@dataclass(frozen=True)
class _Files:
    """The files of a corpus on this machine."""

    corpus: Corpus
    folder: str | None = None  # instead of the one in the environment

    @cached_property
    def _numbered(self) -> tuple[NumberedFiles, str]:
        """The files, and the note of nltk's sample. Raises SynparseError if there are none."""
        corpus = self.corpus
        if folder := (self.folder if corpus.nltk else None) or os.environ.get(corpus.variable):
            numbered = numbered_files(os.path.expanduser(folder), corpus.pattern, corpus.folder)
            if not numbered.paths:
                problem = f"no file of {corpus.title} (such as {corpus.example}) in it"
                raise SynparseError(f"{folder}: {problem}; {self._help}")
            is_sample = max(numbered.paths) <= corpus.nltk_last
            return numbered, NLTK_NOTE if is_sample else ""
        if corpus.nltk and (sample := nltk_files(corpus.nltk, corpus.pattern)):
            return sample, NLTK_NOTE
        raise SynparseError(f"{corpus.title} is not on this machine; {self._help}")

    @property
    def _help(self) -> str:
        return f"{self.corpus.help}; {NLTK_HELP}" if self.corpus.nltk else self.corpus.help

    def read(self, has_file: Callable[[int], bool], on_bad: OnBad | None = None) -> list[Sentence]:
        """The sentences of the files whose numbers fulfill ``has_file``, in order."""
        numbered, _ = self._numbered
        return list(numbered.read(has_file, self.corpus.encoding, on_bad))

    def cut(self, name: str, sentences: Sequence[Sentence]) -> Treebank:
        """The treebank called ``name``, from the sentences of its files or of more files.

        Its note says that it is nltk's sample, or how the number of sentences differs from the known one. Raises
        SynparseError if no file belongs to it.
        """
        named, base = TREEBANKS.get(name), _base(name)
        numbered, note = self._numbered
        paths = {path for number, path in numbered.paths.items() if base.has_file(number)}
        if not paths:
            sample = (
                f"nltk's {NLTK_NOTE} ({self.corpus.nltk_files})" if note else f"the given copy of {self.corpus.title}"
            )
            raise SynparseError(f"{name} is {base.contents}, which {sample} does not contain; {self.corpus.help}")
        gold = Treebank(name, [sentence for sentence in sentences if sentence.location.path in paths], note)
        count = len(up_to(gold, named.max_length))
        if not note and base.sentences is None:
            note = f"{len(paths)} files"
        elif not note and len(gold) != base.sentences:
            note = f"{'cut from ' if named.part_of else ''}{len(gold):,} of {base.sentences:,} sentences"
        elif not note and named.sentences not in (None, count):
            note = f"{count:,} of {named.sentences:,} sentences"
        return replace(gold, note=note)


def survey(ptb: str | None = None) -> Iterator[tuple[str, Treebank | SynparseError]]:
    """Each name with its treebank, or with the error that says what is missing. Each corpus is read once.

    Corpora without a folder in the environment are left out, except the Wall Street Journal.
    """
    yield SAMPLE, load_gold(SAMPLE)
    for key, corpus in CORPORA.items():
        if not corpus.nltk and not os.environ.get(corpus.variable):
            continue
        source = _Files(corpus, ptb)
        names = [name for name in TREEBANKS if _base(name).corpus == key]
        try:
            sentences = source.read(lambda number: True)
        except SynparseError as error:
            yield from ((name, error) for name in names)
            continue
        for name in names:
            try:
                yield name, up_to(source.cut(name, sentences), TREEBANKS.get(name).max_length)
            except SynparseError as error:
                yield name, error


def up_to(gold: Treebank, bound: int | None) -> Treebank:
    """The sentences with 1 to ``bound`` words, counted as in the default convention, or all without a bound."""
    return replace(gold, sentences=list(compress(gold.sentences, short_sentences(gold, bound))))


def digest(gold: Treebank) -> str:
    """SHA-256 of the gold trees, or of words and heads, independent of the layout of the file."""
    lines = (
        f"{sentence.tree}\n" if sentence.tree else " ".join([*sentence.words, *map(str, sentence.heads), "\n"])
        for sentence in gold.sentences
    )
    return digest_bytes("".join(lines).encode("utf-8", "surrogatepass"))


# --- sentences of any input: files, folders, patterns, standard input, and treebanks by name


def files_of(paths: Iterable[str | os.PathLike[str]], *, trees: bool | None = None) -> list[str]:
    """The files that ``paths`` name, without treebanks by name. Raises SynparseError for a path without a file."""
    return expand([path for path in paths if not is_name(os.fspath(path))], trees=trees)


def read_input(
    paths: Iterable[AnyPath],
    *,
    input_options: InputOptions = DEFAULT_INPUT,
    part: str = "test",
    on_bad: OnBad | None = None,
    trees: bool | None = None,
    ptb: str | None = None,
) -> Iterator[Sentence]:
    """The sentences of files and of treebanks by name, in order, streamed.

    ``part`` is the part of the built-in sample under the name ``sample``: train, dev or test. ``ptb`` is the folder of
    a full Penn Treebank. ``on_bad`` and ``trees`` are as for `read_sentences`. Raises SynparseError at once for a path
    without a file.
    """
    sources: list[Iterable[Sentence]] = []
    for named, group in groupby(paths, key=lambda path: isinstance(path, str) and is_name(path)):
        if named:
            sources += [_named_sentences(str(name), input_options, part, on_bad, ptb) for name in group]
        else:
            sources.append(read_sentences(list(group), trees=trees, input_options=input_options, on_bad=on_bad))
    return chain.from_iterable(sources)


def _named_sentences(
    name: str, input_options: InputOptions, part: str, on_bad: OnBad | None, ptb: str | None
) -> Iterator[Sentence]:
    """The sentences of the treebank ``name``. Its note, such as that it is a sample, is reported."""
    treebank = sample_treebank(part) if name == SAMPLE else load_gold(name, ptb=ptb, on_bad=on_bad)
    if treebank.note:
        input_options.notify(f"{name}: {treebank.note}")
    for sentence in treebank.sentences:
        yield sentence
        if input_options.on_sentence:
            input_options.on_sentence(sentence.location)


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
