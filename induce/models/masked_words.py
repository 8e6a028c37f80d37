"""What models that learn from masked words share: hiding words, and the loss."""

from __future__ import annotations

import torch
from torch import Tensor

from induce.data.batching import mask_words
from induce.kernels.cross_entropy import cross_entropy
from induce.models.base import SegmentLoss


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
