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

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from induce.data.corpus import Corpus, EncodedCorpus
from induce.data.corpus_checks import Watch
from induce.data.normalization import RECIPES
from induce.data.punctuation import Singles, joining_marks
from induce.data.tokens import split
from induce.data.vocabulary import Vocabulary
from treebank.base.atomic_write import finish, own_name, sync
from treebank.base.errors import SynparseError, placed
from treebank.base.json_text import parse_json
from treebank.base.version import VERSION
from treebank.core.sentence import Sentence

FORMAT = 1
FACTS = "corpus.json"
WORDS, IDS, OFFSETS, BREAKS = "words.txt", "ids.i32", "offsets.i64", "breaks.u1"
FLUSH = 1 << 20  # words in memory while a corpus is written
_REQUIRED_KEYS = ("normalization", "token", "tokenization", "sentences", "types", "sha256", "health", "notes", "files")
_REMEDY = "copy the folder again, or prepare it again"
CHUNK = 1 << 17  # sentences read at a time


def is_prepared(path: object) -> bool:
    """Whether ``path`` is the folder of a prepared corpus."""
    return isinstance(path, str | os.PathLike) and (Path(path) / FACTS).is_file()


def prepare(
    sentences: Iterable[Sentence],
    folder: str,
    *,
    normalization: str = "words",
    token: str = "word",
    tokenization: str = "",
    texts: Sequence[str] = (),
) -> dict[str, Any]:
    """Write the corpus of ``sentences`` into ``folder`` and return the content of its corpus.json.

    The folder is written under another name and renamed when it is complete. Raises SynparseError if it already exists,
    or if no sentence has a word.
    """
    if os.path.lexists(folder):
        raise SynparseError(f"{folder}: already exists; remove it, or name another folder with -o")
    target = os.path.normpath(folder)
    part = own_name(target)
    os.makedirs(part)
    normalize, watch, corpus = RECIPES[normalization], Watch(), Corpus()
    with placed(folder), _ArrayFiles(part) as files:
        for sentence in watch.sentences(sentences):
            normalized = normalize(sentence.words, sentence.tags)
            if token != "word" and normalized.forms:
                corpus.add(split(normalized.forms, token))
            elif normalized.forms:
                corpus.add(normalized.forms, normalized.kept, sentence.words)
            if len(corpus.ids) >= FLUSH:
                files.take(corpus)
        files.take(corpus)
        if not files.sentences:
            raise SynparseError(f"{' '.join(texts) or 'the text'}: no words are left after normalization")
        with open(os.path.join(part, WORDS), "wb") as stream:
            stream.writelines(word.encode("utf-8", "surrogatepass") + b"\n" for word in corpus.numbers)
        facts = {
            "format": FORMAT,
            "synparse": VERSION,
            "texts": list(texts),
            "normalization": normalization,
            "token": token,
            "tokenization": tokenization,
            "sentences": files.sentences,
            "words": files.words,
            "types": len(corpus.numbers),
            "marks": list(corpus.singles.numbers),
            "sha256": corpus.digest.hexdigest(),
            "health": watch.health.to_json(),
            "notes": list(watch.health.report(token=token)),
        }
        return _seal(part, target, facts)


def _seal(part: str, folder: str, facts: dict[str, Any]) -> dict[str, Any]:
    """Write corpus.json with the digests of the other files, and rename the folder ``part`` to ``folder``."""
    for name in (WORDS, IDS, OFFSETS, BREAKS):
        sync(os.path.join(part, name))
    facts["files"] = {name: _file_facts(Path(part) / name) for name in (WORDS, IDS, OFFSETS, BREAKS)}
    with open(os.path.join(part, FACTS), "w", encoding="utf-8") as stream:
        json.dump(facts, stream, indent=1)
        stream.flush()
        os.fsync(stream.fileno())
    if os.path.lexists(folder):
        raise SynparseError(f"{folder}: was made by another program meanwhile; name another folder with -o")
    finish(part, folder)
    return facts


def _file_facts(path: Path) -> dict[str, Any]:
    with path.open("rb") as stream:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()}


class _ArrayFiles:
    """Array files of a corpus that is being written to the folder ``part``, which is removed after an error."""

    def __init__(self, part: str) -> None:
        self.part = part
        self.sentences = self.words = self.entries = 0

    def __enter__(self) -> _ArrayFiles:
        self._ids, self._offsets, self._breaks = (
            open(os.path.join(self.part, name), "wb")  # noqa: SIM115
            for name in (IDS, OFFSETS, BREAKS)
        )
        self._offsets.write(np.zeros(1, dtype="<i8").tobytes())
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        for stream in (self._ids, self._offsets, self._breaks):
            stream.close()
        if kind:
            shutil.rmtree(self.part, ignore_errors=True)

    def take(self, corpus: Corpus) -> None:
        """Write the sentences of ``corpus`` and remove them from it, without its words and counts."""
        self._ids.write(np.asarray(corpus.ids, dtype="<i4").tobytes())
        self._offsets.write((np.asarray(corpus.offsets[1:], dtype="<i8") + self.entries).tobytes())
        self._breaks.write(corpus.gaps)
        self.sentences, self.words = self.sentences + corpus.sentences, self.words + corpus.words
        self.entries += len(corpus.ids)
        corpus.ids, corpus.offsets, corpus.gaps = corpus.ids[:0], corpus.offsets[:1], bytearray()
        for stream in (self._ids, self._offsets, self._breaks):
            stream.flush()


@dataclass(frozen=True, eq=False)
class PreparedCorpus:
    """A corpus on disk."""

    folder: Path
    facts: dict[str, Any]
    offsets: np.ndarray  # (sentences + 1,) int64, mapped into memory

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> PreparedCorpus:
        """The corpus in a folder. Raises SynparseError if the digest of a file does not match."""
        folder, facts = Path(path), cls.facts_of(path)
        for name in (WORDS, IDS, OFFSETS, BREAKS):
            if not (folder / name).is_file() or _file_facts(folder / name) != facts["files"][name]:
                raise SynparseError(f"{folder / name}: this file is not what was written; {_REMEDY}")
        return cls(folder, facts, np.memmap(folder / OFFSETS, dtype="<i8", mode="r"))

    @staticmethod
    def facts_of(path: str | os.PathLike[str]) -> dict[str, Any]:
        """Content of corpus.json. Raises SynparseError if it is not the description of a corpus."""
        file = Path(path) / FACTS
        try:
            facts: dict[str, Any] = parse_json(file.read_bytes())
            if facts["format"] != FORMAT:
                raise SynparseError(f"{file}: format {facts['format']!r} is unknown to synparse {VERSION}")
            missing = [name for name in _REQUIRED_KEYS if name not in facts]
            if missing or not {WORDS, IDS, OFFSETS, BREAKS} <= facts["files"].keys():
                raise ValueError(f"{', '.join(missing) or 'files'} missing")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SynparseError(f"{file}: not the description of a corpus ({error}); {_REMEDY}") from None
        return facts

    def check(self, *, normalization: str, token: str, tokenization: str) -> None:
        """Raise SynparseError if the settings of a run differ from those that the corpus was prepared with."""
        settings = {"normalization": normalization, "token": token, "tokenization": tokenization}
        for name, value in settings.items():
            if self.facts[name] != value:
                problem = f"was prepared with data.{name} = {self.facts[name]!r}, and this run has {value!r}"
                raise SynparseError(f"{self.folder}: {problem}; prepare it with --set data.{name}={value}")

    def split(self, development_share: float) -> tuple[PreparedText, PreparedText]:
        """Training and development text, the same sentences as from `read_corpora`."""
        every = round(1 / development_share) if development_share else 0
        return PreparedText(self, every, held_out=False), PreparedText(self, every, held_out=True)

    def words(self) -> list[str]:
        """Words in the order of their numbers, which start at 1."""
        text = (self.folder / WORDS).read_bytes().decode("utf-8", "surrogatepass")
        return text.removesuffix("\n").split("\n")


class PreparedText:
    """Selected sentences of a corpus on disk, with the interface of a `Corpus`.

    With ``held_out`` every ``every``-th sentence is selected, otherwise all others. If ``every`` is 0, no sentence is
    held out.
    """

    trees = ()  # a corpus on disk has no trees

    def __init__(self, corpus: PreparedCorpus, every: int, *, held_out: bool) -> None:
        self.corpus, self.every, self.held_out = corpus, every, held_out
        self.digest = hashlib.sha256(f"{corpus.facts['sha256']} {every} {held_out}".encode())
        self.sentences, self.entries = 0, 0
        self._counts = np.zeros(int(corpus.facts["types"]) + 1, dtype=np.int64)
        for ids, lengths, _ in self._chunks():
            self.sentences += len(lengths)
            self.entries += len(ids)
            self._counts += np.bincount(ids, minlength=len(self._counts))
        self._encoded: tuple[tuple[str, ...], tuple[str, ...], EncodedCorpus] | None = None
        self.class_vocabularies: dict[tuple[int, ...], Vocabulary] = {}

    @property
    def words(self) -> int:
        """Number of running words."""
        return self.entries - self.sentences

    def _chunks(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Word numbers, number of entries of each sentence, and gaps, for `CHUNK` sentences at a time."""
        corpus = self.corpus
        with open(corpus.folder / IDS, "rb") as ids, open(corpus.folder / BREAKS, "rb") as breaks:
            for first in range(0, len(corpus.offsets) - 1, CHUNK):
                lengths = np.diff(corpus.offsets[first : first + CHUNK + 1])
                count = int(lengths.sum())
                numbers, dropped = np.fromfile(ids, "<i4", count), np.fromfile(breaks, "u1", count)
                index = np.arange(first + 1, first + 1 + len(lengths))
                held_out = index % self.every == 0 if self.every else np.zeros(len(index), dtype=bool)
                chosen = held_out == self.held_out
                mask = np.repeat(chosen, lengths)
                yield numbers[mask], lengths[chosen], dropped[mask]

    def word_counts(self) -> dict[str, int]:
        """Number of occurrences of each word."""
        counts = self._counts[1:].tolist()
        return {word: count for word, count in zip(self.corpus.words(), counts, strict=True) if count}

    def vocabulary(self, size: int, minimum_count: int, unknown: str = "one") -> Vocabulary:
        """Vocabulary of the most frequent words that occur at least ``minimum_count`` times.

        ``size`` includes the two special tokens.
        """
        return Vocabulary.from_counts(self.word_counts(), size=size, minimum_count=minimum_count, unknown=unknown)

    @property
    def singles(self) -> Singles:
        """Numbers of punctuation marks, or no numbers if an old corpus does not distinguish marks."""
        return Singles(self.corpus.facts.get("marks", ()))

    @property
    def joining(self) -> list[str]:
        """Punctuation marks that join words, from the first `CHUNK` sentences of the corpus."""
        numbers, _, gaps = next(self._chunks(), (np.zeros(0, "<i4"), None, np.zeros(0, "u1")))
        return joining_marks(numbers, gaps, self.singles.numbers)

    def encode(self, vocabulary: Vocabulary, joining: Sequence[str] = ()) -> EncodedCorpus:
        """The text as indices of ``vocabulary``, in unnamed files.

        The punctuation marks in ``joining`` join words. The last result is cached, so that several runs share it.
        """
        if self._encoded is None or self._encoded[:2] != (vocabulary.words, tuple(joining)):
            self._encoded = vocabulary.words, tuple(joining), self._encode(vocabulary, joining)
        return self._encoded[2]

    def _encode(self, vocabulary: Vocabulary, joining: Sequence[str]) -> EncodedCorpus:
        final = self.singles.final(joining)
        table = np.array([0, *map(vocabulary.id, self.corpus.words())], dtype=np.int32)
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
