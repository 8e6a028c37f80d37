"""Enumeration of dependency trees."""

from __future__ import annotations

from functools import cache
from itertools import product

from treebank.core.dependency import is_projective, is_tree
from treebank.core.sentence import ROOT


@cache
def projective_trees(count: int) -> list[tuple[int, ...]]:
    """All one-rooted projective trees over ``count`` words."""
    every = (heads for heads in product(range(ROOT, count), repeat=count) if heads.count(ROOT) == 1)
    return [heads for heads in every if is_tree(heads) and is_projective(heads)]


def children(heads: tuple[int, ...], word: int, side: int) -> list[int]:
    """Dependents of ``word`` on one side (0 right, 1 left), nearest first."""
    dependents = [child for child, head in enumerate(heads) if head == word and (child > word) == (side == 0)]
    return sorted(dependents, reverse=side == 1)
