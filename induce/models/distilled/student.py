"""Distilled parsers: they learn from the predictions of other parsers, without gold trees and without predicting words.

`ChartParser` (Stern, Andreas and Klein 2017) learns trees. It scores each span from the LSTM states at both its ends,
and predicts the tree with the largest sum of probabilities. It parses about five times as fast as the grammars that
it is distilled from. `Biaffine` (Dozat and Manning 2017) learns heads. A grammar such as DMV sees only word classes.
The student reads full sentences and learns from all predictions of the teacher, so it can become more accurate than
the teacher.

`induce.models.distilled.array_student` computes the same scores without torch. See docs/reference/models/chart.md and
docs/reference/models/biaffine.md.

Shapes: B sentences, N words, E units of an embedding, H of one direction of the LSTM, A of the ends of spans or of
arcs.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import FragmentBatch, HeadSupervisedBatch, SentenceBatch, SpanTargetBatch
from induce.data.corpus import EncodedCorpus
from induce.data.punctuation import GAP_FEATURES, gap_features
from induce.layers.masks import lstm_states, real_words
from induce.models.base import Context, Loss, Model, Query, bounded
from induce.models.distilled.array_student import (
    BUCKETS,
    ENDINGS,
    LONGEST,
    MAX_DISTANCE,
    MAX_HEADS,
    MAX_WIDTH,
    BiaffineConfig,
    ChartConfig,
    StudentConfig,
    buckets,
)
from induce.structures import HeadDistribution, SpanScores

UNKNOWN = 1  # index of words that are not in the vocabulary


class SentenceReader(nn.Module):
    """States (B, N, 2 H) of the words of sentences, with dropout before and after the LSTM."""

    ending: Tensor  # (V, 3): the buckets of each word's endings

    def __init__(self, config: StudentConfig, vocabulary_size: int) -> None:
        super().__init__()
        size, hidden, layers = config.embedding_size, config.hidden_size, config.layers
        self.embedding = nn.Embedding(vocabulary_size, size)
        self.endings = nn.ModuleList(nn.Embedding(BUCKETS, size) for _ in ENDINGS if config.endings)
        self.register_buffer("ending", torch.zeros(vocabulary_size, len(ENDINGS), dtype=torch.int64))
        between = config.dropout if layers > 1 else 0.0
        self.lstm = nn.LSTM(size, hidden, layers, batch_first=True, bidirectional=True, dropout=between)
        self.dropout = nn.Dropout(config.dropout)
        for table in (self.embedding, *self.endings):
            nn.init.normal_(table.weight, std=0.3)

    def forward(self, tokens: Tensor, lengths: Tensor, known: Tensor) -> Tensor:
        """States of ``tokens`` (B, N). In ``known``, some are `UNKNOWN`, but not their endings."""
        x = self.embedding(known)
        for index, table in enumerate(self.endings):
            x = x + table(self.ending[tokens, index])
        return self.dropout(lstm_states(self.lstm, self.dropout(x), lengths))


class Student(Model):
    """A parser that learns from the predictions of other parsers alone."""

    rounds = True
    measure = "cross-entropy"
    config: Any

    def __init__(self, config: StudentConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.config = config
        self.reader = SentenceReader(config, vocabulary_size)

    def prepare(self, corpus: EncodedCorpus, context: Context) -> None:
        """Store the endings of the words of the vocabulary."""
        self.reader.ending.copy_(torch.tensor([buckets(word) for word in corpus.vocabulary.words]))

    def input_tokens(self, tokens: Tensor, uniforms: Tensor) -> Tensor:
        """The word indices (B, N) that the model reads.

        In training, a word is replaced by the unknown word if its number in ``uniforms`` (B, N) is less than
        ``unknown_rate``.
        """
        return some_unknown(tokens, uniforms, self.config.unknown_rate) if self.training else tokens


def some_unknown(tokens: Tensor, uniforms: Tensor, rate: float) -> Tensor:
    """The ``tokens`` (B, N), unknown where ``uniforms`` (B, N) are less than ``rate``."""
    return tokens.masked_fill((uniforms < rate) & (tokens > 0), UNKNOWN)


class ChartParser(Student):
    """Probability that each span of words is a constituent, independent of the other spans."""

    Config = ChartConfig
    reads = (SpanTargetBatch,)
    gives = (SpanScores,)
    shortest = 2
    max_length: ClassVar[int | None] = LONGEST

    def __init__(self, config: ChartConfig, vocabulary_size: int) -> None:
        super().__init__(config, vocabulary_size)
        self.start, self.end = (nn.Linear(2 * config.hidden_size + GAP_FEATURES, config.span_size) for _ in range(2))
        self.pairs = nn.Linear(config.span_size, config.span_size, bias=False)
        self.starting, self.ending = (nn.Linear(config.span_size, 1) for _ in range(2))
        self.width = nn.Parameter(torch.zeros(MAX_WIDTH + 1))

    def scores(self, batch: SentenceBatch, input_tokens: Tensor) -> Tensor:
        """Scores (B, N, N + 1) of the spans from word i up to j, j excluded.

        ``input_tokens`` (B, N) are the words of the batch with some of them replaced by the unknown word. A gap between
        two words is represented by the LSTM states from the left and from the right, and by its punctuation.
        """
        states = self.reader(bounded(batch.tokens), batch.lengths + 2, bounded(input_tokens))
        left, right = states.chunk(2, -1)
        # punctuation of each gap, 1 or 0: separates, joins, closes or opens brackets
        marks = torch.zeros(len(left), left.shape[1] - 1, GAP_FEATURES, device=left.device)
        if isinstance(batch, FragmentBatch):
            index = torch.arange(1, batch.tokens.shape[1], device=marks.device)
            inside = index < batch.lengths.to(marks.device)[:, None]
            table = torch.from_numpy(gap_features()).to(marks)
            marks[:, 1:-1] = table[batch.gaps[:, 1:].long()] * inside[..., None]
        gaps = torch.cat([left[:, :-1], right[:, 1:], marks], -1)
        start, end = (functional.leaky_relu(side(gaps)) for side in (self.start, self.end))
        scores = self.pairs(start) @ end.transpose(1, 2) / math.sqrt(self.config.span_size)
        scores = scores + self.starting(start) + self.ending(end).transpose(1, 2)
        index = torch.arange(scores.shape[1], device=scores.device)
        scores = scores + self.width[(index - index[:, None]).clamp(0, MAX_WIDTH)]
        return scores[:, :-1]

    def loss(self, batch: SpanTargetBatch, state: None = None) -> Loss:
        """Binary cross-entropy of the teacher's spans, full sentences excluded, in nats per word."""
        tokens = batch.tokens
        drawn = self.training and self.config.unknown_rate
        uniforms = torch.rand(tokens.shape, device=tokens.device) if drawn else tokens.new_ones(tokens.shape)
        open_spans = inner_spans(batch.lengths, tokens.shape[1])
        scores = self.scores(batch, self.input_tokens(tokens, uniforms))[open_spans]
        nats = functional.binary_cross_entropy_with_logits(scores, batch.spans[open_spans], reduction="sum")
        mean = nats / max(1, batch.token_count)
        return Loss(mean, mean, batch.token_count)

    def structure(self, batch: SentenceBatch, query: Query) -> SpanScores:
        """Probability that each span is a constituent."""
        return SpanScores(self.scores(batch, batch.tokens).sigmoid(), batch.lengths)

    def parsing_cost(self, length: int) -> float:
        """Quadratic in the length, because the scores form a table of spans."""
        return length + 2.0 + length**2 / 8


def inner_spans(lengths: Tensor, count: int) -> Tensor:
    """Mask (B, N, N + 1), N = ``count``, of the spans of two or more words except the full sentence."""
    start = torch.arange(count, device=lengths.device)[:, None]
    end = torch.arange(count + 1, device=lengths.device)
    last = lengths[:, None, None]
    return (end - start >= 2) & (end <= last) & ~((start == 0) & (end == last))


class Biaffine(Student):
    """Heads from a bidirectional LSTM: P(word j heads word i), P(word i is the root) on the diagonal."""

    Config = BiaffineConfig
    reads = (HeadSupervisedBatch,)
    gives = (HeadDistribution,)
    estimates_root = True
    max_length: ClassVar[int | None] = MAX_HEADS

    def __init__(self, config: BiaffineConfig, vocabulary_size: int) -> None:
        super().__init__(config, vocabulary_size)
        hidden = config.hidden_size
        self.head, self.dependent = (nn.Linear(2 * hidden, config.arc_size) for _ in range(2))
        self.pairs = nn.Linear(config.arc_size, config.arc_size, bias=False)
        self.heading = nn.Linear(config.arc_size, 1)
        self.rooting = nn.Linear(config.arc_size, 1)
        self.distance = nn.Parameter(torch.zeros(2, MAX_DISTANCE))  # of a head before the word, and after it

    def scores(self, tokens: Tensor, lengths: Tensor, input_tokens: Tensor) -> Tensor:
        """Scores (B, N, N) of word j as the head of word i, and of word i as the root on the diagonal.

        Scores are -inf if j is padding. ``input_tokens`` are the ``tokens`` with some words replaced by the unknown
        word; the endings of these words are still read.
        """
        states, count = self.reader(tokens, lengths, input_tokens), tokens.shape[1]
        head, dependent = (functional.leaky_relu(side(states)) for side in (self.head, self.dependent))
        arcs = self.pairs(dependent) @ head.transpose(1, 2) / math.sqrt(self.config.arc_size)
        index = torch.arange(count, device=arcs.device)
        distance = index - index[:, None]
        near = self.distance[(distance > 0).long(), distance.abs().clamp(1, MAX_DISTANCE) - 1]
        arcs = arcs + self.heading(head).transpose(1, 2) + near
        itself = torch.eye(count, dtype=torch.bool, device=arcs.device)
        arcs = torch.where(itself, self.rooting(dependent), arcs)
        return arcs.masked_fill(~real_words(tokens, lengths)[:, None], -math.inf)

    def loss(self, batch: HeadSupervisedBatch, state: None = None) -> Loss:
        """Cross-entropy of the heads predicted by the teacher, in nats per word."""
        input_tokens = self.input_tokens(batch.tokens, batch.uniforms)
        mean, count = head_loss(self.scores(batch.tokens, batch.lengths, input_tokens), batch.heads)
        return Loss(mean, mean, count)

    def structure(self, batch: SentenceBatch, query: Query) -> HeadDistribution:
        """Head distributions of full sentences."""
        scores = self.scores(batch.tokens, batch.lengths, batch.tokens)
        return HeadDistribution(scores.softmax(-1), batch.lengths)


def head_loss(scores: Tensor, heads: Tensor) -> tuple[Tensor, int]:
    """Mean cross-entropy of ``heads`` (B, N, N) under ``scores`` (B, N, N), in nats, and the number of its rows.

    Rows of ``heads`` whose sum is 0 do not count.
    """
    labeled = heads.sum(2) > 0
    targets, log_probabilities = heads[labeled], scores[labeled].log_softmax(1)
    nats = -(targets * log_probabilities.masked_fill(targets == 0, 0.0)).sum()
    count = int(labeled.sum())
    return nats / max(1, count), count
