"""Sums over all binary trees of a sentence, and the spans of the constituent-context model (Klein and Manning 2002).

A tree has a weight for every bracket. Many sentences of one length are summed at a time.

The entry [start, end, sentence] of a table describes the words from start up to end, end excluded. The inside pass goes
from narrow to wide spans and sums over the split points of a span:

    inside[i, j] = weight[i, j] Σ_{i<k<j} inside[i, k] inside[k, j]        inside[i, i + 1] = 1

The outside pass goes from wide to narrow spans. The probability of a bracket is the sum over the wider brackets that
can be split into it:

    P(i, k) and P(k, j) each gain P(i, j) inside[i, k] inside[k, j] weight[i, j] / inside[i, j]

These shares never leave the range of float64. The inside pass uses logarithms. Two tables, by start and by end, turn
the splits of all spans of one width into a sum of two slices.

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


@dataclass(frozen=True)
class BracketCounts:
    """Expected brackets of B sentences of N words.

    ``probability`` (N, N + 1, B): of each bracket of two or more words, 0 elsewhere. ``log_total`` (B,): log Z.
    """

    probability: Array
    log_total: Array


def bracket_counts(log_weights: Array) -> BracketCounts:
    """Bracket probabilities of sentences of N > 0 words, from the logs (N, N + 1, B) of positive weights.

    The weight of a binary tree is the product of the weights of its N - 1 brackets. Weights of single words are not
    read.
    """
    count, _, batch = log_weights.shape
    by_start = np.zeros((count + 1, count + 1, batch))  # [start, width]
    by_end = np.zeros((count + 1, count + 1, batch))  # [end, N - width]
    sums: list[Array] = []  # per width from 2: log sums (spans, B) over splits, before the weight
    starts = np.arange(count)
    for width in range(2, count + 1):
        spans = count - width + 1
        ways = by_start[:spans, 1:width] + by_end[width:, spans:count]  # (spans, splits, B)
        most = ways.max(1)
        sums.append(most + np.log(np.exp(ways - most[:, None]).sum(1)))
        inside = sums[-1] + log_weights[starts[:spans], starts[:spans] + width]
        by_start[:spans, width] = by_end[width:, count - width] = inside
    log_total = by_start[0, count].copy() if count > 1 else np.zeros(batch)

    as_left, as_right = np.zeros_like(by_start), np.zeros_like(by_end)  # in the layouts of by_start and by_end
    probability = np.zeros((count, count + 1, batch))
    as_left[0, count] = 1
    for width in range(count, 1, -1):
        spans = count - width + 1
        total = as_left[:spans, width] + as_right[width:, count - width]  # (spans, B)
        probability[starts[:spans], starts[:spans] + width] = total
        ways = by_start[:spans, 1:width] + by_end[width:, spans:count]
        shares = np.exp(ways - sums[width - 2][:, None]) * total[:, None]
        as_left[:spans, 1:width] += shares
        as_right[width:, spans:count] += shares
    return BracketCounts(probability, log_total)


def random_split_probability(count: int) -> Array:
    """Probability of each bracket (N, N + 1) in a tree whose spans are split at uniformly random positions.

    Such a tree corresponds to a random order of the gaps between words. A span of w words is a bracket if its outer
    gaps precede its w - 1 inner gaps in that order. This has probability 2 / (w (w + 1)), or 1 / w at an edge of the
    sentence.
    """
    start, end = np.arange(count)[:, None], np.arange(count + 1)
    width = np.maximum(end - start, 1)
    edges = (start == 0).astype(int) + (end == count)
    probability: Array = np.choose(edges, [2 / (width * (width + 1)), 1 / width, np.ones_like(width, dtype=float)])
    return np.where(end - start > 1, probability, 0.0)


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
