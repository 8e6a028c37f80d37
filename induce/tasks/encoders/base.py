"""The contract of encoders of the expressions of a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from torch import Tensor, nn

from induce.data.batches import Batch
from induce.setting import count, dropout_rate
from induce.structures import Structure
from induce.tasks.batches import Side


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
