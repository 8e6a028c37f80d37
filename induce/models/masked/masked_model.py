"""Masked language models: their base, with the masking of words, and the Transformer, the baseline of the parsers.

The Transformer encoder follows the released programs of StructFormer and UDGN. It predicts no trees, but distances can
be read from its states and attention. ``docs/reference/models/lstm-and-transformer.md`` lists the sources of its parts.

Shapes: B sentences, N words, E embedding, R masked words, K attention heads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import Batch, MaskedBatch, SentenceBatch
from induce.layers.cross_entropy import cross_entropy, target_log_probabilities
from induce.layers.masks import real_words
from induce.models.base import Loss, Model
from induce.models.capabilities import (
    ChannelWeights,
    LayeredStates,
    LayerStates,
    MaskingImpact,
    WordScoring,
    WordVectors,
)
from induce.setting import choice, count, dropout_rate, limited, setting, weight

MAX_COPIED_WORDS = 4096  # words per batch of masked copies of sentences
RELATIVE_BIASES = ("none", "distance", "scrambled")
MAX_DISTANCE = 256  # words; pairs that are farther apart share one relative bias


@dataclass(frozen=True, kw_only=True)
class MaskedConfig:
    """Settings of all masked language models."""

    embedding_size: int = count(512, "units of a word embedding")
    mask_rate: float = weight(0.3, "share of the words that are masked")

    def check(self) -> None:
        """Raises ValueError if the settings do not fit together."""
        if not 0 < self.mask_rate < 1:
            raise ValueError(f"mask_rate = {self.mask_rate} must lie between 0 and 1")


class MaskedLanguageModel(MaskingImpact, WordScoring, WordVectors, Model):
    """A model that finds masked words. The number after those of the vocabulary represents a masked word.

    A subclass adds its layers in `build` and defines `final_states`.
    """

    reads: ClassVar[tuple[type[Batch], ...]] = (MaskedBatch,)
    rounds = True
    max_length: ClassVar[int | None] = 10_000  # whose attention or heads fit into a few gigabytes
    max_positions: ClassVar[int] = 500  # positions with their own embedding; later ones share the last
    config: Any
    norm: nn.Module  # of the final states
    dropout: nn.Module  # of the input of the output layer

    def __init__(self, config: Any, vocabulary_size: int) -> None:
        """``config`` is a `MaskedConfig` with ``dropout``, and ``has_positions`` as `build` needs it."""
        super().__init__()
        config.check()
        self.config, self.mask_symbol = config, vocabulary_size
        symbols, size = vocabulary_size + 1, config.embedding_size
        self.embedding = nn.Embedding(symbols, size)
        self.position = nn.Embedding(self.max_positions, size) if config.has_positions else None
        self.build(symbols)
        self.norm = nn.LayerNorm(size)
        self.decoder_bias = nn.Parameter(torch.zeros(symbols))
        self.dropout = nn.Dropout(config.dropout)
        for table in (self.embedding, self.position):
            if table is not None:
                nn.init.uniform_(table.weight, -0.1, 0.1)

    def build(self, symbols: int) -> None:
        """Create the layers between embeddings and final normalization, for ``symbols`` words, the mask included."""
        raise NotImplementedError

    def final_states(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Normalized final states (B, N, E) of ``tokens`` (B, N), of which ``lengths`` (B,) are words."""
        raise NotImplementedError

    def parsing_cost(self, length: int) -> float:
        """Quadratic in the length, because of attention, with a small factor: it counts from 1,000 words on."""
        return length + 2.0 + length**2 / 4096

    @property
    def decoder_weight(self) -> Tensor:
        """Output embeddings (V, E), by default those of the input."""
        return self.embedding.weight

    def embedded(self, tokens: Tensor) -> Tensor:
        """Embeddings (B, N, E) of words and, if the model has them, of positions."""
        x: Tensor = self.embedding(tokens)
        if self.position is None:
            return x
        return x + self.position(torch.arange(tokens.shape[1], device=tokens.device).clamp(max=self.max_positions - 1))

    def loss(self, batch: MaskedBatch, state: None = None) -> Loss:
        """Mean negative log-likelihood of masked words: those whose random number is less than the mask rate."""
        masked, targets = mask_words(batch.tokens, batch.uniforms < self.config.mask_rate, mask=self.mask_symbol)
        return self.masked_loss(masked, batch.lengths, targets, masked != batch.tokens)

    def masked_loss(self, masked: Tensor, lengths: Tensor, targets: Tensor, where: Tensor) -> Loss:
        """Mean negative log-likelihood of ``targets`` (B, N) ``where`` words are masked."""
        hidden = self.dropout(self.final_states(masked, lengths)[where])
        if not len(hidden):  # the mean of an empty batch is undefined
            return Loss(hidden.sum(), hidden.sum(), 0)
        nll = cross_entropy(hidden, self.decoder_weight, self.decoder_bias, targets[where])
        return Loss(nll, nll, len(hidden))

    def word_vectors(self, batch: SentenceBatch) -> Tensor:
        """The normalized final states (B, N, E)."""
        return self.final_states(batch.tokens, batch.lengths)

    def impact(self, batch: SentenceBatch) -> Tensor:
        """Distance (B, N, N) between the final states of word i if it alone, and if word j as well, is masked.

        Perturbed masking (Wu et al. 2020, section 2). Each pair of words needs one copy of its sentence.
        """
        impacts = self.embedding.weight.new_zeros(*batch.tokens.shape, batch.tokens.shape[1])
        for row, (tokens, length) in enumerate(zip(batch.tokens, batch.lengths.tolist(), strict=True)):
            states = impacts.new_zeros(length, length, self.config.embedding_size)  # of word i without i and j
            first, second = torch.triu_indices(length, length, device=tokens.device)
            size = max(1, MAX_COPIED_WORDS // max(1, length))
            for i, j in zip(first.split(size), second.split(size), strict=True):
                copies, each = tokens[:length].repeat(len(i), 1), torch.arange(len(i), device=tokens.device)
                copies[each, i] = copies[each, j] = self.mask_symbol
                final = self.final_states(copies, torch.full((len(i),), length))
                states[i, j], states[j, i] = final[each, i], final[each, j]
            single = states.diagonal(dim1=0, dim2=1).t()
            impacts[row, :length, :length] = (single[:, None] - states).norm(dim=-1)
        return impacts

    def word_log_probabilities(self, batch: SentenceBatch) -> Tensor:
        """Log-probability (B, N) of each word if it alone is masked (Salazar et al. 2020, eq. 1), or 0 at padding.

        Unknown words are never masked in training, so the model has no probability for them: their entry is 0, and they
        do not count.
        """
        tokens, lengths = batch.tokens, batch.lengths.to(batch.tokens.device)
        row, column = (tokens > 1).nonzero(as_tuple=True)
        scores, size = self.embedding.weight.new_zeros(tokens.shape), max(1, MAX_COPIED_WORDS // tokens.shape[1])
        for rows, columns in zip(row.split(size), column.split(size), strict=True):
            copies, each = tokens[rows], torch.arange(len(rows), device=rows.device)
            copies[each, columns] = self.mask_symbol
            hidden = self.final_states(copies, lengths[rows])[each, columns]
            targets = tokens[rows, columns]
            scores[rows, columns] = target_log_probabilities(hidden, self.decoder_weight, self.decoder_bias, targets)
        return scores


def mask_words(tokens: Tensor, drawn: Tensor, *, mask: int) -> tuple[Tensor, Tensor]:
    """``tokens`` with ``mask`` instead of the ``drawn`` words, and these words with 0 elsewhere.

    Padding (0) and unknown words (1) are never masked.
    """
    masked = drawn.bool() & (tokens > 1)
    return tokens.masked_fill(masked, mask), tokens.masked_fill(~masked, 0)


def distributions(attention: Tensor) -> Tensor:
    """Attention (…, N, N) whose rows are divided by their sums. A row of zeros stays as it is."""
    return attention / attention.sum(-1, keepdim=True).clamp(min=torch.finfo(attention.dtype).tiny)


def without_self(head: Tensor) -> Tensor:
    """Head distributions (B, N, N) without a word's probability of being its own head: rows no longer sum to 1."""
    return head.masked_fill(torch.eye(head.shape[1], dtype=torch.bool, device=head.device), 0.0)


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
        for part in (*self.project.weight.chunk(3), self.output.weight):
            nn.init.xavier_uniform_(part.detach())
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
