"""The steps of PRPN's reading network over a segment (Shen et al. 2018, eq. 9 to 12), with their backward pass.

Shapes: T steps, B sentences or streams, H hidden units, S slots of memory, the newest first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from induce.kernels.dropout import dropped, dropped_at
from induce.kernels.layer_norm import centred, excess, spread_of

TINY = 1e-8  # added to the sum of attention weights: all gates may be closed


def attend(scores: Tensor, gate: Tensor, kind: str = "masked") -> Tensor:
    """Weight of each slot (…, S): softmax of ``scores`` under ``gate``; all 0 where every gate is closed."""
    if kind == "modulated":
        return scores.softmax(-1) * gate / (gate.sum(-1, keepdim=True) + TINY)  # eq. 10, 11: not normalised
    weights = (scores - scores.amax(-1, keepdim=True)).exp() * gate
    return weights / (weights.sum(-1, keepdim=True) + TINY)


def scores(tape: Tensor, key: Tensor) -> Tensor:
    """How well each state on ``tape`` (…, S, H) fits ``key`` (…, H), scaled as in eq. 10."""
    return (tape @ key[..., None])[..., 0] / math.sqrt(key.shape[-1])


def remembered(weights: Tensor, tape: Tensor) -> Tensor:
    """Weighted sum (…, H) of the states on ``tape`` (…, S, H)."""
    return (weights[..., None, :] @ tape)[..., 0, :]


def recurrence(
    kind: str,
    from_input: Tensor,
    key_from_input: Tensor,
    gate: Tensor,
    tape_h: Tensor,
    tape_c: Tensor,
    weights: Sequence[Tensor],
    masks: tuple[Tensor | None, Tensor | None, Tensor | None],
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The steps of a reading layer over a segment: h (T, B, H), attention (T, B, S), both tapes after it (B, S, H).

    ``from_input`` (T, B, 4H), ``key_from_input`` (T, B, H), ``gate`` (T, B, S): what needs no step before. ``weights``
    are those of the key (H, H), of the gates (4H, H), the bias and gain of these (4H,), gain and bias of the cell (H,).
    ``masks`` are those of the last h and of the key (T, B, H), and of the h remembered (H,).
    """
    outputs: tuple[Tensor, Tensor, Tensor, Tensor] = _Recurrence.apply(
        kind, from_input, key_from_input, gate, tape_h, tape_c, *weights, masks
    )
    return outputs


class _Recurrence(torch.autograd.Function):
    """The steps of a reading layer over a segment: one graph node, weight gradients by one product for all steps.

    States are kept side by side, oldest first, so that the tapes of a step are a view of S of them. The recurrent
    matrix is centred over its outputs, so that normalising its product has no mean to subtract at each step.
    """

    @staticmethod
    def forward(
        ctx: Any,
        kind: str,
        from_input: Tensor,
        key_from_input: Tensor,
        gate: Tensor,
        tape_h: Tensor,
        tape_c: Tensor,
        key_weight: Tensor,
        weight: Tensor,
        bias: Tensor,
        gain: Tensor,
        cell_gain: Tensor,
        cell_bias: Tensor,
        masks: tuple[Tensor | None, Tensor | None, Tensor | None],
    ) -> Any:
        """``from_input`` (T, B, 4H), ``key_from_input`` (T, B, H), ``gate`` (T, B, S): what needs no step before.

        ``masks`` are those of the last h and of the key (T, B, H), and of the h remembered (H,). Returns h (T, B, H),
        the attention (T, B, S) and the tapes after the segment.
        """
        steps, batch, units = key_from_input.shape
        slots, of_state, of_key = tape_h.shape[1], masks[0], masks[1]
        open_ = gate.flip(-1)  # oldest slot first
        states = from_input.new_empty(batch, slots + steps, 2 * units)
        states[:, :slots] = torch.cat((tape_h, tape_c), -1).flip(1)
        keys, z = torch.empty_like(key_from_input), torch.empty_like(from_input)
        both = key_from_input.new_empty(steps, batch, 1, 2 * units)
        attention, ratio = torch.empty_like(open_), torch.empty_like(open_)
        norm, total, spread = torch.empty_like(z), *z.new_empty(2, steps, batch, 1)
        cell_norm, cell_spread = torch.empty_like(keys), torch.empty_like(total)
        squashed = torch.empty_like(keys)
        from_key, key_turned = dropped(key_from_input, of_key) / math.sqrt(units), key_weight.t() / math.sqrt(units)
        turned, bias = dropped(centred(weight, 0), masks[2]).t(), centred(bias, 0)
        for t, tape in enumerate(states.unfold(1, slots, 1).unbind(1)[:-1]):  # (B, 2H, S)
            before = dropped_at(t, tape[:, :units, -1], of_state)
            key = torch.add(from_key[t], dropped_at(t, before @ key_turned, of_key), out=keys[t])  # eq. 9
            fit = torch.bmm(key[:, None], tape[:, :units])[:, 0]  # eq. 10
            weights = _attend(fit, open_[t], kind, out=(attention[t], ratio[t], total[t]))
            h, c = torch.bmm(weights[:, None], tape.mT, out=both[t])[:, 0].split(units, -1)  # eq. 12
            x = torch.addmm(bias, h, turned)
            torch.div(x, spread_of(x, out=spread[t]), out=norm[t])
            now = torch.addcmul(from_input[t], norm[t], gain, out=z[t])
            now[:, : 2 * units].sigmoid_()
            now[:, 2 * units : 3 * units].tanh_()
            now[:, 3 * units :].sigmoid_()
            i, f, candidate, o = now.chunk(4, -1)
            c = torch.addcmul(f * c, i, candidate, out=states[:, slots + t, units:])
            x = centred(c, -1)
            torch.div(x, spread_of(x, out=cell_spread[t]), out=cell_norm[t])
            torch.tanh(torch.addcmul(cell_bias, cell_norm[t], cell_gain), out=squashed[t])
            torch.mul(o, squashed[t], out=states[:, slots + t, :units])
        ctx.kind, ctx.masks = kind, masks
        ctx.save_for_backward(
            open_, states, keys, both, attention, ratio, total, z, norm, spread, cell_norm, cell_spread, squashed,
            key_weight, weight, gain, cell_gain,
        )  # fmt: skip
        hidden = states[:, slots:, :units].transpose(0, 1).contiguous()
        last_h, last_c = states[:, steps:].flip(1).split(units, -1)
        seen = attention.flip(-1)
        ctx.mark_non_differentiable(seen)
        return hidden, seen, last_h.contiguous(), last_c.contiguous()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_hidden: Tensor, _: Tensor, d_last_h: Tensor, d_last_c: Tensor) -> Any:
        (
            open_, states, keys, both, attention, ratio, total, z, norm, spread, cell_norm, cell_spread, squashed,
            key_weight, weight, gain, cell_gain,
        ) = ctx.saved_tensors  # fmt: skip
        of_state, of_key, of_past = ctx.masks
        steps, batch, units = keys.shape
        slots = open_.shape[-1]
        i, f, candidate, o = z.chunk(4, -1)
        # What does not wait for later steps, for all steps at once.
        to_norm = o * (1 - squashed * squashed)
        to_output = squashed * o * (1 - o)
        to_gates = torch.stack(
            (candidate * i * (1 - i), both[:, :, 0, units:] * f * (1 - f), i * (1 - candidate * candidate)), 2
        )
        to_cell = to_norm * cell_gain / cell_spread
        cell_along = cell_norm * excess(cell_spread, units)
        along = excess(spread, 4 * units)
        beside = _attend_beside(attention, ratio, total, ctx.kind)
        matrix, scaled = dropped(centred(weight, 0), of_past), key_weight / math.sqrt(units)

        # A state is read in the S steps after it. What these send back stands side by side, zeros on either side.
        def padded(size: int, values: Tensor | None = None) -> Tensor:
            found = states.new_zeros(batch, slots + steps + slots, size)
            if values is not None:
                found[:, slots:-slots] = values.transpose(0, 1)
            return found

        d_both, d_fit, near_keys = padded(2 * units), padded(slots), padded(units, keys)
        by_attention, by_fit = _by_state(padded(slots, attention)).contiguous(), _by_state(d_fit)
        d_states = states.new_zeros(slots + steps, batch, 1, 2 * units)
        d_states[steps:, :, 0] = torch.cat((d_last_h, d_last_c), -1).flip(1).transpose(0, 1)
        d_states[slots:, :, 0, :units] += d_hidden
        d_z, d_sum, d_key = torch.empty_like(z), torch.empty_like(z), torch.empty_like(keys)
        d_weights, mean = torch.empty_like(open_), torch.empty_like(total)
        d_before = keys.new_zeros(batch, units)  # of the h of the step before, by the key
        tapes = states.unfold(1, slots, 1).unbind(1)  # (B, 2H, S)

        def sent_back(n: int) -> tuple[Tensor, Tensor]:
            """Gradients of the h and c of state ``n``, where the steps that read it are done."""
            d_state, later = d_states[n], slice(n + 1, n + 1 + slots)
            d_state += torch.bmm(by_attention[n][:, None], d_both[:, later])
            d_h, d_c = d_state[:, 0].split(units, -1)
            d_h += torch.bmm(by_fit[n].contiguous()[:, None], near_keys[:, later])[:, 0]
            return d_h, d_c

        for t in reversed(range(steps)):
            d_h, d_c = sent_back(slots + t)
            d_h += d_before
            d_normal = d_h * to_cell[t]
            along_cell = (d_normal * cell_norm[t]).sum(-1, keepdim=True)
            d_c += d_normal
            d_c.sub_(d_normal.sum(-1, keepdim=True), alpha=1 / units).addcmul_(cell_along[t], along_cell, value=-1)
            torch.mul(d_c[:, None], to_gates[t], out=d_z[t, :, : 3 * units].view(batch, 3, units))
            torch.mul(d_h, to_output[t], out=d_z[t, :, 3 * units :])
            x = d_z[t] * gain
            torch.addcmul(x, norm[t], (x * norm[t]).sum(-1, keepdim=True) * along[t], value=-1, out=d_sum[t])
            d_now = d_both[:, slots + t]
            torch.div(d_sum[t] @ matrix, spread[t], out=d_now[:, :units])
            torch.mul(d_c, f[t], out=d_now[:, units:])
            weighed = torch.bmm(d_now[:, None], tapes[t], out=d_weights[t][:, None])[:, 0] * attention[t]
            torch.sum(weighed, -1, keepdim=True, out=mean[t])
            d_fit[:, slots + t] = fit = torch.addcmul(weighed, beside[t], mean[t], value=-1)
            past_h = tapes[t][:, :units].mT
            d_key[t] = dropped_at(t, torch.bmm(fit[:, None], past_h)[:, 0], of_key)
            d_before = dropped_at(t, d_key[t] @ scaled, of_state)

        if any(ctx.needs_input_grad[4:6]):
            for n in range(slots):
                sent_back(n)
            d_states[slots - 1, :, 0, :units] += d_before

        rows = steps * batch
        d_key /= math.sqrt(units)
        d_sum = d_sum.div_(spread).view(rows, 4 * units)
        before = dropped(states[:, slots - 1 : -1, :units].transpose(0, 1), of_state).reshape(rows, units)
        h = dropped(both[:, :, 0, :units], of_past).reshape(rows, units)
        d_squash = d_states[slots:, :, 0, :units] * to_norm
        d_first_h, d_first_c = d_states[:slots, :, 0].flip(0).transpose(0, 1).split(units, -1)
        return (
            None, d_z, d_key, _attend_gate(d_weights, mean, ratio, total, ctx.kind).flip(-1), d_first_h, d_first_c,
            d_key.view(rows, -1).t() @ before, centred(d_sum.t() @ h, 0), centred(d_sum.sum(0), 0),
            (d_z * norm).sum((0, 1)), (d_squash * cell_norm).sum((0, 1)), d_squash.sum((0, 1)), None,
        )  # fmt: skip


def _by_state(by_step: Tensor) -> Tensor:
    """Of numbers for each step and slot (B, S + T + S, S), oldest first, those for each state (S + T, B, S): what the
    steps that saw it have for it, the earliest first. A view."""
    batch, length, slots = by_step.shape
    strides = (slots, length * slots, slots - 1)
    return by_step.as_strided((length - slots, batch, slots), strides, 2 * slots - 1)


def _attend(fit: Tensor, gate: Tensor, kind: str, *, out: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """`attend`, written to ``out`` together with its numerator without the gate, and its denominator."""
    weights, ratio, total = out
    if kind == "modulated":
        torch.softmax(fit, -1, out=ratio)
        torch.sum(gate, -1, keepdim=True, out=total).add_(TINY)
        return torch.mul(ratio, gate, out=weights).div_(total)
    torch.exp(fit - fit.amax(-1, keepdim=True), out=ratio)
    torch.mul(ratio, gate, out=weights)
    torch.sum(weights, -1, keepdim=True, out=total).add_(TINY)
    return weights.div_(total)


def _attend_beside(weights: Tensor, ratio: Tensor, total: Tensor, kind: str) -> Tensor:
    """``beside`` in the gradient of the scores, weights · d_weights - beside · sum(weights · d_weights)."""
    if kind == "modulated":
        return ratio
    top = ratio.argmax(-1, keepdim=True)  # the maximum was subtracted, which leaves a trace beside the constant TINY
    return weights.scatter_add(-1, top, TINY / total)


def _attend_gate(d_weights: Tensor, mean: Tensor, ratio: Tensor, total: Tensor, kind: str) -> Tensor:
    """Gradient of the gate; ``mean`` is sum(weights · d_weights)."""
    return (d_weights * ratio - mean if kind == "modulated" else ratio * (d_weights - mean)) / total


def band(x: Tensor, slots: int) -> Tensor:
    """Of ``x`` (B, T, S + T) the entries t to t + S - 1 of each row t: (B, T, S)."""
    batch, steps, length = x.shape
    return functional.pad(x.flatten(1), (0, steps)).view(batch, steps, length + 1)[..., :slots]


def unband(x: Tensor) -> Tensor:
    """``x`` (B, T, S) where `band` would find it among zeros (B, T, S + T)."""
    batch, steps, slots = x.shape
    return functional.pad(x, (0, steps + 1)).flatten(1)[:, :-steps].view(batch, steps, slots + steps)
