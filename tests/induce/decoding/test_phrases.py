"""Constituents from heads."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from induce.decoding.heads import eisner, heads_to_tree, phrases
from tests.support.dependency_trees import is_projective
from treebank.core.dependency import is_tree
from treebank.core.sentence import ROOT
from treebank.core.tree import Tree


def plain(heads: tuple[int, ...]) -> set[tuple[int, int]]:
    """Spans by the definition: the range of each word with dependents and the words below it."""
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
        spans = phrases(heads)
        assert len(spans) == len(set(spans))
        assert set(spans) == plain(heads)


@pytest.mark.parametrize("seed", range(10))
def test_tree_of_a_matrix_follows_its_best_projective_heads(seed: int) -> None:
    draw = np.random.default_rng(seed)
    matrix = draw.random((8, 8))
    spans = heads_to_tree(matrix)
    assert set(spans) == plain(eisner(matrix))
    assert (0, 8) in spans
    assert len(Tree.from_spans([f"w{i}" for i in range(8)], spans).spans) == len(spans)


def test_short_and_long_sentences() -> None:
    assert heads_to_tree([]) == heads_to_tree([[0.3]]) == []
    chain = (*range(1, 20_000), ROOT)
    assert set(phrases(chain)) == {(0, end) for end in range(2, 20_001)}
