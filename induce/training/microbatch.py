"""A step on masked sentences when memory runs out: the batch in parts, with the gradient of the whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import torch
from torch import Tensor

from induce.data.batching import Piece
from induce.models.base import SegmentLoss
from treebank.errors import SynparseError


def whole_or_halved(model: Any, piece: Piece) -> tuple[SegmentLoss, int]:
    """The loss of masked sentences after its gradient was put into ``model``, and in how many parts that was done.

    Where there is not enough memory, twice as many parts are tried. Parts are weighted by their masked words, which
    are drawn once, so that loss and gradient are those of the whole batch but for rounding (and for dropout, which is
    drawn anew; a model whose sentences act on each other, as by StructFormer's calibration "batch", is another matter).
    With gradients off there is only the loss. Raises SynparseError if one sentence by itself is too much.
    """
    if piece.chance is None:
        piece = piece._replace(chance=torch.rand(piece.tokens.shape, device=piece.tokens.device))
    sentences, parts = len(piece.tokens), 1
    while True:
        model.zero_grad(set_to_none=True)
        try:
            return _in_parts(model, piece, parts), parts
        except (MemoryError, RuntimeError) as error:
            if not _out_of_memory(error):
                raise
        if parts >= sentences:
            raise SynparseError(
                f"memory ran out on a single sentence; the longest here has {piece.tokens.shape[1]} words: "
                "leave such sentences out, or make the model smaller"
            )
        parts = min(2 * parts, sentences)


def _in_parts(model: Any, piece: Piece, parts: int) -> SegmentLoss:
    if parts == 1:
        loss = cast(SegmentLoss, model.loss(piece.tokens, piece.lengths, chance=piece.chance))
        _backward(loss.objective)
        return loss
    sums, count = [], 0
    for tokens, lengths, chance in _split(piece, parts):
        loss = model.loss(tokens, lengths, chance=chance)
        targets = loss.targets or 0
        _backward(loss.objective * targets)
        sums.append(loss.nll.detach() * targets)
        count += targets
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad /= max(1, count)
    mean = torch.stack(sums).sum() / max(1, count)
    return SegmentLoss(mean, mean, None, count)


def _backward(objective: Tensor) -> None:
    if torch.is_grad_enabled():
        objective.backward()


def _split(piece: Piece, parts: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Tokens, lengths and chances of each part, without columns that only other parts need."""
    assert piece.lengths is not None
    assert piece.chance is not None
    for part in torch.arange(len(piece.tokens)).tensor_split(parts):
        lengths = piece.lengths[part]
        longest = int(lengths.max())
        rows = part.to(piece.tokens.device)
        yield piece.tokens[rows, :longest], lengths, piece.chance[rows, :longest]


def _out_of_memory(error: Exception) -> bool:
    return isinstance(error, (MemoryError, torch.cuda.OutOfMemoryError)) or "not enough memory" in str(error)
