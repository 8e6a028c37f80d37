"""The language model of several toys, which read structures from its word vectors."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn
from torch.nn import functional

from induce.data.batches import SentenceBatch, StreamBatch
from induce.models.base import Loss, Model, next_words


@dataclass(frozen=True, kw_only=True)
class BigramConfig:
    """Settings."""

    size: int = 8


class Bigram(Model):
    """A bigram model of word vectors."""

    Config = BigramConfig
    reads = (SentenceBatch,)

    def __init__(self, config: BigramConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, config.size)
        self.output = nn.Linear(config.size, vocabulary_size)

    def loss(self, batch: StreamBatch | SentenceBatch, state: None = None) -> Loss:
        """Cross entropy of the words that follow."""
        words = next_words(batch)
        rows, targets = words.chosen(self.output(self.embedding(words.tokens)).flatten(0, 1))
        nll = functional.cross_entropy(rows, targets)
        return Loss(nll, nll, len(targets))
