"""Span scores: a span is as good as its first and last word like each other."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn
from torch.nn import functional

from induce.data.batches import SentenceBatch
from induce.models.base import Loss, Model, Query, next_words
from induce.structures import SpanScores

PRESET = """
source = "a toy"
[model]
name = "toy_spans"
size = 8
[data]
minimum_count = 1
[train]
epochs = 1
[loader]
name = "sentences"
batch_size = 8
"""


@dataclass(frozen=True, kw_only=True)
class ToyConfig:
    """Settings."""

    size: int = 8


class Toy(Model):
    """A bigram model of word vectors for sentences of at least two words."""

    Config = ToyConfig
    reads = (SentenceBatch,)
    gives = (SpanScores,)
    shortest = 2

    def __init__(self, config: ToyConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, config.size)
        self.output = nn.Linear(config.size, vocabulary_size)

    def loss(self, batch: SentenceBatch, state: None = None) -> Loss:
        """Cross entropy of the words that follow."""
        words = next_words(batch)
        rows, targets = words.chosen(self.output(self.embedding(words.tokens)).flatten(0, 1))
        nll = functional.cross_entropy(rows, targets)
        return Loss(nll, nll, len(targets))

    def structure(self, batch: SentenceBatch, query: Query) -> SpanScores:
        """The product of the vectors of a span's first and last word."""
        vectors = self.embedding(batch.tokens)
        return SpanScores(functional.pad(vectors @ vectors.mT, (1, 0)), batch.lengths)

    def parsing_cost(self, length: int) -> float:
        """Cubic, as a chart is."""
        return length**3 / 100
