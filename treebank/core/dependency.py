"""Properties of dependency trees given as heads, and deletion of words. Without recursion.

``heads[i]`` is the index of word i's head, ``ROOT`` for a root.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

from treebank.core.sentence import ROOT

Heads = tuple[int, ...]


def is_tree(heads: Sequence[int]) -> bool:
    """Whether there is exactly one root and every word leads up to it.

    >>> is_tree([1, ROOT, 1]), is_tree([1, 0, ROOT])
    (True, False)
    """
    n = len(heads)
    if heads.count(ROOT) != 1 or not all(ROOT <= head < n for head in heads):
        return False
    visited = [0] * n  # the first walk that visited each word
    for walk in range(1, n + 1):
        i = walk - 1
        while i != ROOT and not visited[i]:
            visited[i] = walk
            i = heads[i]
        if i != ROOT and visited[i] == walk:
            return False
    return True


def delete(heads: Sequence[int], mask: Sequence[bool]) -> Heads:
    """The heads of the words whose ``mask`` is true: the nearest ancestor of each among these words, or ``ROOT``.

    A word whose ancestors lead to no such word, or back to itself, is a root.
    """
    above: dict[int, int] = {}  # of each deleted word the nearest ancestor that is left
    for i in range(len(heads)):
        path = []
        while i != ROOT and not mask[i] and i not in above:
            above[i] = ROOT  # if the path comes back here
            path.append(i)
            i = heads[i]
        for passed in path:
            above[passed] = above.get(i, i)
    new = {ROOT: ROOT} | {i: index for index, i in enumerate(compress(range(len(mask)), mask))}
    left = [(i, above.get(heads[i], heads[i])) for i in new if i != ROOT]
    return tuple(ROOT if head == i else new[head] for i, head in left)
