"""Plain twins of the hand-written recurrences: loops over the equations of the papers, with automatic differentiation.

Each has the arguments and results of its kernel, gradients included. Tests compare the kernels with them, and
benchmarks time the kernels against them.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from induce.layers.layer_norm import EPSILON
from induce.layers.masks import dropped, dropped_at
from induce.models.language.onlstm_kernel import cumax
from induce.models.language.prpn_kernel import StepInputs, StepMasks, attend, scores
from induce.models.language.prpn_networks import LayerMasks, ReadingLayer, Tapes


def onlstm_recurrence(projected: Tensor, weight: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`induce.models.language.onlstm_kernel.recurrence` (Shen et al. 2019, eq. 3 to 15), one step after another."""
    chunks, chunk_size = c.shape[1:]
    units = chunks * chunk_size
    masters = (projected.shape[-1] - 4 * units) // 2
    hidden, distance_forget, distance_input = [], [], []
    for row in projected:
        z = row + functional.linear(h, weight)
        master_input, master_forget, output, candidate, i, f = z.split(
            [masters, masters, units, units, units, units], -1
        )
        master_input = (1 - cumax(master_input))[..., :chunks, None]
        master_forget = cumax(master_forget)[..., :chunks, None]
        overlap = master_forget * master_input
        final_forget = f.sigmoid().view_as(c) * overlap + (master_forget - overlap)
        final_input = i.sigmoid().view_as(c) * overlap + (master_input - overlap)
        c = final_forget * c + final_input * candidate.tanh().view_as(c)
        h = output.sigmoid() * c.tanh().flatten(1)
        hidden.append(h)
        distance_forget.append(1 - master_forget.mean((1, 2)))
        distance_input.append(master_input.mean((1, 2)))
    return torch.stack(hidden), c, torch.stack(distance_forget), torch.stack(distance_input)


def prpn_recurrence(kind: str, inputs: StepInputs, masks: StepMasks) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`induce.models.language.prpn_kernel.recurrence` (Shen et al. 2018, eq. 9 to 12), one step after another."""
    from_input, key_from_input, gate, tape_h, tape_c, *weights = inputs
    key_weight, weight, bias, gain, cell_gain, cell_bias = weights
    of_state, of_key, of_past = masks
    hidden, attention = [], []
    for t in range(len(from_input)):
        last = dropped_at(t, tape_h[:, 0], of_state)
        key = dropped_at(t, key_from_input[t] + functional.linear(last, key_weight), of_key)
        attention.append(attend(scores(tape_h, key), gate[t], kind))
        h, c = ((attention[-1][:, None] @ tape)[:, 0] for tape in (tape_h, tape_c))
        z = from_input[t] + layer_norm(functional.linear(dropped(h, of_past), weight, bias), gain)
        i, f, candidate, o = z.chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * candidate.tanh()
        h = o.sigmoid() * layer_norm(c, cell_gain, cell_bias).tanh()
        tape_h, tape_c = (torch.cat((new[:, None], tape[:, :-1]), 1) for new, tape in ((h, tape_h), (c, tape_c)))
        hidden.append(h)
    return torch.stack(hidden), torch.stack(attention), tape_h, tape_c


def prpn_layer(
    layer: ReadingLayer, x: Tensor, gate: Tensor, tapes: Tapes, masks: LayerMasks
) -> tuple[Tensor, Tensor, Tensor]:
    """States (T, B, H) and new tapes of a PRPN layer with attention, which also multiplies its input step by step."""
    cell, (from_x, from_h) = layer.cell, layer.key.weight.split([x.shape[-1], layer.units], 1)
    of_input = [
        cell.from_input(dropped_at(t, step, masks.input)) + cell.recurrent_norm.bias for t, step in enumerate(x)
    ]
    of_key = [
        functional.linear(dropped_at(t, step, masks.key_input), from_x, layer.key.bias) for t, step in enumerate(x)
    ]
    hidden, _, h, c = prpn_recurrence(
        layer.kind,
        StepInputs(
            torch.stack(of_input), torch.stack(of_key), gate, *tapes,
            from_h, cell.recurrent.weight, cell.recurrent.bias, cell.recurrent_norm.gain, cell.cell_norm.gain,
            cell.cell_norm.bias,
        ),
        StepMasks(masks.key_state, masks.key, masks.recurrent),
    )  # fmt: skip
    return hidden, h, c


def layer_norm(x: Tensor, gain: Tensor, bias: Tensor | None = None) -> Tensor:
    """`induce.layers.layer_norm.layer_norm`, without a bias if it is None."""
    normalized = (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + EPSILON)
    return normalized * gain if bias is None else normalized * gain + bias


def fill_slots(
    x: Tensor,
    memory: Tensor,
    above: Tensor,
    weights: Sequence[Tensor],
    epsilon: float,
    masks: Sequence[Tensor] | None = None,
) -> Tensor:
    """`induce.models.language.ordered_memory_kernel.fill_slots` (Shen 2022, eq. 3.5.6, 3.5.7), for all sentences at
    every slot."""
    inner, inner_bias, outer, outer_bias, gain, bias = weights
    active = above.t() > 0  # (N, B)
    wide = None if masks is None else [mask.new_zeros(*active.shape, mask.shape[1]) for mask in masks]
    for spread, mask in zip(wide or (), masks or (), strict=True):
        spread[active] = mask
    below, slots = x, []
    for i in range(memory.shape[1]):
        lower, upper, inside = (None, None, None) if wide is None else (mask[i] for mask in wide)
        read = torch.cat((dropped(below, lower), dropped(memory[:, i], upper)), -1)
        hidden = dropped(functional.linear(read, inner, inner_bias).relu(), inside)
        gates, new = functional.linear(hidden, outer, outer_bias).split((3 * x.shape[1], x.shape[1]), -1)
        vertical, horizontal, cell = gates.sigmoid().chunk(3, -1)
        mixed = vertical * below + horizontal * memory[:, i] + cell * new
        joined = functional.layer_norm(mixed, mixed.shape[1:], gain, bias, epsilon)
        share = above[:, i, None]
        below = (1 - share) * x + share * joined
        slots.append(below)
    return torch.stack(slots)


def cross_entropy(hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """`induce.layers.cross_entropy.cross_entropy`, with all logits at once."""
    return functional.cross_entropy(functional.linear(hidden, weight, bias), targets)
