"""Encoders that read an expression from left to right: LSTM, ON-LSTM, Ordered Memory and two Transformers.

The Universal Transformer (Dehghani et al. 2018) has a fixed number of steps. Halting of single positions is not
implemented.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

from induce.data.batches import SentenceBatch
from induce.layers.masks import last_real, real_words
from induce.models.capabilities import GateReading
from induce.models.language.onlstm import OnLstmLayer
from induce.models.language.ordered_memory import ATTENTIONS, MemoryState, OrderedMemoryLayer, values_of
from induce.setting import choice, count, dropout_rate, limited, setting
from induce.structures import Distances, StackDecisions
from induce.tasks.encoders.base import Encoder, EncoderConfig
from induce.tasks.examples import Side


@dataclass(frozen=True, kw_only=True)
class LstmEncoderConfig(EncoderConfig):
    """Sizes and rates."""

    depth: int = count(1, "layers of the encoder")
    embedding_size: int = limited(0, 0, 1e9, "units of the embedded tokens; 0: hidden_size")


class LstmEncoder(Encoder):
    """An LSTM. The vector is its state after the last token."""

    Config = LstmEncoderConfig

    def __init__(self, config: LstmEncoderConfig, symbols: int) -> None:
        super().__init__()
        size = self.size = config.hidden_size
        between = config.dropout if config.depth > 1 else 0.0
        self.embedding = nn.Embedding(symbols, config.embedding_size or size)
        self.dropout = nn.Dropout(config.embedding_dropout)
        self.lstm = nn.LSTM(config.embedding_size or size, size, config.depth, batch_first=True, dropout=between)

    def forward(self, tokens: Tensor, lengths: Tensor, trees: Sequence[Side]) -> Tensor:
        """Vectors (R, D) of R expressions ``tokens`` (R, N)."""
        x = self.dropout(self.embedding(tokens))
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        return cast(Tensor, self.lstm(packed)[1][0][-1])


@dataclass(frozen=True, kw_only=True)
class OnLstmEncoderConfig(LstmEncoderConfig):
    """Sizes and rates."""

    chunk_size: int = count(8, "units that share one master gate; divides hidden_size")


class OnLstmEncoder(Encoder):
    """An ON-LSTM. The vector is its state after the last token."""

    Config = OnLstmEncoderConfig
    gives = (Distances,)

    def __init__(self, config: OnLstmEncoderConfig, symbols: int) -> None:
        super().__init__()
        size = self.size = config.hidden_size
        if size % config.chunk_size:
            raise ValueError(f"hidden_size = {size} is not a multiple of chunk_size = {config.chunk_size}")
        below = [config.embedding_size or size] + [size] * (config.depth - 1)
        self.embedding = nn.Embedding(symbols, below[0])
        self.embedding_dropout = nn.Dropout(config.embedding_dropout)
        self.dropout = nn.Dropout(config.dropout)
        layers = (OnLstmLayer(units, size, config.chunk_size) for units in below)
        self.layers = nn.ModuleList(layers)

    def run(self, tokens: Tensor) -> Any:
        """Output of the last layer for ``tokens`` (R, N)."""
        x = self.embedding_dropout(self.embedding(tokens.t()))
        for k, layer in enumerate(cast("list[OnLstmLayer]", list(self.layers))):
            output = layer(self.dropout(x) if k else x, layer.initial_state(len(tokens)))
            x = output.hidden
        return output

    def forward(self, tokens: Tensor, lengths: Tensor, trees: Sequence[Side]) -> Tensor:
        """Vectors (R, D) of R expressions ``tokens`` (R, N)."""
        return last_real(self.run(tokens).hidden, lengths)

    def structure(self, tokens: Tensor, lengths: Tensor) -> Distances:
        """Forget distances of the last layer for ``tokens`` (R, N)."""
        return Distances(self.run(tokens).distance_forget.t(), lengths)


@dataclass(frozen=True, kw_only=True)
class MemoryEncoderConfig:
    """Sizes and rates. The defaults are those of the published ListOps run."""

    slot_size: int = count(128, "units of a memory slot and of a word embedding")
    slots: int = limited(21, 2, 1000, "memory slots")
    test_slots: int = limited(21, 2, 1000, "memory slots in testing")
    attention: str = choice("released", ATTENTIONS, "attention over slots: released or paper")
    padding: str = choice(
        "exact", ("exact", "released"), "exact, or released: padding in front, which changes the result"
    )
    embedding_dropout: float = dropout_rate(0.1, "dropout of the embedded words")
    dropout: float = dropout_rate(0.1, "dropout inside the layers")
    attention_dropout: float = dropout_rate(0.3, "dropout of attention weights")
    classifier_dropout: float = dropout_rate(0.2, "dropout before the classifier")


class MemoryEncoder(GateReading, Encoder):
    """Ordered Memory. The vector is the top slot after the last token."""

    Config = MemoryEncoderConfig
    gives = (StackDecisions,)

    def __init__(self, config: MemoryEncoderConfig, symbols: int) -> None:
        super().__init__()
        self.config, self.size = config, config.slot_size
        # with released padding, the result depends on the longest expression of the whole batch
        self.length_groups = 2 if config.padding == "exact" else 1
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
        real = real_words(tokens, lengths)
        if self.config.padding == "exact":
            output, positions, _ = self.layer(self.dropout(self.embedding(tokens.t())), real.t(), slots=slots)
            return last_real(output, lengths), positions
        count = tokens.shape[1]  # padding moves to the front of each row
        sources = torch.arange(count, device=tokens.device) + lengths.to(tokens.device)[:, None] - count
        moved, present = tokens.gather(1, sources % count), sources >= 0
        output, positions, _ = self.layer(self.dropout(self.embedding(moved.t())), present.t(), slots=slots)
        back = torch.arange(count, device=tokens.device) - lengths.to(tokens.device)[:, None]
        index = (back % count).t()[..., None].expand_as(positions)
        return output[-1], positions.gather(0, index)

    def gates(self, batch: SentenceBatch) -> dict[str, Tensor]:
        """Values of `values_of` at each token."""
        trace: list[MemoryState] = []
        real = real_words(batch.tokens, batch.lengths).t()
        self.layer(self.embedding(batch.tokens.t()), real, slots=self.config.test_slots, trace=trace)
        return values_of(trace)

    def forward(self, tokens: Tensor, lengths: Tensor, trees: Sequence[Side]) -> Tensor:
        """Vectors (R, D) of R expressions ``tokens`` (R, N)."""
        return self.run(tokens, lengths)[0]

    def structure(self, tokens: Tensor, lengths: Tensor) -> StackDecisions:
        """Slots for ``tokens`` (R, N). That of the first token is the number of slots, as in the released program."""
        slots = self.run(tokens, lengths)[1].argmax(-1).t().contiguous()
        slots[:, 0] = self.config.test_slots
        return StackDecisions(slots, lengths)


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
    length_groups = 8

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
