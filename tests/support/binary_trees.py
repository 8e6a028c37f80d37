"""All binary trees of a few words, to compare sums with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

Spans = tuple[tuple[int, int], ...]


def all_brackets(start: int, end: int) -> list[Spans]:
    """Spans of two or more words of every binary tree over the words ``start`` up to ``end``, leftmost splits first."""
    if end - start < 2:
        return [()]
    return [
        ((start, end), *left, *right)
        for middle in range(start + 1, end)
        for left in all_brackets(start, middle)
        for right in all_brackets(middle, end)
    ]


def all_trees(start: int, end: int) -> list[Spans]:
    """Spans of every binary tree over the words from ``start`` up to ``end``, single words included."""
    words = [(word, word + 1) for word in range(start, end)]
    return [(*spans, *words) for spans in all_brackets(start, end)]


def table(trees: Sequence[Iterable[tuple[int, int]]], count: int) -> Tensor:
    """Trees (K, N, N + 1), true for their spans."""
    result = torch.zeros(len(trees), count, count + 1, dtype=torch.bool)
    for row, spans in zip(result, trees, strict=True):
        for start, end in spans:
            row[start, end] = True
    return result
