"""The dependency model with valence over word classes: its probabilities, sums over trees, and EM's two steps.

Klein and Manning (2004); choices that see whether there is a child already are extended valence (Headden et al. 2009).
A head makes children on one side from the nearest outwards: with 1 - stop(h, side, v) it goes on, and then
choose(d | h, side, v) says which class the child has; v is whether it has a child on that side. Beside these
probabilities stand fixed *preferences*, weights of single words and arcs that are not learned (see `Preferences`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from induce.models.em.dependency_sums import Workspace, tree_counts
from induce.models.em.dependency_tables import Fragments, TreeCounts, TreeWeights, by_reading

Array = np.ndarray

SINGLE = 64  # words of a sentence whose sums stay in the range of float32


@dataclass(frozen=True)
class SentenceBlock:
    """B sentences of up to N words, (N, B) each: classes, numbers of fragments, weights as head and as root.

    ``lengths`` (B,): the words of each. Behind them stand a class that there is, a fragment that is none of theirs, and
    finite weights. Where the same sentences stand there ``copies`` times, one set after the other, ``fragments`` is
    that of the first set.
    """

    classes: Array
    fragments: Array
    head: Array
    root: Array
    lengths: Array
    copies: int = 1


@dataclass(frozen=True)
class Preferences:
    """What is not learned: arcs weigh exp(-``length_bias`` (distance - 1)); see `Fragments` for ``penalty``.

    The bias is one number, or one for each sentence of a block (B,).
    """

    length_bias: float | Array
    penalty: float


@dataclass(frozen=True)
class Smoothing:
    """What is added to expected counts: to a class as root, as child, to stop and to go on; see `from_counts`."""

    root: float = 0.1
    choose: float = 0.5
    stop: float = 1.0
    backoff: float = 10.0
    extended: bool = True


@dataclass(frozen=True)
class ValenceGrammar:
    """Probabilities over K classes: ``root`` (K,), ``stop`` (K, 2, 2) of [head, side, v], ``choose`` (K, 2, 2, K).

    Side 0 is right of the head, 1 left. The same class serves for expected counts, with ``goes_on`` beside them, and
    for M grammars side by side: M K classes of heads, where class k of member m is m K + k, and K of children.
    """

    root: Array
    stop: Array
    choose: Array

    @classmethod
    def zeros(cls, classes: int) -> ValenceGrammar:
        """A place to sum expected counts in."""
        shape = (classes, 2, 2)
        return cls(np.zeros(classes), np.zeros(shape), np.zeros((*shape, classes)))

    @classmethod
    def from_counts(cls, counts: ValenceGrammar, smoothing: Smoothing) -> ValenceGrammar:
        """The probabilities that expected uses make most likely, smoothed (EM's second step).

        ``choose`` and ``stop`` are numbers added to each count. With extended valence choices for v = 0 and 1 lean on
        those for both together, as if these had been seen ``backoff`` times; without it they are these.
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
    """Sums over the trees of sentences under a grammar. Keeps its memory from block to block.

    ``single``: in float32, but for sentences of more than `SINGLE` words.
    """

    def __init__(self, preferences: Preferences, *, single: bool = False) -> None:
        self.preferences, self.single = preferences, single
        self._workspace, self._tables = Workspace(), Workspace()

    def trees(self, grammar: ValenceGrammar, block: SentenceBlock) -> TreeCounts:
        """Expected uses of arcs and stops in a block of sentences; good until the next call."""
        return self._sums(self.weights(grammar, block), block)

    def weights(self, grammar: ValenceGrammar, block: SentenceBlock) -> TreeWeights:
        """What trees of a block of sentences are made of; good until the next call."""
        pairs = self._pairs(block.classes, grammar.choose.shape[3])
        precision = np.float32 if self.single and len(block.classes) <= SINGLE else np.float64
        goes_on = (grammar.choose * (1 - grammar.stop)[..., None]).astype(precision)  # (K, 2, 2, K)
        first, later = (self._tables.empty(name, pairs.shape, precision) for name in ("first", "later"))
        for side in (0, 1):
            np.take(goes_on[:, side, 0].ravel(), pairs[side], out=first[side], mode="clip")
            np.take(goes_on[:, side, 1].ravel(), pairs[side], out=later[side], mode="clip")
        arcs = self._arc_preferences(block, precision)
        first *= arcs
        later *= arcs
        stop = np.stack([grammar.stop[_read(block.classes, side), side] for side in (0, 1)])  # (2, N, B, 2)
        root = grammar.root[block.classes] * block.root
        weights = TreeWeights(first, later, stop.transpose(0, 1, 3, 2), root, block.lengths)
        return weights.of_precision(precision)

    def harmonic_heads(self, block: SentenceBlock) -> TreeCounts:
        """Where EM begins: each word draws its head by itself, whether that makes a tree or not.

        It is the root by its weight among the words of its sentence, else a head's chance falls with the distance,
        1 / distance, times the head's weight, and the penalty if they lie in different fragments. How
        many children a head has on a side is taken as drawn from a Poisson distribution. ``log_total`` is 0.
        """
        count = len(block.classes)
        inside = np.arange(count)[:, None] < block.lengths
        near = np.zeros(count)
        near[1:] = 1 / np.arange(1, count)
        distances = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
        arcs = near[distances][..., None] * (block.head * inside)[:, None]  # (N, N, B) of [head, child]
        arcs[block.fragments[:, None] != block.fragments] *= self.preferences.penalty
        root = np.where(inside, block.root, 0.0)
        root /= root.sum(0)
        into = arcs.sum(0)
        tables = by_reading(arcs * np.divide(inside * (1 - root), into, out=np.zeros_like(into), where=into > 0))
        means = tables.sum(2)  # (2, N, B): children of each word on each side
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

    def _sums(self, weights: TreeWeights, block: SentenceBlock) -> TreeCounts:
        fragments, each = None, block.fragments.shape[1]
        inside = np.arange(len(block.classes))[:, None] < block.lengths[:each]
        if self.preferences.penalty < 1 and ((block.fragments != block.fragments[:1]) & inside).any():
            fragments = Fragments.of(block.fragments, self.preferences.penalty).of_precision(weights.precision)
            if block.copies > 1:
                fragments = fragments.select(np.tile(np.arange(each), block.copies))
        return tree_counts(weights, fragments, workspace=self._workspace)

    def _pairs(self, classes: Array, size: int) -> Array:
        """The number of each pair of head and child class, (2, N, N, B), of ``size`` child classes; 0 without child."""
        count, batch = classes.shape
        pairs = np.zeros((2, count, count, batch), dtype=np.int64)
        for side in (0, 1):
            read = _read(classes, side)
            heads, children = read * size, read % size
            for width in range(1, count):
                np.add(heads[: count - width], children[width:], out=pairs[side, : count - width, width])
        return pairs

    def _arc_preferences(self, block: SentenceBlock, precision: type[np.floating]) -> Array:
        """Weight of each arc (2, N, N, B) before the grammar; 0 where there is no child."""
        count, batch = block.classes.shape
        near = np.exp(-np.multiply.outer(np.arange(count) - 1.0, self.preferences.length_bias)).reshape(count, -1)
        near[0] = 0
        heads = np.stack([_read(block.head, side) for side in (0, 1)]).astype(precision)
        arcs = self._tables.empty("arcs", (2, count, count, batch), precision)
        np.multiply(heads[:, :, None], near.astype(precision), out=arcs)
        for width in range(1, count):
            arcs[:, count - width :, width] = 0
        return arcs


def _read(table: Array, side: int) -> Array:
    """Rows for words in the reading of a side."""
    return table[::-1] if side else table
