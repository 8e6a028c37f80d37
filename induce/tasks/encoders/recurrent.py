"""An LSTM and ON-LSTM as encoders of a task's expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from induce.layers.padding import last_real
from induce.models.language.onlstm import OnLstmLayer
from induce.setting import count, limited
from induce.structures import Distances
from induce.tasks.batches import Side
from induce.tasks.encoders.base import Encoder, EncoderConfig


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
