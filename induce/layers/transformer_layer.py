"""The Transformer layer of StructFormer, UDGN and the baseline."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

RELATIVE_BIASES = ("none", "distance", "scrambled")
MAX_DISTANCE = 256  # words; pairs that are farther apart share one relative bias


class EncoderLayer(nn.Module):
    """One Transformer layer of the released programs of StructFormer and UDGN, with layer normalization in front.

    Attention is a softmax over the words or, where a mask says how strongly two words are related, the mask times a
    sigmoid, not normalized. ``relative_bias`` adds a weight for each head and number of words between two:
    "distance"; or, as in the released program, "scrambled": sentences in a batch get the biases of other heads.
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
        self.relative = nn.Parameter(torch.zeros(heads, MAX_DISTANCE)) if relative_bias != "none" else None
        self.dropout, self.attention_dropout = nn.Dropout(dropout), nn.Dropout(attention_dropout)
        for weight in (*self.project.weight.chunk(3), self.output.weight):
            nn.init.xavier_uniform_(weight.detach())
        for linear in (self.project, self.output):
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor, real: Tensor, mask: Tensor | None = None) -> Tensor:
        """New states (B, N, E). ``real`` (B, N) is false at padding, ``mask`` is (B, K, N, N)."""
        x = x + self.dropout(self._attend(self.norm(x), real, mask))
        hidden = self.dropout(functional.leaky_relu(self.widen(self.feedforward_norm(x))))
        return x + self.dropout(self.narrow(hidden))

    def attention(self, x: Tensor, real: Tensor, mask: Tensor | None = None) -> Tensor:
        """Attention weights (B, K, N, N) of word i on word j in each head, for input states (B, N, E)."""
        return self._attention(self.norm(x), real, mask)[0]

    def _attention(self, x: Tensor, real: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Weights (B, K, N, N) and values (B, K, N, D) of normalised states."""
        batch, count, _ = x.shape
        query, key, value = self.project(x).view(batch, count, 3, self.heads, -1).permute(2, 0, 3, 1, 4)  # (B, K, N, D)
        scores = query @ key.transpose(2, 3) / math.sqrt(query.shape[-1])
        if self.relative is not None:
            scores = scores + self._bias(batch, count)
        return _weights(scores, real[:, None, None], mask), value

    def _attend(self, x: Tensor, real: Tensor, mask: Tensor | None) -> Tensor:
        weights, value = self._attention(x, real, mask)
        gathered = self.attention_dropout(weights) @ value
        return self.output(gathered.transpose(1, 2).flatten(2))

    def _bias(self, batch: int, count: int) -> Tensor:
        """Bias of every pair of words (B or 1, K, N, N)."""
        assert self.relative is not None
        index = torch.arange(count, device=self.relative.device)
        bias = self.relative[:, (index[:, None] - index).abs().clamp(max=MAX_DISTANCE - 1)]  # (K, N, N)
        if self.scrambled:  # repeated head by head, while the scores lie sentence by sentence
            return bias.repeat_interleave(batch, 0).view(batch, self.heads, count, count)
        return bias


def _weights(scores: Tensor, real: Tensor, mask: Tensor | None) -> Tensor:
    """Attention (B, K, N, N) from scores of the same shape."""
    if mask is None:
        return scores.masked_fill(~real, -math.inf).softmax(-1)
    return scores.sigmoid() * mask * real
