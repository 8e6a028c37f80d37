"""What two models or more share unchanged."""

from __future__ import annotations

import torch
from torch import Tensor


def keep(shape: tuple[int, ...], rate: float, device: torch.device) -> Tensor:
    """Boolean mask, true with probability 1 - ``rate`` (to the nearest 1/65536).

    Four entries come from each 64-bit draw: for a matrix of five million entries `torch.bernoulli` takes longer than
    a training step on a small model.
    """
    count = torch.Size(shape).numel()
    draws = torch.empty((count + 3) // 4, dtype=torch.int64, device=device).random_(-(2**63), None)
    return (draws.view(torch.int16)[:count] >= round(rate * 65536) - 32768).view(shape)
