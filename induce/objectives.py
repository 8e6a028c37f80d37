"""Training objectives: cross entropy over a large vocabulary, and the activation penalties of AWD-LSTM."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

ROWS = 512  # rows of logits held at once: 512 x 10,000 floats stay in 20 MB


class _CrossEntropy(torch.autograd.Function):
    """Mean negative log-likelihood whose gradient is taken block by block, while the logits are at hand."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
        need_gradient = any(ctx.needs_input_grad[:3])
        total = hidden.new_zeros(())
        d_hidden = torch.empty_like(hidden) if need_gradient else None
        d_weight = torch.zeros_like(weight) if need_gradient else None
        d_bias = torch.zeros_like(bias) if need_gradient else None
        for start in range(0, len(hidden), ROWS):
            rows = hidden[start : start + ROWS]  # (R, E)
            wanted = targets[start : start + ROWS, None]  # (R, 1)
            logits = torch.addmm(bias, rows, weight.t())  # (R, V)
            normaliser = logits.logsumexp(1, keepdim=True)
            total += (normaliser - logits.gather(1, wanted)).sum()
            if d_hidden is None or d_weight is None or d_bias is None:
                continue
            error = logits.sub_(normaliser).exp_()  # softmax
            error.scatter_add_(1, wanted, -torch.ones_like(normaliser))
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
        return (*(part * scale for part in ctx.saved_tensors), None)


def cross_entropy(hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Mean negative log-likelihood (nats) of ``targets`` (R,) under softmax(hidden (R, E) weight (V, E)ᵀ + bias (V,)).

    Logits never exist for more than ``ROWS`` rows, and their gradient is computed in the same pass.
    """
    return _CrossEntropy.apply(hidden, weight, bias, targets)


def activation_penalty(last: Tensor, alpha: float) -> Tensor:
    """``alpha`` times the mean square of ``last`` (T, B, H) (AR; Merity et al. 2017, section 4.6)."""
    return alpha * last.pow(2).mean()


def temporal_activation_penalty(last: Tensor, beta: float) -> Tensor:
    """``beta`` times the mean square step of ``last`` (T, B, H) in time (TAR; Merity et al. 2017, section 4.6).

    0 for a segment of one step, where the mean is over nothing.
    """
    return beta * (last[1:] - last[:-1]).pow(2).mean() if len(last) > 1 else last.new_zeros(())


def ranking_loss(
    predicted: Tensor, gold: Tensor, *, groups: Tensor | None = None, margin: float = 1.0, exponential: bool = False
) -> Tensor:
    """Mean hinge over the pairs of positions in a row that gold distances order (Du et al. 2020, eq. 18).

    ``predicted`` and ``gold`` (rows, positions); NaN stands for a position without gold. A pair with gold_i > gold_j
    costs max(0, ``margin`` - (d_i - d_j)), or with ``exponential`` exp of that less 1. With ``groups`` (rows,
    positions) both must be of one group. Ties cost nothing: the paper adds a constant for each. It also sums where
    this, as the released program, takes the mean over all pairs; without any the loss is 0.
    """
    ordered = gold[:, :, None] > gold[:, None, :]  # false beside NaN
    if groups is not None:
        ordered &= groups[:, :, None] == groups[:, None, :]
    cost = (margin - (predicted[:, :, None] - predicted[:, None, :])).relu()
    if exponential:
        cost = cost.expm1()
    return (cost * ordered).sum() / (ordered.sum() + 1e-9)
