"""Trees and syntactic distances, in linear time and without recursion.

A list of distances has one entry per word: entry i is the gap *before* word i, and a larger value splits earlier.
Entry 0 lies before the sentence; a tree says nothing about it.
"""

from __future__ import annotations

from collections.abc import Sequence

from treebank.base.errors import SynparseError
from treebank.core.tree import Tree


def distances_from_tree(tree: Tree) -> list[int]:
    """One height per gap of the right-binarized tree without unary brackets. Entry 0 is one more than the maximum.

    A word has height 1, a node one more than its higher child, and a gap the height of the node that it splits
    (Du et al. 2020, Algorithm 1).

    >>> distances_from_tree(Tree.from_text("(X (X the (X old man)) (X saw (X a dog)))"))
    [5, 3, 2, 4, 3, 2]
    """
    distances = [0] * len(tree.words)
    starts: list[int] = []  # first word and height of each finished part that still waits for its parent
    heights: list[int] = []
    open_brackets: list[tuple[int, int]] = []  # its end, and how many parts waited when it began
    k = 0
    for i in range(len(tree.words)):
        while k < len(tree.spans) and tree.spans[k][0] == i:
            open_brackets.append((tree.spans[k][1], len(starts)))
            k += 1
        starts.append(i)
        heights.append(1)
        while open_brackets and open_brackets[-1][0] == i + 1:
            _join(starts, heights, distances, open_brackets.pop()[1])
    if starts:
        _join(starts, heights, distances, 0)
        distances[0] = heights[0] + 1
    return distances


def _join(starts: list[int], heights: list[int], distances: list[int], first: int) -> None:
    """Join the parts from index ``first`` on, from the right, and replace them by the result."""
    height = heights[-1]
    for part in range(len(starts) - 1, first, -1):
        height = max(height, heights[part - 1]) + 1
        distances[starts[part]] = height
    del starts[first + 1 :], heights[first + 1 :]
    heights[first] = height


def path_lengths(tree: Tree) -> list[int]:
    """Number of edges between each word and the one before it. Entry 0 is one more than the maximum.

    Words are leaves of their lowest bracket, so neighbors in one bracket have 2 edges between them. Words without a
    common bracket are joined by a root above all brackets. Unary brackets count (Stratos, section 1.1).

    >>> path_lengths(Tree.from_text("(X (X the (X old man)) (X saw (X a dog)))"))
    [6, 3, 2, 5, 3, 2]
    >>> path_lengths(Tree.from_text("(X (X (X a b) c) (X d (X e f)))"))
    [5, 2, 3, 4, 3, 2]
    """
    lengths = [2] * len(tree.words)
    for start, end in tree.spans:  # the path crosses each bracket that begins or ends between the two words
        lengths[start] += 1
        if end < len(lengths):
            lengths[end] += 1
    if lengths:
        lengths[0] = max(lengths[1:], default=1) + 1
    return lengths


def spans_from_distances(distances: Sequence[float]) -> list[tuple[int, int]]:
    """Brackets of the binary tree that splits at the widest gap first, the first one on ties. Entry 0 is ignored.

    One bracket per gap, the whole sentence included (Du et al. 2020, Algorithm 2). Raises SynparseError for NaN.

    >>> sorted(spans_from_distances([5, 3, 2, 4, 3, 2]))
    [(0, 3), (0, 6), (1, 3), (3, 6), (4, 6)]
    """
    gaps = numbers(distances)[1:]  # gap g lies between the words g and g + 1
    before, after = nearest_larger(gaps)
    return [(left + 1, right + 1) for left, right in zip(before, after, strict=True)]


def nearest_larger(values: Sequence[float]) -> tuple[list[int], list[int]]:
    """For each value, the last earlier index with a value at least as large (or -1), and the first later larger one.

    The two bound the segment in which the value is the first maximum. One pass with a stack; every index is pushed
    and popped once. Where there is no larger value after it, the second is ``len(values)``.
    """
    before = [-1] * len(values)
    after = [len(values)] * len(values)
    stack: list[int] = []
    for i, value in enumerate(values):
        while stack and values[stack[-1]] < value:
            after[stack.pop()] = i
        if stack:
            before[i] = stack[-1]
        stack.append(i)
    return before, after


def numbers(distances: Sequence[float], name: str = "distance") -> list[float]:
    """The distances as a list of Python numbers. Raises SynparseError if one of them is not a number."""
    values: list[float] = distances.tolist() if hasattr(distances, "tolist") else list(distances)
    for i, value in enumerate(values, start=1):
        if value != value:
            raise SynparseError(f"{name} {i} of {len(values)} is not a number (NaN), so no tree can be read from it")
    return values
