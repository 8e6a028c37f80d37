"""Biaffine dependency parser (Dozat and Manning 2017) that is distilled from the heads predicted by other parsers.

It uses no gold trees and does not predict words. A grammar such as DMV sees only word classes. The student reads full
sentences and learns from all predictions of the teacher, so it can become more accurate than the teacher. The order in
this file: network, loss. `induce.models.distilled.biaffine_arrays` computes the same scores without torch. See
docs/reference/models/biaffine.md.

Shapes: B sentences, N words, E units of an embedding, H of one direction of the LSTM, A of the arcs.
"""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import HeadSupervisedBatch, SentenceBatch
from induce.layers.padding import real_words
from induce.models.base import Loss, Query
from induce.models.distilled.settings import MAX_DISTANCE, MAX_HEADS, BiaffineConfig
from induce.models.distilled.student import Student
from induce.structures import HeadDistribution


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
        arcs = arcs + self.heading(head).transpose(1, 2) + self._near(count)
        itself = torch.eye(count, dtype=torch.bool, device=arcs.device)
        arcs = torch.where(itself, self.rooting(dependent), arcs)
        return arcs.masked_fill(~real_words(tokens, lengths)[:, None], -math.inf)

    def _near(self, count: int) -> Tensor:
        """Score (N, N) of the distance between word and head."""
        index = torch.arange(count, device=self.distance.device)
        distance = index - index[:, None]
        return self.distance[(distance > 0).long(), distance.abs().clamp(1, MAX_DISTANCE) - 1]

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
