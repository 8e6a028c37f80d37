"""Spans of the constituent-context model (Klein and Manning 2002): counts of class sequences and of their contexts.

Each span (i, j), i ≤ j, is a constituent of the tree or a *distituent*; single words are always constituents, and empty
spans always distituents. The sequence of its classes and its context (the classes before and after it) are drawn from
distributions that depend only on this distinction:

    P(sentence, tree) = P(tree) Π_spans P(sequence | in the tree?) P(context | in the tree?)

The weight of a tree is therefore P(tree) times the product over its brackets of the ratio of their probabilities as
constituents and as distituents, up to a constant of the sentence. A sequence is identified by a 64-bit hash of its
classes. Among a million sequences, the probability of a collision is below 1 in 10 million.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray

CONSTITUENT, DISTITUENT = 0, 1  # rows of the tables of counts
UNUSED = np.iinfo(np.int64).max
STEP = np.uint64(0x9E3779B97F4A7C15)  # odd, with irregular bits


@dataclass(frozen=True)
class Spans:
    """All spans of B sentences of N words, S spans per sentence.

    ``starts``, ``ends`` (S,); ``sequences``, ``contexts`` (S, B): keys of sequences, indices of contexts.
    ``classes`` (N, B): classes of the words.
    """

    classes: Array
    starts: Array
    ends: Array
    sequences: Array
    contexts: Array

    @classmethod
    def of(cls, classes: Array, size: int) -> Spans:
        """Construct the spans of sentences ``classes`` (N, B), with ``size`` as the class of boundaries."""
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
        """Indices of the spans of two or more words, which can be constituents or distituents."""
        return np.flatnonzero(self.ends - self.starts >= 2)

    def constituency(self, brackets: Array) -> Array:
        """Probability (S, B) that each span is a constituent, from the probability of ``brackets`` (N, N + 1, B)."""
        totals = np.zeros(self.sequences.shape)
        totals[self.open] = brackets[self.starts[self.open], self.ends[self.open]]
        totals[self.ends - self.starts == 1] = 1
        return totals


def _mixed(numbers: Array) -> Array:
    """Mix the bits of 64-bit ``numbers`` by a bijection (the finalizer of splitmix64)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def frequent_keys(keys: Array, most: int) -> Array:
    """The ``most`` most frequent of ``keys`` in ascending order, padded with `UNUSED`."""
    unique, counts = np.unique(keys, return_counts=True)
    if len(unique) > most:
        unique = np.sort(unique[np.argsort(-counts, kind="stable")[:most]])
    return np.concatenate([unique, np.full(most - len(unique), UNUSED)])


@dataclass(frozen=True)
class SpanTables:
    """Expected numbers of sequences and contexts as constituents (row 0) and as distituents (row 1).

    ``keys`` (T,): keys of the sequences that have an entry, ascending. ``sequences`` (2, T + 1): counts, with one last
    entry for all other sequences. ``contexts`` (2, C). ``smoothing``: number added to each entry of a row.
    """

    keys: Array
    sequences: Array
    contexts: Array
    smoothing: tuple[float, float]

    def empty(self) -> SpanTables:
        """Tables for the same sequences with counts of 0."""
        return SpanTables(self.keys, np.zeros_like(self.sequences), np.zeros_like(self.contexts), self.smoothing)

    def entries(self, spans: Spans) -> Array:
        """Index of the entry of each sequence (S, B)."""
        indices = np.minimum(np.searchsorted(self.keys, spans.sequences), len(self.keys) - 1)
        return np.where(self.keys[indices] == spans.sequences, indices, len(self.keys))

    def add(self, spans: Spans, entries: Array, probability: Array) -> None:
        """Add the counts of spans that are constituents with ``probability`` (S, B)."""
        for row, weights in ((CONSTITUENT, probability), (DISTITUENT, 1 - probability)):
            flat = weights.ravel()
            self.sequences[row] += np.bincount(entries.ravel(), flat, self.sequences.shape[1])
            self.contexts[row] += np.bincount(spans.contexts.ravel(), flat, self.contexts.shape[1])

    def log_probabilities(self) -> tuple[Array, Array]:
        """Smoothed logs of P(sequence | row) (2, T + 1) and of P(context | row) (2, C).

        All sequences without an entry share one probability.
        """
        used = int((self.keys != UNUSED).sum()) + 1
        return self._logs(self.sequences, used), self._logs(self.contexts, self.contexts.shape[1])

    def _logs(self, counts: Array, kinds: int) -> Array:
        added = np.array(self.smoothing)[:, None]
        return np.log(counts + added) - np.log(counts.sum(1, keepdims=True) + added * kinds)
