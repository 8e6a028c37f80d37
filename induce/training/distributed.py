"""One step of training by several processes: each takes its part of the batch, and all have the gradient of the whole.

A batch is cut as for want of memory (`Batch.parts`): sentences, or columns of a stream, whose carried state each
process keeps for its own columns. Parts are weighed by `Loss.weight`, with what `whole_or_parts` says of exactness.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from induce.data.batches import Batch
from induce.layers.whole_batch import shared
from induce.models.base import Loss, Model
from induce.training.microbatch import whole_or_parts
from induce.training.process_group import ALONE, ProcessGroup

Plain = list[list[Tensor]]  # a carried state as it is stored: the tensors of each layer


def own_part(group: ProcessGroup, batch: Batch) -> Batch | None:
    """What this process learns of ``batch``; None where there are more processes than rows."""
    return batch if group.size == 1 else _shares(group, batch)[group.rank]


def _shares(group: ProcessGroup, batch: Batch) -> list[Batch | None]:
    """What each process learns of ``batch``: of fewer sentences than there are processes the first one has all."""
    parts = batch.parts(group.size, cut=False)
    if len(parts) < group.size and not batch.carries_state:
        parts = [batch]
    return [*parts, *[None] * (group.size - len(parts))]


def learn(group: ProcessGroup, model: Model, batch: Batch, state: Any, *, key: tuple[int, ...]) -> tuple[Loss, int]:
    """The loss of ``batch`` after its gradient was put into ``model``; in how many parts this process took its own.

    ``state`` is that of this process's columns, and so is the one in the loss. Several processes draw their random
    numbers by ``key``, which no other step has.
    """
    if group.size == 1:
        return whole_or_parts(model, batch, state)
    shares = _shares(group, batch)
    part, together = shares[group.rank], isinstance(batch, model.whole_batch) and None not in shares
    with group.own_numbers(*key), shared(group if together else ALONE):
        if part is not None:
            loss, parts = whole_or_parts(model, part, state, weighed=True)
        else:
            model.zero_grad(set_to_none=True)
            nothing = torch.zeros(())
            loss, parts = Loss(nothing, nothing, 0), 1
    return _summed(group, model, loss), parts


def _summed(group: ProcessGroup, model: Model, loss: Loss) -> Loss:
    """The loss of all parts; puts the gradient of their mean into ``model``, which has that of its own part times the
    weight, and the mean of what it keeps beside its weights. All is sent as one row of numbers."""
    parameters, kept = list(model.parameters()), [one for one in model.buffers() if one.is_floating_point()]
    like = parameters[0]
    nats = float(loss.nll.detach()) * loss.count if loss.count else 0.0
    sums = like.new_tensor([nats, loss.count, loss.weight])
    has_gradient = like.new_tensor([parameter.grad is not None for parameter in parameters])
    gradients = [torch.zeros_like(one) if one.grad is None else one.grad for one in parameters]
    tables = [one * loss.weight for one in kept]
    row = torch.cat([sums, has_gradient, *(one.flatten() for one in (*gradients, *tables))])
    place = len(sums) + len(parameters)
    group.add(row)
    total, count, weight = float(row[0]), round(float(row[1])), round(float(row[2]))
    row[place:] /= max(1, weight)
    means = row[place:].split([one.numel() for one in (*parameters, *kept)])
    for parameter, value, somewhere in zip(parameters, means, row[len(sums) : place].tolist(), strict=False):
        parameter.grad = value.view_as(parameter) if somewhere else None
    for buffer, value in zip(kept, means[len(parameters) :], strict=True):
        buffer.copy_(value.view_as(buffer) if weight else buffer)
    mean = torch.tensor(total / max(1, count), dtype=torch.float64)
    return Loss(mean, mean, count, state=loss.state)


def whole_state(group: ProcessGroup, model: Model, state: Plain | None) -> Plain | None:
    """In the first process the carried state of all columns, from each process's own."""
    if group.size == 1:
        return state
    own = None if state is None else [[tensor.cpu() for tensor in layer] for layer in state]
    pieces = [piece for piece in group.gather(own) if piece is not None]
    if not pieces:
        return None
    axes = _column_axes(model)
    return [
        [torch.cat([piece[k][n] for piece in pieces], axis) for n, axis in enumerate(layer)]
        for k, layer in enumerate(axes)
    ]


def own_state(group: ProcessGroup, model: Model, state: Plain | None) -> Plain | None:
    """The carried state of this process's columns, from that of all."""
    if group.size == 1 or state is None:
        return state
    axes = _column_axes(model)
    return [
        [tensor.tensor_split(group.size, axis)[group.rank] for tensor, axis in zip(layer, places, strict=True)]
        for layer, places in zip(state, axes, strict=True)
    ]


def _column_axes(model: Model) -> list[list[int]]:
    """The axis of each tensor of a carried state along which columns lie."""
    return [
        [[a != b for a, b in zip(x.shape, y.shape, strict=True)].index(True) for x, y in zip(one, two, strict=True)]
        for one, two in zip(model.initial_state(1), model.initial_state(2), strict=True)
    ]
