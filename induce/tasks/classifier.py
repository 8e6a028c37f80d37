"""Model of a task: an encoder of expressions, and a classifier of one vector or of a pair of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import SentenceBatch
from induce.models.base import Loss, Model, Query
from induce.registry import find_task
from induce.settings.run import RunConfig
from induce.structures import Structure
from induce.tasks.batches import LabelledBatch, Side
from induce.tasks.encoders.base import Encoder


class ClassifierShape(NamedTuple):
    """Numbers of sides and labels of a task, and the dropout of its classifier."""

    sides: int  # expressions of an example, 1 or 2
    labels: int
    dropout: float


class Classifier(Model):
    """An encoder with the classifier of the released program: one linear map, or two with an ELU for pairs."""

    reads = (LabelledBatch,)

    def __init__(self, encoder: Encoder, shape: ClassifierShape) -> None:
        super().__init__()
        self.encoder, self.shape = encoder, shape
        size = encoder.size
        self.dropout = nn.Dropout(shape.dropout)
        encoder.sides = shape.sides
        self.inner = nn.Linear(4 * size, size) if shape.sides == 2 and not encoder.joins_sides else None
        self.outer = nn.Linear(size, shape.labels)

    def forward(self, tokens: Tensor, lengths: Tensor, trees: Sequence[Side]) -> Tensor:
        """Scores (B, labels) of ``tokens`` (sides * B, N), padded at the end: all first sides, then all second ones."""
        vectors = self.encoder(tokens, lengths, trees)
        if self.inner is not None:
            u, v = vectors.chunk(2)
            vectors = functional.elu(self.inner(self.dropout(torch.cat((u, v, u * v, (u - v).abs()), -1))))
        scores: Tensor = self.outer(self.dropout(vectors))
        return scores

    def loss(self, batch: LabelledBatch, state: None = None) -> Loss:
        """Mean negative log-likelihood of the labels, and the number of correct predictions."""
        scores = self(batch.tokens, batch.lengths, batch.trees)
        nll = functional.cross_entropy(scores, batch.labels)
        return Loss(nll, nll, len(batch.labels), correct=int((scores.argmax(-1) == batch.labels).sum()))

    def structure(self, batch: SentenceBatch, query: Query) -> Structure:
        """The structure that the encoder predicts."""
        structure: Structure = self.encoder.structure(batch.tokens, batch.lengths)
        return structure


def make_classifier(config: RunConfig, encoder: Encoder) -> Classifier:
    """The model of a run on a task of labeled examples."""
    task = find_task(config.task_name)
    shape = ClassifierShape(task.sides, len(task.labels), float(config.model["classifier_dropout"]))
    return Classifier(encoder, shape)
