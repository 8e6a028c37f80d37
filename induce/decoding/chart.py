"""Brackets from span scores by the CKY algorithm, without recursion and in cubic time.

On ties the leftmost split wins.

``score`` (N, N + 1) has one row per word: entry (i, j) is the score of the span of words i to j - 1. The result
contains every bracket of two or more words once, including the full-sentence span, in no particular order. Scores of
single words are ignored, because every tree contains them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from induce.data.by_length import batches_of_similar_length
from treebank.base.errors import SynparseError

MAX_CELLS = 1 << 18  # in a table of the sentences that are decoded together
MIN_LENGTH_RATIO = 0.75  # of the shortest of these to the longest

ScoreMatrix = NDArray[np.floating] | Sequence[Sequence[float]]


def mbr(score: ScoreMatrix) -> list[tuple[int, int]]:
    """Brackets of the binary tree with the largest sum of scores (N, N + 1).

    With the span marginals of a grammar, this tree maximizes the expected number of correct constituents (Goodman
    1996, section 3, without labels). With votes of several parsers, it is their minimum-Bayes-risk tree for F1
    (Shayegh et al. 2024). Raises SynparseError if a number is not finite or the shape is wrong.
    """
    return [(start, end) for start, _, end in mbr_splits(score)]


def mbr_together(scores: Sequence[ScoreMatrix]) -> list[list[tuple[int, int]]]:
    """Brackets of several sentences by `mbr`, with one table for sentences of similar length."""
    matrices = [checked(score) for score in scores]
    trees: list[list[tuple[int, int]]] = [[] for _ in matrices]
    lengths = [len(matrix) for matrix in matrices]
    batches = batches_of_similar_length(lengths, lambda count: MAX_CELLS // count**2, min_ratio=MIN_LENGTH_RATIO)
    for rows, longest in batches:
        padded = np.zeros((len(rows), longest, longest + 1))
        for table, row in zip(padded, rows, strict=True):
            table[: lengths[row], : lengths[row] + 1] = matrices[row]
        for row, splits in zip(rows, best_splits(padded), strict=True):
            trees[row] = [(start, end) for start, _, end in _splits_from_top(splits[: lengths[row] + 1].tolist())]
    return trees


def mbr_splits(score: ScoreMatrix) -> list[tuple[int, int, int]]:
    """Brackets of `mbr` as triples of start, first word of the right half, and end.

    Each bracket follows the brackets that contain it.
    """
    return _splits_from_top(best_splits(checked(score)).tolist())


def split_tree(split_scores: Sequence[NDArray[np.floating]]) -> list[tuple[int, int]]:
    """Brackets of the binary tree with the largest sum of ``split_scores``.

    ``split_scores`` has a matrix (N - W + 1, W - 1) for each width W from 2 to N: row i has the scores of the splits of
    the span of W words from word i, from the shortest left part to the longest one.
    """
    count = len(split_scores) + 1
    table = best_splits(np.zeros((count, count + 1)), split_scores)
    return [(start, end) for start, _, end in _splits_from_top(table.tolist())]


def _splits_from_top(table: Sequence[Sequence[int]]) -> list[tuple[int, int, int]]:
    """Triples of start, first word of the right half, and end, from the rows of the result of `best_splits`."""
    count = len(table) - 1
    spans = [(0, count)] if count > 1 else []
    splits = []
    for start, end in spans:  # the loop appends to this list
        middle = start + table[start][end - start]
        splits.append((start, middle, end))
        if middle - start > 1:
            spans.append((start, middle))
        if end - middle > 1:
            spans.append((middle, end))
    return splits


def mbr_nary(score: ScoreMatrix) -> list[tuple[int, int]]:
    """Brackets of the tree of any arity with the largest sum of scores.

    It contains the full-sentence span and otherwise only spans with a score above 0. If the scores are votes minus a
    threshold, it is the minimum-Bayes-risk tree in which the threshold sets the cost of a superfluous bracket. With a
    threshold of 0.5 of the votes, it costs as much as a missing bracket (Shayegh et al. 2024). Raises SynparseError
    like `mbr`.
    """
    scores = np.maximum(checked(score), 0.0)
    count = len(scores)
    return [(start, end) for start, end in mbr(scores) if scores[start, end] > 0 or end - start == count]


def best_splits(
    scores: NDArray[np.float64], split_scores: Sequence[NDArray[np.floating]] | None = None
) -> NDArray[np.int64]:
    """Number of words in the left part of the best tree over each span (N + 1, N + 1), by start and width.

    ``scores`` are (N, N + 1), or (B, N, N + 1) for several sentences. The score of a tree is the sum of the scores of
    its spans and of its splits (as in `split_tree`), if given. Entries of width 0 and 1 are 0. The best totals are
    stored in two tables, by start and width and by end and N - width, so that all splits of all spans of one width are
    the sum of two slices.
    """
    *lead, count, _ = scores.shape
    by_start = np.zeros((*lead, count + 1, count + 1))  # [start, width]
    by_end = np.zeros((*lead, count + 1, count + 1))  # [end, N - width]
    splits = np.zeros((*lead, count + 1, count + 1), dtype=np.int64)
    starts = np.arange(count + 1)
    for width in range(2, count + 1):
        span_count = count - width + 1
        totals = by_start[..., :span_count, 1:width] + by_end[..., width:, span_count:count]  # (spans, splits)
        if split_scores is not None:
            totals += split_scores[width - 2]
        chosen = totals.argmax(-1)
        splits[..., :span_count, width] = chosen + 1
        best = np.take_along_axis(totals, chosen[..., None], -1)[..., 0]
        best += scores[..., starts[:span_count], starts[width:]]
        by_start[..., :span_count, width] = by_end[..., width:, count - width] = best
    return splits


def checked(score: ScoreMatrix) -> NDArray[np.float64]:
    """Scores as a float64 matrix (N, N + 1). Raises SynparseError if the shape is wrong or a number is not finite."""
    scores = np.asarray(score, dtype=np.float64)
    if not scores.size:
        return np.zeros((0, 1))
    if scores.ndim != 2 or scores.shape[1] != scores.shape[0] + 1:
        raise SynparseError(f"span scores of shape {scores.shape}; N words need N rows of N + 1 numbers")
    if not np.isfinite(scores).all():
        raise SynparseError("span scores must be finite numbers")
    return scores
