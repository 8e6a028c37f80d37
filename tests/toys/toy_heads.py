"""Heads with a probability of being the root: learned by guessing masked words from all others."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from induce.data.batches import MaskedBatch, SentenceBatch
from induce.models.base import Loss, Model, Query
from induce.structures import HeadDistribution

PRESET = """
source = "a toy"
model = {name = "toy_heads", size = 8}
data.minimum_count = 1
train.epochs = 1
loader = {name = "masked", batch_words = 64}
"""


@dataclass(frozen=True, kw_only=True)
class ToyConfig:
    """Settings."""

    size: int = 8


class Toy(Model):
    """Attention between word vectors, with attention to the word itself as the probability of the root."""

    Config = ToyConfig
    reads = (MaskedBatch,)
    gives = (HeadDistribution,)
    estimates_root = True

    def __init__(self, config: ToyConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, config.size)
        self.output = nn.Linear(config.size, vocabulary_size)

    def attention(self, tokens: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """(B, N, N), 0 at padding."""
        vectors = self.embedding(tokens)
        real = torch.arange(tokens.shape[1], device=tokens.device) < lengths[:, None]
        return (vectors @ vectors.mT).masked_fill(~real[:, None], -1e9).softmax(-1)

    def loss(self, batch: MaskedBatch, state: None = None) -> Loss:
        """Cross entropy of the words that are masked, from what the others attend to."""
        targets = (batch.uniforms < 0.3) & (batch.tokens > 0)
        masked = batch.tokens.masked_fill(targets, 1)
        hidden = self.attention(masked, batch.lengths) @ self.embedding(masked)
        count = int(targets.sum())
        nll = functional.cross_entropy(self.output(hidden[targets]), batch.tokens[targets], reduction="sum") / max(
            1, count
        )
        return Loss(nll, nll, count)

    def structure(self, batch: SentenceBatch, query: Query) -> HeadDistribution:
        """The attention."""
        return HeadDistribution(self.attention(batch.tokens, batch.lengths), batch.lengths)
