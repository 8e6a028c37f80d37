"""What two models or more share unchanged."""

from __future__ import annotations

import torch
from torch import Tensor

from induce.objectives import ranking_loss


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
