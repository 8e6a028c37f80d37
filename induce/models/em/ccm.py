"""Constituent-context model (Klein and Manning 2002) over induced word classes or tags.

The model is fitted by expectation-maximization on short sentences, from trees that are split at random positions. It
predicts the probability of each bracket. The word classes are induced from the same corpus. See
docs/reference/models/ccm.md. The order in this file: sums over all binary trees, spans and their counts, the model.

A tree has a weight for every bracket. Many sentences of one length are summed at a time. The entry [start, end,
sentence] of a table describes the words from start up to end, end excluded. The inside pass goes from narrow to wide
spans and sums over the split points of a span:

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

from collections.abc import Iterator
from dataclasses import dataclass
from math import lgamma
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from induce.data.batches import Batch, SentenceBatch, batches_of_equal_length
from induce.data.corpus import EncodedCorpus
from induce.data.word_classes import FlatText, check_words_as_classes, word_classes
from induce.models.base import Context, CountSharing, FitStep, FittedModel, Loss, Query
from induce.setting import limited
from induce.structures import SpanScores, Structure

Array = np.ndarray
LONGEST = 1000  # words of a sentence whose tables fit into a gigabyte
TABLE = 2_000_000  # numbers of the largest table of a block of sentences
CONSTITUENT, DISTITUENT = 0, 1  # rows of the tables of counts
UNUSED = np.iinfo(np.int64).max
STEP = np.uint64(0x9E3779B97F4A7C15)  # odd, with irregular bits


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


class SpanScorer:
    """Sums over all binary trees of sentences under the probabilities of a CCM (Klein and Manning 2002)."""

    def __init__(self, tables: SpanTables) -> None:
        self.sequences, self.contexts = tables.log_probabilities()

    def trees(self, spans: Spans, entries: np.ndarray) -> tuple[BracketCounts, np.ndarray]:
        """Brackets of sentences of one length, and the log-likelihood (B,) of each, all binary trees equally likely."""
        ratios, fixed = self.weights(spans, entries)
        expected = bracket_counts(ratios)
        return expected, expected.log_total + fixed - log_tree_count(len(ratios))

    def weights(self, spans: Spans, entries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log weights of brackets (N, N + 1, B), and the log-likelihood (B,) of the spans if none is a constituent."""
        rows = self.sequences[:, entries] + self.contexts[:, spans.contexts]  # (2, S, B)
        count, batch = spans.classes.shape
        words, open_ = spans.ends - spans.starts == 1, spans.open
        ratios = np.zeros((count, count + 1, batch))
        ratios[spans.starts[open_], spans.ends[open_]] = rows[CONSTITUENT, open_] - rows[DISTITUENT, open_]
        return ratios, rows[CONSTITUENT, words].sum(0) + rows[DISTITUENT, ~words].sum(0)


def span_event_count(count: Any) -> Any:
    """Number of sequences and contexts, two per span, in sentences of ``count`` words (a number or an array)."""
    return (count + 1) * (count + 2)


def log_tree_count(count: int) -> float:
    """Log of the number of binary trees over ``count`` words, a Catalan number."""
    return lgamma(2 * count - 1) - lgamma(count) - lgamma(count + 1)


def blocks_of_one_length(lengths: np.ndarray, power: int = 2) -> Iterator[tuple[np.ndarray, int]]:
    """Blocks of sentences of equal length: their indices and the length, which is at least 2.

    A block contains as many sentences as fit into a table. A sentence of N words takes N ** ``power`` numbers.
    """
    return batches_of_equal_length(lengths, lambda count: TABLE // count**power, min_length=2)


@dataclass(frozen=True, kw_only=True)
class CcmConfig:
    """Settings of the constituent-context model."""

    classes: int = limited(40, 0, 10_000, "word classes; 0: each word is one, for texts of tags")
    endings: float = limited(1.0, 0, 1e6, "weight of the last letters of words in their classes")
    longest: int = limited(10, 2, 1000, "longest sentences that are learned from")
    passes: int = limited(20, 1, 1e6, "passes of expectation-maximization")
    sentences: int = limited(20_000, 1, 1e9, "maximum sentences that are learned from, drawn by the seed")
    sequences: int = limited(300_000, 1, 1e8, "maximum sequences of classes that are counted separately")
    smooth_constituent: float = limited(2.0, 1e-6, 1e6, "count added to sequences and contexts of constituents")
    smooth_distituent: float = limited(8.0, 1e-6, 1e6, "count added to sequences and contexts of other spans")


class Ccm(FittedModel):
    """Constituent-context model: K word classes and expected counts of sequences and contexts, in buffers."""

    Config: ClassVar[type] = CcmConfig
    reads: ClassVar[tuple[type[Batch], ...]] = (SentenceBatch,)
    gives: ClassVar[tuple[type[Structure], ...]] = (SpanScores,)
    shortest: ClassVar[int] = 2
    max_length: ClassVar[int | None] = LONGEST
    power: ClassVar[int] = 2  # a sentence of N words takes N ** power numbers

    def __init__(self, config: CcmConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.config = config
        if not config.classes:
            check_words_as_classes("model.classes", vocabulary_size)
        self.class_count = config.classes or vocabulary_size
        double = torch.float64
        self.register_buffer("classes", torch.zeros(vocabulary_size, dtype=torch.int64))
        self.register_buffer("keys", torch.full((config.sequences,), UNUSED))
        self.register_buffer("sequences", torch.zeros(2, config.sequences + 1, dtype=double))
        self.register_buffer("contexts", torch.zeros(2, (self.class_count + 1) ** 2, dtype=double))

    classes: Tensor  # (V,)
    keys: Tensor  # (T,): as in `SpanTables`
    sequences: Tensor  # (2, T + 1)
    contexts: Tensor  # (2, (K + 1)^2)

    def tables(self) -> SpanTables:
        """The current counts."""
        smoothing = self.config.smooth_constituent, self.config.smooth_distituent
        return SpanTables(self.keys.cpu().numpy(), self.sequences.cpu().numpy(), self.contexts.cpu().numpy(), smoothing)

    # learning

    def fit(self, corpus: EncodedCorpus, start: int, context: Context) -> Iterator[FitStep]:
        """Run one pass of EM per step.

        The first step also induces the word classes and counts the spans of random trees.
        """
        text = FlatText(corpus)
        chosen = self._choose_sentences(text, context.seed)
        if not start:
            classes, config = np.arange(len(self.classes)), self.config
            if config.classes:
                count, endings = config.classes, config.endings
                classes = word_classes(text.neighbours, text.words, classes=count, endings=endings, seed=context.seed)
            self.classes.copy_(torch.from_numpy(classes))
            context.group.equalize(self)
        known = self.classes.cpu().numpy()
        blocks = [  # sentences of one length
            Spans.of(known[text.ids[text.word_positions(chosen[rows], count)]], self.class_count)
            for rows, count in blocks_of_one_length(text.lengths[chosen], self.power)
        ]
        if not start:
            keys = np.concatenate([spans.sequences.ravel() for spans in blocks] or [np.zeros(0, dtype=np.int64)])
            self.keys.copy_(torch.from_numpy(frequent_keys(keys, self.config.sequences)))
            self._learn(blocks, context.group, random=True)
        count = int(span_event_count(text.lengths[chosen]).sum())
        for step in range(start, self.config.passes):
            total = self._learn(blocks, context.group)
            done = step + 1
            nll = -total / max(1, count)
            yield FitStep(done=done, total=self.config.passes, nll=nll, count=count, check=done == self.config.passes)

    def _choose_sentences(self, text: FlatText, seed: int) -> np.ndarray:
        """Indices of the sentences of at most ``longest`` words, or of the shortest ones if all are longer.

        Sentences of one word are left out.
        """
        usable = text.lengths >= 2
        shortest = int(text.lengths[usable].min(initial=LONGEST))
        fit = np.flatnonzero(usable & (text.lengths <= max(shortest, self.config.longest)))
        if len(fit) > self.config.sentences:
            draw = np.random.default_rng(seed)
            fit = np.sort(draw.choice(fit, self.config.sentences, replace=False))
        return fit

    def _learn(self, blocks: list[Spans], group: CountSharing, *, random: bool = False) -> float:
        """Replace the counts by expected counts and return the log-likelihood of the classes under the previous counts.

        With ``random``, count the spans of random trees instead; the result is then 0.
        """
        tables = self.tables()
        counts, total = tables.empty(), np.zeros(1)
        scorer = SpanScorer(tables)
        for spans in group.share(blocks):
            entries = tables.entries(spans)
            if random:
                split = random_split_probability(len(spans.classes))[..., None]
                counts.add(spans, entries, spans.constituency(split))
                continue
            expected, logs = scorer.trees(spans, entries)
            counts.add(spans, entries, spans.constituency(expected.probability))
            total += logs.sum()
        group.add_up(counts.sequences, counts.contexts, total)
        self.sequences.copy_(torch.from_numpy(counts.sequences))
        self.contexts.copy_(torch.from_numpy(counts.contexts))
        return float(total[0])

    # reading sentences

    def structure(self, batch: SentenceBatch, query: Query) -> Structure:
        """Probability (B, N, N + 1) of each bracket. Raises SentenceTooLong above ``max_length`` words."""
        self.check_lengths(batch)
        tokens, lengths = batch.tokens.cpu().numpy(), batch.lengths.cpu().numpy()
        score = np.zeros((*tokens.shape, tokens.shape[1] + 1))
        for rows, count, expected, _ in self._trees(tokens, lengths):
            score[rows, :count, : count + 1] = expected.probability.transpose(2, 0, 1)
        return SpanScores(torch.from_numpy(score).to(batch.tokens.device), batch.lengths)

    def loss(self, batch: SentenceBatch, state: object = None) -> Loss:
        """Mean negative log-likelihood of the sequences and contexts of all spans in sentences up to ``longest``.

        The model generates each word once per span that contains it, so this is not a probability of the sentence.
        """
        tokens, lengths = batch.tokens.cpu().numpy(), batch.lengths.cpu().numpy()
        total, count = 0.0, 0
        for rows, length, _, logs in self._trees(tokens, np.where(lengths > self.config.longest, 0, lengths)):
            total, count = total + float(logs.sum()), count + len(rows) * span_event_count(length)
        nll = torch.tensor(-total / max(1, count), dtype=torch.float64)
        return Loss(nll, nll, count)

    def _trees(
        self, tokens: np.ndarray, lengths: np.ndarray
    ) -> Iterator[tuple[np.ndarray, int, BracketCounts, np.ndarray]]:
        """Rows of ``tokens`` (B, N) of one length, the length, their brackets and their log-likelihoods."""
        tables = self.tables()
        scorer, classes = SpanScorer(tables), self.classes.cpu().numpy()
        for rows, count in blocks_of_one_length(lengths, self.power):
            spans = Spans.of(classes[tokens[rows, :count].T], self.class_count)
            yield rows, count, *self.expected_brackets(scorer, spans, tables.entries(spans))

    def expected_brackets(
        self, scorer: SpanScorer, spans: Spans, entries: np.ndarray
    ) -> tuple[BracketCounts, np.ndarray]:
        """Brackets of sentences of one length, and the log-likelihood (B,) of each."""
        return scorer.trees(spans, entries)

    def parsing_cost(self, length: int) -> float:
        """A power of the length, in units in which a full batch fills the tables."""
        return float(4096 * max(length, 4) ** self.power / TABLE)
