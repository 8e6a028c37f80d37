"""The slots of Ordered Memory at one step, and their gradients by hand.

Shapes: B sentences or streams, N slots, D units of a slot, R pairs of a slot and a sentence that uses it.

**Forward** (Shen 2022, thesis), for the slots from the lowest to the top, with the word x, the memory M_i and the share
a_i of the head of the stack that lies at slot i or below it (m: dropout masks; norm: layer normalization)::

    hidden_i  = m_inside relu(W_inner [m_lower c_{i-1}; m_memory M_i] + b_inner)        c_{-1} = x
    vertical, horizontal, cell, new = W_outer hidden_i + b_outer, gates through a sigmoid            (eq. 3.5.12)
    joined_i  = norm(vertical c_{i-1} + horizontal M_i + cell new)                                   (eq. 3.5.13)
    c_i       = (1 - a_i) x + a_i joined_i                                                   (eq. 3.5.6, 3.5.7)

**Backward**, from dc_i, which comes from outside and from slot i + 1::

    da_i      = dc_i · (joined_i - x)          djoined_i = a_i dc_i          dx += (1 - a_i) dc_i
    dmixed    = djoined through the norm
    dz        = (dmixed c_{i-1} v (1 - v),  dmixed M_i h (1 - h),  dmixed new g (1 - g),  dmixed cell)
    dhidden   = W_outerᵀ dz where hidden > 0, times m_inside
    dc_{i-1}  = dmixed vertical + m_lower (W_inner,lowerᵀ dhidden)
    dM_i      = dmixed horizontal + m_memory (W_inner,memoryᵀ dhidden)

Where a_i is 0 the slot holds the word and nothing is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional


class CellWeights(NamedTuple):
    """Weights of the recursive cell and of its layer normalization."""

    inner: Tensor  # (4D, 2D)
    inner_bias: Tensor  # (4D,)
    outer: Tensor  # (4D, 4D)
    outer_bias: Tensor  # (4D,)
    gain: Tensor  # (D,)
    bias: Tensor  # (D,)


def fill_slots(
    x: Tensor,
    memory: Tensor,
    above: Tensor,
    weights: CellWeights,
    epsilon: float,
    masks: Sequence[Tensor] | None = None,
) -> Tensor:
    """Content of each slot (N, B, D) with the word ``x`` (B, D) in it, given ``memory`` (B, N, D).

    ``above`` (B, N) is how far the head of the stack lies at a slot or below it. ``epsilon`` is the small
    number of the layer normalization. ``masks``, if any, are those of the lower slot (R, D), the memory (R, D) and the
    inside of the cell (R, 4D), with pairs in the order of slots and, in a slot, of sentences.
    """
    return _Slots.apply(epsilon, masks, x, memory, above, *weights)


class _Saved(NamedTuple):
    """Inputs of the backward pass: the pairs (R, …), packed slot by slot, and the weights."""

    active: Tensor  # (N, B): whether a sentence uses a slot
    rows: Tensor  # (R,): the sentence of each pair
    memory: Tensor  # (R, D): M
    share: Tensor  # (R, 1): a
    words: Tensor  # (R, D): x
    hidden: Tensor  # (R, 4D), its mask applied
    lower: Tensor  # (R, D): c of the slot below
    mixed: Tensor  # (R, D): input of the normalization
    new: Tensor  # (R, D)
    gates: Tensor  # (R, 3D): vertical, horizontal, cell after the sigmoid
    joined: Tensor  # (R, D)
    means: Tensor  # (R, 1), with the next one: of the normalization
    deviations: Tensor  # (R, 1): one by the standard deviation
    inner: Tensor  # (4D, 2D)
    outer: Tensor  # (4D, 4D)
    gain: Tensor  # (D,)
    bias: Tensor  # (D,)

    @classmethod
    def of(
        cls, x: Tensor, memory: Tensor, above: Tensor, weights: CellWeights, masks: Sequence[Tensor] | None
    ) -> _Saved:
        """The pairs with what does not wait for the slot below, and memory for the rest."""
        inner, inner_bias, outer, _, gain, bias = weights
        active = above.t() > 0  # (N, B)
        rows, size = active.nonzero()[:, 1], x.shape[1]
        held = memory.transpose(0, 1)[active]
        hidden = functional.linear(held if masks is None else held * masks[1], inner[:, size:], inner_bias)
        count = len(rows)
        lower, mixed, new, joined = (torch.empty_like(held) for _ in range(4))
        gates, means, deviations = (hidden.new_empty(count, width) for width in (3 * size, 1, 1))
        share, words = above.t()[active][:, None], x[rows]
        return cls(
            active, rows, held, share, words, hidden, lower, mixed, new, gates, joined, means, deviations, inner, outer,
            gain, bias,
        )  # fmt: skip


class _Slots(torch.autograd.Function):
    """The slots of one step, each made of the slot below and of the memory, as one node of the graph.

    Three tricks. ``above`` rises from slot to slot, so that the sentences that use a slot are among those that use the
    next: the cell runs on these only, packed slot by slot, so that everything but the chain from slot to slot is one
    operation for all pairs. The memory's part of the inner product does not wait for the slot below and is one product
    for all of them. And the gradients of the weights are one product each in the end.
    """

    @staticmethod
    def forward(
        ctx: Any,
        epsilon: float,
        masks: Sequence[Tensor] | None,
        x: Tensor,
        memory: Tensor,
        above: Tensor,
        *weights: Tensor,
    ) -> Tensor:
        """Slots (N, B, D) of `fill_slots`, from the ``weights`` of `CellWeights`."""
        cell = CellWeights(*weights)
        batch, size = x.shape
        saved = _Saved.of(x, memory, above, cell, masks)
        counts, rows = saved.active.sum(1).tolist(), saved.rows
        from_lower, from_hidden = cell.inner[:, :size].t(), cell.outer.t()
        slots = x.expand(len(counts), batch, size).clone()
        below, end = x, 0
        for slot, count in enumerate(counts):
            pairs = slice(end, end + count)
            end += count
            if count:
                low, hidden = saved.lower[pairs], saved.hidden[pairs]
                low.copy_(below if count == batch else below[rows[pairs]])
                hidden.addmm_(low if masks is None else low * masks[0][pairs], from_lower).relu_()
                if masks is not None:
                    hidden.mul_(masks[2][pairs])
                result = _joined(pairs, torch.addmm(cell.outer_bias, hidden, from_hidden), saved, epsilon)
                slots[slot] = result if count == batch else slots[slot].index_copy_(0, rows[pairs], result)
            below = slots[slot]
        if any(ctx.needs_input_grad):
            ctx.save_for_backward(*saved, *(masks or ()))
            ctx.counts = counts
        return slots

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_slots: Tensor) -> Any:
        """Gradients of all that `forward` reads, from those of the slots (N, B, D)."""
        count_saved = len(_Saved._fields)
        saved, masks = _Saved(*ctx.saved_tensors[:count_saved]), ctx.saved_tensors[count_saved:]
        batch, size = d_slots.shape[1:]
        rows, lower_inner, beginning = saved.rows, saved.inner[:, :size].contiguous(), len(saved.rows)
        gradients = _Gradients(
            z=torch.empty_like(saved.hidden), hidden=torch.empty_like(saved.hidden),
            share=torch.empty_like(saved.share), memory=torch.empty_like(saved.memory),
            gain=torch.zeros_like(saved.gain), bias=torch.zeros_like(saved.bias),
        )  # fmt: skip
        d_x, from_above = torch.zeros_like(d_slots[0]), torch.zeros_like(d_slots[0])
        derivative, by_share = saved.gates * (1 - saved.gates), saved.joined - saved.words
        for slot in range(len(ctx.counts) - 1, -1, -1):
            count = ctx.counts[slot]
            if not count:  # no slot below is in use, either: all of them hold the word
                d_x += d_slots[: slot + 1].sum(0)
                break
            d_slot = d_slots[slot] + from_above
            pairs, beginning = slice(beginning - count, beginning), beginning - count
            whole = count == batch
            d = d_slot if whole else d_slot[rows[pairs]]
            torch.sum(d * by_share[pairs], 1, keepdim=True, out=gradients.share[pairs])
            d_joined = d * saved.share[pairs]
            d_word = d - d_joined
            d_x += d_word if whole else d_slot.index_copy(0, rows[pairs], d_word)
            d_low = _cell_back(pairs, d_joined, saved, masks, derivative, lower_inner, gradients)
            from_above = d_low if whole else torch.zeros_like(d_x).index_copy_(0, rows[pairs], d_low)
        d_x += from_above
        d_read = gradients.hidden @ saved.inner[:, size:]
        gradients.memory.add_(d_read * masks[1] if masks else d_read)
        d_memory = saved.memory.new_zeros(*saved.active.shape, size)  # 0 where a slot is not in use
        d_memory[saved.active] = gradients.memory
        d_above = saved.memory.new_zeros(saved.active.shape)
        d_above[saved.active] = gradients.share[:, 0]
        read = (saved.lower * masks[0], saved.memory * masks[1]) if masks else (saved.lower, saved.memory)
        d_inner = torch.cat([gradients.hidden.t() @ part for part in read], 1)
        d_outer = gradients.z.t() @ saved.hidden
        biases = gradients.hidden.sum(0), gradients.z.sum(0)
        weights = d_inner, biases[0], d_outer, biases[1], gradients.gain, gradients.bias
        return None, None, d_x, d_memory.transpose(0, 1), d_above.t(), *weights


class _Gradients(NamedTuple):
    """Gradients, filled slot by slot."""

    z: Tensor  # (R, 4D): rows of the outer product
    hidden: Tensor  # (R, 4D)
    share: Tensor  # (R, 1)
    memory: Tensor  # (R, D)
    gain: Tensor  # (D,)
    bias: Tensor  # (D,)


def _joined(pairs: slice, z: Tensor, saved: _Saved, epsilon: float) -> Tensor:
    """Content of the slots of ``pairs`` (R', D), from the rows ``z`` (R', 4D) of the outer product."""
    size = z.shape[1] // 4
    gate, new = torch.sigmoid(z[:, : 3 * size], out=saved.gates[pairs]), saved.new[pairs].copy_(z[:, 3 * size :])
    vertical, horizontal, cell = gate.chunk(3, 1)
    mixed = torch.mul(vertical, saved.lower[pairs], out=saved.mixed[pairs])
    mixed.addcmul_(horizontal, saved.memory[pairs]).addcmul_(cell, new)  # eq. 3.5.13
    saved.joined[pairs], saved.means[pairs], saved.deviations[pairs] = torch.native_layer_norm(
        mixed, (size,), saved.gain, saved.bias, epsilon
    )
    return torch.lerp(saved.words[pairs], saved.joined[pairs], saved.share[pairs])


def _cell_back(
    pairs: slice,
    d_joined: Tensor,
    saved: _Saved,
    masks: Sequence[Tensor],
    derivative: Tensor,
    lower_inner: Tensor,
    gradients: _Gradients,
) -> Tensor:
    """The gradient of the slots below (R', D), from that of ``d_joined`` (R', D). ``gradients`` grow.

    ``derivative`` (R, 3D) is that of the gates' sigmoid, ``lower_inner`` (4D, D) the lower slot's part of the weight.
    """
    size = d_joined.shape[1]
    d_mixed, d_gain, d_bias = torch.ops.aten.native_layer_norm_backward(
        d_joined, saved.mixed[pairs], [size], saved.means[pairs], saved.deviations[pairs], saved.gain, saved.bias,
        [True, True, True],
    )  # fmt: skip
    gradients.gain.add_(d_gain)
    gradients.bias.add_(d_bias)
    dz, gate = gradients.z[pairs], saved.gates[pairs]
    torch.mul(d_mixed, saved.lower[pairs], out=dz[:, :size])
    torch.mul(d_mixed, saved.memory[pairs], out=dz[:, size : 2 * size])
    torch.mul(d_mixed, saved.new[pairs], out=dz[:, 2 * size : 3 * size])
    dz[:, : 3 * size] *= derivative[pairs]
    torch.mul(d_mixed, gate[:, 2 * size :], out=dz[:, 3 * size :])
    torch.mul(d_mixed, gate[:, size : 2 * size], out=gradients.memory[pairs])
    d_hidden = torch.mm(dz, saved.outer, out=gradients.hidden[pairs])
    if masks:
        d_hidden *= masks[2][pairs]
    d_hidden *= saved.hidden[pairs] > 0
    d_low = d_hidden @ lower_inner
    if masks:
        d_low *= masks[0][pairs]
    return d_low.addcmul_(d_mixed, gate[:, :size])
