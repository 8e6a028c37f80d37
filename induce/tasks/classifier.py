"""Model of a task: an encoder of expressions, and a classifier of one vector or of a pair of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

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
        encoder.set_sides(shape.sides)
        self.whole_batch, size = encoder.whole_batch, encoder.size
        self.dropout = nn.Dropout(shape.dropout)
        self.inner = nn.Linear(4 * size, size) if shape.sides == 2 and not encoder.joins_sides else None
        self.outer = nn.Linear(size, shape.labels)

    @classmethod
    def of_run(cls, config: RunConfig, encoder: Encoder) -> Self:
        """The model of a run on a task of labeled examples."""
        task = find_task(config.task_name)
        shape = ClassifierShape(task.sides, len(task.labels), float(config.model["classifier_dropout"]))
        return cls(encoder, shape)

    def forward(self, tokens: Tensor, lengths: Tensor, trees: Sequence[Side]) -> Tensor:
        """Scores (B, labels) of ``tokens`` (sides * B, N), padded at the end: all first sides, then all second ones."""
        return self.scores(self.encoder(tokens, lengths, trees))

    def scores(self, vectors: Tensor) -> Tensor:
        """Scores (B, labels) of the vectors of the encoder."""
        if self.inner is not None:
            u, v = vectors.chunk(2)
            vectors = functional.elu(self.inner(self.dropout(torch.cat((u, v, u * v, (u - v).abs()), -1))))
        return self.outer(self.dropout(vectors))

    def loss(self, batch: LabelledBatch, state: None = None) -> Loss:
        """Mean negative log-likelihood of the labels, and the number of correct predictions."""
        encoding = self.encoder.encode(batch.tokens, batch.lengths, batch.trees)
        scores = self.scores(encoding.vectors)
        nll = functional.cross_entropy(scores, batch.targets)
        correct = scores.argmax(-1) == batch.targets
        added = self.encoder.added_loss(encoding, correct.to(scores))
        return Loss(nll if added is None else nll + added, nll, len(batch.targets), correct=int(correct.sum()))

    def structure(self, batch: SentenceBatch, query: Query) -> Structure:
        """The structure that the encoder predicts."""
        return self.encoder.structure(batch.tokens, batch.lengths)
