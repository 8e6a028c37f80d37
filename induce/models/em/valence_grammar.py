"""Dependency model with valence over word classes: probabilities, sums over trees, and the two steps of EM.

A head h generates its dependents on one side from the nearest outwards (Klein and Manning 2004). It continues with
probability 1 - stop(h, side, v) and then draws the class d of the next dependent from choose(d | h, side, v). The
valence v is 1 if h already has a dependent on that side, else 0. Extended valence (Headden et al. 2009) conditions
``choose`` on v as well. In addition there are fixed *preferences*: weights of words and arcs that are not learned (see
`Preferences`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from induce.data.batches import batches_of_similar_length
from induce.models.em.dependency_sums import Workspace, tree_counts
from induce.models.em.dependency_tables import Fragments, TreeCounts, TreeWeights, by_reading, plain_tree_counts

Array = np.ndarray

MIN_LENGTH_RATIO = 0.75  # minimum ratio of a sentence's length to the longest of its block
TABLE = 200_000  # numbers of a table for one block of sentences: large enough for speed, small enough for the cache


@dataclass(frozen=True)
class SentenceBlock:
    """B sentences of up to N words, (N, B) each: classes, indices of fragments, weights as head and as root.

    ``leaning`` is above 0 for a word that leans to the right (see `Preferences`).

    ``lengths`` (B,): the words of each sentence. Padding has any valid class, a fragment index that differs from those
    of the words, and finite weights. If the block contains ``copies`` copies of a set of sentences, one after the
    other, ``fragments`` describes the first copy only.
    """

    classes: Array
    fragments: Array
    head: Array
    root: Array
    lengths: Array
    copies: int = 1
    leaning: Array | float = 0.0

    @classmethod
    def of_classes(cls, classes: Array, lengths: Array) -> SentenceBlock:
        """Sentences of ``classes`` (N, B) with equal weights for all words and one fragment."""
        weights = np.ones(classes.shape)
        return cls(classes, np.zeros(classes.shape, dtype=np.int64), weights, weights, lengths)


def blocks_of_similar_length(
    lengths: np.ndarray, whole: np.ndarray, *, table: int = TABLE
) -> Iterator[tuple[np.ndarray, int]]:
    """Blocks of sentences of similar length: their indices and the largest length.

    Empty sentences are left out. Sentences of one fragment (``whole``, (B,)) have blocks of their own, because sums
    without penalties take half the time. One table of a block has at most ``table`` numbers.
    """
    for group in (np.flatnonzero(whole), np.flatnonzero(~whole)):
        batches = batches_of_similar_length(lengths[group], lambda count: table // count**2, min_ratio=MIN_LENGTH_RATIO)
        for rows, count in batches:
            yield group[rows], count


@dataclass(frozen=True)
class Preferences:
    """Weights of arcs that are not learned.

    An arc has the factor exp(-``length_bias`` (distance - 1)). The bias is one number, or one for each sentence of a
    block (B,). See `Fragments` for ``penalty`` and ``constraint``.

    A word with leaning x has the factor exp(±``leaning`` x / 2) for its head, and exp(±``head_leaning`` x / 2) for each
    of its dependents; the exponent is positive on the right of the word.
    """

    length_bias: float | Array
    penalty: float
    constraint: str = "sprawl"
    leaning: float = 1.0
    head_leaning: float = 0.0


NO_PREFERENCES = Preferences(length_bias=0.0, penalty=1.0)


@dataclass(frozen=True)
class Smoothing:
    """Numbers added to expected counts (see `ValenceGrammar.from_counts`)."""

    root: float = 0.1
    choose: float = 0.5
    stop: float = 1.0
    backoff: float = 10.0
    extended: bool = True


@dataclass(frozen=True)
class ValenceGrammar:
    """Probabilities over K classes: ``root`` (K,), ``stop`` (K, 2, 2) of [head, side, v], ``choose`` (K, 2, 2, K).

    Side 0 is right of the head, side 1 left. The same class also stores expected counts. It can hold M grammars at
    once, with M K classes of heads, in which class k of member m is m K + k, and K classes of dependents.
    """

    root: Array
    stop: Array
    choose: Array

    @classmethod
    def zeros(cls, classes: int) -> ValenceGrammar:
        """Expected counts of 0."""
        shape = (classes, 2, 2)
        return cls(np.zeros(classes), np.zeros(shape), np.zeros((*shape, classes)))

    @classmethod
    def from_counts(cls, counts: ValenceGrammar, smoothing: Smoothing) -> ValenceGrammar:
        """Maximum-likelihood probabilities for the expected uses ``counts``, smoothed (the M step).

        The numbers in ``smoothing`` are added to each count. With extended valence, ``choose`` for v = 0 and for v = 1
        is interpolated with the shared estimate over both, which has the weight of ``backoff`` uses. Otherwise the
        shared estimate is used for both.
        """
        root = counts.root + smoothing.root
        goes_on = counts.choose.sum(3)
        stop = (counts.stop + smoothing.stop) / (counts.stop + goes_on + 2 * smoothing.stop)
        shared = counts.choose.sum(2, keepdims=True) + smoothing.choose
        shared = shared / shared.sum(3, keepdims=True)
        if smoothing.extended:
            choose = (counts.choose + smoothing.backoff * shared) / (goes_on[..., None] + smoothing.backoff)
        else:
            choose = np.repeat(shared, 2, axis=2)
        return cls(root / root.sum(), stop, choose)


class GrammarSums:
    """Sums over the trees of sentences under a grammar, with memory that is reused for all blocks."""

    def __init__(self, preferences: Preferences) -> None:
        self.preferences = preferences
        self._workspace, self._tables = Workspace(), Workspace()

    def trees(self, grammar: ValenceGrammar, block: SentenceBlock, *, best: bool = False) -> TreeCounts:
        """Expected uses of arcs and stops in a block of sentences, or those in the best trees.

        They are valid until the next call.
        """
        weights, fragments, each = self.weights(grammar, block), None, block.fragments.shape[1]
        inside = np.arange(len(block.classes))[:, None] < block.lengths[:each]
        if self.preferences.penalty < 1 and ((block.fragments != block.fragments[:1]) & inside).any():
            fragments = Fragments.of(block.fragments, self.preferences.penalty, self.preferences.constraint)
            if block.copies > 1:
                fragments = fragments.select(np.tile(np.arange(each), block.copies))
        if best:
            return plain_tree_counts(weights, fragments, best=True)
        return tree_counts(weights, fragments, workspace=self._workspace)

    def weights(self, grammar: ValenceGrammar, block: SentenceBlock) -> TreeWeights:
        """Weights of arcs, stops and roots in a block of sentences, valid until the next call."""
        pairs = self._pairs(block.classes, grammar.choose.shape[3])
        goes_on = grammar.choose * (1 - grammar.stop)[..., None]  # (K, 2, 2, K)
        first, later = (self._tables.empty(name, pairs.shape) for name in ("first", "later"))
        for side in (0, 1):
            np.take(goes_on[:, side, 0].ravel(), pairs[side], out=first[side], mode="clip")
            np.take(goes_on[:, side, 1].ravel(), pairs[side], out=later[side], mode="clip")
        count, batch = block.classes.shape
        near = np.exp(-np.multiply.outer(np.arange(count) - 1.0, self.preferences.length_bias)).reshape(count, -1)
        near[0] = 0
        sides = _weights_of_sides(block, self.preferences.leaning)  # of the head of each word
        before, after = _weights_of_sides(block, self.preferences.head_leaning)  # of its dependents
        heads = np.stack([_read(block.head * weights, side) for side, weights in enumerate((after, before))])
        dependents = np.stack([_read(weights, side) for side, weights in enumerate(sides)])
        arcs = self._tables.empty("arcs", (2, count, count, batch))  # preferences, 0 outside the sentence
        np.multiply(heads[:, :, None], near, out=arcs)
        for width in range(1, count):
            arcs[:, : count - width, width] *= dependents[:, width:]
            arcs[:, count - width :, width] = 0
        first *= arcs
        later *= arcs
        stop = np.stack([grammar.stop[_read(block.classes, side), side] for side in (0, 1)])  # (2, N, B, 2)
        root = grammar.root[block.classes] * block.root
        return TreeWeights(first, later, stop.transpose(0, 1, 3, 2), root, block.lengths)

    def harmonic_heads(self, block: SentenceBlock) -> TreeCounts:
        """Expected uses for the start of EM, in which each word draws its head independently of the other words.

        The heads need not form a tree. A word is the root in proportion to its root weight. Otherwise the probability
        of a head is proportional to its head weight / distance, times the weight of its side for this word, times the
        penalty if the two words are in different fragments. The number of dependents of a head on one side is assumed
        to be Poisson-distributed. ``log_total`` is 0.
        """
        count = len(block.classes)
        inside = np.arange(count)[:, None] < block.lengths
        near = np.zeros(count)
        near[1:] = 1 / np.arange(1, count)
        offsets = np.subtract.outer(np.arange(count), np.arange(count))
        arcs = near[np.abs(offsets)][..., None] * (block.head * inside)[:, None]  # (N, N, B) of [head, child]
        left, right = _weights_of_sides(block, self.preferences.leaning)  # of the head of each word
        before, after = _weights_of_sides(block, self.preferences.head_leaning)  # of its dependents
        head_follows = offsets[..., None] > 0
        arcs *= np.where(head_follows, right, left)
        arcs *= np.where(head_follows, before[:, None], after[:, None])
        arcs[block.fragments[:, None] != block.fragments] *= self.preferences.penalty
        root = np.where(inside, block.root, 0.0)
        root /= root.sum(0)
        into = arcs.sum(0)
        tables = by_reading(arcs * np.divide(inside * (1 - root), into, out=np.zeros_like(into), where=into > 0))
        means = tables.sum(2)  # (2, N, B): expected dependents of each word on each side
        childless = np.exp(-means)
        share = np.divide(1 - childless, means, out=np.zeros_like(means), where=means > 0)[:, :, None]
        held = np.stack([inside, inside[::-1]])
        stop = np.stack([childless, 1 - childless], 2) * held[:, :, None]
        return TreeCounts(tables * share, tables * (1 - share), stop, root, np.zeros(len(block.lengths)))

    def add(self, counts: ValenceGrammar, block: SentenceBlock, trees: TreeCounts) -> None:
        """Add the expected uses in a block to ``counts``, by class."""
        size = len(counts.root)
        pairs = self._pairs(block.classes, size)
        counts.root[:] += np.bincount(block.classes.ravel(), trees.root.ravel(), size)
        for side in (0, 1):
            heads = _read(block.classes, side).ravel()
            for v, arcs in ((0, trees.first), (1, trees.later)):
                totals = np.bincount(pairs[side].ravel(), arcs[side].ravel(), size * size)
                counts.choose[:, side, v] += totals.reshape(size, size)
                counts.stop[:, side, v] += np.bincount(heads, trees.stop[side, :, v].ravel(), size)

    def _pairs(self, classes: Array, size: int) -> Array:
        """Index (2, N, N, B) of each pair of head class and dependent class, or 0 outside the sentence."""
        count, batch = classes.shape
        pairs = np.zeros((2, count, count, batch), dtype=np.int64)
        for side in (0, 1):
            read = _read(classes, side)
            heads, children = read * size, read % size
            for width in range(1, count):
                np.add(heads[: count - width], children[width:], out=pairs[side, : count - width, width])
        return pairs


def _weights_of_sides(block: SentenceBlock, strength: float) -> tuple[Array, Array]:
    """Weights (N, B) of a word on the left of each word, and of one on the right, by ``strength`` times its leaning."""
    right = np.exp(np.broadcast_to(strength * np.asarray(block.leaning) / 2, block.classes.shape))
    return 1 / right, right


def _read(table: Array, side: int) -> Array:
    """Rows of ``table`` in the direction of ``side``."""
    return table[::-1] if side else table
