"""A model that decodes by itself, labels its phrases and receives the positions of punctuation."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from induce.data.batches import FragmentBatch
from induce.models.base import Loss, Model, Query
from induce.structures import Brackets

PRESET = """
source = "a toy"
model.name = "toy_brackets"
data.minimum_count = 1
train.epochs = 1
loader = {name = "fragments", batch_words = 64}
"""


@dataclass(frozen=True, kw_only=True)
class ToyConfig:
    """There is nothing to set."""


class Toy(Model):
    """A unigram model whose phrases are the stretches between punctuation."""

    Config = ToyConfig
    reads = (FragmentBatch,)
    gives = (Brackets,)

    def __init__(self, config: ToyConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(vocabulary_size))

    def loss(self, batch: FragmentBatch, state: None = None) -> Loss:
        """Cross entropy of each word by itself."""
        words = batch.tokens[batch.tokens > 0]
        nll = functional.cross_entropy(self.logits.expand(len(words), -1), words)
        return Loss(nll, nll, len(words))

    def structure(self, batch: FragmentBatch, query: Query) -> Brackets:
        """A phrase ``F`` over each stretch."""
        spans = []
        for row, length in zip(batch.fragments.tolist(), batch.lengths.tolist(), strict=True):
            edges = [0, *(i for i in range(1, length) if row[i] != row[i - 1]), length]
            spans.append([(start, end, "F") for start, end in itertools.pairwise(edges) if end - start > 1])
        return Brackets(spans, batch.lengths)
