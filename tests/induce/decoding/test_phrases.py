"""Constituents from heads."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from induce.decoding.heads import eisner
from induce.decoding.phrases import heads_to_tree, phrases
from treebank.core.dependency import is_projective, is_tree
from treebank.core.sentence import ROOT
from treebank.core.tree import Tree


def plain(heads: tuple[int, ...]) -> set[tuple[int, int]]:
    """For each word the words that lead up to it; their range, if there are several."""
    spans = set()
    for top in range(len(heads)):
        below = []
        for word in range(len(heads)):
            at = word
            while at not in (top, ROOT):
                at = heads[at]
            if at == top:
                below.append(word)
        assert below == list(range(below[0], below[-1] + 1))
        if len(below) > 1:
            spans.add((below[0], below[-1] + 1))
    return spans


@pytest.mark.parametrize("count", range(6))
def test_phrases_of_all_projective_trees(count: int) -> None:
    trees = [heads for heads in product(range(-1, count), repeat=count) if is_tree(heads) and is_projective(heads)]
    assert len(trees) == [0, 1, 2, 7, 30, 143][count]
    for heads in trees:
        found = phrases(heads)
        assert len(found) == len(set(found))
        assert set(found) == plain(heads)


@pytest.mark.parametrize("seed", range(10))
def test_any_matrix_gives_the_tree_of_its_best_projective_heads(seed: int) -> None:
    draw = np.random.default_rng(seed)
    matrix = draw.random((8, 8))
    found = heads_to_tree(matrix)
    assert set(found) == plain(eisner(matrix))
    assert (0, 8) in found
    assert len(Tree.from_spans([f"w{i}" for i in range(8)], found).spans) == len(found)


def test_short_and_long_sentences() -> None:
    assert heads_to_tree([]) == heads_to_tree([[0.3]]) == []
    chain = (*range(1, 20_000), ROOT)
    assert set(phrases(chain)) == {(0, end) for end in range(2, 20_001)}
