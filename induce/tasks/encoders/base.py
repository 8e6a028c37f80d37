"""The contract of encoders of the expressions of a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from induce.setting import count, dropout_rate
from induce.structures import Structure
from induce.tasks.batches import LabelledBatch, Side


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """Sizes and rates of all encoders."""

    hidden_size: int = count(128, "units of a hidden layer")
    embedding_dropout: float = dropout_rate(0.1, "dropout of the embedded words")
    dropout: float = dropout_rate(0.1, "dropout inside or between the layers")
    classifier_dropout: float = dropout_rate(0.2, "dropout before the classifier")


class Encoder(nn.Module):
    """A module that computes one vector of ``size`` units for each expression.

    A subclass has a dataclass of settings, ``Config``, and is constructed from these and the number of symbols. If
    ``joins_sides`` is true, it computes one vector for each example of ``sides`` expressions instead.
    """

    Config: ClassVar[type]
    reads = (LabelledBatch,)
    gives: ClassVar[tuple[type[Structure], ...]] = ()
    size: int
    joins_sides: bool = False
    sides: int = 1

    def forward(self, tokens: Tensor, lengths: Tensor, trees: Sequence[Side]) -> Tensor:
        """Vectors (R, D) of ``tokens`` (R, N), padded after their ``lengths`` (R,), with gold ``trees``."""
        raise NotImplementedError

    def structure(self, tokens: Tensor, lengths: Tensor) -> Structure:
        """The structure of ``tokens`` (R, N), for an encoder that predicts one."""
        raise TypeError(f"{type(self).__name__} predicts no structure")
