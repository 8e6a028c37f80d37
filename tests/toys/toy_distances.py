"""Distances from the rarity of words, and a bigram prediction of the next word."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn
from torch.nn import functional

from induce.data.batches import SentenceBatch, StreamBatch
from induce.models.base import Loss, Model, Query, next_words
from induce.structures import Distances

PRESET = """
source = "a toy"
[model]
name = "toy_distances"
size = 8
[data]
minimum_count = 1
[train]
epochs = 1
[loader]
batch_size = 4
"""


@dataclass(frozen=True, kw_only=True)
class ToyConfig:
    """Settings."""

    size: int = 8


class Toy(Model):
    """A bigram model of word vectors."""

    Config = ToyConfig
    reads = (StreamBatch, SentenceBatch)
    gives = (Distances,)

    def __init__(self, config: ToyConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, config.size)
        self.output = nn.Linear(config.size, vocabulary_size)

    def loss(self, batch: StreamBatch | SentenceBatch, state: None = None) -> Loss:
        """Cross entropy of the words that follow."""
        words = next_words(batch)
        rows, targets = words.chosen(self.output(self.embedding(words.tokens)).flatten(0, 1))
        nll = functional.cross_entropy(rows, targets)
        return Loss(nll, nll, len(targets))

    def structure(self, batch: SentenceBatch, query: Query) -> Distances:
        """The bias of a word against it."""
        return Distances(-self.output.bias.detach()[batch.tokens], batch.lengths)
