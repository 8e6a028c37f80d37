"""Attention of PRPN to the last states through gates (Shen et al. 2018, eq. 10, 11), and its gradients by hand.

Shapes: T steps, B sentences or streams, H hidden units, S slots of memory. Two kinds: "modulated" is the paper's, a
softmax times the gates over the sum of the gates; "masked" is the program's, a softmax over the states whose gate is
open, which with gates between 0 and 1 weighs the exponentials by them.

With ratio = softmax(fit), total = sum(gate) + `TINY` (modulated), or ratio = exp(fit - max), total = sum(ratio gate) +
`TINY` (masked), the weights are ratio gate / total, and their gradients::

    dfit  = weights dweights - share sum(weights dweights)
    dgate = (ratio dweights - sum(weights dweights)) / total      (modulated)
    dgate = ratio (dweights - sum(weights dweights)) / total      (masked)

where share is the softmax (modulated) or the weights (masked).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

TINY = 1e-8  # added to the sum of attention weights: all gates may be closed


def attend(scores: Tensor, gate: Tensor, kind: str = "masked") -> Tensor:
    """Weight of each slot (…, S): softmax of ``scores`` under ``gate``. All 0 where every gate is closed."""
    if kind == "modulated":
        return scores.softmax(-1) * gate / (gate.sum(-1, keepdim=True) + TINY)  # eq. 10, 11: not normalized
    weights = (scores - scores.amax(-1, keepdim=True)).exp() * gate
    return weights / (weights.sum(-1, keepdim=True) + TINY)


def scores(tape: Tensor, key: Tensor) -> Tensor:
    """Fit of each state on ``tape`` (…, S, H) to ``key`` (…, H), scaled as in eq. 10."""
    return (tape @ key[..., None])[..., 0] / math.sqrt(key.shape[-1])


def remembered(weights: Tensor, tape: Tensor) -> Tensor:
    """Weighted sum (…, H) of the states on ``tape`` (…, S, H)."""
    return (weights[..., None, :] @ tape)[..., 0, :]


def attend_into(fit: Tensor, gate: Tensor, kind: str, *, out: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """`attend`, written to ``out`` with the factors of its gradients: weights (B, S), ratio (B, S), total (B, 1)."""
    weights, ratio, total = out
    if kind == "modulated":
        torch.softmax(fit, -1, out=ratio)
        torch.sum(gate, -1, keepdim=True, out=total).add_(TINY)
        return torch.mul(ratio, gate, out=weights).div_(total)
    torch.exp(fit - fit.amax(-1, keepdim=True), out=ratio)
    torch.mul(ratio, gate, out=weights)
    torch.sum(weights, -1, keepdim=True, out=total).add_(TINY)
    return weights.div_(total)


def fit_gradient_share(weights: Tensor, ratio: Tensor, total: Tensor, kind: str) -> Tensor:
    """``share`` in the gradient of the fit (T, B, S), as defined in the docstring of the module."""
    if kind == "modulated":
        return ratio
    top = ratio.argmax(-1, keepdim=True)  # subtracting the maximum has a gradient, because TINY is constant
    return weights.scatter_add(-1, top, TINY / total)


def gate_gradient(d_weights: Tensor, mean: Tensor, ratio: Tensor, total: Tensor, kind: str) -> Tensor:
    """Gradient of the gates (T, B, S). ``mean`` (T, B, 1) is sum(weights dweights)."""
    return (d_weights * ratio - mean if kind == "modulated" else ratio * (d_weights - mean)) / total


def band(x: Tensor, slots: int) -> Tensor:
    """Entries t to t + S - 1 of each row t of ``x`` (B, T, S + T): (B, T, S)."""
    batch, steps, length = x.shape
    return functional.pad(x.flatten(1), (0, steps)).view(batch, steps, length + 1)[..., :slots]


def unband(x: Tensor) -> Tensor:
    """Inverse of `band`: ``x`` (B, T, S) at its positions among zeros (B, T, S + T)."""
    batch, steps, slots = x.shape
    return functional.pad(x, (0, steps + 1)).flatten(1)[:, :-steps].view(batch, steps, slots + steps)


class LaterSteps:
    """Gradients that the S steps after a state send back to it, by two batched products per state.

    The gradients of all steps lie side by side, with zeros on either side. ``d_summary`` (B, S + T + S, 2H), the
    gradients of h~ and c~, and ``d_fit`` (B, S + T + S, S) are filled step by step. ``d_states`` (S + T, B, 1, 2H) are
    the gradients of h and c of each state, those of the S states before the segment first.
    """

    def __init__(self, keys: Tensor, attention: Tensor) -> None:
        """Begin with the ``keys`` (T, B, H) and the weights ``attention`` (T, B, S)."""
        steps, batch, self.units = keys.shape
        self.slots = slots = attention.shape[-1]

        def padded(size: int) -> Tensor:
            return keys.new_zeros(batch, slots + steps + slots, size)

        self.d_summary, self.d_fit, self.keys = padded(2 * self.units), padded(slots), padded(self.units)
        weights = padded(slots)
        self.keys[:, slots:-slots] = keys.transpose(0, 1)
        weights[:, slots:-slots] = attention.transpose(0, 1)
        self.by_attention, self.by_fit = _by_state(weights).contiguous(), _by_state(self.d_fit)
        self.d_states = keys.new_zeros(slots + steps, batch, 1, 2 * self.units)

    def sent_back(self, n: int) -> tuple[Tensor, Tensor]:
        """Gradients of h and c (B, H) of state ``n``, after all steps that attend to it."""
        d_state, later = self.d_states[n], slice(n + 1, n + 1 + self.slots)
        d_state += torch.bmm(self.by_attention[n][:, None], self.d_summary[:, later])
        d_h, d_c = d_state[:, 0].split(self.units, -1)
        d_h += torch.bmm(self.by_fit[n].contiguous()[:, None], self.keys[:, later])[:, 0]
        return d_h, d_c


def _by_state(by_step: Tensor) -> Tensor:
    """A view (S + T, B, S) of numbers for each step and slot (B, S + T + S, S), oldest slot first, by state instead.

    A state has one number for each of the S steps after it, the earliest first: a diagonal of the table.
    """
    batch, length, slots = by_step.shape
    strides = (slots, length * slots, slots - 1)
    return by_step.as_strided((length - slots, batch, slots), strides, 2 * slots - 1)
