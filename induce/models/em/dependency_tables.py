"""What sums over dependency trees read and give: tables ``[side, word, width, sentence]`` (see `dependency_inside`).

*Fragments* are the stretches of words between punctuation marks. An arc between two of them is multiplied by
``penalty`` for each of these three half spans that does not reach to the end of its word's fragment: the head's own on
that side as far as it has been built, and the child's on both sides. So a fragment prefers to be one subtree
(after the constraints of Spitkovsky, Alshawi and Jurafsky 2011, here a preference).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class TreeWeights:
    """Weights, not below 0, of all that a tree of N words is made of, for B sentences.

    ``first``, ``later`` (2, N, N, B): of the arc from word a to word a + w in the reading of that side, as its head's
    first child there or a later one; entries with w = 0 or a + w >= N are not read. ``stop`` (2, N, 2, B): of making no
    (further) child on that side, without a child there and with one. ``root`` (N, B). ``lengths`` (B,): the words of
    each sentence, where some have less than N; what stands behind them, finite numbers, has no part in anything.
    """

    first: Array
    later: Array
    stop: Array
    root: Array
    lengths: Array | None = None

    @property
    def words(self) -> Array:
        """The words of each sentence (B,)."""
        return np.full(self.root.shape[1], len(self.root)) if self.lengths is None else self.lengths

    @property
    def precision(self) -> type[np.floating]:
        """float32 or float64, in which the sums are done."""
        return np.float32 if self.first.dtype == np.float32 else np.float64

    def of_precision(self, precision: type[np.floating]) -> TreeWeights:
        """The same numbers in another precision."""
        tables = (self.first, self.later, self.stop, self.root)
        first, later, stop, root = (table.astype(precision, copy=False) for table in tables)
        return TreeWeights(first, later, stop, root, self.lengths)

    def select(self, chosen: Array) -> TreeWeights:
        """Those of some of the sentences."""
        tables = (self.first, self.later, self.stop, self.root, self.words)
        return TreeWeights(*(table[..., chosen] for table in tables))


@dataclass(frozen=True)
class TreeCounts:
    """Expected uses of each weight, in the shapes of `TreeWeights`; ``log_total`` (B,): log of the sum over trees."""

    first: Array
    later: Array
    stop: Array
    root: Array
    log_total: Array


@dataclass(frozen=True)
class Fragments:
    """Where arcs leave their fragment, for B sentences of N words; see the head of this file.

    ``cover`` (2, N, N, B): 1 where the half span (a, w) reaches the end of a's fragment, else the penalty. ``crossing``
    (2, N, N, B): 1.0 where a and a + w lie in different fragments. ``penalty``: above 0, at most 1.
    """

    cover: Array
    crossing: Array
    penalty: float

    def of_precision(self, precision: type[np.floating]) -> Fragments:
        """The same numbers in another precision."""
        cover, crossing = (table.astype(precision, copy=False) for table in (self.cover, self.crossing))
        return Fragments(cover, crossing, self.penalty)

    def select(self, chosen: Array) -> Fragments:
        """Those of some of the sentences; one may come more than once."""
        return Fragments(self.cover[..., chosen], self.crossing[..., chosen], self.penalty)

    @classmethod
    def of(cls, numbers: Array, penalty: float) -> Fragments:
        """From the number of each word's fragment (N, B), which never falls; words behind a sentence have another."""
        count = len(numbers)
        ends = np.arange(count)[:, None] + np.arange(count)  # (N, N): a + w
        inside = np.minimum(ends, count - 1)
        crossing, cover = [], []
        for side in (numbers, numbers[::-1]):
            crosses = side[inside] != side[:, None]  # (N, N, B)
            ends_here = [side[1:] != side[:-1], np.ones_like(side[:1], dtype=bool)]  # the word is its fragment's last
            following = np.concatenate(ends_here)
            cover.append(np.where(crosses | following[inside], 1.0, penalty))
            crossing.append(crosses.astype(np.float64))
        return cls(np.stack(cover), np.stack(crossing), penalty)


def by_reading(matrix: Array) -> Array:
    """From ``matrix`` (N, N, …) of [head, child] to the layout (2, N, N, …) of [side, word, width]; rest 0."""
    count = len(matrix)
    result = np.zeros((2, *matrix.shape), dtype=matrix.dtype)
    for width in range(1, count):
        heads = np.arange(count - width)
        result[0, heads, width] = matrix[heads, heads + width]
        result[1, heads, width] = matrix[count - 1 - heads, count - 1 - heads - width]
    return result


def by_head(tables: Array) -> Array:
    """The opposite of `by_reading`: (2, N, N, …) of [side, word, width] to (N, N, …) of [head, child]."""
    count = tables.shape[1]
    result = np.zeros(tables.shape[1:], dtype=tables.dtype)
    for width in range(1, count):
        heads = np.arange(count - width)
        result[heads, heads + width] = tables[0, heads, width]
        result[count - 1 - heads, count - 1 - heads - width] = tables[1, heads, width]
    return result
