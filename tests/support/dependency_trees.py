"""Projective dependency trees and their enumeration."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product

from treebank.core.dependency import is_tree
from treebank.core.sentence import ROOT


def is_projective(heads: Sequence[int]) -> bool:
    """Whether no two arcs cross above the words, where the arc of a root comes from before the first word."""
    arcs = sorted((min(i, head), -max(i, head)) for i, head in enumerate(heads))
    ends: list[int] = []  # of the arcs that are still open, the innermost last
    for start, end in arcs:
        while ends and ends[-1] <= start:
            ends.pop()
        if ends and -end > ends[-1]:
            return False
        ends.append(-end)
    return True


@cache
def projective_trees(count: int) -> list[tuple[int, ...]]:
    """All one-rooted projective trees over ``count`` words."""
    every = (heads for heads in product(range(ROOT, count), repeat=count) if heads.count(ROOT) == 1)
    return [heads for heads in every if is_tree(heads) and is_projective(heads)]


def children(heads: tuple[int, ...], word: int, side: int) -> list[int]:
    """Dependents of ``word`` on one side (0 right, 1 left), nearest first."""
    dependents = [child for child, head in enumerate(heads) if head == word and (child > word) == (side == 0)]
    return sorted(dependents, reverse=side == 1)
