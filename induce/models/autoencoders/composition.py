"""Composition of the vectors of two spans to one: a perceptron or a tree LSTM, with scores that weight or rank pairs.

Shapes: H units, K pairs of each of M spans. The *cell* of a span is its vector, or its output and its memory in a tree
LSTM: C = H or 2 H numbers.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

Elements = list[tuple[Tensor, Tensor]]  # operands and scores of the elements of pairs: together K M rows


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

    def score_vectors(self, operands: Tensor) -> Tensor:
        """Vectors (..., H) of operands, whose products are the compatibility of a first and a second operand."""
        return operands[..., self.width : self.width + self.size]

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """Cells (..., C) of pairs of operands."""
        hidden = first[..., : self.width] + second[..., : self.width]
        if self.output is not None:
            return self.output(hidden.relu()).relu()
        memory = self.width + self.size  # offset
        candidate, update, output, *forget = hidden.chunk(5, -1)
        gates = [(gate + self.forget_offset).sigmoid() for gate in forget]
        memories = (
            gates[0] * first[..., memory:] + gates[1] * second[..., memory:] + update.sigmoid() * candidate.tanh()
        )
        return torch.cat([output.sigmoid() * memories.tanh(), memories], -1)

    def mean(self, firsts: Elements, seconds: Elements, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """Cells (M, C) and scores (M,) of M spans, and scores (K, M) of the K = ``count`` pairs of each span.

        The score of a pair is the sum of the scores of its elements and of their compatibility. The cell and the score
        of a span are the means over its pairs, weighted by the softmax of the scores of the pairs.
        """
        (first, first_scores), (second, second_scores) = joined(firsts, count), joined(seconds, count)
        compatibility = (self.score_vectors(first) * self.score_vectors(second)).sum(-1)
        pair_scores = compatibility + (first_scores + second_scores)
        weights = pair_scores.softmax(0)
        cells = self.scaled((weights[..., None] * self(first, second)).sum(0))
        return cells, (weights * pair_scores).sum(0), pair_scores

    def best(self, firsts: Elements, seconds: Elements, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """Vectors (M, E, H) and scores (M, E) of the E best entries of M spans, and the numbers (M, E) of their pairs.

        Each element has E entries. The score of an entry is the sum of the scores of its two elements and of their
        compatibility. Its pair has the number k E² + i E + j if it is made from entries i and j of pair k of ``count``.
        """
        (first, first_scores), (second, second_scores) = joined(firsts, count), joined(seconds, count)
        compatibility = self.score_vectors(first) @ self.score_vectors(second).transpose(-1, -2)  # (K, M, E, E)
        scores = compatibility + first_scores[..., :, None] + second_scores[..., None, :]
        entries = first.shape[2]
        best, number = scores.transpose(0, 1).flatten(1).topk(entries)
        pair, spans = number // entries**2, torch.arange(len(number), device=number.device)[:, None]
        vectors = self(first[pair, spans, number // entries % entries], second[pair, spans, number % entries])
        return self.scaled(vectors), best, number

    def scaled(self, cells: Tensor) -> Tensor:
        """``cells`` (..., C) whose vectors and memories are divided by their length, with ``unit_length``."""
        if not self.unit_length:
            return cells
        return functional.normalize(cells.unflatten(-1, (-1, self.size)), dim=-1, eps=1e-8).flatten(-2)


def joined(elements: Elements, count: int) -> tuple[Tensor, Tensor]:
    """Operands (K, M, ...) and scores (K, M, ...) of ``elements`` of K = ``count`` pairs of each span."""
    operands, scores = (torch.cat(parts).unflatten(0, (count, -1)) for parts in zip(*elements, strict=True))
    return operands, scores
