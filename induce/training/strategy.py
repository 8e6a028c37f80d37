"""One training step: the loss and the gradient of a batch, which is split if memory runs out.

The training loop calls ``strategy.step(model, batch, state)``. The strategy is chosen once, when a run is prepared:
`Accumulating` for one process, `induce.training.distributed.Distributed` for several.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from induce.data.batches import Batch
from induce.layers.rounding import computing
from induce.models.base import Loss, Model
from treebank.base.errors import SynparseError, out_of_memory

Saved = list[tuple[Tensor, Tensor]]  # buffers of a model with their values


class Accumulating:
    """Compute the gradient of a whole batch. If memory runs out, accumulate the gradients of its parts."""

    def __init__(self, precision: str = "float32") -> None:
        """``precision`` is that of the factors of large products (``train.precision``)."""
        self.precision = precision
        self.parts = 1  # largest number of parts of a batch so far
        self.number = 0  # of the step, set by the learner; several processes derive their random numbers from it

    def step(self, model: Model, batch: Batch, state: Any = None) -> Loss:
        """The loss of ``batch`` after its gradient was put into ``model``, or only the loss without gradients.

        ``state`` is carried from the preceding segment of a stream. Raises SynparseError if memory runs out on a
        single sentence or on a segment of a stream, which cannot be split.
        """
        buffers = [(buffer, buffer.clone()) for buffer in model.buffers()] if model.training else []
        model.zero_grad(set_to_none=True)
        try:
            with computing(self.precision, batch.tokens.device):
                loss = model.loss(batch, state)
            _backward(loss.objective)
            return loss
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error):
                raise
        return self._in_parts(model, batch, buffers)  # after the error and its tensors have been freed

    def _in_parts(self, model: Model, batch: Batch, buffers: Saved) -> Loss:
        """The loss and gradient of a batch in 2 parts, or 4, 8 … until memory suffices.

        Loss and gradient are those of the whole batch, with three exceptions: rounding, dropout masks, and losses that
        depend on the whole batch (batch normalization; StructFormer's calibration "batch"; means over pairs of gold
        distances and over padding; expected counts of grammars).
        """
        rows, parts = len(batch.tokens), 1
        while True:
            for buffer, value in buffers:  # or counts of the failed attempt would be added twice
                buffer.copy_(value)
            _check_divisible(batch, parts)
            parts = min(2 * parts, rows)
            model.zero_grad(set_to_none=True)
            try:
                loss = self._accumulate(model, batch.parts(parts))
                self.parts = max(self.parts, parts)
                return loss
            except (MemoryError, RuntimeError) as error:
                if not out_of_memory(error):
                    raise

    def _accumulate(self, model: Model, parts: Iterable[Batch]) -> Loss:
        """The loss of a batch after the gradients of its parts were added up, weighted by `Loss.weight`."""
        sums, count, weight, correct = [], 0, 0, None
        for part in parts:
            with computing(self.precision, part.tokens.device):
                loss = model.loss(part)
            _backward(loss.objective * loss.weight)
            sums.append(loss.nll.detach() * loss.count)
            count += loss.count
            weight += loss.weight
            if loss.correct is not None:
                correct = (correct or 0) + loss.correct
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad /= max(1, weight)
        mean = torch.stack(sums).sum() / max(1, count)
        return Loss(mean, mean, count, correct=correct, rows=weight)


def _check_divisible(batch: Batch, parts: int) -> None:
    """Raises SynparseError if a batch in so many parts cannot be split further."""
    if batch.carries_state:
        raise SynparseError(
            "memory ran out on one segment of the text: lower loader.batch_size or loader.segment_length, "
            "or make the model smaller"
        )
    if parts >= len(batch.tokens):
        raise SynparseError(
            f"memory ran out on a single sentence; the longest of this batch has {batch.tokens.shape[1]} words: "
            "leave such sentences out, or make the model smaller"
        )


def _backward(objective: Tensor) -> None:
    if torch.is_grad_enabled():
        objective.backward()
