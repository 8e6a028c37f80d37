"""The contract of encoders, which compute one vector for each expression, and the classifier of these vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import Batch, SentenceBatch
from induce.models.base import Loss, Model, Query
from induce.models.capabilities import GateReading
from induce.registry import find_purpose
from induce.setting import count, dropout_rate
from induce.settings.run import RunConfig
from induce.structures import Structure
from induce.tasks.examples import LabelledBatch, Side

MIN_GROUP_ROWS = 32  # expressions of a group of similar length


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """Sizes and rates of all encoders."""

    hidden_size: int = count(128, "units of a hidden layer")
    embedding_dropout: float = dropout_rate(0.1, "dropout of the embedded words")
    dropout: float = dropout_rate(0.1, "dropout inside or between the layers")
    classifier_dropout: float = dropout_rate(0.2, "dropout before the classifier")


class Decisions(NamedTuple):
    """Sampled parsing decisions of R expressions, for training by reinforcement learning."""

    log_probability: Tensor  # (R,): sum over the decisions of each expression
    number: Tensor  # (R,): number of decisions
    expected_reward: Tensor | None = None  # (R,): prediction of a value network


class Encoding(NamedTuple):
    """Vectors (R, D) of expressions, with the terms that their computation adds to a loss."""

    vectors: Tensor
    penalty: Tensor | None = None  # (R,): added to the loss
    decisions: Decisions | None = None


class Encoder(nn.Module):
    """A module that computes one vector of ``size`` units for each expression.

    A subclass has a dataclass of settings, ``Config``, and is constructed from these and the number of symbols. It
    defines ``forward``, or ``encode`` if it adds terms to the loss. If ``joins_sides`` is true, it computes one vector
    for each example of ``sides`` expressions instead.
    """

    Config: ClassVar[type]
    gives: ClassVar[tuple[type[Structure], ...]] = ()
    # as in `induce.models.base.Model`
    max_length: ClassVar[int | None] = None
    whole_batch: tuple[type[Batch], ...] = ()
    estimates_root: ClassVar[bool] = False
    rounds: ClassVar[bool] = False
    #: maximum number of groups of similar length into which the expressions of a batch are divided
    length_groups: int = 1
    size: int
    joins_sides: bool = False
    sides: int = 1

    def set_sides(self, sides: int) -> None:
        """Set the number of expressions of an example. It is called once, before weights are loaded."""
        self.sides = sides

    def forward(self, tokens: Tensor, lengths: Tensor, trees: Sequence[Side]) -> Tensor:
        """Vectors (R, D) of ``tokens`` (R, N), padded after their ``lengths`` (R,), with gold ``trees``."""
        return self.encode(tokens, lengths, trees).vectors

    def encode(self, tokens: Tensor, lengths: Tensor, trees: Sequence[Side]) -> Encoding:
        """The vectors, with the terms that they add to the loss: none by default."""
        return Encoding(self(tokens, lengths, trees))

    def added_loss(self, encoding: Encoding, rewards: Tensor) -> Tensor | None:
        """Scalar that is added to the loss of a batch, or None: by default the mean penalty.

        ``rewards`` (B,) say how well each example was answered: at most 1, and 1 for a correct label.
        """
        return None if encoding.penalty is None else encoding.penalty.mean()

    def structure(self, tokens: Tensor, lengths: Tensor) -> Structure:
        """The structure of ``tokens`` (R, N), for an encoder that predicts one."""
        raise TypeError(f"{type(self).__name__} predicts no structure")


def encode_by_length(encoder: Encoder, tokens: Tensor, lengths: Tensor, trees: Sequence[Side]) -> Encoding:
    """``encoder.encode``, group by group, each group as long as its longest expression.

    The two sides of a pair differ in length, so that half of a batch of pairs is padding. Groups of few rows would cost
    more calls than they save.
    """
    count = 1 if encoder.joins_sides else min(encoder.length_groups, len(lengths) // MIN_GROUP_ROWS)
    if count < 2:
        return encoder.encode(tokens, lengths, trees)
    order = lengths.argsort(stable=True)
    parts = []
    for rows in order.tensor_split(count):
        group = tokens[rows.to(tokens.device), : int(lengths[rows].max())]
        parts.append(encoder.encode(group, lengths[rows], [trees[row] for row in rows.tolist()]))
    back = order.argsort().to(tokens.device)
    penalties = [part.penalty for part in parts if part.penalty is not None]
    vectors = torch.cat([part.vectors for part in parts])[back]
    return Encoding(vectors, torch.cat(penalties)[back] if penalties else None)


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
        task = find_purpose(config.purpose_name)
        shape = ClassifierShape(task.sides, len(task.labels), float(config.model["classifier_dropout"]))
        return cls(encoder, shape)

    def forward(self, tokens: Tensor, lengths: Tensor, trees: Sequence[Side]) -> Tensor:
        """Scores (B, labels) of ``tokens`` (sides * B, N), padded at the end: all first sides, then all second ones."""
        return self.scores(encode_by_length(self.encoder, tokens, lengths, trees).vectors)

    def scores(self, vectors: Tensor) -> Tensor:
        """Scores (B, labels) of the vectors of the encoder."""
        if self.inner is not None:
            u, v = vectors.chunk(2)
            vectors = functional.elu(self.inner(self.dropout(torch.cat((u, v, u * v, (u - v).abs()), -1))))
        return self.outer(self.dropout(vectors))

    def loss(self, batch: LabelledBatch, state: None = None) -> Loss:
        """Mean negative log-likelihood of the labels, and the number of correct predictions."""
        encoding = encode_by_length(self.encoder, batch.tokens, batch.lengths, batch.trees)
        scores = self.scores(encoding.vectors)
        nll = functional.cross_entropy(scores, batch.targets)
        correct = scores.argmax(-1) == batch.targets
        added = self.encoder.added_loss(encoding, correct.to(scores))
        return Loss(nll if added is None else nll + added, nll, len(batch.targets), correct=int(correct.sum()))

    def gates(self, batch: SentenceBatch) -> dict[str, Tensor]:
        """The gates of an encoder with `GateReading`."""
        return cast(GateReading, self.encoder).gates(batch)

    def structure(self, batch: SentenceBatch, query: Query) -> Structure:
        """The structure that the encoder predicts."""
        return self.encoder.structure(batch.tokens, batch.lengths)
