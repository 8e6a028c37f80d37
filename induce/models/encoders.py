"""What makes one vector of an expression from its tokens alone: Ordered Memory, and the baselines without a tree.

An encoder has ``size``, the length of its vector, ``gives`` as every model, and is called with tokens (R, N) padded at
the end, their lengths (R,) and the gold trees, which only those of `induce.models.tree_encoders` look at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from induce.data.batching import Side
from induce.models.onlstm import OnLstmLayer
from induce.models.ordered_memory import ATTENTIONS, OrderedMemoryLayer
from induce.structures import Distances, StackDecisions


def last_real(output: Tensor, lengths: Tensor) -> Tensor:
    """The outputs (R, D) of ``output`` (T, R, D) at the last of ``lengths`` (R,) steps."""
    rows = torch.arange(len(lengths), device=output.device)
    return output[lengths.to(output.device) - 1, rows]


def real_tokens(tokens: Tensor, lengths: Tensor) -> Tensor:
    """Boolean (R, N), false at padding."""
    return torch.arange(tokens.shape[1], device=tokens.device) < lengths.to(tokens.device)[:, None]


@dataclass(frozen=True, kw_only=True)
class MemoryEncoderConfig:
    """Sizes and rates; the defaults are those of the published ListOps run."""

    slot_size: int = 128
    slots: int = 21
    test_slots: int = 21  # no weight depends on the number of slots
    attention: str = "released"
    padding: str = "exact"  # or "released": in front, where it changes the numbers (see OrderedMemoryLayer)
    embedding_dropout: float = 0.1
    dropout: float = 0.1
    attention_dropout: float = 0.3
    classifier_dropout: float = 0.2

    def check(self) -> None:
        """Raises ValueError for an attention or a padding that there is not, and for fewer than two slots."""
        for name, known in (("attention", tuple(ATTENTIONS)), ("padding", ("exact", "released"))):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} = {getattr(self, name)!r} is none of {', '.join(known)}")
        if min(self.slots, self.test_slots) < 2:
            raise ValueError(f"slots = {min(self.slots, self.test_slots)} must be at least 2")


class MemoryEncoder(nn.Module):
    """Ordered Memory: the top slot behind the last token."""

    Config = MemoryEncoderConfig
    reads = ("expressions",)
    gives = ("stack",)

    def __init__(self, config: MemoryEncoderConfig, symbols: int) -> None:
        super().__init__()
        config.check()
        self.config, self.size = config, config.slot_size
        self.embedding = nn.Embedding(symbols, config.slot_size)
        self.dropout = nn.Dropout(config.embedding_dropout)
        self.layer = OrderedMemoryLayer(
            config.slot_size,
            config.slot_size,
            config.slots,
            dropout=config.dropout,
            attention_dropout=config.attention_dropout,
            attention=config.attention,
            exact=config.padding == "exact",
        )

    def run(self, tokens: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors (R, D) and the positions of the stack's head (T, R, slots), in the order of the tokens."""
        slots = self.config.slots if self.training else self.config.test_slots
        real = real_tokens(tokens, lengths)
        if self.config.padding == "exact":
            output, positions, _ = self.layer(self.dropout(self.embedding(tokens.t())), real.t(), slots=slots)
            return last_real(output, lengths), positions
        count = tokens.shape[1]  # each row moves to the right
        places = torch.arange(count, device=tokens.device) + lengths.to(tokens.device)[:, None] - count
        moved, present = tokens.gather(1, places % count), places >= 0
        output, positions, _ = self.layer(self.dropout(self.embedding(moved.t())), present.t(), slots=slots)
        back = torch.arange(count, device=tokens.device) - lengths.to(tokens.device)[:, None]
        index = (back % count).t()[..., None].expand_as(positions)
        return output[-1], positions.gather(0, index)

    def forward(self, tokens: Tensor, lengths: Tensor, trees: Sequence[Side]) -> Tensor:
        """Vectors (R, D)."""
        return self.run(tokens, lengths)[0]

    def structure(self, tokens: Tensor, lengths: Tensor) -> StackDecisions:
        """Slots for ``tokens`` (R, N); that of a first one is the number of slots, as in the released program."""
        slots = self.run(tokens, lengths)[1].argmax(-1).t().contiguous()
        slots[:, 0] = self.config.test_slots
        return StackDecisions(slots, lengths)


@dataclass(frozen=True, kw_only=True)
class LstmEncoderConfig:
    """Sizes and rates."""

    hidden_size: int = 128
    depth: int = 1
    embedding_dropout: float = 0.1
    dropout: float = 0.1  # between layers
    classifier_dropout: float = 0.2


class LstmEncoder(nn.Module):
    """An LSTM: its state behind the last token."""

    Config = LstmEncoderConfig
    reads = ("expressions",)
    gives: tuple[str, ...] = ()

    def __init__(self, config: LstmEncoderConfig, symbols: int) -> None:
        super().__init__()
        size = self.size = config.hidden_size
        between = config.dropout if config.depth > 1 else 0.0
        self.embedding = nn.Embedding(symbols, size)
        self.dropout = nn.Dropout(config.embedding_dropout)
        self.lstm = nn.LSTM(size, size, config.depth, batch_first=True, dropout=between)

    def forward(self, tokens: Tensor, lengths: Tensor, trees: Sequence[Side]) -> Tensor:
        """Vectors (R, D)."""
        x = self.dropout(self.embedding(tokens))
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        return cast(Tensor, self.lstm(packed)[1][0][-1])


@dataclass(frozen=True, kw_only=True)
class OnLstmEncoderConfig:
    """Sizes and rates."""

    hidden_size: int = 128
    chunk_size: int = 8
    depth: int = 1
    embedding_dropout: float = 0.1
    dropout: float = 0.1  # between layers
    classifier_dropout: float = 0.2


class OnLstmEncoder(nn.Module):
    """An ON-LSTM: its state behind the last token."""

    Config = OnLstmEncoderConfig
    reads = ("expressions",)
    gives = ("distances",)

    def __init__(self, config: OnLstmEncoderConfig, symbols: int) -> None:
        super().__init__()
        size = self.size = config.hidden_size
        if size % config.chunk_size:
            raise ValueError(f"hidden_size = {size} is not a multiple of chunk_size = {config.chunk_size}")
        self.embedding = nn.Embedding(symbols, size)
        self.embedding_dropout = nn.Dropout(config.embedding_dropout)
        self.dropout = nn.Dropout(config.dropout)
        layers = (OnLstmLayer(size, size, config.chunk_size) for _ in range(config.depth))
        self.layers = nn.ModuleList(layers)

    def run(self, tokens: Tensor) -> Any:
        """What the last layer computes."""
        x = self.embedding_dropout(self.embedding(tokens.t()))
        for k, layer in enumerate(cast("list[OnLstmLayer]", list(self.layers))):
            output = layer(self.dropout(x) if k else x, layer.initial_state(len(tokens)))
            x = output.hidden
        return output

    def forward(self, tokens: Tensor, lengths: Tensor, trees: Sequence[Side]) -> Tensor:
        """Vectors (R, D)."""
        return last_real(self.run(tokens).hidden, lengths)

    def structure(self, tokens: Tensor, lengths: Tensor) -> Distances:
        """Forget distances of the last layer for ``tokens`` (R, N)."""
        return Distances(self.run(tokens).distance_forget.t(), lengths)


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
    reads = ("expressions",)
    gives: tuple[str, ...] = ()

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
        padding = ~real_tokens(marked, lengths + 1)
        states = self.layers(self.dropout(x), src_key_padding_mask=padding)
        vectors: Tensor = self.norm(states[:, 0])
        return vectors


def positions(count: int, size: int) -> Tensor:
    """Sines and cosines (count, size) of the first ``count`` places (Vaswani et al. 2017, section 3.5)."""
    rates = torch.exp(torch.arange(0, size, 2) * (-math.log(10_000.0) / size))
    angles = torch.arange(count)[:, None] * rates
    return torch.cat((angles.sin(), angles.cos()), -1)
