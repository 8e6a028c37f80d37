"""The heads that agree with a binary tree.

In a tree of phrases each phrase has one head, and where two phrases meet, one of their heads is above the other. So N
words have 2^(N-1) trees of heads, and the best is found from the bottom of the tree to its top: of a phrase it is
enough to know, for each word in it, how good the best heads are if this word is the phrase's. Every pair of words meets
once, so that the work grows with N squared.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Array = np.ndarray
Split = tuple[int, int, int]  # of a phrase: its first word, that of its right half, and the word behind it

TURNED = 0.5  # what an arc is worth that points the wrong way, as to the decoder `mbr-arcs`


def branching(count: int, *, right: bool) -> list[Split]:
    """The splits of the tree over so many words which branches to the right, or to the left; the top first."""
    if right:
        return [(start, start + 1, count) for start in range(count - 1)]
    return [(0, end - 1, end) for end in range(count, 1, -1)]


def best_in_tree(gains: Array, splits: Sequence[Split]) -> list[int]:
    """The head of each word, itself for the root, in the tree with the largest sum of ``gains`` (N, N) among those that
    agree with the phrases of ``splits``, which come after those that they are in; row i is what each word gains as head
    of word i, the diagonal what it gains as the root."""
    heads = list(range(len(gains)))
    best = np.zeros(len(gains))  # of the phrase that ends at a word's highest split so far, with that word as its head
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
    """What `best_in_tree` says of a head distribution (N, N), in which an arc counts for its probability, and for
    `TURNED` times that of the same arc turned round.

    The tree tells better which words belong together than which of the two is the head. So of each arc that is found,
    the turned one gets the probability that ``heads`` gives it, and the arc itself the rest.
    """
    words = np.arange(len(heads))
    turned = np.where(np.eye(len(heads), dtype=bool), 0.0, heads.T)
    above = best_in_tree(heads + TURNED * turned, splits)
    against = turned[words, above]
    found = np.zeros_like(heads)
    found[above, words] = against
    found[words, above] = 1.0 - against
    return found
