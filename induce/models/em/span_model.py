"""What the constituent-context model knows of spans: sequences of classes and what stands around them, counted.

Klein and Manning (2002). Each span (i, j), i ≤ j, is a constituent of the tree or a *distituent*, single words always
the one and empty spans always the other; its classes and its context, the classes before and behind it, are drawn from
distributions that depend on nothing else:

    P(sentence, tree) = P(tree) Π_spans P(sequence | in the tree?) P(context | in the tree?)

so that a tree weighs P(tree) times the product over its brackets of what makes them likelier as constituents, up to
what all trees of a sentence have in common. Sequences are known by a 64-bit number that is made of their classes; two
of a million sequences get the same one with a probability below 1 in 10 million.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray

CONSTITUENT, DISTITUENT = 0, 1  # rows of the tables of counts
UNUSED = np.iinfo(np.int64).max
STEP = np.uint64(0x9E3779B97F4A7C15)  # odd, its bits without a pattern


@dataclass(frozen=True)
class Spans:
    """All spans of B sentences of N words, S of them a sentence.

    ``starts``, ``ends`` (S,); ``sequences``, ``contexts`` (S, B): keys of sequences, numbers of contexts. ``classes``
    (N, B) are those of the words.
    """

    classes: Array
    starts: Array
    ends: Array
    sequences: Array
    contexts: Array

    @classmethod
    def of(cls, classes: Array, size: int) -> Spans:
        """Of sentences ``classes`` (N, B), numbers below ``size``; a sentence's own boundary is class ``size``."""
        count, batch = classes.shape
        starts, ends = np.triu_indices(count + 1)
        with np.errstate(over="ignore"):
            codes = _mixed(classes.astype(np.uint64) + np.uint64(1))
            sums = np.zeros((count + 1, batch), dtype=np.uint64)
            for index in range(count):
                sums[index + 1] = sums[index] * STEP + codes[index]
            powers = np.cumprod(np.concatenate([np.ones(1, np.uint64), np.full(count, STEP)]))
            keys = _mixed(sums[ends] - sums[starts] * powers[ends - starts, None])
        edged = np.full((count + 2, batch), size)
        edged[1:-1] = classes
        contexts = edged[starts] * (size + 1) + edged[ends + 1]
        return cls(classes, starts, ends, keys.view(np.int64), contexts)

    @property
    def open(self) -> Array:
        """The indices of those that a tree may have or not: of two words or more."""
        return np.flatnonzero(self.ends - self.starts >= 2)

    def constituency(self, brackets: Array) -> Array:
        """The probability (S, B) that each is a constituent, from that of ``brackets`` (N, N + 1, B)."""
        totals = np.zeros(self.sequences.shape)
        totals[self.open] = brackets[self.starts[self.open], self.ends[self.open]]
        totals[self.ends - self.starts == 1] = 1
        return totals


def _mixed(numbers: Array) -> Array:
    """``numbers`` (64 bits) one to one as others that look random (the finish of splitmix64)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Array = numbers ^ (numbers >> np.uint64(31))
    return mixed


def frequent_keys(keys: Array, most: int) -> Array:
    """The ``most`` most frequent of ``keys`` in ascending order, filled up with `UNUSED`."""
    unique, counts = np.unique(keys, return_counts=True)
    if len(unique) > most:
        unique = np.sort(unique[np.argsort(-counts, kind="stable")[:most]])
    return np.concatenate([unique, np.full(most - len(unique), UNUSED)])


@dataclass(frozen=True)
class SpanTables:
    """Expected numbers of sequences and contexts as constituents (row 0) and as distituents (row 1).

    ``keys`` (T,): of the sequences that have an entry, ascending; ``sequences`` (2, T + 1), the last entry for all
    others; ``contexts`` (2, C). ``smoothing`` is what is added to each entry of a row.
    """

    keys: Array
    sequences: Array
    contexts: Array
    smoothing: tuple[float, float]

    def empty(self) -> SpanTables:
        """The same sequences, nothing counted."""
        return SpanTables(self.keys, np.zeros_like(self.sequences), np.zeros_like(self.contexts), self.smoothing)

    def entries(self, spans: Spans) -> Array:
        """The entry (S, B) of each sequence."""
        indices = np.minimum(np.searchsorted(self.keys, spans.sequences), len(self.keys) - 1)
        return np.where(self.keys[indices] == spans.sequences, indices, len(self.keys))

    def add(self, spans: Spans, entries: Array, probability: Array) -> None:
        """Count spans that are constituents with this ``probability`` (S, B)."""
        for row, weights in ((CONSTITUENT, probability), (DISTITUENT, 1 - probability)):
            flat = weights.ravel()
            self.sequences[row] += np.bincount(entries.ravel(), flat, self.sequences.shape[1])
            self.contexts[row] += np.bincount(spans.contexts.ravel(), flat, self.contexts.shape[1])

    def log_probabilities(self) -> tuple[Array, Array]:
        """Smoothed logs of P(sequence | row) (2, T + 1), all sequences without an entry being one, and of contexts."""
        used = int((self.keys != UNUSED).sum()) + 1
        return self._logs(self.sequences, used), self._logs(self.contexts, self.contexts.shape[1])

    def _logs(self, counts: Array, kinds: int) -> Array:
        added = np.array(self.smoothing)[:, None]
        logs: Array = np.log(counts + added) - np.log(counts.sum(1, keepdims=True) + added * kinds)
        return logs
