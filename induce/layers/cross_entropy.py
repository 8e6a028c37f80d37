"""Cross entropy over a large vocabulary, in blocks of rows."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from induce.layers.rounding import in_float32, product, rounds

ROWS = 512  # of logits in memory at a time: 512 x 10,000 floats are 20 MB


class _CrossEntropy(torch.autograd.Function):
    """Mean negative log-likelihood whose gradient is computed with the logits, block by block."""

    @staticmethod
    @in_float32
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, rounded: bool) -> Tensor:
        factor = weight.bfloat16() if rounded else weight
        need_gradient = any(ctx.needs_input_grad[:3])
        total = hidden.new_zeros(())
        d_hidden = torch.empty_like(hidden) if need_gradient else None
        d_weight = torch.zeros_like(weight) if need_gradient else None
        d_bias = torch.zeros_like(bias) if need_gradient else None
        for start in range(0, len(hidden), ROWS):
            rows = hidden[start : start + ROWS]  # (R, E)
            labels = targets[start : start + ROWS, None]  # (R, 1)
            logits = (
                product(rows, factor.t(), rounded=True).add_(bias) if rounded else torch.addmm(bias, rows, weight.t())
            )
            normalizer = logits.logsumexp(1, keepdim=True)
            total += (normalizer - logits.gather(1, labels)).sum()
            if d_hidden is None or d_weight is None or d_bias is None:
                continue
            error = logits.sub_(normalizer).exp_()  # softmax
            error.scatter_add_(1, labels, -torch.ones_like(normalizer))
            if rounded:
                d_hidden[start : start + ROWS] = product(error, factor, rounded=True)
                d_weight += product(error.t(), rows, rounded=True)
            else:
                torch.mm(error, weight, out=d_hidden[start : start + ROWS])
                d_weight.addmm_(error.t(), rows)
            d_bias += error.sum(0)
        if need_gradient:
            ctx.save_for_backward(d_hidden, d_weight, d_bias)
        ctx.count = len(hidden)
        return total / len(hidden)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Any:
        scale = gradient / ctx.count
        return (*(part * scale for part in ctx.saved_tensors), None, None)


def cross_entropy(hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Mean negative log-likelihood (nats) of ``targets`` (R,) under softmax(hidden (R, E) weight (V, E)ᵀ + bias (V,)).

    Logits never exist for more than ``ROWS`` rows, and their gradient is computed in the same pass.
    """
    return _CrossEntropy.apply(hidden, weight, bias, targets, rounds(hidden))


def target_log_probabilities(hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Log-probabilities (R,) in nats of ``targets`` (R,) under softmax(hidden (R, E) weight (V, E)ᵀ + bias (V,))."""
    blocks = zip(hidden.split(ROWS), targets.split(ROWS), strict=True)
    parts = [
        -functional.cross_entropy(functional.linear(rows, weight, bias), labels, reduction="none")
        for rows, labels in blocks
    ]
    return torch.cat(parts) if parts else hidden.new_zeros(0)
