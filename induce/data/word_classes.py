"""Word classes from raw text: exchange clustering of a vocabulary on the likelihood of class bigrams.

A class bigram model gives word w after word v the probability P(c(w) | c(v)) P(w | c(w)). Up to a constant its log
likelihood is Σ N(c, d) log N(c, d) - Σ N(c, ·) log N(c, ·) - Σ N(·, d) log N(·, d), N being counts of neighboring
classes (Brown et al. 1992; Martin, Liermann and Ney 1998). The search removes words from their class, frequent
ones first, and assigns each to the class with the highest likelihood, until few words move. The log probability of the
last two letters of each *type* in its class is added to the likelihood (after Clark 2003): endings classify rare words.

Sentence boundaries and punctuation are separate contexts that no word can join. The most frequent words are moved one
at a time. Rarer words are moved in blocks of less than a hundredth of the text: all words of a block are removed before
any is assigned, so that a block needs only a few products of small arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from induce.data.corpus import EncodedCorpus, Text, read_corpora
from induce.data.punctuation import word_edges
from induce.data.vocabulary import BOUNDARY, CLASS, UNKNOWN, Vocabulary
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence

Array = np.ndarray
Rows = tuple[Array, Array, Array]  # a sparse matrix: starts of rows, columns, counts

CONTEXTS = 3  # classes of contexts: sentence boundary, punctuation, and words without a class
MAX_WORDS_AS_CLASSES = 1000
BLOCK_SHARE, BLOCK_WORDS = 0.01, 400  # maximum share of the text and number of words of a block
ENDING_LETTERS = 2
ENDING_SMOOTHING = 0.05  # added to each count of an ending in a class
MIN_MOVED_SHARE = 0.003  # the search ends when a smaller share of the words moves


@dataclass(frozen=True)
class Neighbours:
    """Counts of pairs of adjacent words, by the first word (`after`) and by the second word (`before`).

    Words are indices below ``size``. The index ``size`` is the sentence boundary, ``size + 1`` punctuation.
    """

    size: int
    after: Rows
    before: Rows

    @classmethod
    def of(cls, ids: Array, offsets: Array, breaks: Array, size: int) -> Neighbours:
        """Counts for sentences ``ids[offsets[k] : offsets[k + 1]]``, with punctuation where ``breaks`` is true.

        ``breaks[i]`` refers to the gap before word i.
        """
        ids = np.asarray(ids, dtype=np.int64)
        starts = np.zeros(len(ids) + 1, dtype=bool)
        starts[np.asarray(offsets)] = True
        broken = np.append(np.asarray(breaks, dtype=bool), False) & ~starts
        adjacent = ~starts & ~broken
        firsts, seconds = [np.append(size, ids)[adjacent]], [np.append(ids, size)[adjacent]]
        for gaps, mark in ((starts, size), (broken, size + 1)):  # a mark is a neighbor of the words on both sides
            ended, begun = ids[np.flatnonzero(gaps[1:])], ids[np.flatnonzero(gaps[:-1])]
            firsts += [ended, np.full(len(begun), mark)]
            seconds += [np.full(len(ended), mark), begun]
        pairs, counts = np.unique(np.concatenate(firsts) * (size + 2) + np.concatenate(seconds), return_counts=True)
        first, second = np.divmod(pairs, size + 2)
        return cls(size, _rows(first, second, counts, size + 2), _rows(second, first, counts, size + 2))


def _rows(rows: Array, columns: Array, counts: Array, size: int) -> Rows:
    order = np.argsort(rows, kind="stable")
    starts = np.zeros(size + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=size), out=starts[1:])
    return starts, columns[order], counts[order].astype(np.float64)


def word_classes(
    neighbours: Neighbours, words: Sequence[str], *, classes: int, endings: float = 1.0, sweeps: int = 15, seed: int = 0
) -> Array:
    """Class (V,), from 0 to ``classes`` - 1, of each of ``words``.

    ``endings`` is the weight of the last letters of words, ``sweeps`` the maximum number of passes over the words. A
    word that does not occur in the text is classified by its ending. The ``seed`` determines the order of the words.
    """
    search = _Exchange(neighbours, words, classes, endings)
    order = search.order(seed)
    for sweep in range(sweeps):
        moved = sum(search.assign(block) for block in search.blocks(order))
        if sweep and moved < MIN_MOVED_SHARE * len(order):
            break
    return search.classes[: neighbours.size].copy()


def check_words_as_classes(setting: str, size: int) -> None:
    """Raises SynparseError if a vocabulary of ``size`` words is too large for a class of each word."""
    if size > MAX_WORDS_AS_CLASSES:
        raise SynparseError(
            f"{setting}=0 makes a class of each word, and here are {size:,} (at most {MAX_WORDS_AS_CLASSES:,}); it is "
            "for texts of tags"
        )


def pair_counts(neighbours: Neighbours, labels: Array, size: int) -> Array:
    """Counts (``size``, ``size``) of pairs of labels of neighboring words."""
    starts, columns, counts = neighbours.after
    first = np.repeat(labels, np.diff(starts))
    return np.bincount(first * size + labels[columns], counts, size * size).reshape(size, size)


def _xlogx(values: Array) -> Array:
    return values * np.log(np.maximum(values, 1e-300))


class _Exchange:
    """State of the search: the class of each word and the resulting counts."""

    def __init__(self, neighbours: Neighbours, words: Sequence[str], classes: int, weight: float) -> None:
        size, self.count, self.total, self.weight = neighbours.size, classes, classes + CONTEXTS, weight
        self.neighbours = neighbours
        owners = np.repeat(np.arange(size + 2), np.diff(neighbours.after[0]))
        self.frequency = np.bincount(owners, neighbours.after[2], size + 2)[:size]
        self.classes = np.full(size + 2, classes + 2)
        self.classes[size:] = classes, classes + 1
        _, self.ending = np.unique([word.removesuffix(">")[-ENDING_LETTERS:] for word in words], return_inverse=True)
        self.table = pair_counts(neighbours, self.classes, self.total)
        self.endings = np.zeros((classes, int(self.ending.max(initial=0)) + 1))  # types by class and ending
        self.types = np.zeros(classes)

    def order(self, seed: int) -> Array:
        """Words by frequency with random noise, the first ones assigned to one class each."""
        noise = 0.3 * np.random.default_rng(seed).standard_normal(len(self.frequency))
        order: Array = np.argsort(-(np.log(self.frequency + 0.5) + noise), kind="stable")
        leaders = order[: self.count]
        self._put(leaders, np.arange(len(leaders)))
        return order

    def blocks(self, order: Array) -> list[Array]:
        """``order`` in blocks of words that are moved together."""
        limit = BLOCK_SHARE * self.frequency.sum()
        blocks, start, words = [], 0, 0.0
        for index, times in enumerate(self.frequency[order].tolist()):
            if index > start and (words + times > limit or index - start == BLOCK_WORDS):
                blocks.append(order[start:index])
                start, words = index, 0.0
            words += times
        return [*blocks, order[start:]] if len(order) else []

    def assign(self, block: Array) -> int:
        """Assign each word of ``block`` to its best class, and return the number of words that moved."""
        old = self.classes[block]
        self.take_out(block)
        counts = self.endings[:, self.ending[block]].T + ENDING_SMOOTHING
        shares = counts / (self.types + ENDING_SMOOTHING * self.endings.shape[1])
        self._put(block, (self._gains(block) + self.weight * np.log(shares)).argmax(1))
        return int((self.classes[block] != old).sum())

    def _contexts(self, block: Array, rows: Rows) -> tuple[Array, Array]:
        """Counts of neighbors of each word of ``block``, by class (words, classes), and of the word itself (words,)."""
        entries, owners = _entries(block, rows[0])
        others = rows[1][entries] != block[owners]
        twice = np.bincount(owners[~others], rows[2][entries[~others]], len(block))
        entries, owners = entries[others], owners[others]
        keys = owners * self.total + self.classes[rows[1][entries]]
        counts = np.bincount(keys, rows[2][entries], len(block) * self.total)
        return counts.reshape(len(block), self.total), twice

    def take_out(self, block: Array) -> None:
        """Take words out of their classes, if they have any."""
        old = self.classes[block]
        self._relabel(block, np.full(len(block), self.count + 2))
        placed = old < self.count
        np.subtract.at(self.endings, (old[placed], self.ending[block[placed]]), 1)
        np.subtract.at(self.types, old[placed], 1)

    def _put(self, block: Array, new: Array) -> None:
        """Assign classes to words without a class."""
        self._relabel(block, new)
        np.add.at(self.endings, (new, self.ending[block]), 1)
        np.add.at(self.types, new, 1)

    def _relabel(self, block: Array, new: Array) -> None:
        """Change classes and update the counts of neighboring classes."""
        after, before = self.neighbours.after, self.neighbours.before
        inside = np.zeros(len(self.classes), dtype=bool)
        inside[block] = True
        following, starting = _entries(block, after[0])
        preceding, ending = _entries(block, before[0])
        outer = ~inside[before[1][preceding]]  # pairs inside the block are in the first group already
        preceding, ending = preceding[outer], ending[outer]
        for sign in (-1.0, 1.0):
            keys = self.classes[block[starting]] * self.total + self.classes[after[1][following]]
            change = np.bincount(keys, after[2][following], self.total**2)
            keys = self.classes[before[1][preceding]] * self.total + self.classes[block[ending]]
            change += np.bincount(keys, before[2][preceding], self.total**2)
            self.table += sign * change.reshape(self.table.shape)
            self.classes[block] = new

    def _gains(self, block: Array) -> Array:
        """Gain of likelihood (words, classes) if a word of ``block``, without a class, joins a class."""
        count, diagonal = self.count, np.arange(self.count)
        after, twice = self._contexts(block, self.neighbours.after)
        before, _ = self._contexts(block, self.neighbours.before)
        gains = _pair_gains(after, self.table[:count]) + _pair_gains(before, self.table[:, :count].T)
        middle, follows, precedes = self.table[diagonal, diagonal], after[:, :count], before[:, :count]
        gains += _xlogx(middle + follows + precedes + twice[:, None]) + _xlogx(middle)  # both ends in the class
        gains -= _xlogx(middle + follows) + _xlogx(middle + precedes)
        for contexts, sums in ((after, self.table.sum(1)[:count]), (before, self.table.sum(0)[:count])):
            gains -= _xlogx(sums + (contexts.sum(1) + twice)[:, None]) - _xlogx(sums)
        return gains


def _pair_gains(contexts: Array, table: Array) -> Array:
    """Σ_d (x + r) log (x + r) - x log x, x = ``table[c, d]``, r = ``contexts[w, d]``: (words, classes)."""
    words, labels = np.nonzero(contexts)
    result = np.zeros((len(contexts), len(table)))
    if len(words):
        columns = np.ascontiguousarray(table.T)
        parts = _xlogx(columns[labels] + contexts[words, labels][:, None]) - _xlogx(columns)[labels]
        present = np.flatnonzero(np.bincount(words, minlength=len(contexts)))
        result[present] = np.add.reduceat(parts, np.searchsorted(words, present), axis=0)
    return result


def _entries(block: Array, starts: Array) -> tuple[Array, Array]:
    """Indices of the entries of rows ``block`` in a sparse matrix, and for each the index of its row in the block."""
    sizes = starts[block + 1] - starts[block]
    owners = np.repeat(np.arange(len(block)), sizes)
    return np.arange(len(owners)) + np.repeat(starts[block] - np.cumsum(sizes) + sizes, sizes), owners


class FlatText:
    """Words of a corpus without boundary tokens, and their counts.

    ``edges`` (2, V): relative frequencies at the beginnings and ends of segments (see `word_edges`). ``fragments`` and
    ``segments`` (T,): the number of the segment of each word, in its sentence and in the text.
    """

    def __init__(self, corpus: EncodedCorpus) -> None:
        self.lengths = corpus.lengths
        inside = np.ones(len(corpus.ids), dtype=bool)
        inside[corpus.offsets[1:] - 1] = False
        self.ids, breaks = corpus.ids[inside].astype(np.int64), corpus.breaks[inside]
        self.offsets = corpus.offsets - np.arange(len(corpus.offsets))
        self.words, size = corpus.vocabulary.words, len(corpus.vocabulary)
        self.neighbours = Neighbours.of(self.ids, self.offsets, breaks, size)
        self.counts = np.bincount(self.ids, minlength=size).astype(np.float64)
        pseudo = np.array([word.startswith("<unk") for word in self.words])
        self.edges = word_edges(*corpus.words_at_edges(), size)
        self.share = np.where(pseudo, 0.0, self.counts / max(1, len(self.ids)))  # a pseudo-word represents rare words
        fragments = np.cumsum(breaks)
        self.fragments = (
            fragments - np.repeat(fragments[self.offsets[:-1]], self.lengths) if len(self.ids) else fragments
        )
        begins = breaks.copy()
        begins[self.offsets[:-1][self.lengths > 0]] = True
        self.segments = np.cumsum(begins) - 1

    def word_positions(self, rows: np.ndarray, count: int) -> np.ndarray:
        """Indices (N, B) of the words of the sentences ``rows``, which have at most ``count`` words.

        The indices after the end of a sentence are arbitrary.
        """
        return np.minimum(self.offsets[rows] + np.arange(count)[:, None], len(self.ids) - 1)


def class_vocabulary(text: Text, *, classes: int, size: int, minimum_count: int) -> Vocabulary:
    """Vocabulary of ``classes`` classes of the words of ``text``, the most frequent class first.

    ``size`` and ``minimum_count`` limit the words. Rare words are represented as with ``data.unknown=shape``: in lower
    case, by shape and suffix. A second call returns the same vocabulary.
    """
    key = classes, size, minimum_count
    if key in text.class_vocabularies:
        return text.class_vocabularies[key]
    words, numbers, counts = classes_of(text.encode(text.vocabulary(size, minimum_count, "shape")), classes, 1.0, 1)
    members: dict[int, list[str]] = {}
    for i in np.argsort(-counts, kind="stable").tolist():
        if words[i] not in (BOUNDARY, UNKNOWN):
            members.setdefault(int(numbers[i]), []).append(words[i])
    share = np.bincount(numbers, counts, classes)
    order = sorted(members, key=lambda number: (-share[number], number))
    entries = ["\t".join([f"{CLASS}{rank}>", *members[number]]) for rank, number in enumerate(order)]
    text.class_vocabularies[key] = Vocabulary([BOUNDARY, UNKNOWN, *entries])
    return text.class_vocabularies[key]


def classes_of(
    corpus: EncodedCorpus, classes: int, endings: float, seed: int
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Words of a text, the class of each, and its number of occurrences."""
    text = FlatText(corpus)
    numbers = word_classes(text.neighbours, text.words, classes=classes, endings=endings, seed=seed)
    return text.words, numbers, text.counts.astype(np.int64)


@dataclass(frozen=True)
class ClassTable:
    """Words of a text, most frequent first, with their classes (from 0) and numbers of occurrences."""

    words: tuple[str, ...]
    classes: tuple[int, ...]
    counts: tuple[int, ...]

    def lines(self) -> Iterator[str]:
        """Lines ``class, word, count``, separated by tabs: the most frequent class first, its frequent words first.

        Rare words are replaced by their shape and last letters, such as ``<unk:C-ing>``.
        """
        totals = np.bincount(self.classes, self.counts)
        order = sorted(
            range(len(self.words)), key=lambda i: (-totals[self.classes[i]], self.classes[i], -self.counts[i])
        )
        return (f"{self.classes[i]}\t{self.words[i]}\t{self.counts[i]}" for i in order)


def classify_words(
    sentences: Iterable[Sentence], *, classes: int = 40, minimum_count: int = 3, endings: float = 1.0, seed: int = 1
) -> ClassTable:
    """Classes of the words of ``sentences``, without punctuation, at most as many as there are different words.

    Raises SynparseError if there is no word.
    """
    text, _ = read_corpora(sentences, "cased")
    if not text.words:
        raise SynparseError("there is no word in this text")
    corpus = text.encode(text.vocabulary(10**9, minimum_count, "shape"))
    types = len(np.unique(corpus.ids)) - 1  # without the end of a sentence
    words, labels, counts = classes_of(corpus, min(classes, types), endings, seed)
    order = [i for i in np.argsort(-counts, kind="stable").tolist() if counts[i]]
    return ClassTable(tuple(words[i] for i in order), tuple(labels[order].tolist()), tuple(counts[order].tolist()))
