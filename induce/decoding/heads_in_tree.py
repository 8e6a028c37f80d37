"""Heads that agree with a binary tree.

Each phrase of the tree has one head; where two phrases are joined, the head of one depends on the head of the other. A
binary tree over N words therefore agrees with 2^(N-1) dependency trees. The best one is computed from the bottom to
the top: for each phrase and each word in it, the algorithm stores the best score with this word as head of the phrase.
Every pair of words is compared once, so the time is quadratic in N.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from induce.decoding.heads import REVERSED_ARC_WEIGHT

Array = np.ndarray
Split = tuple[int, int, int]  # of a phrase: its first word, the first word of its right half, and the word after it


def branching(count: int, *, right: bool) -> list[Split]:
    """Splits of the purely right-branching or left-branching tree over ``count`` words, from the top."""
    if right:
        return [(start, start + 1, count) for start in range(count - 1)]
    return [(0, end - 1, end) for end in range(count, 1, -1)]


def best_in_tree(gains: Array, splits: Sequence[Split]) -> list[int]:
    """Head of each word, or the word itself for the root, in the best dependency tree that agrees with ``splits``.

    The tree has the largest sum of ``gains`` (N, N). Row i contains the gain of each word as head of word i, and the
    diagonal that of each word as the root. In ``splits`` each phrase follows the phrases that contain it.
    """
    heads = list(range(len(gains)))
    best = np.zeros(len(gains))  # of the largest phrase so far that contains the word, with this word as its head
    chosen: list[tuple[Array, Array]] = []
    for start, middle, end in reversed(splits):
        left, right = slice(start, middle), slice(middle, end)
        under_left = gains[right, left] + best[right, None]  # (words of the right half, heads in the left one)
        under_right = gains[left, right] + best[left, None]
        chosen.append((under_left.argmax(0), under_right.argmax(0)))
        best[left] += under_left.max(0)
        best[right] += under_right.max(0)
    head_of = {(0, len(gains)): int((best + gains.diagonal()).argmax())} if len(gains) else {}
    for (start, middle, end), (of_left, of_right) in zip(splits, reversed(chosen), strict=True):
        head = head_of[start, end]
        under = middle + int(of_left[head - start]) if head < middle else start + int(of_right[head - middle])
        heads[under] = head
        head_of[start, middle], head_of[middle, end] = (head, under) if head < middle else (under, head)
    return heads


def heads_in_tree(heads: Array, splits: Sequence[Split]) -> Array:
    """Votes (N, N) for the arcs of the best dependency tree that agrees with ``splits``, by a head distribution (N, N).

    The gain of an arc is its probability plus `REVERSED_ARC_WEIGHT` times that of the reversed arc. The tree is better
    evidence for which words are connected than for which of them is the head. The reversed arc of each selected arc
    therefore receives the probability that ``heads`` assigns to it, and the selected arc the rest.
    """
    words = np.arange(len(heads))
    reversed_arcs = np.where(np.eye(len(heads), dtype=bool), 0.0, heads.T)
    best_heads = best_in_tree(heads + REVERSED_ARC_WEIGHT * reversed_arcs, splits)
    reversed_votes = reversed_arcs[words, best_heads]
    votes = np.zeros_like(heads)
    votes[best_heads, words] = reversed_votes
    votes[words, best_heads] = 1.0 - reversed_votes
    return votes
