"""A corpus on disk: its words as numbers in arrays that are mapped into memory, so that training holds none of it.

``synparse data prepare`` writes a folder with ``corpus.json`` (content, and the digest of each file), ``words.txt``
(line k is word number k), ``ids.i32`` (numbers of each sentence's words and 0 behind it), ``offsets.i64`` (where each
sentence begins) and ``breaks.u1`` (what marks were dropped in front, see `induce.data.punctuation`). Each training
decides which sentences are development text and which words are known: the numbers of its vocabulary go to files
without a name, which the system removes with the process.
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
FLUSH = 1 << 20  # words that are held while a corpus is written
_NEEDED = ("normalization", "token", "tokenization", "sentences", "types", "sha256", "health", "notes", "files")
_AGAIN = "copy the folder again, or prepare it anew"
CHUNK = 1 << 17  # sentences that are looked at at a time


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
    """Writes the corpus of ``sentences`` into ``folder`` and returns what its corpus.json says.

    The folder is written beside its place and renamed when it is whole. Raises SynparseError if it is there already, or
    if no sentence has a word.
    """
    if os.path.lexists(folder):
        raise SynparseError(f"{folder}: is there already; remove it, or name another folder with -o")
    target = os.path.normpath(folder)
    part = own_name(target)
    os.makedirs(part)
    normalize, watch, corpus = RECIPES[normalization], Watch(), Corpus()
    with placed(folder), _ArrayFiles(part) as files:
        for sentence in watch.sentences(sentences):
            seen = normalize(sentence.words, sentence.tags)
            if token != "word" and seen.forms:
                corpus.add(split(seen.forms, token))
            elif seen.forms:
                corpus.add(seen.forms, seen.kept, sentence.words)
            if len(corpus.ids) >= FLUSH:
                files.take(corpus)
        files.take(corpus)
        if not files.sentences:
            raise SynparseError(f"{' '.join(texts) or 'the text'}: no words are left after normalisation")
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
    """Write corpus.json with the digests of the other files, and put the folder into its place."""
    for name in (WORDS, IDS, OFFSETS, BREAKS):
        sync(os.path.join(part, name))
    facts["files"] = {name: _about(Path(part) / name) for name in (WORDS, IDS, OFFSETS, BREAKS)}
    with open(os.path.join(part, FACTS), "w", encoding="utf-8") as stream:
        json.dump(facts, stream, indent=1)
        stream.flush()
        os.fsync(stream.fileno())
    if os.path.lexists(folder):
        raise SynparseError(f"{folder}: was made by another program meanwhile; name another folder with -o")
    finish(part, folder)
    return facts


def _about(path: Path) -> dict[str, Any]:
    with path.open("rb") as stream:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()}


class _ArrayFiles:
    """The arrays of a corpus that is being written; ``part`` is its folder, which goes if anything fails."""

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
        """Write the sentences of ``corpus`` and take them out of it; its words and counts stay."""
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
        """The corpus in a folder. Raises SynparseError if a file is not what was written."""
        folder, facts = Path(path), cls.facts_of(path)
        for name in (WORDS, IDS, OFFSETS, BREAKS):
            if not (folder / name).is_file() or _about(folder / name) != facts["files"][name]:
                raise SynparseError(f"{folder / name}: this file is not what was written; {_AGAIN}")
        return cls(folder, facts, np.memmap(folder / OFFSETS, dtype="<i8", mode="r"))

    @staticmethod
    def facts_of(path: str | os.PathLike[str]) -> dict[str, Any]:
        """What corpus.json says. Raises SynparseError if it is none."""
        file = Path(path) / FACTS
        try:
            facts: dict[str, Any] = parse_json(file.read_bytes())
            if facts["format"] != FORMAT:
                raise SynparseError(f"{file}: format {facts['format']!r} is unknown to synparse {VERSION}")
            missing = [name for name in _NEEDED if name not in facts]
            if missing or not {WORDS, IDS, OFFSETS, BREAKS} <= facts["files"].keys():
                raise ValueError(f"{', '.join(missing) or 'files'} missing")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SynparseError(f"{file}: this is no description of a corpus ({error}); {_AGAIN}") from None
        return facts

    def check(self, *, normalization: str, token: str, tokenization: str) -> None:
        """Raises SynparseError where a run wants the text to be read in another way than it was."""
        wanted = {"normalization": normalization, "token": token, "tokenization": tokenization}
        for name, value in wanted.items():
            if self.facts[name] != value:
                problem = f"was prepared with data.{name} = {self.facts[name]!r}, and this run has {value!r}"
                raise SynparseError(f"{self.folder}: {problem}; prepare it with --set data.{name}={value}")

    def split(self, development_share: float) -> tuple[PreparedText, PreparedText]:
        """Training and development text, the very sentences that `read_corpora` chooses."""
        every = round(1 / development_share) if development_share else 0
        return PreparedText(self, every, held_out=False), PreparedText(self, every, held_out=True)

    def words(self) -> list[str]:
        """Word number k at place k - 1."""
        text = (self.folder / WORDS).read_bytes().decode("utf-8", "surrogatepass")
        return text.removesuffix("\n").split("\n")


class PreparedText:
    """Some sentences of a corpus on disk, which a training takes in the place of a `Corpus`.

    Every ``every``-th sentence if ``held_out``, else all others; with 0 there is nothing to hold out.
    """

    trees = ()  # a corpus on disk has none

    def __init__(self, corpus: PreparedCorpus, every: int, *, held_out: bool) -> None:
        self.corpus, self.every, self.held_out = corpus, every, held_out
        self.digest = hashlib.sha256(f"{corpus.facts['sha256']} {every} {held_out}".encode())
        self.sentences, self.entries = 0, 0
        self._counts = np.zeros(int(corpus.facts["types"]) + 1, dtype=np.int64)
        for ids, lengths, _ in self._stretches():
            self.sentences += len(lengths)
            self.entries += len(ids)
            self._counts += np.bincount(ids, minlength=len(self._counts))
        self._encoded: tuple[tuple[str, ...], tuple[str, ...], EncodedCorpus] | None = None
        self.class_vocabularies: dict[tuple[int, ...], Vocabulary] = {}

    @property
    def words(self) -> int:
        """Number of running words."""
        return self.entries - self.sentences

    def _stretches(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Numbers, entries of each sentence, and gaps, of some thousand sentences at a time."""
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
        """Word -> number of occurrences."""
        counts = self._counts[1:].tolist()
        return {word: count for word, count in zip(self.corpus.words(), counts, strict=True) if count}

    def vocabulary(self, size: int, minimum_count: int, unknown: str = "one") -> Vocabulary:
        """Its most frequent words, ``size`` with the two marks, that occur ``minimum_count`` times or more."""
        return Vocabulary.from_counts(self.word_counts(), size=size, minimum_count=minimum_count, unknown=unknown)

    @property
    def singles(self) -> Singles:
        """The numbers of marks; none in a corpus that was prepared when they were not told apart."""
        return Singles(self.corpus.facts.get("marks", ()))

    @property
    def joining(self) -> list[str]:
        """The marks that join words, in the first million words of this text."""
        numbers, _, gaps = next(self._stretches(), (np.zeros(0, "<i4"), None, np.zeros(0, "u1")))
        return joining_marks(numbers, gaps, self.singles.numbers)

    def encode(self, vocabulary: Vocabulary, joining: Sequence[str] = ()) -> EncodedCorpus:
        """The text as indices of ``vocabulary``, in unnamed files; the marks ``joining`` join words.

        The last result is kept, so that several runs over one text share it.
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
            for numbers, lengths, before in self._stretches():
                ids.write(table[numbers].tobytes())
                gaps.write(final[before].tobytes())
                offsets.write((at + np.cumsum(lengths)).tobytes())
                at += len(numbers)
            arrays = _mapped(ids, np.int32), _mapped(offsets, np.int64), _mapped(gaps, np.uint8)
        return EncodedCorpus(vocabulary, *arrays, np.zeros(0, dtype=np.float32))


def _unnamed(text: PreparedText) -> IO[bytes]:
    """A file without a name in the folder of the corpus, or where temporary files are if that is read-only."""
    folder = text.corpus.folder
    return tempfile.TemporaryFile(dir=folder if os.access(folder, os.W_OK) else None)


def _mapped(stream: IO[bytes], kind: type[np.generic]) -> np.ndarray:
    """What was written to a file, as an array of which only what is read takes memory."""
    stream.flush()
    return np.memmap(stream, dtype=kind, mode="r+") if stream.tell() else np.zeros(0, dtype=kind)
