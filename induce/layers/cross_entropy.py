"""Cross entropy over a large vocabulary in blocks of rows, of one softmax or of a mixture (Yang et al. 2018).

Shapes: T steps, B streams, R rows, M parts of the mixture, E units that the output layer reads, V words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from induce.layers.products import in_float32, product, rounds

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


LOGITS = 512  # rows of logits in memory at once; each of the R rows has M of them


class SoftmaxMixture(nn.Module):
    """Parts of a mixture of softmaxes: one vector and one share per part, both functions of a hidden state."""

    def __init__(self, inputs: int, size: int, parts: int, *, dropout: float = 0.0) -> None:
        """``inputs`` units of the hidden state, ``size`` units E of a vector, ``parts`` softmaxes."""
        super().__init__()
        self.parts, self.dropout = parts, dropout
        self.vectors = nn.Linear(inputs, parts * size)
        self.shares = nn.Linear(inputs, parts, bias=False)

    def forward(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors (T, B, M, E) and logarithms of shares (T, B, M) for ``hidden`` (T, B, inputs) (Yang et al. 2018).

        In training, one dropout mask of the vectors holds for all T steps.
        """
        vectors = torch.tanh(self.vectors(hidden))
        if self.training and self.dropout:
            vectors = vectors * functional.dropout(torch.ones_like(vectors[:1]), self.dropout)
        return vectors.unflatten(-1, (self.parts, -1)), self.shares(hidden).log_softmax(-1)


def mixture_cross_entropy(hidden: Tensor, log_shares: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Mean negative log-likelihood (nats) of ``targets`` (R,) under Σ_m share_m softmax(hidden_m weightᵀ + bias).

    ``hidden`` (R, M, E) are the vectors of the parts, ``log_shares`` (R, M) the logarithms of their shares, ``weight``
    (V, E) and ``bias`` (V,) the output layer. Logits never exist for more than ``LOGITS`` rows.
    """
    return _MixtureCrossEntropy.apply(hidden, log_shares, weight, bias, targets)


@torch.no_grad()
def mixture_log_probabilities(
    hidden: Tensor, log_shares: Tensor, weight: Tensor, bias: Tensor, targets: Tensor
) -> Tensor:
    """Log-probability (R,) in nats of each of ``targets`` (R,), without a gradient."""
    rows = [joint.logsumexp(1) for joint, _, _ in _blocks(hidden, log_shares, weight, bias, targets)]
    return torch.cat(rows) if rows else log_shares.new_zeros(0)


def _blocks(
    hidden: Tensor, log_shares: Tensor, weight: Tensor, bias: Tensor, targets: Tensor
) -> Iterator[tuple[Tensor, Tensor, slice]]:
    """For each block of r rows: log-probabilities (r, M) of target and part, log-softmax (r M, V), and the rows."""
    parts = hidden.shape[1]
    size = max(1, LOGITS // parts)
    for start in range(0, len(hidden), size):
        block = slice(start, start + size)
        logits = torch.addmm(bias, hidden[block].flatten(0, 1), weight.t())
        logits.sub_(logits.logsumexp(1, keepdim=True))
        repeated = targets[block].repeat_interleave(parts)[:, None]
        yield log_shares[block] + logits.gather(1, repeated).view(-1, parts), logits, block


class _MixtureCrossEntropy(torch.autograd.Function):
    """Cross entropy whose gradient is computed block by block in the forward pass.

    With joint_m = log share_m + log p_m(target), the loss is -log Σ_m exp joint_m, and r = softmax(joint) is the
    posterior of the parts m. d loss / d log share_m = -r_m;
    d loss / d logits_m = r_m (softmax(logits_m) - one-hot(target)).
    """

    @staticmethod
    @in_float32
    def forward(ctx: Any, hidden: Tensor, log_shares: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
        total = hidden.new_zeros(())
        need_gradient = any(ctx.needs_input_grad[:4])
        gradients = [torch.zeros_like(value) for value in (hidden, log_shares, weight, bias)] if need_gradient else []
        for joint, logits, block in _blocks(hidden, log_shares, weight, bias, targets):
            total -= joint.logsumexp(1).sum()
            if not gradients:
                continue
            part = joint.softmax(1)
            weights = part.view(-1, 1)
            error = logits.exp_().mul_(weights)
            error.scatter_add_(1, targets[block].repeat_interleave(part.shape[1])[:, None], -weights)
            gradients[0][block] = torch.mm(error, weight).view_as(hidden[block])
            gradients[1][block] = -part
            gradients[2].addmm_(error.t(), hidden[block].flatten(0, 1))
            gradients[3] += error.sum(0)
        ctx.save_for_backward(*gradients)
        ctx.count = max(1, len(hidden))
        return total / ctx.count

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Any:
        scale = gradient / ctx.count
        return (*(part * scale for part in ctx.saved_tensors), None)
