"""Products of charts with rules that are shared by all sentences or specific to each sentence."""

from __future__ import annotations

import torch
from torch import Tensor


def product(x: Tensor, weights: Tensor) -> Tensor:
    """Product (R, B, L) of ``x`` (R, B, K) with ``weights`` (K, L), or (B, K, L) for separate weights per sentence."""
    if weights.dim() == 2:
        return (x.reshape(-1, x.shape[-1]) @ weights).view(*x.shape[:2], -1)
    return torch.bmm(x.transpose(0, 1), weights).transpose(0, 1).contiguous()


def gradient(x: Tensor, d: Tensor, rank: int) -> Tensor:
    """Gradient at the weights of `product`, which have ``rank`` dimensions, for ``d`` (R, B, L) at its result."""
    if rank == 2:
        return x.reshape(-1, x.shape[-1]).t() @ d.reshape(-1, d.shape[-1])
    return torch.bmm(x.permute(1, 2, 0), d.transpose(0, 1))
