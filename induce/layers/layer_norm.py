"""Layer normalization of PRPN and Tree Transformer: `EPSILON` is added to the unbiased standard deviation."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

EPSILON = 1e-6  # added to a standard deviation


class LayerNorm(nn.Module):
    """Layer normalization whose small constant is added to the unbiased standard deviation, not to its square."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.gain, self.bias = nn.Parameter(torch.ones(size)), nn.Parameter(torch.zeros(size))

    def forward(self, x: Tensor) -> Tensor:
        """Normalize ``x`` over its last axis. The shape does not change."""
        return layer_norm(x, self.gain, self.bias)


def layer_norm(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    """``x`` normalized over its last axis, times ``gain`` plus ``bias``."""
    return _LayerNorm.apply(x, gain, bias)


class _LayerNorm(torch.autograd.Function):
    """`layer_norm` as one node of the graph: `torch.std_mean` takes ten times as long as a norm."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        norm = centered(x, -1)
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
        projection = (d_x * norm).sum(-1, keepdim=True) * excess(spread, norm.shape[-1])
        return centered(d_x.addcmul_(norm, projection, value=-1), -1).div_(spread), d_gain, d_bias


def centered(x: Tensor, dim: int) -> Tensor:
    """``x`` minus its mean over an axis: the first step of layer normalization, and the last one of its gradient."""
    return torch.sub(x, x.sum(dim, keepdim=True), alpha=1 / x.shape[dim])


def spread_of(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Divisor of `layer_norm`: the standard deviation of ``x`` (…, size), whose mean is 0, plus `EPSILON`."""
    norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return torch.add(x.new_full((), EPSILON), norm, alpha=1 / math.sqrt(x.shape[-1] - 1), out=out)


def excess(spread: Tensor, size: int) -> Tensor:
    """Factor in the gradient of a quotient by ``spread`` that comes from the gradient of the standard deviation."""
    return spread / ((spread - EPSILON).clamp_min(1e-30) * (size - 1))
