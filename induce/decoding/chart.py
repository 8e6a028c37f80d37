"""Brackets from span scores by the CKY algorithm, without recursion and in cubic time.

On ties the leftmost split wins.

``score`` (N, N + 1) has one row per word: entry (i, j) is the score of the span of words i to j - 1. The result
contains every bracket of two or more words once, including the full-sentence span, in no particular order. Scores of
single words are ignored, because every tree contains them.

For the k best trees of a sentence, a span keeps the k best of its trees. A tree is one way to build the span, such as a
split or a split and a rule, with one tree of each child. The k best trees use only the k ways whose best trees are
best, and of these only pairs of children whose ranks (from 1) have a product of at most k (Huang and Chiang 2005,
sections 4.1 and 4.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from induce.data.batches import batches_of_similar_length
from treebank.base.errors import SynparseError

MAX_CELLS = 1 << 18  # in a table of the sentences that are decoded together
MIN_LENGTH_RATIO = 0.75  # of the shortest of these to the longest

ScoreMatrix = NDArray[np.floating] | Sequence[Sequence[float]]
Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int64]
ScoredSpans = tuple[float, list[tuple[Any, ...]]]  # score of a tree and its brackets, with labels or without


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


class Merged(NamedTuple):
    """The k best trees of several spans, each (spans, k): score, way, and the ranks of both children, from 0.

    A score of minus infinity marks an entry without a tree.
    """

    scores: Floats
    ways: Indices
    left_ranks: Indices
    right_ranks: Indices


def merge(ways: Floats, lefts: Floats, rights: Floats, k: int) -> Merged:
    """The k best trees of each span, given the scores of its ``ways`` (spans, W).

    ``lefts`` and ``rights`` (spans, W, k) are the scores of the trees of the children of each way, best first. Of equal
    trees, the one of the first way wins.
    """
    best = _first_largest(lefts[..., 0] + rights[..., 0] + ways, k)  # (spans, at most k)
    pairs = [(i, j) for i in range(k) for j in range(k // (i + 1))]
    left, right = map(np.array, zip(*pairs, strict=True))
    index = best[..., None]
    sums = np.take_along_axis(lefts, index, 1)[..., left] + np.take_along_axis(rights, index, 1)[..., right]
    sums += np.take_along_axis(ways, best, 1)[..., None]
    flat = sums.reshape(len(sums), -1)
    order = _first_largest(flat, k)
    way, pair = np.divmod(order, len(pairs))
    scores = np.take_along_axis(flat, order, 1)
    missing = ((0, 0), (0, k - scores.shape[1]))
    return Merged(
        np.pad(scores, missing, constant_values=-np.inf),
        *(np.pad(part, missing) for part in (np.take_along_axis(best, way, 1), left[pair], right[pair])),
    )


def _first_largest(values: Floats, k: int) -> Indices:
    """Indices of the k largest entries of each row, in falling order, and of equal entries in order."""
    return np.argsort(-values, axis=1, kind="stable")[:, :k]


def mbr_k_best(score: ScoreMatrix, k: int) -> list[ScoredSpans]:
    """The ``k`` binary trees with the largest sums of scores (N, N + 1), each with its sum, best first.

    The sum is over the brackets of two or more words, including the full-sentence span. For the span marginals of a
    grammar, it is the expected number of correct brackets. There are fewer than ``k`` trees for short sentences. Time
    and memory are cubic in N. Raises SynparseError like `mbr`.
    """
    scores = checked(score)
    count = len(scores)
    if count < 2:
        return [(0.0, [])]
    totals = np.full((count, count + 1, k), -np.inf)
    totals[np.arange(count), np.arange(count) + 1, 0] = 0.0
    choices = np.zeros((5, count, count + 1, 1, k), dtype=np.int64)  # as of `traced`, with one symbol
    for width in range(2, count + 1):
        starts = np.arange(count - width + 1)
        middles = starts[:, None] + np.arange(1, width)
        lefts, rights = totals[starts[:, None], middles], totals[middles, (starts + width)[:, None]]
        merged = merge(np.zeros(middles.shape), lefts, rights, k)
        totals[starts, starts + width] = merged.scores + scores[starts, starts + width, None]
        choices[0, starts, starts + width, 0] = merged.ways + starts[:, None] + 1
        choices[2, starts, starts + width, 0] = merged.left_ranks
        choices[4, starts, starts + width, 0] = merged.right_ranks
    ranks = [rank for rank in range(k) if totals[0, count, rank] > -np.inf]
    return [(float(totals[0, count, rank]), [span[:2] for span in traced(choices, 0, rank)]) for rank in ranks]


def traced(choices: Indices, top: int, rank: int) -> list[tuple[int, int, int]]:
    """Spans and symbols of the tree with this ``rank`` below the symbol ``top``.

    ``choices`` (5, N, N + 1, symbols, k): middle, and symbol and rank of the left and the right part, by start and end.
    """
    todo, spans = [(0, choices.shape[1], top, rank)], []
    while todo:
        start, end, symbol, rank = todo.pop()
        if end - start > 1:
            spans.append((start, end, symbol))
            middle, left, left_rank, right, right_rank = choices[:, start, end, symbol, rank].tolist()
            todo += [(middle, end, right, right_rank), (start, middle, left, left_rank)]
    return spans


def best(row: Sequence[tuple[float, Sequence[Any]]]) -> Sequence[Any]:
    """Brackets of the first tree of a row of `RankedTrees`, or its heads in a row of `RankedHeads`."""
    return row[0][1] if row else []


def first_ranked(row: Sequence[tuple[float, Sequence[Any]]], k: int) -> list[tuple[float, Sequence[Any]]]:
    """The first ``k`` trees of a row of `RankedTrees` or `RankedHeads`."""
    return list(row[:k])
