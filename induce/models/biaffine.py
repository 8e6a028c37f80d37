"""A biaffine parser (Dozat and Manning 2017) that learns the heads which other parsers give: no words of its own to
predict, no gold.

A grammar knows classes of words and one sentence at a time; what reads whole sentences, and learns from all of the
grammar's heads at once, becomes better than its teacher. Read from the top: the settings, endings of words, the
network, the loss. See docs/models/biaffine.md.

Shapes: B sentences, N words, E units of an embedding, H of one direction of the LSTM, A of the arcs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from induce.config import setting
from induce.data.batches import HeadSupervisedBatch, MaskedBatch, SentenceBatch
from induce.models.base import Loss, Model, Query
from induce.models.padding import real_words
from induce.structures import HeadDistribution

if TYPE_CHECKING:
    from induce.data.corpus import EncodedCorpus

UNKNOWN = 1  # the number of a word that is not in the vocabulary
ENDINGS = (1, 2, 3)  # last letters that words are also known by
BUCKETS = 4096  # of endings of one length: some share one
FARTHEST = 10  # words apart, from where on all distances are one


@dataclass(frozen=True, kw_only=True)
class BiaffineConfig:
    """Sizes and rates; the defaults are ours, for a CPU and texts of some 10,000 sentences."""

    embedding_size: int = 64
    hidden_size: int = setting(100, low=1, high=1e6, help="units of one direction of the LSTM")
    layers: int = 1
    arc_size: int = setting(100, low=1, high=1e6, help="units in which a word stands for a head, or for a dependent")
    endings: bool = setting(True, help="whether words are also known by their last letters")
    dropout: float = 0.3
    unknown_rate: float = setting(0.3, low=0, high=0.99, help="share of the words that are unknown in training")


class Biaffine(Model):
    """Heads from a bidirectional LSTM: P(word j heads word i), P(word i is the root) on the diagonal."""

    Config = BiaffineConfig
    reads = (HeadSupervisedBatch,)
    gives = (HeadDistribution,)
    measure = "cross-entropy"

    def __init__(self, config: BiaffineConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.config = config
        size = config.embedding_size
        self.embedding = nn.Embedding(vocabulary_size, size)
        self.endings = nn.ModuleList(nn.Embedding(BUCKETS, size) for _ in ENDINGS if config.endings)
        self.register_buffer("ending", torch.zeros(vocabulary_size, len(ENDINGS), dtype=torch.int64))
        between = config.dropout if config.layers > 1 else 0.0
        hidden = config.hidden_size
        self.lstm = nn.LSTM(size, hidden, config.layers, batch_first=True, bidirectional=True, dropout=between)
        self.head, self.dependent = (nn.Linear(2 * hidden, config.arc_size) for _ in range(2))
        self.pairs = nn.Linear(config.arc_size, config.arc_size, bias=False)
        self.heading = nn.Linear(config.arc_size, 1)
        self.rooting = nn.Linear(config.arc_size, 1)
        self.distance = nn.Parameter(torch.zeros(2, FARTHEST))  # of a head before the word, and behind it
        self.dropout = nn.Dropout(config.dropout)
        for table in (self.embedding, *self.endings):
            nn.init.normal_(table.weight, std=0.3)

    ending: Tensor  # (V, 3): the bucket of each word's last letters

    def prepare(self, corpus: EncodedCorpus) -> None:
        """Which endings the words have."""
        words = [word.lower() for word in corpus.vocabulary.words]
        buckets = [[crc32(word[-count:].encode("utf-8", "replace")) % BUCKETS for count in ENDINGS] for word in words]
        self.ending.copy_(torch.tensor(buckets))

    def scores(self, tokens: Tensor, lengths: Tensor, seen: Tensor) -> Tensor:
        """Of word j as head of word i (B, N, N), of word i as the root on the diagonal; -inf where j is padding.

        ``seen`` are the ``tokens`` with some of them unknown; endings are known all the same.
        """
        x = self.embedding(seen)
        for place, table in enumerate(self.endings):
            x = x + table(self.ending[tokens, place])
        count = tokens.shape[1]
        packed = pack_padded_sequence(
            self.dropout(x), lengths.cpu().clamp(min=1), batch_first=True, enforce_sorted=False
        )
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=count)
        states = self.dropout(states)
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
        seen = unknown_words(batch, self.config.unknown_rate) if self.training else batch.tokens
        mean, count = head_loss(self.scores(batch.tokens, batch.lengths, seen), batch.heads)
        return Loss(mean, mean, count)

    def structure(self, batch: SentenceBatch, query: Query) -> HeadDistribution:
        """The distributions of whole sentences."""
        scores = self.scores(batch.tokens, batch.lengths, batch.tokens)
        return HeadDistribution(scores.softmax(-1), batch.lengths)


def unknown_words(batch: MaskedBatch, rate: float) -> Tensor:
    """The tokens (B, N), unknown where the batch's random number is less than ``rate``."""
    return batch.tokens.masked_fill((batch.uniforms < rate) & (batch.tokens > 0), UNKNOWN)


def head_loss(scores: Tensor, heads: Tensor) -> tuple[Tensor, int]:
    """Mean cross-entropy of ``heads`` (B, N, N) under ``scores`` of the same shape, over the rows that sum to 1; how
    many these are."""
    told = heads.sum(2) > 0
    given, found = heads[told], scores[told].log_softmax(1)
    nats = -(given * found.masked_fill(given == 0, 0.0)).sum()
    count = int(told.sum())
    return nats / max(1, count), count
