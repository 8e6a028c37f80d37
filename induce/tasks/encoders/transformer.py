"""A Transformer as the encoder of a task's expressions, and a Universal Transformer (Dehghani et al. 2018).

The latter has a fixed number of steps. Halting of single positions is not implemented.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from induce.layers.padding import real_words
from induce.setting import count, limited, setting
from induce.tasks.batches import Side
from induce.tasks.encoders.base import Encoder, EncoderConfig


@dataclass(frozen=True, kw_only=True)
class TransformerEncoderConfig(EncoderConfig):
    """Sizes and rates."""

    depth: int = limited(4, 1, 1000, "layers of the encoder")
    heads: int = count(4, "attention heads")
    joint: bool = setting(False, help="encode both expressions in one sequence (published) or separately")
    universal: bool = setting(False, help="apply one layer depth times, each time with position and step encodings")


class TransformerEncoder(Encoder):
    """A Transformer with sinusoidal positions. The vector is its state at a boundary token before the first token.

    With ``joint`` a pair is one sequence: start token, first expression, separator, second expression, end token.
    The state at the end token is the vector of the pair (thesis, table 5, after Radford et al. 2018).
    """

    Config = TransformerEncoderConfig

    def __init__(self, config: TransformerEncoderConfig, symbols: int) -> None:
        super().__init__()
        size = self.size = config.hidden_size
        if size % (2 * config.heads):
            raise ValueError(f"hidden_size = {size} is not a multiple of twice the {config.heads} heads")
        self.config, self.joins_sides = config, config.joint
        self.embedding = nn.Embedding(symbols, size)
        self.marks = nn.Parameter(torch.randn(3, size)) if config.joint else None  # start, between, end
        self.dropout = nn.Dropout(config.embedding_dropout)
        layer = nn.TransformerEncoderLayer(
            size, config.heads, 4 * size, config.dropout, batch_first=True, norm_first=True, activation="gelu"
        )
        depth = 1 if config.universal else config.depth
        self.layers = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(size)

    def forward(self, tokens: Tensor, lengths: Tensor, trees: Sequence[Side]) -> Tensor:
        """Vectors (R, D) of expressions, or (R / 2, D) of pairs with ``joint``."""
        if self.marks is None:
            marked = nn.functional.pad(tokens, (1, 0))  # index 0 is the boundary token
            return self.run(self.embedding(marked), lengths + 1)[:, 0]
        return self.ends(self.embedding(tokens), lengths, self.marks)

    def ends(self, embedded: Tensor, lengths: Tensor, marks: Tensor) -> Tensor:
        """States at the end tokens of sequences of `sides` expressions. First expressions precede all second ones."""
        start, between, end = marks[:, None]
        count = len(lengths) // self.sides
        rows = []
        for k in range(count):
            parts = [embedded[k + side * count, : lengths[k + side * count]] for side in range(self.sides)]
            inner = [parts[0], *(part for other in parts[1:] for part in (between, other))]
            rows.append(torch.cat([start, *inner, end]))
        sizes = torch.tensor([len(row) for row in rows], device=embedded.device)
        states = self.run(pad_sequence(rows, batch_first=True), sizes)
        return states[torch.arange(count, device=embedded.device), sizes - 1]

    def run(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Normalized final states (R, N, D) of embedded sequences."""
        encodings = positions(x.shape[1], self.size).to(x)
        padding = ~real_words(x[..., 0], lengths)
        if not self.config.universal:
            return cast(Tensor, self.norm(self.layers(self.dropout(x + encodings), src_key_padding_mask=padding)))
        x = self.dropout(x)
        for step in positions(self.config.depth, self.size).to(x):
            x = self.layers(x + encodings + step, src_key_padding_mask=padding)
        return cast(Tensor, self.norm(x))


def positions(count: int, size: int) -> Tensor:
    """Sines and cosines (count, size) of the first ``count`` positions (Vaswani et al. 2017, section 3.5)."""
    rates = torch.exp(torch.arange(0, size, 2) * (-math.log(10_000.0) / size))
    angles = torch.arange(count)[:, None] * rates
    return torch.cat((angles.sin(), angles.cos()), -1)
