"""What two models or more share unchanged.

The dropouts of AWD-LSTM around and between recurrent layers, the ranking of distances that learn from trees, masked
words, and the layers of a Transformer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batching import mask_words
from induce.models.base import SegmentLoss
from induce.objectives import cross_entropy, ranking_loss

RELATIVE_BIASES = ("none", "distance", "scrambled")
FARTHEST = 256  # words between two that have a relative bias of their own; those farther apart share the last


def keep(shape: tuple[int, ...], rate: float, device: torch.device) -> Tensor:
    """Boolean mask, true with probability 1 - ``rate`` (to the nearest 1/65536).

    Four entries come from each 64-bit draw: for a matrix of five million entries `torch.bernoulli` takes longer than
    a training step on a small model.
    """
    count = torch.Size(shape).numel()
    draws = torch.empty((count + 3) // 4, dtype=torch.int64, device=device).random_(-(2**63), None)
    return (draws.view(torch.int16)[:count] >= round(rate * 65536) - 32768).view(shape)


RANKINGS = ("sentence", "column", "batch")


def rank(distances: Tensor, gold: Tensor, tokens: Tensor, ranking: str, margin: float) -> Tensor:
    """How far ``distances`` (T, B) are from the order of ``gold``, NaN where there is none (Du et al. 2020, eq. 18).

    The pairs that are compared lie in one ``sentence`` (the paper), anywhere in one ``column`` of the stream, or side
    by side in the ``batch``, at the same step of different columns (the released program). A sentence ends at token 0.
    """
    if ranking == "batch":
        return ranking_loss(distances, gold, margin=margin)
    groups = (tokens == 0).cumsum(0).t() if ranking == "sentence" else None
    return ranking_loss(distances.t(), gold.t(), groups=groups, margin=margin)


class DropoutRates(Protocol):
    """The five dropouts of AWD-LSTM (Merity et al. 2017, sections 2, 4.2 and 4.3), as settings of a model."""

    @property
    def embedding_dropout(self) -> float: ...
    @property
    def input_dropout(self) -> float: ...
    @property
    def hidden_dropout(self) -> float: ...
    @property
    def output_dropout(self) -> float: ...
    @property
    def weight_dropout(self) -> float: ...


class Masks(NamedTuple):
    """The dropout masks of one segment; all but ``weights`` are already divided by the share kept."""

    embedding: Tensor  # (V, 1)
    input: Tensor  # (1, B, E)
    hidden: list[Tensor]  # (1, B, H) for every layer but the last
    output: Tensor  # (1, B, E)
    weights: list[Tensor]  # the shape of each layer's hidden-to-hidden matrix, true where an entry is kept


def draw_masks(rates: DropoutRates, embedding: Tensor, recurrent: Sequence[Tensor], batch: int) -> Masks:
    """Fresh masks for one segment of ``batch`` streams.

    ``embedding`` (V, E) is the embedding table, ``recurrent`` (rows, H) the hidden-to-hidden matrix of each layer; the
    last layer has E units.
    """

    def scaled(shape: tuple[int, ...], rate: float) -> Tensor:
        return keep(shape, rate, embedding.device).to(embedding.dtype) / (1 - rate)

    words, size = embedding.shape
    return Masks(
        embedding=scaled((words, 1), rates.embedding_dropout),
        input=scaled((1, batch, size), rates.input_dropout),
        hidden=[scaled((1, batch, weight.shape[1]), rates.hidden_dropout) for weight in recurrent[:-1]],
        output=scaled((1, batch, size), rates.output_dropout),
        weights=[keep(weight.shape, rates.weight_dropout, embedding.device) for weight in recurrent],
    )


class LanguageOutput(NamedTuple):
    """What a recurrent language model computes over a segment."""

    output: Tensor  # (T, B, E), after the output dropout
    layers: list[Any]  # what each layer returned: ``hidden`` (T, B, H), ``state`` and more


def run_layers(
    layers: Iterable[Any],
    tokens: Tensor,
    embedding: Tensor,
    state: Sequence[Any],
    weights: Iterable[Tensor],
    masks: Masks | None,
) -> LanguageOutput:
    """The words ``tokens`` (T, B) through as many of the ``layers`` as there are ``weights``, with or without dropout.

    A layer is called with its input, its ``state`` and the hidden-to-hidden matrix that it is to use, and returns what
    has ``hidden`` and ``state``.
    """
    x = functional.embedding(tokens, embedding)
    if masks is not None:
        x = x * masks.embedding[tokens] * masks.input
    outputs: list[Any] = []
    for k, (layer, weight) in enumerate(zip(layers, weights, strict=False)):
        outputs.append(layer(x, state[k], weight))
        x = outputs[-1].hidden
        if masks is not None:
            x = x * (masks.hidden[k] if k < len(masks.hidden) else masks.output)
    return LanguageOutput(x, outputs)


def real_words(tokens: Tensor, lengths: Tensor) -> Tensor:
    """Boolean (B, N), false at padding."""
    return torch.arange(tokens.shape[1], device=tokens.device) < lengths.to(tokens.device)[:, None]


def without_self(head: Tensor) -> Tensor:
    """Head distributions (B, N, N) without a word's probability of being its own head: rows no longer sum to 1."""
    return head.masked_fill(torch.eye(head.shape[1], dtype=torch.bool, device=head.device), 0.0)


def hide_words(tokens: Tensor, chance: Tensor | None, rate: float, mask: int) -> tuple[Tensor, Tensor]:
    """``tokens`` (B, N) with ``mask`` where ``chance`` (B, N), by default drawn, is less than ``rate``; the targets."""
    if chance is None:
        chance = torch.rand(tokens.shape, device=tokens.device)
    return mask_words(tokens, chance < rate, mask=mask)


def masked_word_loss(hidden: Tensor, targets: Tensor, embedding: Tensor, bias: Tensor) -> SegmentLoss:
    """Mean negative log-likelihood of ``targets`` (R,) from ``hidden`` (R, E) by the tied output layer."""
    if not len(targets):  # nothing to learn from, and a mean over nothing is no number
        return SegmentLoss(hidden.sum(), hidden.sum(), None, 0)
    nll = cross_entropy(hidden, embedding, bias, targets)
    return SegmentLoss(nll, nll, None, len(targets))


class EncoderLayer(nn.Module):
    """One layer of the Transformers in the released programs of StructFormer and UDGN, normalised in front.

    Attention is a softmax over the words or, where a mask says how strongly two words are related, the mask times a
    sigmoid, not normalised. ``relative_bias`` adds a weight for each head and number of words between two:
    "distance"; or, as the released program does it, "scrambled", where sentences in a batch get those of other heads.
    """

    def __init__(
        self,
        size: int,
        heads: int,
        feedforward_size: int,
        *,
        dropout: float,
        attention_dropout: float,
        affine: bool,
        relative_bias: str,
    ) -> None:
        super().__init__()
        self.heads, self.scrambled = heads, relative_bias == "scrambled"
        self.norm = nn.LayerNorm(size, elementwise_affine=affine)
        self.project = nn.Linear(size, 3 * size)  # queries, keys, values
        self.output = nn.Linear(size, size)
        self.feedforward_norm = nn.LayerNorm(size, elementwise_affine=affine)
        self.widen = nn.Linear(size, feedforward_size)
        self.narrow = nn.Linear(feedforward_size, size)
        self.relative = nn.Parameter(torch.zeros(heads, FARTHEST)) if relative_bias != "none" else None
        self.dropout, self.attention_dropout = nn.Dropout(dropout), nn.Dropout(attention_dropout)
        for weight in (*self.project.weight.chunk(3), self.output.weight):
            nn.init.xavier_uniform_(weight.detach())
        for linear in (self.project, self.output):
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor, real: Tensor, mask: Tensor | None = None) -> Tensor:
        """New states (B, N, E); ``real`` (B, N) is false at padding, ``mask`` is (B, K, N, N)."""
        x = x + self.dropout(self._attend(self.norm(x), real, mask))
        hidden = self.dropout(functional.leaky_relu(self.widen(self.feedforward_norm(x))))
        return x + self.dropout(self.narrow(hidden))

    def _attend(self, x: Tensor, real: Tensor, mask: Tensor | None) -> Tensor:
        batch, count, _ = x.shape
        query, key, value = self.project(x).view(batch, count, 3, self.heads, -1).permute(2, 0, 3, 1, 4)  # (B, K, N, D)
        scores = query @ key.transpose(2, 3) / math.sqrt(query.shape[-1])
        if self.relative is not None:
            scores = scores + self._bias(batch, count)
        found = self.attention_dropout(_weights(scores, real[:, None, None], mask)) @ value
        return self.output(found.transpose(1, 2).flatten(2))

    def _bias(self, batch: int, count: int) -> Tensor:
        """Bias of every pair of words (B or 1, K, N, N)."""
        assert self.relative is not None
        place = torch.arange(count, device=self.relative.device)
        bias = self.relative[:, (place[:, None] - place).abs().clamp(max=FARTHEST - 1)]  # (K, N, N)
        if self.scrambled:  # repeated head by head, while the scores lie sentence by sentence
            return bias.repeat_interleave(batch, 0).view(batch, self.heads, count, count)
        return bias


def _weights(scores: Tensor, real: Tensor, mask: Tensor | None) -> Tensor:
    """Attention (B, K, N, N) from scores of the same shape."""
    if mask is None:
        return scores.masked_fill(~real, -math.inf).softmax(-1)
    return scores.sigmoid() * mask * real
