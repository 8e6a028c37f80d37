"""Masking of words, and the loss of masked language models."""

from __future__ import annotations

import torch
from torch import Tensor

from induce.data.batches import MaskedBatch
from induce.layers.cross_entropy import cross_entropy
from induce.models.base import Loss


def without_self(head: Tensor) -> Tensor:
    """Head distributions (B, N, N) without a word's probability of being its own head: rows no longer sum to 1."""
    return head.masked_fill(torch.eye(head.shape[1], dtype=torch.bool, device=head.device), 0.0)


def hide_words(batch: MaskedBatch, rate: float, mask: int) -> tuple[Tensor, Tensor]:
    """Tokens (B, N) with ``mask`` where the batch's random number is below ``rate``, and the targets (B, N)."""
    return mask_words(batch.tokens, batch.uniforms < rate, mask=mask)


def mask_words(tokens: Tensor, drawn: Tensor, *, mask: int, padding: int = 0) -> tuple[Tensor, Tensor]:
    """``tokens`` with ``mask`` instead of the ``drawn`` words, and these words with ``padding`` elsewhere.

    Padding (0) and unknown words (1) are never masked.
    """
    masked = drawn.bool() & (tokens > 1)
    return tokens.masked_fill(masked, mask), tokens.masked_fill(~masked, padding)


def masked_word_loss(hidden: Tensor, targets: Tensor, embedding: Tensor, bias: Tensor) -> Loss:
    """Mean negative log-likelihood of ``targets`` (R,) from ``hidden`` (R, E) by the tied output layer."""
    if not len(targets):  # the mean of an empty batch is undefined
        return Loss(hidden.sum(), hidden.sum(), 0)
    nll = cross_entropy(hidden, embedding, bias, targets)
    return Loss(nll, nll, len(targets))
