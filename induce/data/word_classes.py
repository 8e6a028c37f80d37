"""Word classes from raw text: exchange clustering of a vocabulary on the likelihood of class bigrams.

A class bigram model gives word w after word v the probability P(c(w) | c(v)) P(w | c(w)). Up to a constant its log
likelihood is Σ N(c, d) log N(c, d) - Σ N(c, ·) log N(c, ·) - Σ N(·, d) log N(·, d), N being counts of neighbouring
classes (Brown et al. 1992; Martin, Liermann and Ney 1998). The search takes words out of their class, frequent ones
first, and puts each where the likelihood is highest, until few move. To it is added, for each *type*, the log
probability of its last two letters in its class (after Clark 2003): rare words are known by their endings.

Sentence boundaries and punctuation are contexts of their own that no word can join. The most frequent words are taken
one by one; rarer ones in blocks that together hold less than a hundredth of the text, all taken out before any is put
back, so that one block is a few products of small arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
Rows = tuple[Array, Array, Array]  # a sparse matrix: where each row starts, the columns, the counts

CONTEXTS = 3  # classes that are no word's: boundary of a sentence, punctuation, and words that have no class yet
BLOCK_SHARE, BLOCK_WORDS = 0.01, 400  # a block of words: at most this share of the text, and this many
ENDING_LETTERS = 2
ENDING_SMOOTHING = 0.05  # added to each count of an ending in a class
SETTLED = 0.003  # the search ends when a smaller share of words than this moves


@dataclass(frozen=True)
class Neighbours:
    """How often each word stands right after each other one: `after` by the first word, `before` by the second.

    Words are numbers below ``size``; ``size`` itself is the boundary of a sentence, ``size + 1`` punctuation.
    """

    size: int
    after: Rows
    before: Rows

    @classmethod
    def of(cls, ids: Array, offsets: Array, breaks: Array, size: int) -> Neighbours:
        """Of sentences ``ids[offsets[k] : offsets[k + 1]]``; punctuation stands before word i if ``breaks[i]``."""
        ids = np.asarray(ids, dtype=np.int64)
        starts = np.zeros(len(ids) + 1, dtype=bool)
        starts[np.asarray(offsets)] = True
        broken = np.append(np.asarray(breaks, dtype=bool), False) & ~starts
        whole = ~starts & ~broken
        firsts, seconds = [np.append(size, ids)[whole]], [np.append(ids, size)[whole]]
        for gaps, mark in (
            (starts, size),
            (broken, size + 1),
        ):  # a mark in a gap is a neighbour of the words on both sides
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
    """The class (V,), from 0 to ``classes`` - 1, of each of ``words``; the same for the same seed.

    ``endings``: weight of the words' last letters. ``sweeps``: how often each word is looked at, at most. A word that
    is not in the text goes by its ending. Seeds differ in the order of words.
    """
    search = _Exchange(neighbours, words, classes, endings)
    order = search.order(seed)
    for sweep in range(sweeps):
        moved = sum(search.place(block) for block in search.blocks(order))
        if sweep and moved < SETTLED * len(order):
            break
    return search.classes[: neighbours.size].copy()


def log_likelihood(neighbours: Neighbours, classes: Array, count: int) -> float:
    """What the search maximises, endings aside, for the class (V,) of each word, classes being 0 … count - 1."""
    table = _pair_counts(neighbours, np.concatenate([classes, [count, count + 1]]), count + 2)
    return float(_xlogx(table).sum() - _xlogx(table.sum(0)).sum() - _xlogx(table.sum(1)).sum())


def _pair_counts(neighbours: Neighbours, labels: Array, size: int) -> Array:
    starts, columns, counts = neighbours.after
    first = np.repeat(labels, np.diff(starts))
    return np.bincount(first * size + labels[columns], counts, size * size).reshape(size, size)


def _xlogx(values: Array) -> Array:
    result: Array = values * np.log(np.maximum(values, 1e-300))
    return result


class _Exchange:
    """The state of the search: the class of each word, and the counts that follow from it."""

    def __init__(self, neighbours: Neighbours, words: Sequence[str], classes: int, weight: float) -> None:
        size, self.count, self.total, self.weight = neighbours.size, classes, classes + CONTEXTS, weight
        self.neighbours = neighbours
        owners = np.repeat(np.arange(size + 2), np.diff(neighbours.after[0]))
        self.frequency = np.bincount(owners, neighbours.after[2], size + 2)[:size]
        self.classes = np.full(size + 2, classes + 2)
        self.classes[size:] = classes, classes + 1
        _, self.ending = np.unique([word.removesuffix(">")[-ENDING_LETTERS:] for word in words], return_inverse=True)
        self.table = _pair_counts(neighbours, self.classes, self.total)
        self.endings = np.zeros((classes, int(self.ending.max(initial=0)) + 1))  # types by class and ending
        self.types = np.zeros(classes)

    def order(self, seed: int) -> Array:
        """Words by frequency, loosely; the first ones get a class each."""
        noise = 0.3 * np.random.default_rng(seed).standard_normal(len(self.frequency))
        order: Array = np.argsort(-(np.log(self.frequency + 0.5) + noise), kind="stable")
        leaders = order[: self.count]
        self._put(leaders, np.arange(len(leaders)))
        return order

    def blocks(self, order: Array) -> list[Array]:
        """``order`` cut into blocks that are looked at together."""
        most = BLOCK_SHARE * self.frequency.sum()
        blocks, start, held = [], 0, 0.0
        for place, times in enumerate(self.frequency[order].tolist()):
            if place > start and (held + times > most or place - start == BLOCK_WORDS):
                blocks.append(order[start:place])
                start, held = place, 0.0
            held += times
        return [*blocks, order[start:]] if len(order) else []

    def place(self, block: Array) -> int:
        """Put each word of ``block`` into its best class, all others being where they are; returns how many moved."""
        old = self.classes[block]
        self._take_out(block)
        self._put(block, (self._gains(block) + self._ending_gains(block)).argmax(1))
        return int((self.classes[block] != old).sum())

    def _contexts(self, block: Array, rows: Rows) -> tuple[Array, Array]:
        """How often each word (rows) has each class beside it (words, classes), and itself (words,)."""
        places, owners = _entries(block, rows[0])
        others = rows[1][places] != block[owners]
        twice = np.bincount(owners[~others], rows[2][places[~others]], len(block))
        places, owners = places[others], owners[others]
        keys = owners * self.total + self.classes[rows[1][places]]
        beside = np.bincount(keys, rows[2][places], len(block) * self.total)
        return beside.reshape(len(block), self.total), twice

    def _take_out(self, block: Array) -> None:
        old = self.classes[block]
        self._relabel(block, np.full(len(block), self.count + 2))
        placed = old < self.count
        np.subtract.at(self.endings, (old[placed], self.ending[block[placed]]), 1)
        np.subtract.at(self.types, old[placed], 1)

    def _put(self, block: Array, new: Array) -> None:
        """Give words that have no class one."""
        self._relabel(block, new)
        np.add.at(self.endings, (new, self.ending[block]), 1)
        np.add.at(self.types, new, 1)

    def _relabel(self, block: Array, new: Array) -> None:
        """Change classes, and the counts of neighbouring classes with them."""
        after, before = self.neighbours.after, self.neighbours.before
        inside = np.zeros(len(self.classes), dtype=bool)
        inside[block] = True
        to, starting = _entries(block, after[0])
        come, ending = _entries(block, before[0])
        outer = ~inside[before[1][come]]  # pairs inside the block are among the first kind already
        come, ending = come[outer], ending[outer]
        for sign in (-1.0, 1.0):
            keys = self.classes[block[starting]] * self.total + self.classes[after[1][to]]
            change = np.bincount(keys, after[2][to], self.total**2)
            keys = self.classes[before[1][come]] * self.total + self.classes[block[ending]]
            change += np.bincount(keys, before[2][come], self.total**2)
            self.table += sign * change.reshape(self.table.shape)
            self.classes[block] = new

    def _gains(self, block: Array) -> Array:
        """By how much the likelihood rises (words, classes) if a word of ``block``, taken out, joins a class."""
        count, own = self.count, np.arange(self.count)
        after, twice = self._contexts(block, self.neighbours.after)
        before, _ = self._contexts(block, self.neighbours.before)
        gains = _pair_gains(after, self.table[:count]) + _pair_gains(before, self.table[:, :count].T)
        middle, follows, comes = self.table[own, own], after[:, :count], before[:, :count]  # both ends in the class
        gains += _xlogx(middle + follows + comes + twice[:, None]) + _xlogx(middle)
        gains -= _xlogx(middle + follows) + _xlogx(middle + comes)
        for contexts, sums in ((after, self.table.sum(1)[:count]), (before, self.table.sum(0)[:count])):
            gains -= _xlogx(sums + (contexts.sum(1) + twice)[:, None]) - _xlogx(sums)
        return gains

    def _ending_gains(self, block: Array) -> Array:
        counts = self.endings[:, self.ending[block]].T + ENDING_SMOOTHING
        gains: Array = self.weight * np.log(counts / (self.types + ENDING_SMOOTHING * self.endings.shape[1]))
        return gains


def _pair_gains(contexts: Array, table: Array) -> Array:
    """Σ_d (x + r) log (x + r) - x log x, x = ``table[c, d]``, r = ``contexts[w, d]``: (words, classes)."""
    words, seen = np.nonzero(contexts)
    result = np.zeros((len(contexts), len(table)))
    if len(words):
        columns = np.ascontiguousarray(table.T)
        parts = _xlogx(columns[seen] + contexts[words, seen][:, None]) - _xlogx(columns)[seen]
        held = np.flatnonzero(np.bincount(words, minlength=len(contexts)))
        result[held] = np.add.reduceat(parts, np.searchsorted(words, held), axis=0)
    return result


def _entries(block: Array, starts: Array) -> tuple[Array, Array]:
    """Places of the entries of rows ``block`` in a sparse matrix, and for each the number of its row in the block."""
    sizes = starts[block + 1] - starts[block]
    owners = np.repeat(np.arange(len(block)), sizes)
    return np.arange(len(owners)) + np.repeat(starts[block] - np.cumsum(sizes) + sizes, sizes), owners
