"""Span scores to brackets: CKY, cubic time in vectorised steps, no recursion, the leftmost split wins on ties.

``score`` has one row per word and one column more: entry (i, j) is the score of the span of words i to j - 1. The
result holds every bracket of two or more words, the whole sentence included, each once and in no particular order.
Scores of single words play no part, as every tree has them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from treebank.base.errors import SynparseError

ScoreMatrix = NDArray[np.floating] | Sequence[Sequence[float]]


def mbr(score: ScoreMatrix) -> list[tuple[int, int]]:
    """Brackets of the binary tree with the largest sum of scores; (N, N + 1), any finite numbers.

    With a grammar's span marginals it is the tree with the most constituents expected to be right (Goodman 1996,
    section 3, without labels); with votes of several parsers it is their minimum-Bayes-risk tree for F1 (Shayegh et
    al. 2024). SynparseError: numbers that are not finite, or a wrong shape.
    """
    return [(start, end) for start, _, end in mbr_splits(score)]


def mbr_splits(score: ScoreMatrix) -> list[tuple[int, int, int]]:
    """The brackets of `mbr`, each after those that it is in, with the first word of its right half in the middle."""
    scores = _checked(score)
    count = len(scores)
    table = best_splits(scores)
    spans = [(0, count)] if count > 1 else []
    splits = []
    for start, end in spans:  # grows while it is read
        middle = start + table[start][end - start]
        splits.append((start, middle, end))
        if middle - start > 1:
            spans.append((start, middle))
        if end - middle > 1:
            spans.append((middle, end))
    return splits


def mbr_nary(score: ScoreMatrix) -> list[tuple[int, int]]:
    """Brackets of the tree of any arity with the largest sum of scores: only spans above 0 are in it, and the whole.

    With votes less a threshold it is the minimum-Bayes-risk tree where a bracket too many costs as much as the
    threshold says (0.5 of the votes: as much as one too few; Shayegh et al. 2024). SynparseError as of `mbr`.
    """
    scores = np.maximum(_checked(score), 0.0)
    count = len(scores)
    return [(start, end) for start, end in mbr(scores) if scores[start, end] > 0 or end - start == count]


def best_splits(scores: NDArray[np.float64]) -> list[list[int]]:
    """Entry [start][width]: how many words the left part of the best tree over that span has; 0 for width 0 and 1.

    The best totals lie in two tables, by start and width and by end and N - width, so that all ways to split all spans
    of one width are the sum of two slices.
    """
    count = len(scores)
    by_start = np.zeros((count + 1, count + 1))  # [start, width]
    by_end = np.zeros((count + 1, count + 1))  # [end, N - width]
    splits = np.zeros((count + 1, count + 1), dtype=np.int64)
    starts = np.arange(count + 1)
    for width in range(2, count + 1):
        places = count - width + 1
        totals = by_start[:places, 1:width] + by_end[width:, places:count]  # (spans, splits)
        left = totals.argmax(1)
        best = totals[starts[:places], left] + scores[starts[:places], starts[width:]]
        splits[:places, width] = left + 1
        by_start[:places, width] = by_end[width:, count - width] = best
    table: list[list[int]] = splits.tolist()
    return table


def _checked(score: ScoreMatrix) -> NDArray[np.float64]:
    """The scores as float64; SynparseError if they do not fit a sentence."""
    scores = np.asarray(score, dtype=np.float64)
    if not scores.size:
        return np.zeros((0, 1))
    if scores.ndim != 2 or scores.shape[1] != scores.shape[0] + 1:
        raise SynparseError(f"span scores of shape {scores.shape}; N words need N rows of N + 1 numbers")
    if not np.isfinite(scores).all():
        raise SynparseError("span scores must be finite numbers")
    return scores
