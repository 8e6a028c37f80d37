"""The heads that agree with the tree which branches to one side.

In a tree that branches to the right, (w1 (w2 (w3 ...))), the phrase from each word to the end of the sentence has one
head: the word itself, above the head of the phrase behind it, or that head, above the word. So N words have 2^(N-1)
trees of heads, and the best is found from the end in N steps over a row of numbers.
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray

TURNED = 0.5  # what an arc is worth that points the wrong way, as to the decoder `mbr-arcs`


def best_in_branching(gains: Array, *, right: bool = True) -> list[int]:
    """The head of each word, itself for the root, in the tree with the largest sum of ``gains`` (N, N) among those that
    agree with branching to the right, or to the left; row i is what each word gains as head of word i, the diagonal
    what it gains as the root."""
    if not right:
        count = len(gains)
        return [count - 1 - head for head in best_in_branching(gains[::-1, ::-1])[::-1]]
    count, roots = len(gains), gains.diagonal()
    best = np.zeros(count)  # of the phrase from word i on, by its head
    dependants = [0] * count  # of word i, where it is the head of that phrase
    for i in range(count - 2, -1, -1):
        behind = slice(i + 1, count)
        below = best[behind] + gains[behind, i]
        dependants[i] = i + 1 + int(below.argmax())
        best[behind] += gains[i, behind]
        best[i] = below.max()
    heads = list(range(count))
    head = int((best + roots).argmax())
    for i in range(count - 1):
        if head == i:
            head = dependants[i]
            heads[head] = i
        else:
            heads[i] = head
    return heads


def branching_heads(heads: Array, lengths: Array, *, right: bool) -> Array:
    """The heads of `best_in_branching` by head distributions (B, N, N): 1 for the head of each word, else 0."""
    found = np.zeros_like(heads)
    for one, row, length in zip(found, heads, lengths, strict=True):
        if length:
            gains = row[:length, :length]
            gains = gains + TURNED * np.where(np.eye(length, dtype=bool), 0.0, gains.T)
            one[np.arange(length), best_in_branching(gains, right=right)] = 1.0
    return found
