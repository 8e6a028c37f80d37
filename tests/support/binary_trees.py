"""All binary trees of a few words, to compare sums with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

Spans = tuple[tuple[int, int], ...]


def all_trees(start: int, end: int) -> list[Spans]:
    """Spans of every binary tree over the words from ``start`` up to ``end``, single words included."""
    if end - start == 1:
        return [((start, end),)]
    return [
        ((start, end), *left, *right)
        for middle in range(start + 1, end)
        for left in all_trees(start, middle)
        for right in all_trees(middle, end)
    ]


def table(trees: Sequence[Iterable[tuple[int, int]]], count: int) -> Tensor:
    """Trees (K, N, N + 1), true for their spans."""
    result = torch.zeros(len(trees), count, count + 1, dtype=torch.bool)
    for row, spans in zip(result, trees, strict=True):
        for start, end in spans:
            row[start, end] = True
    return result
