"""Counts of phrases in corpora that are larger than memory.

Counts are held in memory up to a number of different phrases and then written to a temporary file, sorted. At the end,
all sorted runs are merged, so that the counts are exact and only the phrases above a minimum stay in memory. The words
of the sentences are stored in a temporary file as well, because a second pass counts all occurrences of the word
sequences that were phrases.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from heapq import merge
from itertools import groupby, pairwise
from operator import itemgetter
from tempfile import TemporaryFile
from typing import IO, NamedTuple

MAX_PHRASES = 1_000_000  # different phrases in memory, about 450 MB
SEPARATOR = "\t"  # between words and label of a key; neither contains it
ARC_MARK = "\x1f"  # around the arrow between the words of an arc, instead of spaces


class Tally(NamedTuple):
    """Counts of one phrase in a part of one corpus.

    ``key`` is words and label, ``total`` the number of occurrences. Documents have ascending numbers; ``first`` and
    ``last`` are those of the first and the last occurrence. ``confidences`` counts the occurrences with a known
    confidence, and ``confidence`` is the sum of their confidences.
    """

    key: str
    corpus: int
    total: int
    documents: int
    first: int
    last: int
    confidence: float
    confidences: int

    def line(self) -> str:
        """The tally as a line of a temporary file."""
        return "\t".join([self.key, *map(repr, self[1:])]) + "\n"

    @classmethod
    def of_line(cls, line: str) -> Tally:
        """The tally in a line."""
        words, label, *numbers = line.rstrip("\n").split("\t")
        corpus, total, documents, first, last = map(int, numbers[:5])
        key = f"{words}{SEPARATOR}{label}"
        return cls(key, corpus, total, documents, first, last, float(numbers[5]), int(numbers[6]))

    def plus(self, other: Tally) -> Tally:
        """The sum with the tally of a later part of the same corpus."""
        return Tally(
            self.key,
            self.corpus,
            self.total + other.total,
            self.documents + other.documents - (self.last == other.first),
            self.first,
            other.last,
            self.confidence + other.confidence,
            self.confidences + other.confidences,
        )


class PhraseCounter:
    """Counter of phrases in one or several corpora, which are counted one after the other."""

    def __init__(self, corpora: int, *, max_phrases: int = MAX_PHRASES) -> None:
        self.totals = [0] * corpora  # phrases
        self._max_phrases = max_phrases
        self._files = ExitStack()
        self._runs: list[IO[str]] = []
        self._words = [self._temporary() for _ in range(corpora)]
        self._corpus = 0
        self._clear()

    def __enter__(self) -> PhraseCounter:
        return self

    def __exit__(self, *error: object) -> None:
        self._files.close()

    def _temporary(self) -> IO[str]:
        """A temporary file, which is deleted when the counter is closed."""
        return self._files.enter_context(TemporaryFile("w+", encoding="utf-8", errors="surrogatepass", newline="\n"))

    def _clear(self) -> None:
        self._indices: dict[str, int] = {}
        self._counts, self._documents = array("q"), array("q")
        self._first, self._last = array("q"), array("q")
        self._confidence, self._confidences = array("d"), array("q")

    def start(self, corpus: int) -> None:
        """Begin to count the corpus with this number."""
        self._write_run()
        self._corpus = corpus

    def add_words(self, words: Iterable[str]) -> None:
        """Store the words of a sentence for the second pass."""
        self._words[self._corpus].write(" ".join(words) + "\n")

    def add(self, key: str, document: int, confidence: float | None) -> None:
        """Count one occurrence of a phrase or arc."""
        self.totals[self._corpus] += 1
        index = self._indices.get(key)
        if index is None:
            if len(self._indices) >= self._max_phrases:
                self._write_run()
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

    def _sorted(self) -> Iterator[Tally]:
        """The tallies in memory, sorted by key."""
        for key in sorted(self._indices):
            i = self._indices[key]
            occurrences = self._counts[i], self._documents[i], self._first[i], self._last[i]
            yield Tally(key, self._corpus, *occurrences, self._confidence[i], self._confidences[i])

    def _write_run(self) -> None:
        """Write the tallies in memory to a temporary file and forget them."""
        if self._indices:
            run = self._temporary()
            run.writelines(tally.line() for tally in self._sorted())
            self._runs.append(run)
            self._clear()

    def _merged(self) -> Iterator[Tally]:
        """All tallies sorted by key, and by corpus for equal keys, with one tally for each key and corpus."""
        self._write_run()
        for run in self._runs:
            run.seek(0)
        ordered = merge(*(map(Tally.of_line, run) for run in self._runs), key=itemgetter(0, 1))
        for _, same in groupby(ordered, key=itemgetter(0, 1)):
            total, *others = same
            for tally in others:
                total = total.plus(tally)
            yield total

    def frequent(self, min_count: int) -> Iterator[Phrase]:
        """The phrases that occur ``min_count`` times or more in all corpora together, sorted by words and label."""
        for words, same_words in groupby(self._merged(), key=lambda tally: tally.key.partition(SEPARATOR)[0]):
            tallies = list(same_words)
            if sum(tally.total for tally in tallies) < min_count:
                continue
            sums = [0] * len(self.totals)
            for tally in tallies:
                sums[tally.corpus] += tally.total
            for key, group in groupby(tallies, key=itemgetter(0)):
                parts = {tally.corpus: tally for tally in group}
                if sum(tally.total for tally in parts.values()) >= min_count:
                    yield Phrase(words, key.partition(SEPARATOR)[2], parts, sums)

    def occurrences(self, corpus: int, sequences: Iterable[str]) -> dict[str, int]:
        """Numbers of occurrences of word sequences, and of pairs of words of arcs, in the sentences of a corpus.

        A pair occurs as often as its left word precedes its right word in a sentence, adjacent or not.
        """
        index = _SequenceIndex(sequences)
        self._words[corpus].seek(0)
        for line in self._words[corpus]:
            index.count(line.rstrip("\n").split(" "))
        return index.counts


class Phrase(NamedTuple):
    """A frequent phrase: words, label, its tally in each corpus in which it occurs, and counts with any label."""

    words: str
    label: str
    tallies: dict[int, Tally]
    with_any_label: list[int]


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
