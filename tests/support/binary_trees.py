"""All binary trees of a few words, to compare sums with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
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


def bracket_sums(log_weights: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Sum of the weights of all trees of ``count`` words (…), and of those with each bracket (N, N + 1, …).

    ``log_weights`` (N, N + 1, …) are those of brackets.
    """
    total, sums = np.zeros(log_weights.shape[2:]), np.zeros_like(log_weights)
    for spans in all_brackets(0, count):
        weight = np.exp(sum((log_weights[span] for span in spans), np.zeros_like(total)))
        total += weight
        for span in spans:
            sums[span] += weight
    return total, sums


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
