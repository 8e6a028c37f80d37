"""Chart parser (Stern, Andreas and Klein 2017) that is distilled from the trees predicted by other parsers.

It uses no gold trees. It scores each span from the LSTM states at both its ends, and predicts the tree with the largest
sum of probabilities. It parses about five times as fast as the grammars that it is distilled from.
`induce.models.distilled.chart_arrays` computes the same scores without torch. See docs/reference/models/chart.md.

Shapes: B sentences, N words, H units of one direction of the LSTM, A of the ends of spans.
"""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import FragmentBatch, SentenceBatch, SpanTargetBatch
from induce.data.punctuation import GAP_FEATURES, gap_features
from induce.models.base import Loss, Query, bounded
from induce.models.distilled.settings import LONGEST, MAX_WIDTH, ChartConfig
from induce.models.distilled.student import Student
from induce.structures import SpanScores


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
        gaps = torch.cat([left[:, :-1], right[:, 1:], _marks(batch)], -1)
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


def _marks(batch: SentenceBatch) -> Tensor:
    """Features (B, N + 1, 4) of the punctuation in each gap, 1 or 0: separates, joins, closes or opens brackets."""
    tokens = batch.tokens
    features = torch.zeros(len(tokens), tokens.shape[1] + 1, GAP_FEATURES, device=tokens.device)
    if isinstance(batch, FragmentBatch):
        table = torch.from_numpy(gap_features()).to(features)
        inside = torch.arange(1, tokens.shape[1], device=tokens.device) < batch.lengths.to(tokens.device)[:, None]
        features[:, 1:-1] = table[batch.gaps[:, 1:].long()] * inside[..., None]
    return features
