"""Trees from scores of splits: probabilities of spans, and the brackets of the best splits.

Shapes: B sentences of N words, L spans of one width with K splits each. ``splits`` lists the scores (K, L, B) of the
spans of 2, 3, … N words, from the shortest left part to the longest one.
"""

from __future__ import annotations

import torch
from torch import Tensor

from induce.decoding.chart import split_tree


def span_probabilities(splits: list[Tensor], size: int, batch: int) -> Tensor:
    """Probability (B, N, N + 1) of each span if each span is split at a point drawn from the softmax of its ``splits``.

    The first span is the sentence. ``batch`` is B and ``size`` is N.
    """
    starts = torch.arange(size)
    by_start = torch.zeros(size + 1, size + 1, batch)  # [start, width]
    by_end = torch.zeros(size + 1, size + 1, batch)  # [end, N - width]
    result = torch.zeros(batch, size, size + 1)
    by_start[0, size] = 1.0
    for width in range(size, 1, -1):
        spans = size - width + 1
        probability = by_start[:spans, width] + by_end[width:, size - width]
        result[:, starts[:spans], starts[:spans] + width] = probability.t()
        shares = probability[:, None] * splits[width - 2].softmax(0).transpose(0, 1).to(by_start)  # (L, K, B)
        by_start[:spans, 1:width] += shares
        by_end[width:, spans:size] += shares
    return result.clamp_(0.0, 1.0)


def best_trees(splits: list[Tensor], batch: int) -> list[list[tuple[int, int]]]:
    """Brackets of the trees of ``batch`` sentences with the largest sums of scores, found by the CKY algorithm.

    The score of a split counts relative to the best split of the same span, as in the released program. The best tree
    therefore has the best split of each of its spans.
    """
    shifted = [(scores - scores.amax(0)).permute(2, 1, 0).detach().cpu().numpy() for scores in splits]
    return [split_tree([scores[k] for scores in shifted]) for k in range(batch)]
