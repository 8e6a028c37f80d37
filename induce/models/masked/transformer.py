"""Transformer encoder trained as a masked language model, the baseline of StructFormer and UDGN.

It follows their released programs. It predicts no trees, but distances can be read from its states and attention.
``docs/reference/models/lstm-and-transformer.md`` lists the sources of its parts.

Shapes: B sentences, N words, E embedding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import SentenceBatch
from induce.layers.masks import real_words
from induce.models.capabilities import ChannelWeights, LayeredStates, LayerStates
from induce.models.masked.masked_model import MaskedConfig, MaskedLanguageModel, distributions
from induce.setting import choice, count, dropout_rate, limited, setting

RELATIVE_BIASES = ("none", "distance", "scrambled")
MAX_DISTANCE = 256  # words; pairs that are farther apart share one relative bias


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(MaskedConfig):
    """Sizes and rates. The defaults are those of StructFormer's released program, with ``--pos_emb``."""

    heads: int = count(8, "attention heads")
    layers: int = limited(8, 1, 1000, "layers of the network")
    feedforward_size: int = count(2048, "units of the feed-forward layers")
    dropout: float = dropout_rate(0.1, "dropout inside the layers")
    attention_dropout: float = dropout_rate(0.0, "dropout of attention weights")
    positions: bool = setting(True, help="whether a trained embedding of the position is added to that of the word")
    relative_bias: str = choice(
        "none", RELATIVE_BIASES, "whether and how attention depends on the distance between words (see `EncoderLayer`)"
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


class EncoderLayer(nn.Module):
    """One Transformer layer of the released programs of StructFormer and UDGN, with layer normalization in front.

    Attention is a softmax over the words or, where a mask says how strongly two words are related, the mask times a
    sigmoid, not normalized. ``relative_bias`` adds a weight for each head and number of words between two:
    "distance"; or, as in the released program, "scrambled": sentences in a batch get the biases of other heads.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        size, affine = config.embedding_size, config.affine
        self.heads, self.scrambled = config.heads, config.relative_bias == "scrambled"
        self.norm = nn.LayerNorm(size, elementwise_affine=affine)
        self.project = nn.Linear(size, 3 * size)  # queries, keys, values
        self.output = nn.Linear(size, size)
        self.feedforward_norm = nn.LayerNorm(size, elementwise_affine=affine)
        self.widen = nn.Linear(size, config.feedforward_size)
        self.narrow = nn.Linear(config.feedforward_size, size)
        self.relative = nn.Parameter(torch.zeros(self.heads, MAX_DISTANCE)) if config.relative_bias != "none" else None
        self.dropout, self.attention_dropout = nn.Dropout(config.dropout), nn.Dropout(config.attention_dropout)
        for weight in (*self.project.weight.chunk(3), self.output.weight):
            nn.init.xavier_uniform_(weight.detach())
        for linear in (self.project, self.output):
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor, real: Tensor, mask: Tensor | None = None) -> Tensor:
        """New states (B, N, E). ``real`` (B, N) is false at padding, ``mask`` is (B, K, N, N)."""
        weights, value = self._attention(self.norm(x), real, mask)
        gathered = self.attention_dropout(weights) @ value
        x = x + self.dropout(self.output(gathered.transpose(1, 2).flatten(2)))
        hidden = self.dropout(functional.leaky_relu(self.widen(self.feedforward_norm(x))))
        return x + self.dropout(self.narrow(hidden))

    def attention(self, x: Tensor, real: Tensor, mask: Tensor | None = None) -> Tensor:
        """Attention weights (B, K, N, N) of word i on word j in each head, for input states (B, N, E)."""
        return self._attention(self.norm(x), real, mask)[0]

    def _attention(self, x: Tensor, real: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Weights (B, K, N, N) and values (B, K, N, D) of normalized states."""
        batch, count, _ = x.shape
        query, key, value = self.project(x).view(batch, count, 3, self.heads, -1).permute(2, 0, 3, 1, 4)  # (B, K, N, D)
        scores = query @ key.transpose(2, 3) / math.sqrt(query.shape[-1])
        if self.relative is not None:
            scores = scores + self.bias_of_pairs(self.relative, batch, count)
        real = real[:, None, None]
        if mask is None:
            return scores.masked_fill(~real, -math.inf).softmax(-1), value
        return scores.sigmoid() * mask * real, value

    def bias_of_pairs(self, relative: Tensor, batch: int, count: int) -> Tensor:
        """Bias of every pair of words (B or 1, K, N, N), from the weights ``relative`` of heads and distances."""
        index = torch.arange(count, device=relative.device)
        bias = relative[:, (index[:, None] - index).abs().clamp(max=MAX_DISTANCE - 1)]  # (K, N, N)
        if self.scrambled:  # repeated head by head, while the scores lie sentence by sentence
            return bias.repeat_interleave(batch, 0).view(batch, self.heads, count, count)
        return bias


class Transformer(ChannelWeights, LayeredStates, MaskedLanguageModel):
    """Transformer masked language model, without a parser."""

    Config = TransformerConfig

    def build(self, symbols: int) -> None:
        """Create the layers."""
        self.layers = nn.ModuleList(EncoderLayer(self.config) for _ in range(self.config.layers))

    def attention_masks(self, tokens: Tensor, lengths: Tensor, *, alone: bool = False) -> Sequence[Tensor | None]:
        """Attention mask (B, K, N, N) of each layer, here none."""
        return [None] * len(self.layers)

    def final_states(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Normalized final states (B, N, E) of ``tokens`` (B, N), of which ``lengths`` (B,) are words."""
        masks = self.attention_masks(tokens, lengths)
        x, real = self.embedded(tokens), real_words(tokens, lengths)
        for layer, mask in zip(self.layers, masks, strict=True):
            x = layer(x, real, mask)
        return self.norm(x)

    def channels(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Attention weight (B, layers, K, N, N) of head k of a layer from word i to word j, for unmasked words.

        The mask is included. The weights of a sentence do not depend on the others of the batch.
        """
        return torch.stack([weights for _, weights in self._layers_alone(tokens, lengths)], 1)

    def layer_states(self, batch: SentenceBatch) -> LayerStates:
        """Hidden states (B, layers, N, E) and attention (B, layers, heads, N, N) of each layer, for unmasked words."""
        states, weights = zip(*self._layers_alone(batch.tokens, batch.lengths), strict=True)
        return LayerStates(torch.stack(states, 1), distributions(torch.stack(weights, 1)))

    def _layers_alone(self, tokens: Tensor, lengths: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """States (B, N, E) after each layer and its weights (B, K, N, N), as if each sentence were alone in a batch."""
        masks = self.attention_masks(tokens, lengths, alone=True)
        x, real = self.embedded(tokens), real_words(tokens, lengths)
        for layer, mask in zip(cast("list[EncoderLayer]", list(self.layers)), masks, strict=True):
            weights = layer.attention(x, real, mask)
            x = layer(x, real, mask)
            yield x, weights
