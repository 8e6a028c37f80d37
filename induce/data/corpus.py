"""A text in memory: one index per word in one array, and the offsets of its sentences."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, repeat, tee
from typing import Any, NamedTuple, Protocol

import numpy as np

from induce.data.batches import SentenceBatch
from induce.data.punctuation import JOINED, NOTHING, Singles, dropped, joining_marks
from induce.data.references import HeadReferences, References, RewardReferences, SentenceRewards
from induce.data.vocabulary import RECIPES, Vocabulary, split
from treebank.core.distances import distances_from_tree
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree

MIN_HEAD_MASS = 1e-3  # words with less total head probability count as unlabeled
#: trees of other parsers over a sentence, its head distributions (N, N), or rewards of spans of its normalized words
Reference = Sequence[Tree] | np.ndarray | SentenceRewards


class TrainingData(Protocol):
    """Sentences, expressions, demonstrations or pairs that a model learns from.

    The defaults of this class are those of data without trees, without punctuation and with a closed vocabulary.
    """

    sha256: str  # digest of the content

    @property
    def sentences(self) -> int:
        """Number of sentences, or of other sequences."""
        ...

    @property
    def words(self) -> int:
        """Number of running words, or of other tokens."""
        ...

    @property
    def has_trees(self) -> bool:
        """Whether trees of a treebank are part of the data."""
        return False

    @property
    def joining(self) -> Sequence[str]:
        """Punctuation marks that join words in this text."""
        return ()

    def word_counts(self) -> Mapping[str, int]:
        """Number of occurrences of each word, empty for a closed vocabulary, in which no word is unknown."""
        return {}

    def vocabulary(self, size: int, minimum_count: int, unknown: str = "one") -> Vocabulary:
        """Vocabulary of the most frequent words that occur at least ``minimum_count`` times.

        ``size`` includes the two special tokens.
        """
        return Vocabulary.from_counts(self.word_counts(), size=size, minimum_count=minimum_count, unknown=unknown)

    def encode(self, vocabulary: Vocabulary, joining: Sequence[str] = ()) -> Any:
        """The data as indices of ``vocabulary``, the input of a loader. The marks in ``joining`` join words."""
        ...


@dataclass(frozen=True, eq=False)
class EncodedCorpus:
    """A text as indices of a vocabulary.

    ``ids`` (words + sentences,) int32 holds the words of each sentence followed by 0; sentence k is ``ids[offsets[k] :
    offsets[k + 1] - 1]``. ``gaps``, parallel to ``ids``, is the punctuation that was dropped before a word
    (`induce.data.punctuation`). ``distances``, parallel to ``ids``, are those of gold trees, the gap before each word:
    NaN without a tree, and an empty array for a text without trees. ``references`` and ``head_references`` are trees
    and heads of other parsers to learn from, ``rewards`` those of the spans of trees.
    """

    vocabulary: Vocabulary
    ids: np.ndarray
    offsets: np.ndarray  # (sentences + 1,) int64
    gaps: np.ndarray  # uint8
    distances: np.ndarray  # float32
    references: References | None = None
    head_references: HeadReferences | None = None
    rewards: RewardReferences | None = None

    def __len__(self) -> int:
        """Number of sentences."""
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """Number of words of each sentence (sentences,)."""
        return np.diff(self.offsets) - 1

    def sentence(self, index: int) -> list[int]:
        """Indices of the words of one sentence."""
        return self.ids[self.offsets[index] : self.offsets[index + 1] - 1].tolist()

    def sentences(self, chosen: np.ndarray) -> SentenceBatch:
        """Batch of the ``chosen`` sentences."""
        import torch

        from induce.data.batches import SentenceBatch

        tokens, lengths = self.rows_of(self.ids, chosen, 0)
        return SentenceBatch(torch.from_numpy(tokens.astype(np.int64)), torch.from_numpy(lengths))

    def rows_of(self, values: np.ndarray, chosen: np.ndarray, padding: float) -> tuple[np.ndarray, np.ndarray]:
        """Rows (B, N) of ``values``, an array parallel to ``ids``, and lengths (B,) of the ``chosen`` sentences."""
        starts = self.offsets[chosen]
        lengths = self.offsets[np.asarray(chosen) + 1] - 1 - starts
        columns = np.arange(lengths.max(initial=1))
        indices = np.minimum(starts[:, None] + columns, len(values) - 1)
        return np.where(columns < lengths[:, None], values[indices], values.dtype.type(padding)), lengths

    def gaps_before(self, chosen: np.ndarray) -> np.ndarray:
        """Punctuation before each word (B, N) of the ``chosen`` sentences."""
        return self.rows_of(self.gaps, chosen, NOTHING)[0]

    @property
    def breaks(self) -> np.ndarray:
        """Whether punctuation separates each word from the preceding one, parallel to ``ids``."""
        return (self.gaps != NOTHING) & (self.gaps != JOINED)

    def words_at_edges(self) -> tuple[np.ndarray, np.ndarray]:
        """The running words (T,), and whether each begins, and ends, a segment between punctuation marks (2, T)."""
        words, breaks = self.ids != 0, self.breaks
        begins = np.concatenate([[True], ~words[:-1]]) | breaks
        ends = np.concatenate([~words[1:] | breaks[1:], [True]])
        return self.ids[words], np.stack([begins[words], ends[words]])


class Beginning(NamedTuple):
    """First sentences of a text as word indices.

    An entry k > 0 of ``ids`` is the word ``words[k - 1]``; 0 ends a sentence. Sentence i has the entries from
    ``offsets[i]`` to before ``offsets[i + 1]``.
    """

    words: Sequence[str]
    ids: np.ndarray  # (words + sentences,)
    offsets: np.ndarray  # (sentences + 1,)
    gaps: np.ndarray  # parallel to ``ids``: provisional numbers of the punctuation before each word


class Text(TrainingData):
    """Base class of texts, which stores the last encoding and the class vocabularies for several runs."""

    def encode(self, vocabulary: Vocabulary, joining: Sequence[str] = ()) -> EncodedCorpus:
        """The text as indices of ``vocabulary``. The marks in ``joining`` join words."""
        key = vocabulary.words, tuple(joining)
        if key not in self._encodings:
            self._encodings.clear()
            self._encodings[key] = self._encode(vocabulary, joining)
        return self._encodings[key]

    @abstractmethod
    def beginning(self, sentences: int) -> Beginning:
        """The first ``sentences`` sentences."""

    @abstractmethod
    def _encode(self, vocabulary: Vocabulary, joining: Sequence[str]) -> EncodedCorpus:
        """The text as indices of ``vocabulary``, not stored."""

    @cached_property
    def _encodings(self) -> dict[tuple[tuple[str, ...], tuple[str, ...]], EncodedCorpus]:
        return {}

    @cached_property
    def class_vocabularies(self) -> dict[tuple[int, ...], Vocabulary]:
        """Vocabularies of word classes by number of classes, size and minimum count."""
        return {}


@dataclass(frozen=True, eq=False)
class TextInMemory(Text):
    """A text in memory, as provisional word indices.

    The arrays are those of an `EncodedCorpus`; word k of ``counts``, from 1, has the index k.
    """

    ids: np.ndarray
    offsets: np.ndarray
    gaps: np.ndarray  # provisional numbers of single marks (`induce.data.punctuation`)
    singles: Singles
    counts: Mapping[str, int]  # occurrences of each word
    sha256: str
    distances: np.ndarray
    references: References | None = None
    head_references: HeadReferences | None = None
    rewards: RewardReferences | None = None

    @property
    def sentences(self) -> int:
        """Number of sentences."""
        return len(self.offsets) - 1

    @property
    def words(self) -> int:
        """Number of running words."""
        return len(self.ids) - self.sentences

    @property
    def has_trees(self) -> bool:
        """Whether a sentence has a tree to learn from."""
        return len(self.distances) > 0

    def word_counts(self) -> Mapping[str, int]:
        """Number of occurrences of each word."""
        return self.counts

    @cached_property
    def joining(self) -> list[str]:
        """Punctuation marks that join words in this text."""
        return joining_marks(self.ids, self.gaps, self.singles.numbers)

    def beginning(self, sentences: int) -> Beginning:
        """The first ``sentences`` sentences."""
        offsets = self.offsets[: sentences + 1]
        ids, gaps = self.ids[: offsets[-1]], self.gaps[: offsets[-1]]
        return Beginning(list(islice(self.counts, ids.max(initial=0))), ids, offsets, gaps)

    def _encode(self, vocabulary: Vocabulary, joining: Sequence[str]) -> EncodedCorpus:
        table = np.array([0, *map(vocabulary.id, self.counts)], dtype=np.int32)
        gaps = self.singles.final(joining)[self.gaps]
        supervision = self.distances, self.references, self.head_references, self.rewards
        return EncodedCorpus(vocabulary, table[self.ids], self.offsets, gaps, *supervision)


class CorpusBuilder:
    """Sentences that become a `TextInMemory`."""

    def __init__(self) -> None:
        self.ids, self.offsets, self.gaps = array("i"), array("q", [0]), bytearray()
        self.singles, self.digest = Singles(), hashlib.sha256()
        self.numbers: dict[str, int] = {}  # from 1: 0 is the end of a sentence
        self.counts = array("q", [0])
        self._trees: list[tuple[int, Sequence[int]]] = []  # first word, a distance for each word
        self._spans = array("i")  # start and end of each span of the reference trees
        self._span_offsets = array("q", [0])
        self._trees_per_sentence = 0
        self._rewards: array[float] | None = None  # of each span
        self._heads = bytearray()  # float16: a matrix for each sentence

    def add(
        self,
        forms: Sequence[str],
        word_indices: Sequence[int] = (),
        words: Sequence[str] = (),
        *,
        distances: Sequence[int] = (),
    ) -> None:
        """Append one sentence, with the ``distances`` of its tree if a model learns from it.

        If words were dropped, ``word_indices`` are the indices of ``forms`` among ``words``, the original sentence.
        """
        if distances:
            self._trees.append((len(self.ids), distances))
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
        if word_indices and word_indices[-1] >= len(forms):
            for index, marks in dropped(words, word_indices):
                before[index] = self.singles.gap(marks)
        self.gaps += before
        self.digest.update(" ".join(forms).encode("utf-8", "surrogatepass") + b"\n")

    def refer(self, trees: Sequence[Iterable[tuple[int, int]]]) -> None:
        """Add the spans of the reference trees of the last sentence.

        Call this method for every sentence or for none.
        """
        self._trees_per_sentence = len(trees)
        for span in sorted(chain.from_iterable(trees)):
            self._spans.extend(span)
        self._span_offsets.append(len(self._spans) // 2)
        self.digest.update(self._spans[2 * self._span_offsets[-2] :].tobytes())

    def reward(self, rewards: SentenceRewards) -> None:
        """Add the rewards of the spans of the last sentence.

        Call this method for every sentence or for none, and not together with `refer`.
        """
        self.refer([rewards.spans])
        values = dict(zip(rewards.spans, rewards.values, strict=True))
        added = array("f", (values[span] for span in sorted(values)))
        if self._rewards is None:
            self._rewards = array("f")
        self._rewards.extend(added)
        self.digest.update(added.tobytes())

    def refer_heads(self, heads: np.ndarray) -> None:
        """Add the head distributions (N, N) of the last sentence.

        Call this method for every sentence or for none. Rows are normalized to sum to 1, unless their sum is below
        `MIN_HEAD_MASS`.
        """
        sums = heads.sum(1, keepdims=True)
        shares = np.divide(heads, sums, out=np.zeros(heads.shape), where=sums > MIN_HEAD_MASS)
        content = shares.astype(np.float16).tobytes()
        self._heads += content
        self.digest.update(content)

    def build(self) -> TextInMemory:
        """The corpus. It shares the memory of the builder, which cannot be extended afterwards."""
        offsets = np.frombuffer(self.offsets, dtype=np.int64)
        references = heads = rewards = None
        if len(self._span_offsets) > 1:
            spans = np.frombuffer(self._spans, dtype=np.int32).reshape(-1, 2)
            starts = np.frombuffer(self._span_offsets, dtype=np.int64)
            if self._rewards is None:
                references = References(spans, starts, self._trees_per_sentence)
            else:
                rewards = RewardReferences(spans, starts, np.frombuffer(self._rewards, dtype=np.float32))
        if self._heads:
            squares = np.concatenate([[0], np.cumsum((np.diff(offsets) - 1) ** 2)])
            heads = HeadReferences(np.frombuffer(self._heads, dtype=np.float16), squares)
        # NaN without a tree, and empty for a text without trees. The distance before the first word of a sentence is
        # larger than any other, as in the released program of Du et al. (2020).
        gold = np.full(len(self.ids) if self._trees else 0, np.nan, dtype=np.float32)
        largest = max((distances[0] for _, distances in self._trees), default=0)
        for start, distances in self._trees:
            gold[start : start + len(distances)] = [largest, *distances[1:]]
        return TextInMemory(
            np.frombuffer(self.ids, dtype=np.int32),
            offsets,
            np.frombuffer(self.gaps, dtype=np.uint8),
            self.singles,
            dict(zip(self.numbers, self.counts[1:], strict=True)),
            self.digest.hexdigest(),
            gold,
            references,
            heads,
            rewards,
        )


def read_corpora(
    sentences: Iterable[Sentence],
    recipe: str,
    *,
    token: str = "word",
    development_share: float = 0.0,
    with_trees: bool = False,
    references: Callable[[Iterable[Sentence]], Iterator[Reference]] | None = None,
) -> tuple[TextInMemory, TextInMemory]:
    """Training and development corpus from ``sentences``, normalized by a recipe and without annotation.

    With ``with_trees`` the trees of the training corpus are stored as distances between the words that the recipe
    keeps. ``references`` yields a `Reference` for each sentence. Every
    (1 / ``development_share``)-th sentence is in the development corpus. Sentences without words are left out.
    """
    normalize = RECIPES[recipe]
    training, development = CorpusBuilder(), CorpusBuilder()
    every = round(1 / development_share) if development_share else 0
    count = 0
    sentences, copies = tee(sentences) if references else (sentences, ())
    parsed: Iterator[Reference] = references(copies) if references else repeat(())
    for sentence, reference in zip(sentences, parsed, strict=False):
        normalized = normalize(sentence.words, sentence.tags)
        if not normalized.forms:
            continue
        count += 1
        held_out = bool(every and count % every == 0)
        corpus = development if held_out else training
        if token == "character":
            corpus.add(split(normalized.forms, token))
        elif with_trees and sentence.tree and not held_out:
            distances = gold_distances(sentence.tree, normalized.indices)
            corpus.add(normalized.forms, normalized.indices, sentence.words, distances=distances)
        else:
            corpus.add(normalized.forms, normalized.indices, sentence.words)
        if isinstance(reference, np.ndarray):
            corpus.refer_heads(reference[np.ix_(normalized.indices, normalized.indices)])
        elif isinstance(reference, SentenceRewards):
            corpus.reward(reference)
        elif references:
            corpus.refer([spans_between(tree, normalized.indices) for tree in reference])
    return training.build(), development.build()


def gold_distances(tree: Tree, word_indices: Sequence[int]) -> list[int]:
    """Distances of ``tree``, without traces, between the words whose indices are ``word_indices``."""
    return distances_from_tree(_keep_words(tree.without_traces(), word_indices))


def spans_between(tree: Tree, word_indices: Sequence[int]) -> list[tuple[int, int]]:
    """Spans of ``tree`` with two or more of the words whose indices are ``word_indices``."""
    return [(start, end) for start, end in _keep_words(tree, word_indices).spans if end - start > 1]


def _keep_words(tree: Tree, word_indices: Sequence[int]) -> Tree:
    """``tree`` with the words whose indices are ``word_indices`` alone."""
    mask = [False] * len(tree)
    for index in word_indices:
        mask[index] = True
    return tree.keep(mask)


def unknown_share(counts: Mapping[str, int], vocabulary: Vocabulary) -> float:
    """Share of running words that are not in the vocabulary."""
    total = sum(counts.values())
    return sum(count for word, count in counts.items() if not vocabulary.knows(word)) / max(1, total)
