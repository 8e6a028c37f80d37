"""The slots of Ordered Memory at one step (Shen 2022, thesis, eq. 3.5.6, 3.5.7, 3.5.12, 3.5.13), and their gradients.

Shapes: B sentences or streams, N slots, D units of a slot, R pairs of slot and sentence in use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional


def fill_slots(
    x: Tensor,
    memory: Tensor,
    above: Tensor,
    weights: Sequence[Tensor],
    epsilon: float,
    masks: Sequence[Tensor] | None = None,
) -> Tensor:
    """What each slot would hold (N, B, D) with the word ``x`` (B, D), beside ``memory`` (B, N, D).

    ``above`` (B, N) is how far the head of the stack lies at a slot or below it. ``weights`` are those of the recursive
    cell: inner (4D, 2D), its bias, outer (4D, 4D), its bias, gain and bias (D,) of the layer normalisation, whose small
    number is ``epsilon``. ``masks``, if any, are of the lower slot (R, D), the memory (R, D) and inside (R, 4D).
    """
    slots: Tensor = _Slots.apply(x, memory, above, *weights, epsilon, masks)
    return slots


class _Slots(torch.autograd.Function):
    """The slots of one step, each made of the one below and of what the memory holds: one node of the graph.

    Below the head of the stack ``above`` is 0 and the slots hold the word. It rises from slot to slot, so that the
    sentences that use a slot are among those that use the next; the cell runs on these only, R pairs of slot and
    sentence in all, packed slot by slot.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        memory: Tensor,
        above: Tensor,
        inner: Tensor,
        inner_bias: Tensor,
        outer: Tensor,
        outer_bias: Tensor,
        scale: Tensor,
        shift: Tensor,
        epsilon: float,
        masks: Sequence[Tensor] | None,
    ) -> Tensor:
        """Slots (N, B, D). ``masks``, if any, are of the lower slot (R, D), the memory (R, D) and inside (R, 4D)."""
        batch, size = x.shape
        active = above.t() > 0  # (N, B)
        counts, rows = active.sum(1).tolist(), active.nonzero()[:, 1]
        held, share, words = memory.transpose(0, 1)[active], above.t()[active][:, None], x[rows]
        hidden = functional.linear(held if masks is None else held * masks[1], inner[:, size:], inner_bias)  # (R, 4D)
        lower, joined, new = (torch.empty_like(held) for _ in range(3))
        gates, normed = hidden.new_empty(len(rows), 3 * size), torch.empty_like(held)
        means, deviations = hidden.new_empty(len(rows), 1), hidden.new_empty(len(rows), 1)
        from_lower, from_hidden = inner[:, :size].t(), outer.t()
        slots = x.expand(len(counts), batch, size).clone()
        below, end = x, 0
        for slot, count in enumerate(counts):
            here = slice(end, end + count)
            end += count
            if count:
                lower[here] = below if count == batch else below[rows[here]]
                low, h = lower[here], hidden[here]
                h.addmm_(low if masks is None else low * masks[0][here], from_lower).relu_()
                if masks is not None:
                    h.mul_(masks[2][here])
                z = torch.addmm(outer_bias, h, from_hidden)
                gate = torch.sigmoid(z[:, : 3 * size], out=gates[here])
                new[here] = z[:, 3 * size :]
                vertical, horizontal, cell = gate.chunk(3, 1)
                mixed = torch.mul(vertical, low, out=joined[here]).addcmul_(horizontal, held[here])
                mixed.addcmul_(cell, new[here])
                normed[here], means[here], deviations[here] = torch.native_layer_norm(
                    mixed, (size,), scale, shift, epsilon
                )
                result = torch.lerp(words[here], normed[here], share[here])
                slots[slot] = result if count == batch else slots[slot].index_copy_(0, rows[here], result)
            below = slots[slot]
        if any(ctx.needs_input_grad):
            kept = (active, rows, held, share, words, hidden, lower, joined, new, gates, normed, means, deviations)
            ctx.save_for_backward(*kept, inner, outer, scale, shift, *(masks or ()))
            ctx.counts = counts
        return slots

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_slots: Tensor) -> Any:
        active, rows, held, share, words, hidden, lower, joined, new, gates, normed, means, deviations, *rest = (
            ctx.saved_tensors
        )
        inner, outer, scale, shift, *masks = rest
        batch, size = d_slots.shape[1:]
        d_z, d_hidden = torch.empty_like(hidden), torch.empty_like(hidden)
        d_share, d_held = torch.empty_like(share), torch.empty_like(held)
        d_scale, d_shift = torch.zeros_like(scale), torch.zeros_like(shift)
        d_x, from_above = torch.zeros_like(d_slots[0]), torch.zeros_like(d_slots[0])
        lower_inner, beginning = inner[:, :size].contiguous(), len(rows)
        derivative = gates * (1 - gates)
        by_share = normed - words
        for slot in range(len(ctx.counts) - 1, -1, -1):
            count = ctx.counts[slot]
            if not count:  # nor has any slot below: all of them hold the word
                d_x += d_slots[: slot + 1].sum(0)
                break
            d_slot = d_slots[slot] + from_above
            here, beginning = slice(beginning - count, beginning), beginning - count
            whole = count == batch
            d = d_slot if whole else d_slot[rows[here]]
            torch.sum(d * by_share[here], 1, keepdim=True, out=d_share[here])
            d_normed = d * share[here]
            d_word = d - d_normed
            d_x += d_word if whole else d_slot.index_copy(0, rows[here], d_word)
            d_joined, d_s, d_b = torch.ops.aten.native_layer_norm_backward(
                d_normed, joined[here], [size], means[here], deviations[here], scale, shift, [True, True, True]
            )
            d_scale += d_s
            d_shift += d_b
            dz, gate = d_z[here], gates[here]
            torch.mul(d_joined, lower[here], out=dz[:, :size])
            torch.mul(d_joined, held[here], out=dz[:, size : 2 * size])
            torch.mul(d_joined, new[here], out=dz[:, 2 * size : 3 * size])
            dz[:, : 3 * size] *= derivative[here]
            torch.mul(d_joined, gate[:, 2 * size :], out=dz[:, 3 * size :])
            torch.mul(d_joined, gate[:, size : 2 * size], out=d_held[here])
            dh = torch.mm(dz, outer, out=d_hidden[here])
            if masks:
                dh *= masks[2][here]
            dh *= hidden[here] > 0
            d_low = dh @ lower_inner
            if masks:
                d_low *= masks[0][here]
            d_low.addcmul_(d_joined, gate[:, :size])
            from_above = d_low if whole else torch.zeros_like(d_x).index_copy_(0, rows[here], d_low)
        d_x += from_above
        d_read = d_hidden @ inner[:, size:]
        d_held += d_read * masks[1] if masks else d_read
        d_memory = held.new_zeros(*active.shape, size)
        d_memory[active] = d_held
        d_above = held.new_zeros(active.shape)
        d_above[active] = d_share[:, 0]
        read = (lower * masks[0], held * masks[1]) if masks else (lower, held)
        d_inner = torch.cat([d_hidden.t() @ part for part in read], 1)
        weights = d_inner, d_hidden.sum(0), d_z.t() @ hidden, d_z.sum(0), d_scale, d_shift
        return d_x, d_memory.transpose(0, 1), d_above.t(), *weights, None, None
