"""A Transformer as the encoder of a task's expressions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from induce.data.batches import LabelledBatch, Side
from induce.models.padding import real_words
from induce.structures import Structure


@dataclass(frozen=True, kw_only=True)
class TransformerEncoderConfig:
    """Sizes and rates."""

    hidden_size: int = 128
    depth: int = 4
    heads: int = 4
    embedding_dropout: float = 0.1
    dropout: float = 0.1
    classifier_dropout: float = 0.2


class TransformerEncoder(nn.Module):
    """A Transformer with sinusoidal positions: its state at a mark before the first token."""

    Config = TransformerEncoderConfig
    reads = (LabelledBatch,)
    gives: tuple[type[Structure], ...] = ()

    def __init__(self, config: TransformerEncoderConfig, symbols: int) -> None:
        super().__init__()
        size = self.size = config.hidden_size
        if size % (2 * config.heads):
            raise ValueError(f"hidden_size = {size} is not a multiple of twice the {config.heads} heads")
        self.embedding = nn.Embedding(symbols, size)
        self.dropout = nn.Dropout(config.embedding_dropout)
        layer = nn.TransformerEncoderLayer(
            size, config.heads, 4 * size, config.dropout, batch_first=True, norm_first=True, activation="gelu"
        )
        self.layers = nn.TransformerEncoder(layer, config.depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(size)

    def forward(self, tokens: Tensor, lengths: Tensor, trees: Sequence[Side]) -> Tensor:
        """Vectors (R, D)."""
        marked = nn.functional.pad(tokens, (1, 0))  # number 0 is the boundary mark
        x = self.embedding(marked) + positions(marked.shape[1], self.size).to(self.embedding.weight)
        padding = ~real_words(marked, lengths + 1)
        states = self.layers(self.dropout(x), src_key_padding_mask=padding)
        vectors: Tensor = self.norm(states[:, 0])
        return vectors


def positions(count: int, size: int) -> Tensor:
    """Sines and cosines (count, size) of the first ``count`` places (Vaswani et al. 2017, section 3.5)."""
    rates = torch.exp(torch.arange(0, size, 2) * (-math.log(10_000.0) / size))
    angles = torch.arange(count)[:, None] * rates
    return torch.cat((angles.sin(), angles.cos()), -1)
