"""Fitted by counting, without gradients: how often a word stands next to another says which heads it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from induce.data.batches import FragmentBatch, SentenceBatch
from induce.data.corpus import EncodedCorpus
from induce.models.base import Context, FitStep, FittedModel, Query
from induce.models.capabilities import SentenceScoring
from induce.structures import Heads

PRESET = """
source = "a toy"
model = {name = "toy_fitted", passes = 3}
data.minimum_count = 1
loader.name = "fragments"
optimizer.name = "none"
"""


@dataclass(frozen=True, kw_only=True)
class ToyConfig:
    """Settings."""

    passes: int = 3


class Toy(SentenceScoring, FittedModel):
    """A unigram model in which the most frequent word of a sentence is the head of every other word."""

    Config = ToyConfig
    reads = (FragmentBatch,)
    gives = (Heads,)

    def __init__(self, config: ToyConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.passes = config.passes
        self.register_buffer("counts", torch.ones(vocabulary_size))

    def fit(self, corpus: EncodedCorpus, start: int, context: Context) -> Iterator[FitStep]:
        """Count the words of the text once in each pass."""
        for done in range(start, self.passes):
            nll = -float(self.probabilities()[torch.from_numpy(corpus.ids).long()].mean())
            self.counts += torch.from_numpy(corpus.ids).long().bincount(minlength=len(self.counts))
            yield FitStep(done + 1, self.passes, nll, len(corpus.ids), check=done % 2 == 1)

    def probabilities(self) -> torch.Tensor:
        """Logarithms (V,)."""
        return self.counts.log() - math.log(float(self.counts.sum()))

    def log_probability(self, batch: SentenceBatch) -> torch.Tensor:
        """The sum over its words."""
        return (self.probabilities()[batch.tokens] * (batch.tokens > 0)).sum(1)

    def structure(self, batch: SentenceBatch, query: Query) -> Heads:
        """One root, and arcs from it to all others."""
        heads = []
        for row, length in zip(self.counts[batch.tokens].tolist(), batch.lengths.tolist(), strict=True):
            root = max(range(length), key=row.__getitem__)
            heads.append([-1 if i == root else root for i in range(length)])
        return Heads(heads, batch.lengths)
