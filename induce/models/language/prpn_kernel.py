"""The steps of PRPN's reading network over a segment, and their gradients by hand.

Shapes: T steps, B sentences or streams, H hidden units, S slots of memory. In here slots go from the oldest state to
the newest; at the surface, as in the paper, from the newest to the oldest.

**Forward** (Shen et al. 2018), for each step, from the states h_k, c_k of the S steps before it (m: dropout masks;
norm: layer normalization, `induce.layers.layer_norm`; from_input and from_key do not depend on earlier steps)::

    key    = m_key (from_key + W_key (m_state h_last)) / sqrt(H)                        (eq. 9)
    fit_k  = key · h_k                                                                  (eq. 10)
    weight = attend(fit, gate)                                                          (eq. 10, 11)
    h~, c~ = sum of weight_k h_k, sum of weight_k c_k                                   (eq. 12)
    z      = from_input + gain norm(W (m_past h~) + b)         its quarters: i, f, candidate, o
    c      = f c~ + i candidate                                h = o tanh(cell_gain norm(c) + cell_bias)

**Backward**, from dh and dc, which the layer above and the S steps that see this state send::

    dx     = dh o (1 - tanh²) cell_gain                        through the norm of c, added to dc
    dz     = (dc candidate i (1 - i),  dc c~ f (1 - f),  dc i (1 - candidate²),  dh tanh o (1 - o))
    dsum   = through the norm of W h~ + b: dz gain
    dh~    = m_past (Wᵀ dsum)               dc~ = dc f
    dweight_k = dh~ · h_k + dc~ · c_k       dfit, dgate: below
    dkey   = m_key sum of dfit_k h_k        to h_last: m_state (W_keyᵀ dkey)
    state k receives weight_k (dh~, dc~) and, for its h, dfit_k key

The weights' gradients are sums over steps of products of rows that are all known at the end: one product each.

Attention to the last states through gates (eq. 10, 11) has two kinds: "modulated" is the paper's, a
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
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from induce.layers.layer_norm import centered, excess, spread_of
from induce.layers.masks import dropped, dropped_at

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


class StepInputs(NamedTuple):
    """Tensors that the steps of a reading layer over a segment depend on."""

    from_input: Tensor  # (T, B, 4H)
    key_from_input: Tensor  # (T, B, H)
    gate: Tensor  # (T, B, S)
    tape_h: Tensor  # (B, S, H)
    tape_c: Tensor  # (B, S, H)
    key_weight: Tensor  # (H, H)
    weight: Tensor  # (4H, H)
    bias: Tensor  # (4H,)
    gain: Tensor  # (4H,)
    cell_gain: Tensor  # (H,)
    cell_bias: Tensor  # (H,)


class StepMasks(NamedTuple):
    """Dropout masks of the steps, or None without dropout."""

    state: Tensor | None = None  # (T, B, H): of the last h, as the key depends on it
    key: Tensor | None = None  # (T, B, H)
    past: Tensor | None = None  # (H,): of the attended h


def recurrence(kind: str, inputs: StepInputs, masks: StepMasks) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The steps of a reading layer over a segment: h (T, B, H), attention (T, B, S), both tapes after it (B, S, H)."""
    return _Recurrence.apply(kind, masks, *inputs)


class _Saved(NamedTuple):
    """Results of the forward pass that the backward pass needs, besides the masks."""

    gate: Tensor  # (T, B, S)
    states: Tensor  # (B, S + T, 2H): h and c of the steps before the segment and of its own
    keys: Tensor  # (T, B, H)
    summary: Tensor  # (T, B, 1, 2H): h~ and c~
    attention: Tensor  # (T, B, S): the weights
    ratio: Tensor  # (T, B, S), with the next one: see below
    total: Tensor  # (T, B, 1)
    gates: Tensor  # (T, B, 4H): i, f, candidate, o after their non-linearities
    norm: Tensor  # (T, B, 4H): of W h~ + b
    spread: Tensor  # (T, B, 1): what that was divided by
    cell_norm: Tensor  # (T, B, H): of c
    cell_spread: Tensor  # (T, B, 1)
    squashed: Tensor  # (T, B, H): tanh of the normalized c
    key_weight: Tensor  # (H, H)
    weight: Tensor  # (4H, H)
    gain: Tensor  # (4H,)
    cell_gain: Tensor  # (H,)

    @classmethod
    def empty(cls, from_input: Tensor, gate: Tensor, slots: int, *weights: Tensor) -> _Saved:
        """Memory for the results of the forward pass, with ``gate`` (T, B, S) and the ``weights`` filled in."""
        steps, batch, width = from_input.shape
        units = width // 4
        new = from_input.new_empty

        def by_step(size: int) -> Tensor:
            return new(steps, batch, size)

        return cls(
            gate, new(batch, slots + steps, 2 * units), by_step(units), new(steps, batch, 1, 2 * units),
            torch.empty_like(gate), torch.empty_like(gate), by_step(1), by_step(width), by_step(width), by_step(1),
            by_step(units), by_step(1), by_step(units), *weights,
        )  # fmt: skip


class _Recurrence(torch.autograd.Function):
    """The steps of a reading layer over a segment, as defined in the docstring of the module: one node of the graph.

    Three tricks. States are kept side by side, oldest first, h beside c, so that the tapes of a step are a view of S of
    them and one batched product makes both sums. The recurrent matrix is centered over its outputs before the first
    step, so that normalizing its product has no mean to subtract at each step, neither forward nor backward. And what
    the S steps after a state send back to it is summed by two batched products when that state's turn comes
    (`LaterSteps`), not scattered over S states at every step.
    """

    @staticmethod
    def forward(ctx: Any, kind: str, masks: StepMasks, *tensors: Tensor) -> Any:
        """h (T, B, H), attention (T, B, S) and tapes after the segment, from the ``tensors`` of `StepInputs`."""
        from_input, key_from_input, gate, tape_h, tape_c, *parameters = StepInputs(*tensors)
        key_weight, weight, bias, gain, cell_gain, cell_bias = parameters
        steps, units, slots = len(from_input), key_from_input.shape[2], tape_h.shape[1]
        of_state, of_key, of_past = masks
        saved = _Saved.empty(from_input, gate.flip(-1), slots, key_weight, weight, gain, cell_gain)
        states = saved.states
        states[:, :slots] = torch.cat((tape_h, tape_c), -1).flip(1)
        from_key, key_turned = dropped(key_from_input, of_key) / math.sqrt(units), key_weight.t() / math.sqrt(units)
        turned, bias = dropped(centered(weight, 0), of_past).t(), centered(bias, 0)
        for t, tape in enumerate(states.unfold(1, slots, 1).unbind(1)[:-1]):  # (B, 2H, S)
            before = dropped_at(t, tape[:, :units, -1], of_state)
            key = torch.add(from_key[t], dropped_at(t, before @ key_turned, of_key), out=saved.keys[t])  # eq. 9
            fit = torch.bmm(key[:, None], tape[:, :units])[:, 0]  # eq. 10
            attention = saved.attention[t], saved.ratio[t], saved.total[t]
            weights = attend_into(fit, saved.gate[t], kind, out=attention)
            summary = torch.bmm(weights[:, None], tape.mT, out=saved.summary[t])[:, 0]  # eq. 12
            h, c = summary.split(units, -1)
            _advance(t, torch.addmm(bias, h, turned), c, from_input, cell_bias, saved)
        ctx.kind, ctx.masks = kind, masks
        ctx.save_for_backward(*saved)
        hidden = states[:, slots:, :units].transpose(0, 1).contiguous()
        last_h, last_c = states[:, steps:].flip(1).split(units, -1)
        reversed_attention = saved.attention.flip(-1)
        ctx.mark_non_differentiable(reversed_attention)
        return hidden, reversed_attention, last_h.contiguous(), last_c.contiguous()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_hidden: Tensor, _: Tensor, d_last_h: Tensor, d_last_c: Tensor) -> Any:
        """Gradients of all that `forward` reads, from those of h (T, B, H) and of the tapes after the segment."""
        saved, (of_state, of_key, of_past) = _Saved(*ctx.saved_tensors), ctx.masks
        steps, batch, units = saved.keys.shape
        slots = saved.gate.shape[-1]
        factors = _Factors.of(saved, ctx.kind)
        matrix, scaled = dropped(centered(saved.weight, 0), of_past), saved.key_weight / math.sqrt(units)
        later = LaterSteps(saved.keys, saved.attention)
        later.d_states[steps:, :, 0] = torch.cat((d_last_h, d_last_c), -1).flip(1).transpose(0, 1)
        later.d_states[slots:, :, 0, :units] += d_hidden
        d_z, d_sum, d_key = torch.empty_like(saved.gates), torch.empty_like(saved.gates), torch.empty_like(saved.keys)
        d_weights, mean = torch.empty_like(saved.gate), torch.empty_like(saved.total)
        d_before = saved.keys.new_zeros(batch, units)  # of the h of the step before, by the key
        tapes = saved.states.unfold(1, slots, 1).unbind(1)  # (B, 2H, S)
        for t in reversed(range(steps)):
            d_h, d_c = later.sent_back(slots + t)
            d_h += d_before
            _cell_back(t, d_h, d_c, d_z[t], d_sum[t], saved, factors)
            d_now = later.d_summary[:, slots + t]  # of h~ and c~
            torch.div(d_sum[t] @ matrix, saved.spread[t], out=d_now[:, :units])
            torch.mul(d_c, saved.gates[t, :, units : 2 * units], out=d_now[:, units:])
            weighed = torch.bmm(d_now[:, None], tapes[t], out=d_weights[t][:, None])[:, 0] * saved.attention[t]
            torch.sum(weighed, -1, keepdim=True, out=mean[t])
            fit = torch.addcmul(weighed, factors.share[t], mean[t], value=-1)
            later.d_fit[:, slots + t] = fit
            d_key[t] = dropped_at(t, torch.bmm(fit[:, None], tapes[t][:, :units].mT)[:, 0], of_key)
            d_before = dropped_at(t, d_key[t] @ scaled, of_state)
        if any(ctx.needs_input_grad[5:7]):
            for n in range(slots):
                later.sent_back(n)
            later.d_states[slots - 1, :, 0, :units] += d_before
        d_gate = gate_gradient(d_weights, mean, saved.ratio, saved.total, ctx.kind).flip(-1)
        d_key /= math.sqrt(units)
        d_first_h, d_first_c = later.d_states[:slots, :, 0].flip(0).transpose(0, 1).split(units, -1)
        d_squash = later.d_states[slots:, :, 0, :units] * factors.to_norm
        weights = _weight_gradients(saved, ctx.masks, d_z, d_sum, d_key, d_squash)
        return None, None, d_z, d_key, d_gate, d_first_h, d_first_c, *weights


def _advance(t: int, x: Tensor, c: Tensor, from_input: Tensor, cell_bias: Tensor, saved: _Saved) -> None:
    """The LSTM step ``t`` from the product ``x`` (B, 4H), which has no mean, and c~ (B, H), written to ``saved``."""
    units = c.shape[-1]
    row = saved.states.shape[1] - len(from_input) + t
    torch.div(x, spread_of(x, out=saved.spread[t]), out=saved.norm[t])
    now = torch.addcmul(from_input[t], saved.norm[t], saved.gain, out=saved.gates[t])
    now[:, : 2 * units].sigmoid_()
    now[:, 2 * units : 3 * units].tanh_()
    now[:, 3 * units :].sigmoid_()
    i, f, candidate, o = now.chunk(4, -1)
    c = torch.addcmul(f * c, i, candidate, out=saved.states[:, row, units:])
    x = centered(c, -1)
    torch.div(x, spread_of(x, out=saved.cell_spread[t]), out=saved.cell_norm[t])
    torch.tanh(torch.addcmul(cell_bias, saved.cell_norm[t], saved.cell_gain), out=saved.squashed[t])
    torch.mul(o, saved.squashed[t], out=saved.states[:, row, :units])


class _Factors(NamedTuple):
    """Derivatives at every step that do not wait for later steps."""

    to_norm: Tensor  # (T, B, H): of h by the normalized c, gain and bias included
    to_output: Tensor  # (T, B, H): of h by the row of o
    to_gates: Tensor  # (T, B, 3, H): of c by the rows of i, f, candidate
    to_cell: Tensor  # (T, B, H): of h by c, without the part that the norm subtracts
    cell_direction: Tensor  # (T, B, H): direction that the norm of c removes from a gradient
    removed: Tensor  # (T, B, 1): factor of the direction that the norm of W h~ + b removes
    share: Tensor  # (T, B, S): see below

    @classmethod
    def of(cls, saved: _Saved, kind: str) -> _Factors:
        """The factors of all steps, computed at once."""
        units = saved.keys.shape[-1]
        i, f, candidate, o = saved.gates.chunk(4, -1)
        squashed, c = saved.squashed, saved.summary[:, :, 0, units:]
        to_norm = o * (1 - squashed * squashed)
        return cls(
            to_norm=to_norm,
            to_output=squashed * o * (1 - o),
            to_gates=torch.stack((candidate * i * (1 - i), c * f * (1 - f), i * (1 - candidate * candidate)), 2),
            to_cell=to_norm * saved.cell_gain / saved.cell_spread,
            cell_direction=saved.cell_norm * excess(saved.cell_spread, units),
            removed=excess(saved.spread, 4 * units),
            share=fit_gradient_share(saved.attention, saved.ratio, saved.total, kind),
        )


def _cell_back(t: int, d_h: Tensor, d_c: Tensor, d_z: Tensor, d_sum: Tensor, saved: _Saved, factors: _Factors) -> None:
    """The LSTM step ``t`` backward: ``d_c`` (B, H) grows by what ``d_h`` sends. ``d_z``, ``d_sum`` (B, 4H) are written.

    ``d_sum`` is still to be divided by the spread.
    """
    batch, units = d_h.shape
    d_normal = d_h * factors.to_cell[t]
    projection = (d_normal * saved.cell_norm[t]).sum(-1, keepdim=True)
    d_c += d_normal
    d_c.sub_(d_normal.sum(-1, keepdim=True), alpha=1 / units).addcmul_(factors.cell_direction[t], projection, value=-1)
    torch.mul(d_c[:, None], factors.to_gates[t], out=d_z[:, : 3 * units].view(batch, 3, units))
    torch.mul(d_h, factors.to_output[t], out=d_z[:, 3 * units :])
    x, norm = d_z * saved.gain, saved.norm[t]
    torch.addcmul(x, norm, (x * norm).sum(-1, keepdim=True) * factors.removed[t], value=-1, out=d_sum)


def _weight_gradients(
    saved: _Saved, masks: StepMasks, d_z: Tensor, d_sum: Tensor, d_key: Tensor, d_squash: Tensor
) -> tuple[Tensor, ...]:
    """Gradients of the weights: key (H, H), gates (4H, H), bias and gain (4H,), gain and bias of the cell (H,).

    Centering the recurrent matrix is its own transpose, so that gradients are centered once, here.
    """
    steps, batch, units = saved.keys.shape
    rows, slots = steps * batch, saved.gate.shape[-1]
    d_sum = d_sum.div_(saved.spread).view(rows, 4 * units)
    before = dropped(saved.states[:, slots - 1 : -1, :units].transpose(0, 1), masks[0]).reshape(rows, units)
    h = dropped(saved.summary[:, :, 0, :units], masks[2]).reshape(rows, units)
    return (
        d_key.view(rows, -1).t() @ before,
        centered(d_sum.t() @ h, 0),
        centered(d_sum.sum(0), 0),
        (d_z * saved.norm).sum((0, 1)),
        (d_squash * saved.cell_norm).sum((0, 1)),
        d_squash.sum((0, 1)),
    )
