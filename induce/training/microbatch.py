"""A step when memory runs out: the batch in parts, with the gradient of the whole."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from induce.data.batches import Batch
from induce.layers.rounding import computing
from induce.layers.whole_batch import is_shared
from induce.models.base import Loss, Model
from treebank.base.errors import SynparseError, out_of_memory


def whole_or_parts(model: Model, batch: Batch, state: Any = None, *, weighed: bool = False) -> tuple[Loss, int]:
    """The loss of ``batch`` after its gradient was put into ``model``, and in how many parts that was done.

    ``weighed``: the gradient is that of the objective times `Loss.weight`.

    Where there is not enough memory, twice as many parts are tried. Parts are weighed by `Loss.weight`, so that
    loss and gradient are those of the whole batch but for rounding, for dropout, which is drawn anew, and for what
    looks at a whole batch (batch normalisation; StructFormer's calibration "batch"; means over pairs of gold distances,
    and over padding; what grammars count, batch by batch). With gradients off there is only the loss.
    Raises SynparseError if one sentence by itself is too much, or a segment of a stream, which carries a state.
    """
    rows, parts = len(batch.tokens), 1
    before = [(buffer, buffer.clone()) for buffer in model.buffers()] if model.training else []
    while True:
        model.zero_grad(set_to_none=True)
        try:
            return _in_parts(model, batch, state, parts, weighed=weighed), parts
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error):
                raise
        for buffer, value in before:  # or what the model counts in a batch would be counted twice
            buffer.copy_(value)
        if batch.carries_state:
            raise SynparseError(
                "memory ran out on one segment of the text: lower train.batch_size or train.segment_length, "
                "or make the model smaller"
            )
        if is_shared():
            raise SynparseError(
                "memory ran out on this process's part of a batch, and the model looks at the whole batch: "
                "lower train.batch_size or train.batch_words, or make the model smaller"
            )
        if parts >= rows:
            raise SynparseError(
                f"memory ran out on a single sentence; the longest here has {batch.tokens.shape[1]} words: "
                "leave such sentences out, or make the model smaller"
            )
        parts = min(2 * parts, rows)


def _in_parts(model: Model, batch: Batch, state: Any, parts: int, *, weighed: bool = False) -> Loss:
    if parts == 1:
        with computing(model.precision, batch.tokens.device):
            loss = model.loss(batch, state)
        _backward(loss.objective * loss.weight if weighed else loss.objective)
        return loss
    sums, count, weight, correct = [], 0, 0, None
    for part in batch.parts(parts):
        with computing(model.precision, part.tokens.device):
            loss = model.loss(part)
        _backward(loss.objective * loss.weight)
        sums.append(loss.nll.detach() * loss.count)
        count += loss.count
        weight += loss.weight
        if loss.correct is not None:
            correct = (correct or 0) + loss.correct
    for parameter in model.parameters():
        if parameter.grad is not None and not weighed:
            parameter.grad /= max(1, weight)
    mean = torch.stack(sums).sum() / max(1, count)
    return Loss(mean, mean, count, correct=correct, rows=weight)


def _backward(objective: Tensor) -> None:
    if torch.is_grad_enabled():
        objective.backward()
