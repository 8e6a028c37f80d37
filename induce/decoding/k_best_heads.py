"""The k best assignments of heads of a sentence, best first, by repeated search for the best one (Lawler 1972).

The best tree of a set of trees divides the others: part i consists of the trees that agree with it on the heads of the
words before i, and have another head of word i. The next best tree is the best of all parts. Any algorithm for the best
tree under restrictions will do. A *mask* (N, N + 1) is true for the heads that a word may have, the root in column N.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import count as counter

import numpy as np
from numpy.typing import NDArray

from treebank.core.dependency import Heads

Masks = NDArray[np.bool_]
ScoredHeads = tuple[float, Heads]
BestHeads = Callable[[Masks], Sequence[ScoredHeads]]  # the best tree under each mask (C, N, N + 1), -inf without any


def k_best_heads(best_heads: BestHeads, words: int, k: int) -> list[ScoredHeads]:
    """The ``k`` best trees over so many ``words`` with their scores, or fewer if there are not so many."""
    if not words:
        return [(0.0, ())]
    order = counter()  # of equal trees, the one that was found first wins
    waiting: list[tuple[float, int, Heads, int, Masks]] = []
    ranked: list[ScoredHeads] = []
    masks, firsts = np.ones((1, words, words + 1), dtype=bool), [0]  # and the first word that a mask may divide by
    while True:
        for (score, heads), first, mask in zip(best_heads(masks), firsts, masks, strict=True):
            if score > -np.inf:
                heappush(waiting, (-score, next(order), heads, first, mask))
        if not waiting or len(ranked) == k:
            return ranked
        cost, _, heads, first, mask = heappop(waiting)
        ranked.append((-cost, heads))
        firsts = list(range(first, words))
        masks = np.stack([_divided(mask, heads, first, word) for word in firsts])


def _divided(mask: Masks, heads: Heads, first: int, word: int) -> Masks:
    """``mask`` with the heads of the words from ``first`` to before ``word`` fixed, and that of ``word`` excluded."""
    part = mask.copy()
    part[first:word] = False
    part[range(first, word), heads[first:word]] = True  # ROOT = -1 is the last column
    part[word, heads[word]] = False
    return part
