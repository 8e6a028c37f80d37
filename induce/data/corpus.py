"""A text in memory: one number a word in one array, and where its sentences begin."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat, tee
from typing import TYPE_CHECKING, Any

import numpy as np

from induce.data.punctuation import JOINED, NOTHING, Singles, dropped, joining_marks
from induce.data.tokens import split
from induce.data.vocabulary import Vocabulary
from treebank.core.distances import distances_from_tree
from treebank.core.normalization import RECIPES
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from induce.data.batches import SentenceBatch

CHUNK = 1 << 20  # words that get their final numbers at a time
LEAST = 1e-3  # probability that any of the words is a word's head, for the sum to say something
Reference = Sequence[Tree] | np.ndarray  # of other parsers: trees over a sentence, or its head distributions (N, N)


@dataclass(frozen=True, eq=False)
class References:
    """Spans of two or more words that reference trees of a text have: of sentence k ``spans[offsets[k] :
    offsets[k + 1]]``, each as often as there are trees with it."""

    spans: np.ndarray  # (spans, 2) int32: start, end
    offsets: np.ndarray  # (sentences + 1,) int64
    trees: int  # of each sentence

    def weights(self, chosen: np.ndarray, count: int, outside: float) -> np.ndarray:
        """Weights (B, N, N + 1) of the spans of the ``chosen`` sentences, N = ``count``: 1 for those of the
        references and whole sentences, else ``outside``."""
        weights = np.full((len(chosen), count, count + 1), outside, dtype=np.float32)
        weights[self._places(chosen)] = 1
        weights[:, 0, count] = 1
        return weights

    def shares(self, chosen: np.ndarray, count: int) -> np.ndarray:
        """The share (B, N, N + 1) of the trees of the ``chosen`` sentences that have each span, N = ``count``."""
        shares = np.zeros((len(chosen), count, count + 1), dtype=np.float32)
        np.add.at(shares, self._places(chosen), 1 / self.trees)
        return shares

    def _places(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row, start and end of each span of the ``chosen`` sentences."""
        starts, ends = self.offsets[chosen], self.offsets[np.asarray(chosen) + 1]
        rows = np.repeat(np.arange(len(chosen)), ends - starts)
        spans = np.concatenate([self.spans[start:end] for start, end in zip(starts, ends, strict=True)])
        return rows, spans[:, 0], spans[:, 1]


@dataclass(frozen=True, eq=False)
class HeadReferences:
    """How probable other parsers find each word of a text as head of each other: the squares (N, N) of all sentences
    one behind the other, that of sentence k from ``offsets[k]`` on; a row of zeros says nothing."""

    values: np.ndarray  # float16
    offsets: np.ndarray  # (sentences + 1,) int64

    def heads(self, chosen: np.ndarray, lengths: np.ndarray, count: int) -> np.ndarray:
        """Those (B, N, N) of the ``chosen`` sentences of ``lengths`` (B,), N = ``count``, padded with 0."""
        squares = np.zeros((len(chosen), count, count), dtype=np.float32)
        for row, start, length in zip(squares, self.offsets[chosen], lengths, strict=True):
            row[:length, :length] = self.values[start : start + length**2].reshape(length, length)
        return squares


@dataclass(frozen=True, eq=False)
class EncodedCorpus:
    """A text in the numbers of a vocabulary.

    ``ids`` (words + sentences,) int32: the words of each sentence and 0 behind it; sentence k is ``ids[offsets[k] :
    offsets[k + 1] - 1]``. ``gaps`` beside ``ids`` says what was dropped in front of a word, such as a comma
    (`induce.data.punctuation`). ``distances`` beside ``ids`` is the gap before each word in a gold tree, NaN where
    there is
    none, and has no entries at all for a text without trees. ``references`` and ``head_references``: trees and heads of
    other parsers to focus on, if there are any.
    """

    vocabulary: Vocabulary
    ids: np.ndarray
    offsets: np.ndarray  # (sentences + 1,) int64
    gaps: np.ndarray  # uint8
    distances: np.ndarray  # float32
    references: References | None = None
    head_references: HeadReferences | None = None

    def __len__(self) -> int:
        """Sentences."""
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """Words of each sentence (sentences,)."""
        return np.diff(self.offsets) - 1

    def sentence(self, index: int) -> list[int]:
        """The numbers of the words of one sentence."""
        return self.ids[self.offsets[index] : self.offsets[index + 1] - 1].tolist()

    def sentences(self, chosen: np.ndarray) -> SentenceBatch:
        """The sentences whose indices are ``chosen``, side by side."""
        import torch

        from induce.data.batches import SentenceBatch

        tokens, lengths = self.beside(self.ids, chosen, 0)
        return SentenceBatch(torch.from_numpy(tokens.astype(np.int64)), torch.from_numpy(lengths))

    def beside(self, values: np.ndarray, chosen: np.ndarray, padding: float) -> tuple[np.ndarray, np.ndarray]:
        """What ``values``, beside ``ids``, say of the words (B, N) of the ``chosen`` sentences; the lengths (B,)."""
        starts = self.offsets[chosen]
        lengths = self.offsets[np.asarray(chosen) + 1] - 1 - starts
        columns = np.arange(lengths.max(initial=1))
        places = np.minimum(starts[:, None] + columns, len(values) - 1)
        return np.where(columns < lengths[:, None], values[places], values.dtype.type(padding)), lengths

    def gaps_before(self, chosen: np.ndarray) -> np.ndarray:
        """What stood before each word (B, N) of the ``chosen`` sentences."""
        return self.beside(self.gaps, chosen, NOTHING)[0]

    @property
    def breaks(self) -> np.ndarray:
        """Beside ``ids``, true where a mark in front of a word separates it from the one before."""
        return (self.gaps != NOTHING) & (self.gaps != JOINED)


@dataclass
class Corpus:
    """A text as it is read: provisional word numbers, the words, and how often each occurs."""

    ids: array[int] = field(default_factory=lambda: array("i"))
    offsets: array[int] = field(default_factory=lambda: array("q", [0]))
    gaps: bytearray = field(default_factory=bytearray)
    singles: Singles = field(default_factory=Singles)
    numbers: dict[str, int] = field(default_factory=dict)  # from 1: 0 is the end of a sentence
    counts: array[int] = field(default_factory=lambda: array("q", [0]))
    digest: Any = field(default_factory=hashlib.sha256)
    trees: list[tuple[int, Sequence[int]]] = field(default_factory=list)  # first word, a distance for each word
    reference_spans: array[int] = field(default_factory=lambda: array("i"))  # start and end of each, in turn
    reference_offsets: array[int] = field(default_factory=lambda: array("q", [0]))
    reference_trees: int = 0  # of each sentence
    reference_heads: bytearray = field(default_factory=bytearray)  # float16: a square for each sentence
    _encoded: EncodedCorpus | None = None
    _joining: list[str] | None = None

    def add(
        self,
        forms: Sequence[str],
        kept: Sequence[int] = (),
        words: Sequence[str] = (),
        *,
        distances: Sequence[int] = (),
    ) -> None:
        """Append one sentence, with the ``distances`` of its tree if a model is to learn from it.

        ``kept`` are the indices of these words among ``words``, the sentence as it was written, if some were dropped.
        """
        if distances:
            self.trees.append((len(self.ids), distances))
            self.digest.update(f"{list(distances)} ".encode())
        numbers, counts = self.numbers, self.counts
        for form in forms:
            number = numbers.setdefault(form, len(counts))
            if number == len(counts):
                counts.append(0)
            counts[number] += 1
            self.ids.append(number)
        self.ids.append(0)
        self.offsets.append(len(self.ids))
        before = bytearray(len(forms) + 1)
        if kept and kept[-1] >= len(forms):
            for place, marks in dropped(words, kept):
                before[place] = self.singles.gap(marks)
        self.gaps += before
        self.digest.update(" ".join(forms).encode("utf-8", "surrogatepass") + b"\n")

    def refer(self, trees: Sequence[Iterable[tuple[int, int]]]) -> None:
        """Give the sentence added last the spans of its reference trees; to be done for every sentence or none."""
        self.reference_trees = len(trees)
        for span in sorted(chain.from_iterable(trees)):
            self.reference_spans.extend(span)
        self.reference_offsets.append(len(self.reference_spans) // 2)
        self.digest.update(self.reference_spans[2 * self.reference_offsets[-2] :].tobytes())

    def refer_heads(self, heads: np.ndarray) -> None:
        """Give the sentence added last the head distributions (N, N) of another parser; of every sentence or none.

        The rows are made to sum to 1, unless they are nearly 0.
        """
        sums = heads.sum(1, keepdims=True)
        shares = np.divide(heads, sums, out=np.zeros(heads.shape), where=sums > LEAST)
        found = shares.astype(np.float16).tobytes()
        self.reference_heads += found
        self.digest.update(found)

    @property
    def sentences(self) -> int:
        """Number of sentences."""
        return len(self.offsets) - 1

    @property
    def words(self) -> int:
        """Number of running words."""
        return len(self.ids) - self.sentences

    def word_counts(self) -> dict[str, int]:
        """Word -> number of occurrences."""
        return dict(zip(self.numbers, self.counts[1:], strict=True))

    def vocabulary(self, size: int, minimum_count: int, unknown: str = "one") -> Vocabulary:
        """Its most frequent words, ``size`` with the two marks, that occur ``minimum_count`` times or more."""
        return Vocabulary.from_counts(self.word_counts(), size=size, minimum_count=minimum_count, unknown=unknown)

    @property
    def joining(self) -> list[str]:
        """The marks that join words in this text."""
        if self._joining is None:
            ids, numbers = np.frombuffer(self.ids, dtype=np.int32), np.frombuffer(self.gaps, dtype=np.uint8)
            self._joining = joining_marks(ids, numbers, self.singles.numbers)
        return self._joining

    def encode(self, vocabulary: Vocabulary, joining: Sequence[str] = ()) -> EncodedCorpus:
        """The text in the numbers of ``vocabulary``, in the memory of the provisional ones: to be called once.

        The marks ``joining`` join words.
        """
        if self._encoded is None:
            self._encoded = self._numbered(vocabulary, np.frombuffer(self.ids, dtype=np.int32), joining)
        if self._encoded.vocabulary.words != vocabulary.words:
            raise ValueError("this text has the numbers of another vocabulary already")
        return self._encoded

    def copied(self, vocabulary: Vocabulary) -> EncodedCorpus:
        """The same in memory of its own, before `encode`."""
        return self._numbered(vocabulary, np.array(self.ids, dtype=np.int32), ())

    def _numbered(self, vocabulary: Vocabulary, ids: np.ndarray, joining: Sequence[str]) -> EncodedCorpus:
        """The text in the numbers of ``vocabulary``, in the place of the provisional ``ids``."""
        table = np.array([0, *map(vocabulary.id, self.numbers)], dtype=np.int32)
        for start in range(0, len(ids), CHUNK):
            ids[start : start + CHUNK] = table[ids[start : start + CHUNK]]
        gaps = self.singles.final(joining)[np.frombuffer(self.gaps, dtype=np.uint8)]
        offsets = np.frombuffer(self.offsets, dtype=np.int64)
        references, heads = self._references(), self._head_references(np.diff(offsets) - 1)
        return EncodedCorpus(vocabulary, ids, offsets, gaps, self._distances(), references, heads)

    @property
    def numbers_of(self) -> Vocabulary | None:
        """The vocabulary that `encode` has had."""
        return None if self._encoded is None else self._encoded.vocabulary

    def _references(self) -> References | None:
        if len(self.reference_offsets) == 1:
            return None
        spans = np.frombuffer(self.reference_spans, dtype=np.int32).reshape(-1, 2)
        return References(spans, np.frombuffer(self.reference_offsets, dtype=np.int64), self.reference_trees)

    def _head_references(self, lengths: np.ndarray) -> HeadReferences | None:
        """Of sentences of these lengths."""
        if not self.reference_heads:
            return None
        offsets = np.concatenate([[0], np.cumsum(lengths**2)])
        return HeadReferences(np.frombuffer(self.reference_heads, dtype=np.float16), offsets)

    def _distances(self) -> np.ndarray:
        """Gold distances beside the words, NaN where there are none; no entries for a text without trees.

        That of a sentence's first word is larger than any other (as in the released program of Du et al. 2020).
        """
        if not self.trees:
            return np.zeros(0, dtype=np.float32)
        values = np.full(len(self.ids), np.nan, dtype=np.float32)
        largest = max(distances[0] for _, distances in self.trees)
        for start, distances in self.trees:
            values[start : start + len(distances)] = [largest, *distances[1:]]
        return values


def read_corpora(
    sentences: Iterable[Sentence],
    recipe: str,
    *,
    token: str = "word",
    development_share: float = 0.0,
    with_trees: bool = False,
    references: Callable[[Iterable[Sentence]], Iterator[Reference]] | None = None,
) -> tuple[Corpus, Corpus]:
    """Training and development text of ``sentences`` under a normalisation recipe, in tokens, all annotation dropped.

    Only ``with_trees`` those of the training text are kept, as distances between the words that the recipe keeps.
    ``references`` parses the sentences: the spans of the trees, or the head distributions, are kept. Development text
    is every (1 / ``development_share``)-th sentence. Sentences without a word are left out.
    """
    normalize = RECIPES[recipe]
    training, development = Corpus(), Corpus()
    every = round(1 / development_share) if development_share else 0
    count = 0
    sentences, again = tee(sentences) if references else (sentences, ())
    parsed: Iterator[Reference] = references(again) if references else repeat(())
    for sentence, found in zip(sentences, parsed, strict=False):
        seen = normalize(sentence.words, sentence.tags)
        if not seen.forms:
            continue
        count += 1
        held_out = bool(every and count % every == 0)
        corpus = development if held_out else training
        if token == "character":
            corpus.add(split(seen.forms, token))
        elif with_trees and sentence.tree and not held_out:
            distances = gold_distances(sentence.tree, seen.kept)
            corpus.add(seen.forms, seen.kept, sentence.words, distances=distances)
        else:
            corpus.add(seen.forms, seen.kept, sentence.words)
        if isinstance(found, np.ndarray):
            corpus.refer_heads(found[np.ix_(seen.kept, seen.kept)])
        elif references:
            corpus.refer([spans_between(tree, seen.kept) for tree in found])
    return training, development


def gold_distances(tree: Tree, kept: Sequence[int]) -> list[int]:
    """The distances of ``tree``, traces deleted, between the words whose indices are ``kept``."""
    seen = tree.without_traces()
    mask = [False] * len(seen)
    for index in kept:
        mask[index] = True
    return distances_from_tree(seen.keep(mask))


def spans_between(tree: Tree, kept: Sequence[int]) -> list[tuple[int, int]]:
    """The spans of two or more of the words whose indices are ``kept``."""
    mask = [False] * len(tree)
    for index in kept:
        mask[index] = True
    return [(start, end) for start, end in tree.keep(mask).spans if end - start > 1]


def unknown_share(counts: Mapping[str, int], vocabulary: Vocabulary) -> float:
    """The share of running words that are not in the vocabulary."""
    total = sum(counts.values())
    return sum(count for word, count in counts.items() if not vocabulary.knows(word)) / max(1, total)
