"""Dropout masks that cost little to draw."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def keep_mask(shape: tuple[int, ...], rate: float, device: torch.device) -> Tensor:
    """Boolean mask, true with probability 1 - ``rate`` (to the nearest 1/65536).

    Four entries come from each 64-bit draw: for a matrix of five million entries `torch.bernoulli` takes longer than
    a training step on a small model.
    """
    count = torch.Size(shape).numel()
    draws = torch.empty((count + 3) // 4, dtype=torch.int64, device=device).random_(-(2**63), None)
    return (draws.view(torch.int16)[:count] >= round(rate * 65536) - 32768).view(shape)


def scaled_mask(like: Tensor, rate: float, *shape: int) -> Tensor | None:
    """A dropout mask, divided by the share kept, of the type and on the device of ``like``, or None if all are kept."""
    return keep_mask(shape, rate, like.device).to(like.dtype).div_(1 - rate) if rate else None


def dropped(x: Tensor, mask: Tensor | None) -> Tensor:
    """``x`` under a dropout mask, if there is one."""
    return x if mask is None else x * mask


def dropped_at(step: int, x: Tensor, mask: Tensor | None) -> Tensor:
    """``x`` of one step under the mask of all."""
    return x if mask is None else x * mask[step]


class FastDropout(nn.Module):
    """Dropout with these masks, for layers that draw one at every step."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """``x``, with dropout in training."""
        return dropped(x, scaled_mask(x, self.rate, *x.shape)) if self.training else x
