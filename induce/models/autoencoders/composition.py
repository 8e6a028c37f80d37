"""Composition of the vectors of two spans to one: a perceptron or a tree LSTM, with scores that weight the pairs.

Shapes: H units, K pairs of each of M spans. The *cell* of a span is its vector, or its output and its memory in a tree
LSTM: C = H or 2 H numbers.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Composition(nn.Module):
    """Cell and score of a span, given the cells and scores of the pairs that it can be made from.

    The products of matrices with each cell are computed once for all pairs that contain it: an *operand* holds these
    products of a cell as the first or as the second element of a pair. With ``unit_length``, all vectors and memories
    have length 1. ``forget_offset`` is added to the forget gates of a tree LSTM.
    """

    def __init__(self, size: int, *, lstm: bool, unit_length: bool = True, forget_offset: float = 0.0) -> None:
        super().__init__()
        self.size, self.unit_length, self.forget_offset = size, unit_length, forget_offset
        self.width = 5 * size if lstm else size  # of the first layer
        self.score = nn.Linear(size, size, bias=False)
        self.first = nn.Linear(size, self.width, bias=False)
        self.second = nn.Linear(size, self.width)
        self.output = None if lstm else nn.Linear(size, size)

    def first_operand(self, cells: Tensor) -> Tensor:
        """Products of ``cells`` (..., C) as first elements."""
        vectors, memory = cells[..., : self.size], cells[..., self.size :]
        return torch.cat([self.first(vectors), self.score(vectors), memory], -1)

    def second_operand(self, cells: Tensor) -> Tensor:
        """Products of ``cells`` (..., C) as second elements."""
        return torch.cat([self.second(cells[..., : self.size]), cells], -1)

    def forward(self, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        """Cells (..., C) and compatibility scores (...) of pairs of operands."""
        layer, (vector, memory) = self.width, (self.width, self.width + self.size)
        scores = (first[..., vector:memory] * second[..., vector:memory]).sum(-1)
        hidden = first[..., :layer] + second[..., :layer]
        if self.output is not None:
            return self.output(hidden.relu()).relu(), scores
        candidate, update, output, *forget = hidden.chunk(5, -1)
        gates = [(gate + self.forget_offset).sigmoid() for gate in forget]
        memories = (
            gates[0] * first[..., memory:] + gates[1] * second[..., memory:] + update.sigmoid() * candidate.tanh()
        )
        return torch.cat([output.sigmoid() * memories.tanh(), memories], -1), scores

    def merge(
        self, firsts: list[Tensor], seconds: list[Tensor], scores: list[Tensor], count: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Cells (M, C) and scores (M,) of M spans, and scores (K, M) of the K = ``count`` pairs of each span.

        ``firsts`` and ``seconds`` are operands and ``scores`` the sums of the scores of their cells, each in any number
        of matrices, which together have K M rows. The cell and the score of a span are the means over its pairs,
        weighted by the softmax of the scores of the pairs.
        """
        first, second = (torch.cat(operands).unflatten(0, (count, -1)) for operands in (firsts, seconds))
        cells, compatibility = self(first, second)
        pair_scores = compatibility + torch.cat(scores).view(count, -1)
        weights = pair_scores.softmax(0)
        return self.scaled((weights[..., None] * cells).sum(0)), (weights * pair_scores).sum(0), pair_scores

    def scaled(self, cells: Tensor) -> Tensor:
        """``cells`` (..., C) whose vectors and memories are divided by their length, with ``unit_length``."""
        if not self.unit_length:
            return cells
        return functional.normalize(cells.unflatten(-1, (-1, self.size)), dim=-1, eps=1e-8).flatten(-2)
