"""Span scores: a span is as good as its first and last word like each other."""

from __future__ import annotations

from torch.nn import functional

from induce.data.batches import SentenceBatch
from induce.models.base import Query
from induce.structures import SpanScores
from tests.toys.bigram import Bigram

PRESET = """
source = "a toy"
model = {name = "toy_spans", size = 8}
data.minimum_count = 1
train.epochs = 1
loader = {name = "sentences", batch_size = 8}
"""


class Toy(Bigram):
    """A bigram model of word vectors for sentences of at least two words."""

    gives = (SpanScores,)
    shortest = 2
    bibtex = "@misc{toys,\n  title = {Toys},\n}\n"

    def structure(self, batch: SentenceBatch, query: Query) -> SpanScores:
        """The product of the vectors of a span's first and last word."""
        vectors = self.embedding(batch.tokens)
        return SpanScores(functional.pad(vectors @ vectors.mT, (1, 0)), batch.lengths)

    def parsing_cost(self, length: int) -> float:
        """Cubic, as a chart is."""
        return length**3 / 100
