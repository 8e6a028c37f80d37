"""The k best trees of a sentence, best first, by CKY with a list of trees for each span.

A span keeps the k best of its trees. A tree is one way to build the span, such as a split or a split and a rule, with
one tree of each child. The k best trees use only the k ways whose best trees are best, and of these only pairs of
children whose ranks (from 1) have a product of at most k (Huang and Chiang 2005, sections 4.1 and 4.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from induce.decoding.chart import ScoreMatrix, checked

Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int64]
ScoredSpans = tuple[float, list[tuple[Any, ...]]]  # score of a tree and its brackets, with labels or without


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
