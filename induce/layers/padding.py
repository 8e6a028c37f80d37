"""Masks of padded batches, and the output of a recurrence at the last word of each sentence."""

from __future__ import annotations

import torch
from torch import Tensor


def real_words(tokens: Tensor, lengths: Tensor) -> Tensor:
    """Boolean mask (B, N), false at padding."""
    return torch.arange(tokens.shape[1], device=tokens.device) < lengths.to(tokens.device)[:, None]


def last_real(output: Tensor, lengths: Tensor) -> Tensor:
    """The outputs (R, D) of ``output`` (T, R, D) at the last of ``lengths`` (R,) steps."""
    rows = torch.arange(len(lengths), device=output.device)
    return output[lengths.to(output.device) - 1, rows]
