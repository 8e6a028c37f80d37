"""A biaffine parser (Dozat and Manning 2017) that learns the heads which other parsers give: no words of its own to
predict, no gold.

A grammar knows classes of words; what reads whole sentences, and learns from all of the grammar's heads at once, can
become better than its teacher. Read from the top: the settings, the network, the loss. See docs/models/biaffine.md.

Shapes: B sentences, N words, E units of an embedding, H of one direction of the LSTM, A of the arcs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import HeadSupervisedBatch, SentenceBatch
from induce.layers.bilstm_encoder import SentenceReader, some_unknown
from induce.layers.padding import real_words
from induce.models.base import Loss, Model, Query
from induce.settings.field import count, dropout_rate, setting
from induce.structures import HeadDistribution

if TYPE_CHECKING:
    from induce.data.corpus import EncodedCorpus

FARTHEST = 10  # words apart, from where on all distances are one


@dataclass(frozen=True, kw_only=True)
class BiaffineConfig:
    """Sizes and rates; the defaults are ours, for a CPU and texts of some 10,000 sentences."""

    embedding_size: int = count(64, "units of a word embedding")
    hidden_size: int = setting(100, at_least=1, at_most=1e6, help="units of one direction of the LSTM")
    layers: int = count(1, "layers of the network")
    arc_size: int = setting(
        100, at_least=1, at_most=1e6, help="units in which a word stands for a head, or for a dependent"
    )
    endings: bool = setting(True, help="whether words are also known by their last letters")
    dropout: float = dropout_rate(0.3, "dropout inside the layers")
    unknown_rate: float = setting(0.3, at_least=0, at_most=0.99, help="share of the words that are unknown in training")


class Biaffine(Model):
    """Heads from a bidirectional LSTM: P(word j heads word i), P(word i is the root) on the diagonal."""

    Config = BiaffineConfig
    reads = (HeadSupervisedBatch,)
    rounds = True
    gives = (HeadDistribution,)
    estimates_root = True
    measure = "cross-entropy"

    def __init__(self, config: BiaffineConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.config = config
        hidden = config.hidden_size
        self.reader = SentenceReader(
            vocabulary_size,
            config.embedding_size,
            hidden,
            layers=config.layers,
            endings=config.endings,
            dropout=config.dropout,
        )
        self.head, self.dependent = (nn.Linear(2 * hidden, config.arc_size) for _ in range(2))
        self.pairs = nn.Linear(config.arc_size, config.arc_size, bias=False)
        self.heading = nn.Linear(config.arc_size, 1)
        self.rooting = nn.Linear(config.arc_size, 1)
        self.distance = nn.Parameter(torch.zeros(2, FARTHEST))  # of a head before the word, and behind it

    def prepare(self, corpus: EncodedCorpus) -> None:
        """Which endings the words have."""
        self.reader.learn_endings(corpus)

    def scores(self, tokens: Tensor, lengths: Tensor, seen: Tensor) -> Tensor:
        """Of word j as head of word i (B, N, N), of word i as the root on the diagonal; -inf where j is padding.

        ``seen`` are the ``tokens`` with some of them unknown; endings are known all the same.
        """
        states, count = self.reader(tokens, lengths, seen), tokens.shape[1]
        head, dependent = (functional.leaky_relu(side(states)) for side in (self.head, self.dependent))
        arcs = self.pairs(dependent) @ head.transpose(1, 2) / math.sqrt(self.config.arc_size)
        arcs = arcs + self.heading(head).transpose(1, 2) + self._near(count)
        itself = torch.eye(count, dtype=torch.bool, device=arcs.device)
        arcs = torch.where(itself, self.rooting(dependent), arcs)
        return arcs.masked_fill(~real_words(tokens, lengths)[:, None], -math.inf)

    def _near(self, count: int) -> Tensor:
        """What each distance adds (N, N)."""
        place = torch.arange(count, device=self.distance.device)
        apart = place - place[:, None]
        return self.distance[(apart > 0).long(), apart.abs().clamp(1, FARTHEST) - 1]

    def loss(self, batch: HeadSupervisedBatch, state: None = None) -> Loss:
        """The cross-entropy of the given heads, in nats a word."""
        seen = some_unknown(batch.tokens, batch.uniforms, self.config.unknown_rate) if self.training else batch.tokens
        mean, count = head_loss(self.scores(batch.tokens, batch.lengths, seen), batch.heads)
        return Loss(mean, mean, count)

    def structure(self, batch: SentenceBatch, query: Query) -> HeadDistribution:
        """The distributions of whole sentences."""
        scores = self.scores(batch.tokens, batch.lengths, batch.tokens)
        return HeadDistribution(scores.softmax(-1), batch.lengths)


def head_loss(scores: Tensor, heads: Tensor) -> tuple[Tensor, int]:
    """Mean cross-entropy of ``heads`` (B, N, N) under ``scores`` of the same shape, over the rows that sum to 1; how
    many these are."""
    told = heads.sum(2) > 0
    given, found = heads[told], scores[told].log_softmax(1)
    nats = -(given * found.masked_fill(given == 0, 0.0)).sum()
    count = int(told.sum())
    return nats / max(1, count), count
