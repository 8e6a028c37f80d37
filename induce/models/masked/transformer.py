"""Transformer: the masked language model that StructFormer and UDGN are compared with, as in their released programs.

It gives no trees. ``docs/reference/models/lstm-and-transformer.md`` says what is taken from where.

Shapes: B sentences, N words, E embedding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from induce.data.batches import MaskedBatch, SentenceBatch
from induce.layers.masked_words import hide_words, masked_word_loss
from induce.layers.padding import real_words
from induce.layers.transformer_layer import RELATIVE_BIASES, EncoderLayer
from induce.models.base import Loss, Model
from induce.models.em.word_probabilities import masked_word_log_probabilities
from induce.setting import count, dropout_rate, setting, weight

POSITIONS = 500  # words with a position of their own; later ones share the last


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """Sizes and rates. The defaults are those of StructFormer's released program, with ``--pos_emb``."""

    embedding_size: int = count(512, "units of a word embedding")
    heads: int = count(8, "attention heads")
    layers: int = count(8, "layers of the network")
    feedforward_size: int = count(2048, "units of the feed-forward layers")
    mask_rate: float = weight(0.3, "share of the words that are masked")
    dropout: float = dropout_rate(0.1, "dropout inside the layers")
    attention_dropout: float = dropout_rate(0.0, "dropout of attention weights")
    positions: bool = setting(True, help="whether a trained embedding of the position is added to that of the word")
    relative_bias: str = setting(
        "none", help="whether and how attention depends on the distance between words (see `EncoderLayer`)"
    )
    affine: bool = setting(True, help="whether layer normalization has gain and bias")

    def check(self) -> None:
        """Raises ValueError where the settings do not fit together."""
        if self.embedding_size % self.heads:
            raise ValueError(f"embedding_size = {self.embedding_size} is not a multiple of heads = {self.heads}")
        if self.relative_bias not in RELATIVE_BIASES:
            raise ValueError(f"relative_bias = {self.relative_bias!r} is not one of {', '.join(RELATIVE_BIASES)}")
        if not 0 < self.mask_rate < 1:
            raise ValueError(f"mask_rate = {self.mask_rate} must lie between 0 and 1")


class Transformer(Model):
    """Transformer masked language model. The number after those of the vocabulary stands for a masked word."""

    Config = TransformerConfig
    reads = (MaskedBatch,)
    rounds = True

    def __init__(self, config: TransformerConfig, vocabulary_size: int) -> None:
        super().__init__()
        config.check()
        self.config, self.mask_symbol = config, vocabulary_size
        symbols = vocabulary_size + 1
        self.embedding = nn.Embedding(symbols, config.embedding_size)
        self.position = nn.Embedding(POSITIONS, config.embedding_size) if config.positions else None
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
        self.norm = nn.LayerNorm(config.embedding_size)
        self.decoder_bias = nn.Parameter(torch.zeros(symbols))
        self.dropout = nn.Dropout(config.dropout)
        for table in (self.embedding, self.position):
            if table is not None:
                nn.init.uniform_(table.weight, -0.1, 0.1)

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Normalized final states (B, N, E) of ``tokens`` (B, N), of which ``lengths`` (B,) are words."""
        real = real_words(tokens, lengths)
        x = self._embedded(tokens)
        for layer in cast("list[EncoderLayer]", list(self.layers)):
            x = layer(x, real)
        return self.norm(x)

    def _embedded(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        if self.position is None:
            return x
        return x + self.position(torch.arange(tokens.shape[1], device=tokens.device).clamp(max=POSITIONS - 1))

    def channels(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Attention weight (B, layers, K, N, N) of head k of a layer from word i to word j, for unmasked words."""
        real, x, weights = real_words(tokens, lengths), self._embedded(tokens), []
        for layer in cast("list[EncoderLayer]", list(self.layers)):
            weights.append(layer.attention(x, real))
            x = layer(x, real)
        return torch.stack(weights, 1)

    def loss(self, batch: MaskedBatch, state: None = None) -> Loss:
        """Mean negative log-likelihood of masked words: those whose random number is less than the mask rate."""
        masked, targets = hide_words(batch, self.config.mask_rate, self.mask_symbol)
        return self.masked_loss(masked, batch.lengths, targets, masked != batch.tokens)

    def masked_loss(self, masked: Tensor, lengths: Tensor, targets: Tensor, where: Tensor) -> Loss:
        """Mean negative log-likelihood of ``targets`` (B, N) ``where`` words are masked."""
        hidden = self.dropout(self(masked, lengths)[where])
        return masked_word_loss(hidden, targets[where], self.embedding.weight, self.decoder_bias)

    def word_vectors(self, batch: SentenceBatch) -> Tensor:
        """The normalized final states (B, N, E)."""
        vectors: Tensor = self(batch.tokens, batch.lengths)
        return vectors

    def word_log_probabilities(self, batch: SentenceBatch) -> Tensor:
        """Log-probability (B, N) of each word when it alone is masked. 0 for unknown words and padding."""
        return masked_word_log_probabilities(batch, self, self.mask_symbol, self.embedding.weight, self.decoder_bias)
