"""Transformer: the masked language model that StructFormer and UDGN are compared with, as in their released programs.

It predicts no trees. ``docs/reference/models/lstm-and-transformer.md`` lists the sources of its parts.

Shapes: B sentences, N words, E embedding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from induce.layers.padding import real_words
from induce.layers.transformer_layer import RELATIVE_BIASES, EncoderLayer
from induce.models.masked.masked_model import MaskedConfig, MaskedLanguageModel
from induce.setting import count, dropout_rate, setting


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(MaskedConfig):
    """Sizes and rates. The defaults are those of StructFormer's released program, with ``--pos_emb``."""

    heads: int = count(8, "attention heads")
    layers: int = count(8, "layers of the network")
    feedforward_size: int = count(2048, "units of the feed-forward layers")
    dropout: float = dropout_rate(0.1, "dropout inside the layers")
    attention_dropout: float = dropout_rate(0.0, "dropout of attention weights")
    positions: bool = setting(True, help="whether a trained embedding of the position is added to that of the word")
    relative_bias: str = setting(
        "none",
        choices=RELATIVE_BIASES,
        help="whether and how attention depends on the distance between words (see `EncoderLayer`)",
    )
    affine: bool = setting(True, help="whether layer normalization has gain and bias")

    @property
    def has_positions(self) -> bool:
        """Whether positions have embeddings."""
        return self.positions

    def check(self) -> None:
        """Raises ValueError if the settings do not fit together."""
        super().check()
        if self.embedding_size % self.heads:
            raise ValueError(f"embedding_size = {self.embedding_size} is not a multiple of heads = {self.heads}")


class Transformer(MaskedLanguageModel):
    """Transformer masked language model, without a parser."""

    Config = TransformerConfig

    def build(self, symbols: int) -> None:
        """Create the layers."""
        config = self.config
        self.layers = nn.ModuleList(
            EncoderLayer(
                config.embedding_size,
                config.heads,
                config.feedforward_size,
                dropout=config.dropout,
                attention_dropout=config.attention_dropout,
                affine=config.affine,
                relative_bias=config.relative_bias,
            )
            for _ in range(config.layers)
        )

    def attention_masks(self, tokens: Tensor, lengths: Tensor, *, alone: bool = False) -> Sequence[Tensor | None]:
        """Attention mask (B, K, N, N) of each layer, here none."""
        return [None] * len(self.layers)

    def final_states(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Normalized final states (B, N, E) of ``tokens`` (B, N), of which ``lengths`` (B,) are words."""
        masks = self.attention_masks(tokens, lengths)
        x, real = self.embedded(tokens), real_words(tokens, lengths)
        for layer, mask in zip(self.layers, masks, strict=True):
            x = layer(x, real, mask)
        states: Tensor = self.norm(x)
        return states

    def channels(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Attention weight (B, layers, K, N, N) of head k of a layer from word i to word j, for unmasked words.

        The mask is included. The weights of a sentence do not depend on the others of the batch.
        """
        masks = self.attention_masks(tokens, lengths, alone=True)
        x, real, weights = self.embedded(tokens), real_words(tokens, lengths), []
        for layer, mask in zip(cast("list[EncoderLayer]", list(self.layers)), masks, strict=True):
            weights.append(layer.attention(x, real, mask))
            x = layer(x, real, mask)
        return torch.stack(weights, 1)
