"""Heads from distances and heights."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from induce.decoding.distances import heights, nary
from tests.support.dependency_trees import is_projective
from treebank.core.dependency import is_tree
from treebank.core.sentence import ROOT


def plain(pairs: list[tuple[float, float]]) -> tuple[int, ...]:
    """Heads by the definition: the head of the smallest phrase in which the word is not the first highest word."""
    spans = sorted(nary([gap for gap, _ in pairs]), key=lambda span: span[1] - span[0])
    heads = []
    for word in range(len(pairs)):
        tops = [max(range(*span), key=lambda i: pairs[i][1]) for span in spans if span[0] <= word < span[1]]
        heads.append(next((top for top in tops if top != word), ROOT))
    return tuple(heads)


@pytest.mark.parametrize("count", range(6))
def test_small_sentences_follow_the_definition(count: int) -> None:
    for gaps, tall in product(product(range(2), repeat=max(count - 1, 0)), permutations(range(count))):
        pairs = [(float(gap), float(height)) for gap, height in zip((9, *gaps), tall, strict=False)]
        heads = heights(pairs)
        assert heads == plain(pairs)
        assert len(heads) == count
        assert is_tree(heads) == bool(count)
        assert is_projective(heads)


@pytest.mark.parametrize("seed", range(20))
def test_long_sentences_with_ties_follow_the_definition(seed: int) -> None:
    draw = np.random.default_rng(seed)
    pairs = draw.integers(0, 6, (30, 2)).tolist()
    heads = heights(pairs)
    assert heads == plain(pairs)
    assert is_tree(heads)
    assert is_projective(heads)
