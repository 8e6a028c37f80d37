"""PRPN's layer normalisation: by the unbiased standard deviation, the small number added to it, not to its square."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

SPREAD = 1e-6  # added to a standard deviation


def layer_norm(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    """``x`` normalised over its last axis, times ``gain`` plus ``bias``."""
    normalised: Tensor = _LayerNorm.apply(x, gain, bias)
    return normalised


class _LayerNorm(torch.autograd.Function):
    """`layer_norm` as one node of the graph: `torch.std_mean` takes ten times as long as a norm."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        norm = centred(x, -1)
        spread = spread_of(norm)
        norm.div_(spread)
        ctx.save_for_backward(norm, spread, gain)
        return torch.addcmul(bias, norm, gain)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_y: Tensor) -> Any:
        norm, spread, gain = ctx.saved_tensors
        d_gain, d_bias = (d_y * norm).flatten(0, -2).sum(0), d_y.flatten(0, -2).sum(0)
        d_x = d_y * gain
        along = (d_x * norm).sum(-1, keepdim=True) * excess(spread, norm.shape[-1])
        return centred(d_x.addcmul_(norm, along, value=-1), -1).div_(spread), d_gain, d_bias


def centred(x: Tensor, dim: int) -> Tensor:
    """``x`` less its mean along an axis: what layer normalisation does first, and to its gradient last."""
    return torch.sub(x, x.sum(dim, keepdim=True), alpha=1 / x.shape[dim])


def spread_of(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """What `layer_norm` divides by: the standard deviation of ``x`` (…, size), which has no mean, plus `SPREAD`."""
    norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return torch.add(x.new_full((), SPREAD), norm, alpha=1 / math.sqrt(x.shape[-1] - 1), out=out)


def excess(spread: Tensor, size: int) -> Tensor:
    """By how much the gradient of a standard deviation exceeds that of what is divided by it, ``spread``."""
    return spread / ((spread - SPREAD).clamp_min(1e-30) * (size - 1))
