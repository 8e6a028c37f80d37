"""Counts of phrases in corpora that are larger than memory.

Counts are held in memory up to a number of different phrases and then added to a temporary database, from which only
the phrases above a minimum return. The words of the sentences are stored there as well, because a second pass counts
all occurrences of the word sequences that were phrases.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise
from operator import itemgetter
from typing import NamedTuple

from treebank.base.errors import SynparseError

MAX_PHRASES = 1_000_000  # different phrases in memory, about 450 MB
CACHE_KIBIBYTES = 16_384  # of the database in memory
SEPARATOR = "\t"  # between words and label of a key; neither contains it
ARC_MARK = "\n"  # around the arrow between the words of an arc, instead of spaces; no word contains it

_TABLES = """
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
CREATE TABLE tally (words, label, corpus, total, documents, first, last, confidence, confidences,
                    PRIMARY KEY (words, label, corpus)) WITHOUT ROWID;
CREATE TABLE sentence (corpus, words);
"""
#: documents have ascending numbers, so only the last one of the counts before can be the first one of the new counts
_ADD = """
INSERT INTO tally VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
    total = total + excluded.total, documents = documents + excluded.documents - (last = excluded.first),
    last = excluded.last, confidence = confidence + excluded.confidence,
    confidences = confidences + excluded.confidences
"""
_FREQUENT = """
SELECT words, label, corpus, total, documents, confidence, confidences FROM tally
WHERE words IN (SELECT words FROM tally GROUP BY words, label HAVING sum(total) >= ?) ORDER BY words, label, corpus
"""


class CorpusTally(NamedTuple):
    """Counts of one phrase in one corpus.

    ``confidences`` counts the occurrences with a known confidence, and ``confidence`` is the sum of their confidences.
    """

    total: int
    documents: int
    confidence: float
    confidences: int


class Phrase(NamedTuple):
    """A frequent phrase: words, label, its tally in each corpus in which it occurs, and counts with any label."""

    words: str
    label: str
    tallies: dict[int, CorpusTally]
    with_any_label: list[int]


class PhraseCounter:
    """Counter of phrases in one or several corpora, which are counted one after the other."""

    def __init__(self, corpora: int, *, max_phrases: int = MAX_PHRASES) -> None:
        self.totals = [0] * corpora  # phrases
        self._max_phrases = max_phrases
        self._corpus = 0
        self._database = sqlite3.connect("")  # a temporary file, which is deleted when the connection is closed
        self._database.executescript(f"PRAGMA cache_size = -{CACHE_KIBIBYTES}; {_TABLES}")
        self._clear()

    def __enter__(self) -> PhraseCounter:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Delete the temporary database. Raises SynparseError if it could not be written."""
        self._database.close()
        if isinstance(error, sqlite3.OperationalError):
            raise SynparseError(f"temporary file of counts: {error}; choose a larger folder with TMPDIR") from None

    def _clear(self) -> None:
        self._indices: dict[str, int] = {}
        self._counts, self._documents = array("q"), array("q")
        self._first, self._last = array("q"), array("q")
        self._confidence, self._confidences = array("d"), array("q")

    def start(self, corpus: int) -> None:
        """Begin to count the corpus with this number."""
        self._store()
        self._corpus = corpus

    def add_words(self, words: Iterable[str]) -> None:
        """Store the words of a sentence for the second pass."""
        self._database.execute("INSERT INTO sentence VALUES (?, ?)", (self._corpus, _packed(" ".join(words))))

    def add(self, key: str, document: int, confidence: float | None) -> None:
        """Count one occurrence of a phrase or arc."""
        self.totals[self._corpus] += 1
        index = self._indices.get(key)
        if index is None:
            if len(self._indices) >= self._max_phrases:
                self._store()
            index = self._indices[key] = len(self._indices)
            self._counts.append(0)
            self._documents.append(0)
            self._first.append(document)
            self._last.append(-1)
            self._confidence.append(0.0)
            self._confidences.append(0)
        self._counts[index] += 1
        if self._last[index] != document:
            self._documents[index] += 1
            self._last[index] = document
        if confidence is not None:
            self._confidence[index] += confidence
            self._confidences[index] += 1

    def _store(self) -> None:
        """Add the counts in memory to the database and forget them. Sorted rows are inserted faster."""
        columns = self._counts, self._documents, self._first, self._last, self._confidence, self._confidences
        rows = (
            (*map(_packed, key.split(SEPARATOR)), self._corpus, *(column[index] for column in columns))
            for key, index in sorted(self._indices.items())
        )
        self._database.executemany(_ADD, rows)
        self._clear()

    def frequent(self, min_count: int) -> Iterator[Phrase]:
        """The phrases that occur ``min_count`` times or more in all corpora together, sorted by words and label."""
        self._store()
        for words, same_words in groupby(self._database.execute(_FREQUENT, (min_count,)), key=itemgetter(0)):
            rows = list(same_words)
            sums = [0] * len(self.totals)
            for _, _, corpus, total, *_ in rows:
                sums[corpus] += total
            for label, group in groupby(rows, key=itemgetter(1)):
                tallies = {corpus: CorpusTally(*tally) for _, _, corpus, *tally in group}
                if sum(tally.total for tally in tallies.values()) >= min_count:
                    yield Phrase(_unpacked(words), _unpacked(label), tallies, sums)

    def occurrences(self, corpus: int, sequences: Iterable[str]) -> dict[str, int]:
        """Numbers of occurrences of word sequences, and of pairs of words of arcs, in the sentences of a corpus.

        A pair occurs as often as its left word precedes its right word in a sentence, adjacent or not.
        """
        index = _SequenceIndex(sequences)
        for (words,) in self._database.execute("SELECT words FROM sentence WHERE corpus = ?", (corpus,)):
            index.count(_unpacked(words).split(" "))
        return index.counts


def _packed(text: str) -> bytes:
    """``text`` for the database, which refuses strings with halves of characters."""
    return text.encode("utf-8", "surrogatepass")


def _unpacked(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


class _SequenceIndex:
    """Word sequences by their first two words, and pairs of words by the left one, for fast counting."""

    def __init__(self, sequences: Iterable[str]) -> None:
        self.counts = dict.fromkeys(sequences, 0)
        self._words = {sequence for sequence in self.counts if " " not in sequence and ARC_MARK not in sequence}
        self._lengths: dict[str, tuple[int, ...]] = {}
        self._pairs: dict[str, dict[str, list[str]]] = {}
        for sequence in self.counts.keys() - self._words:
            if ARC_MARK in sequence:
                left, _, right = sequence.split(ARC_MARK)
                self._pairs.setdefault(left, {}).setdefault(right, []).append(sequence)
            else:
                first, second, *others = sequence.split(" ")
                start, length = f"{first} {second}", 2 + len(others)
                lengths = self._lengths.get(start, ())
                if length not in lengths:
                    self._lengths[start] = (*lengths, length)

    def count(self, words: list[str]) -> None:
        """Count all occurrences in a sentence."""
        counts, lengths, pairs = self.counts, self._lengths, self._pairs
        for start, (word, after) in enumerate(pairwise(words)):
            for length in lengths.get(f"{word} {after}", ()):
                sequence = " ".join(words[start : start + length])
                if sequence in counts and start + length <= len(words):
                    counts[sequence] += 1
        for word in self._words.intersection(words) if self._words else ():
            counts[word] += words.count(word)
        for start, word in enumerate(words) if pairs else ():
            partners = pairs.get(word, {})
            for right in filter(partners.__contains__, words[start + 1 :] if partners else ()):
                for sequence in partners[right]:
                    counts[sequence] += 1
