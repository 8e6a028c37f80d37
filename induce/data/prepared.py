"""A corpus on disk, as arrays that are mapped into memory, for texts that are larger than the memory.

``synparse data prepare`` writes a folder with these files:

- ``corpus.json``: description, and the digest of each file;
- ``words.txt``: line k is word number k;
- ``ids.i32``: the numbers of the words of each sentence, followed by 0;
- ``offsets.i64``: the start of each sentence;
- ``breaks.u1``: the punctuation that was dropped before each word (`induce.data.punctuation`).

Each training chooses its development set and its vocabulary. The indices of its vocabulary are written to unnamed
files, which the operating system removes with the process.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np

from induce.data.corpus import Beginning, CorpusBuilder, EncodedCorpus, Text
from induce.data.corpus_checks import Watch
from induce.data.punctuation import SINGLE, Singles, joining_marks
from induce.data.vocabulary import RECIPES, TOKENS, Vocabulary, split
from treebank.base.errors import SynparseError, placed
from treebank.base.files import FileFacts, describe_file, digest_bytes, finish, own_name, sync
from treebank.base.metadata import FileFormat, metadata_bytes, read_metadata
from treebank.core.sentence import Sentence
from treebank.tokenize import TOKENIZATIONS

FACTS = "corpus.json"
WORDS, IDS, OFFSETS, BREAKS = "words.txt", "ids.i32", "offsets.i64", "breaks.u1"
ARRAYS = (IDS, OFFSETS, BREAKS)
REMEDY = "copy the folder again, or prepare it again"
FORMAT = FileFormat(2, "the description of a corpus", REMEDY)
FLUSH = 1 << 20  # words in memory while a corpus is written
CHUNK = 1 << 17  # sentences read at a time


@dataclass(frozen=True, kw_only=True)
class CorpusFacts:
    """The text of a prepared corpus, the settings that it was prepared with, and its files."""

    texts: tuple[str, ...] = ()
    normalization: str
    token: str
    tokenization: str
    sentences: int
    words: int
    types: int
    marks: tuple[str, ...] = ()  # single punctuation marks, in the order of their numbers
    text_sha256: str
    health: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # remarks on the text for the user
    files: dict[str, FileFacts]

    def __post_init__(self) -> None:
        """Raises ValueError for unknown names, and for sizes of files that do not fit the numbers."""
        names = self.normalization in RECIPES and self.token in TOKENS
        if not names or self.tokenization not in ("", *TOKENIZATIONS):
            raise ValueError("its normalization, its token or its tokenization is unknown")
        if not 0 < self.sentences <= self.words or not 0 < self.types <= self.words:
            raise ValueError("its numbers of sentences, words and types do not fit together")
        entries = self.sentences + self.words
        sizes = {IDS: 4 * entries, OFFSETS: 8 * (self.sentences + 1), BREAKS: entries}
        if self.files.keys() != {WORDS, *ARRAYS} or any(self.files[name].bytes != sizes[name] for name in ARRAYS):
            raise ValueError("the sizes of its files do not fit its numbers")


def read_facts(folder: str | os.PathLike[str]) -> CorpusFacts:
    """The description of the corpus in ``folder``. Raises MetadataError if it is missing or damaged."""
    return read_metadata(Path(folder) / FACTS, CorpusFacts, FORMAT)


def prepare(
    sentences: Iterable[Sentence],
    folder: str,
    *,
    normalization: str = "words",
    token: str = "word",
    tokenization: str = "",
    texts: Sequence[str] = (),
) -> CorpusFacts:
    """Write the corpus of ``sentences`` into ``folder`` and return its description.

    The folder is written under another name and renamed when it is complete. Raises SynparseError if it already exists,
    or if no sentence has a word.
    """
    normalize, watch, corpus = RECIPES[normalization], Watch(), CorpusBuilder()
    with _new_folder(folder) as part:
        files = _ArrayFiles(part)
        for sentence in watch.sentences(sentences):
            normalized = normalize(sentence.words, sentence.tags)
            if token != "word" and normalized.forms:
                corpus.add(split(normalized.forms, token))
            elif normalized.forms:
                corpus.add(normalized.forms, normalized.indices, sentence.words)
            if len(corpus.ids) >= FLUSH:
                files.take(corpus)
        files.take(corpus)
        if not files.sentences:
            raise SynparseError(f"{' '.join(texts) or 'the text'}: no words are left after normalization")
        with open(os.path.join(part, WORDS), "wb") as stream:
            stream.writelines(word.encode("utf-8", "surrogatepass") + b"\n" for word in corpus.numbers)
        facts = CorpusFacts(
            texts=tuple(texts),
            normalization=normalization,
            token=token,
            tokenization=tokenization,
            sentences=files.sentences,
            words=files.entries - files.sentences,
            types=len(corpus.numbers),
            marks=tuple(corpus.singles.numbers),
            text_sha256=corpus.digest.hexdigest(),
            health=watch.health.to_json(),
            notes=tuple(watch.health.report(token=token)),
            files={name: describe_file(os.path.join(part, name)) for name in (WORDS, *ARRAYS)},
        )
        with open(os.path.join(part, FACTS), "wb") as stream:
            stream.write(metadata_bytes(facts, FORMAT))
        for name in (WORDS, *ARRAYS, FACTS):
            sync(os.path.join(part, name))
        return facts


@contextmanager
def _new_folder(folder: str) -> Iterator[str]:
    """A folder under a temporary name, which is renamed to ``folder`` in the end, or removed after an error."""
    if os.path.lexists(folder):
        raise SynparseError(f"{folder}: already exists; remove it, or name another folder with -o")
    target = os.path.normpath(folder)
    part = own_name(target)
    os.makedirs(part)
    try:
        with placed(folder):
            yield part
            if os.path.lexists(folder):
                raise SynparseError(f"{folder}: was made by another program meanwhile; name another folder with -o")
            finish(part, target)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


class _ArrayFiles:
    """Array files of a corpus that is being written to the folder ``part``."""

    def __init__(self, part: str) -> None:
        self.part = part
        self.sentences = self.entries = 0
        self._append(OFFSETS, np.zeros(1, dtype="<i8").tobytes())

    def take(self, corpus: CorpusBuilder) -> None:
        """Write the sentences of ``corpus`` and remove them from it, without its words and counts."""
        self._append(IDS, np.asarray(corpus.ids, dtype="<i4").tobytes())
        self._append(OFFSETS, (np.asarray(corpus.offsets[1:], dtype="<i8") + self.entries).tobytes())
        self._append(BREAKS, corpus.gaps)
        self.sentences += len(corpus.offsets) - 1
        self.entries += len(corpus.ids)
        corpus.ids, corpus.offsets, corpus.gaps = corpus.ids[:0], corpus.offsets[:1], bytearray()

    def _append(self, name: str, data: bytes | bytearray) -> None:
        with open(os.path.join(self.part, name), "ab") as stream:
            stream.write(data)


@dataclass(frozen=True, eq=False)
class PreparedCorpus:
    """A corpus on disk."""

    folder: Path
    facts: CorpusFacts
    words: tuple[str, ...]  # in the order of their numbers, which start at 1
    offsets: np.ndarray  # (sentences + 1,) int64, mapped into memory

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> PreparedCorpus:
        """The corpus in a folder. Raises SynparseError for damaged files and for numbers that do not fit together."""
        folder, facts = Path(path), read_facts(path)
        for name in (WORDS, *ARRAYS):
            if not (folder / name).is_file() or describe_file(folder / name) != facts.files[name]:
                raise SynparseError(f"{folder / name}: this file is not what was written; {REMEDY}")
        try:
            words = (folder / WORDS).read_bytes().decode("utf-8", "surrogatepass").removesuffix("\n").split("\n")
        except ValueError:
            raise SynparseError(f"{folder / WORDS}: not UTF-8; {REMEDY}") from None
        corpus = cls(folder, facts, tuple(words), np.memmap(folder / OFFSETS, dtype="<i8", mode="r"))
        if len(corpus.words) != facts.types or len(set(corpus.words)) != facts.types:
            raise SynparseError(f"{folder / WORDS}: does not contain {facts.types} different words; {REMEDY}")
        entries = facts.sentences + facts.words
        if corpus.offsets[0] != 0 or corpus.offsets[-1] != entries or (np.diff(corpus.offsets) < 2).any():
            raise SynparseError(f"{folder / OFFSETS}: does not contain the starts of sentences; {REMEDY}")
        for ids, lengths, gaps in corpus.chunks():
            is_end = np.zeros(len(ids), dtype=bool)
            is_end[np.cumsum(lengths) - 1] = True
            if ((ids == 0) != is_end).any() or ids.min() < 0 or ids.max() > facts.types:
                raise SynparseError(f"{folder / IDS}: contains numbers that are not words; {REMEDY}")
            if gaps.max() >= SINGLE + len(facts.marks):
                raise SynparseError(f"{folder / BREAKS}: contains numbers that are not punctuation; {REMEDY}")
        return corpus

    def chunks(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Word numbers, number of entries of each sentence, and gaps, for `CHUNK` sentences at a time."""
        with open(self.folder / IDS, "rb") as ids, open(self.folder / BREAKS, "rb") as breaks:
            for first in range(0, self.facts.sentences, CHUNK):
                lengths = np.diff(self.offsets[first : first + CHUNK + 1])
                count = int(lengths.sum())
                yield np.fromfile(ids, "<i4", count), lengths, np.fromfile(breaks, "u1", count)

    def check(self, *, normalization: str, token: str, tokenization: str) -> None:
        """Raise SynparseError if the settings of a run differ from those that the corpus was prepared with."""
        settings = {"normalization": normalization, "token": token, "tokenization": tokenization}
        for name, value in settings.items():
            if (prepared := getattr(self.facts, name)) != value:
                problem = f"was prepared with data.{name} = {prepared!r}, and this run has {value!r}"
                raise SynparseError(f"{self.folder}: {problem}; prepare it with --set data.{name}={value}")

    def split(self, development_share: float) -> tuple[PreparedText, PreparedText]:
        """Training and development text, the same sentences as from `read_corpora`."""
        every = round(1 / development_share) if development_share else 0
        return PreparedText(self, every, held_out=False), PreparedText(self, every, held_out=True)


class PreparedText(Text):
    """Selected sentences of a corpus on disk.

    With ``held_out`` every ``every``-th sentence is selected, otherwise all others. If ``every`` is 0, no sentence is
    held out.
    """

    def __init__(self, corpus: PreparedCorpus, every: int, *, held_out: bool) -> None:
        self.corpus, self.every, self.held_out = corpus, every, held_out
        self.sha256 = digest_bytes(f"{corpus.facts.text_sha256} {every} {held_out}".encode())
        self._sentences = self._entries = 0
        self._counts = np.zeros(corpus.facts.types + 1, dtype=np.int64)
        for ids, lengths, _ in self._chunks():
            self._sentences += len(lengths)
            self._entries += len(ids)
            self._counts += np.bincount(ids, minlength=len(self._counts))

    @property
    def sentences(self) -> int:
        """Number of sentences."""
        return self._sentences

    @property
    def words(self) -> int:
        """Number of running words."""
        return self._entries - self._sentences

    def _chunks(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """The selected sentences of `PreparedCorpus.chunks`."""
        first = 1
        for numbers, lengths, gaps in self.corpus.chunks():
            index = np.arange(first, first + len(lengths))
            held_out = index % self.every == 0 if self.every else np.zeros(len(index), dtype=bool)
            chosen = held_out == self.held_out
            mask = np.repeat(chosen, lengths)
            yield numbers[mask], lengths[chosen], gaps[mask]
            first += len(lengths)

    def word_counts(self) -> dict[str, int]:
        """Number of occurrences of each word."""
        counts = self._counts[1:].tolist()
        return {word: count for word, count in zip(self.corpus.words, counts, strict=True) if count}

    @cached_property
    def _singles(self) -> Singles:
        return Singles(self.corpus.facts.marks)

    @cached_property
    def joining(self) -> list[str]:
        """Punctuation marks that join words, from the first `CHUNK` sentences of the corpus."""
        numbers, _, gaps = next(self._chunks())
        return joining_marks(numbers, gaps, self._singles.numbers)

    def beginning(self, sentences: int) -> Beginning:
        """The first ``sentences`` sentences, at most those of the first `CHUNK`."""
        nothing = np.zeros(0, dtype=np.int64)
        ids, lengths, gaps = next(self._chunks(), (nothing, nothing, nothing))
        offsets = np.concatenate([[0], np.cumsum(lengths[:sentences], dtype=np.int64)])
        return Beginning(self.corpus.words, ids[: offsets[-1]], offsets, gaps[: offsets[-1]])

    def _encode(self, vocabulary: Vocabulary, joining: Sequence[str]) -> EncodedCorpus:
        """The text as indices of ``vocabulary``, in unnamed files."""
        final = self._singles.final(joining)
        table = np.array([0, *map(vocabulary.id, self.corpus.words)], dtype=np.int32)
        with _unnamed(self) as ids, _unnamed(self) as offsets, _unnamed(self) as gaps:
            at = 0
            offsets.write(np.zeros(1, dtype=np.int64).tobytes())
            for numbers, lengths, before in self._chunks():
                ids.write(table[numbers].tobytes())
                gaps.write(final[before].tobytes())
                offsets.write((at + np.cumsum(lengths)).tobytes())
                at += len(numbers)
            arrays = _mapped(ids, np.int32), _mapped(offsets, np.int64), _mapped(gaps, np.uint8)
        return EncodedCorpus(vocabulary, *arrays, np.zeros(0, dtype=np.float32))


def _unnamed(text: PreparedText) -> IO[bytes]:
    """Unnamed file in the folder of the corpus, or in that of temporary files if the former is read-only."""
    folder = text.corpus.folder
    return tempfile.TemporaryFile(dir=folder if os.access(folder, os.W_OK) else None)


def _mapped(stream: IO[bytes], kind: type[np.generic]) -> np.ndarray:
    """Content of a file as an array that is mapped into memory."""
    stream.flush()
    return np.memmap(stream, dtype=kind, mode="r+") if stream.tell() else np.zeros(0, dtype=kind)
