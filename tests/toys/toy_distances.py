"""Distances from the rarity of words, and a bigram prediction of the next word."""

from __future__ import annotations

from induce.data.batches import SentenceBatch, StreamBatch
from induce.models.base import Query
from induce.structures import Distances
from tests.toys.bigram import Bigram

PRESET = """
source = "a toy"
model = {name = "toy_distances", size = 8}
data.minimum_count = 1
train.epochs = 1
loader.batch_size = 4
"""


class Toy(Bigram):
    """A bigram model of word vectors whose output biases are the distances."""

    reads = (StreamBatch, SentenceBatch)
    gives = (Distances,)

    def structure(self, batch: SentenceBatch, query: Query) -> Distances:
        """The bias of a word against it."""
        return Distances(-self.output.bias.detach()[batch.tokens], batch.lengths)
