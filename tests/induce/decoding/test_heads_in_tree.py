"""Heads that agree with a binary tree, compared with all such heads."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from induce.decoding.chart import mbr_splits
from induce.decoding.heads import REVERSED_ARC_WEIGHT, Split, best_in_tree, branching, heads_in_tree


def all_in_tree(count: int, splits: list[Split]) -> list[list[int]]:
    """All dependency trees that agree with the splits: each choice of the head of two joined phrases."""
    trees = []
    for choices in product([True, False], repeat=len(splits)):
        heads = list(range(count))
        head_of = {(i, i + 1): i for i in range(count)}
        for (start, middle, end), left in zip(reversed(splits), choices, strict=True):
            first, second = head_of[start, middle], head_of[middle, end]
            upper, lower = (first, second) if left else (second, first)
            heads[lower] = head_of[start, end] = upper
        trees.append(heads)
    return trees


def total(gains: np.ndarray, heads: list[int]) -> float:
    return float(sum(gains[i, head] for i, head in enumerate(heads)))


@pytest.mark.parametrize("count", range(1, 8))
@pytest.mark.parametrize("shape", ["right", "left", "any"])
def test_best_in_tree_returns_the_best_of_all_trees(count: int, shape: str) -> None:
    draw = np.random.default_rng(count)
    gains = draw.random((count, count))
    votes = draw.random((count, count + 1))
    splits = mbr_splits(votes) if shape == "any" else branching(count, right=shape == "right")
    heads = best_in_tree(gains, splits)
    trees = all_in_tree(count, splits)
    assert heads in trees
    assert total(gains, heads) == pytest.approx(max(total(gains, tree) for tree in trees))


def test_arc_gains_from_its_reversed_arc_and_a_root_does_not() -> None:
    heads = np.array([[0.2, 0.8, 0.0], [0.3, 0.1, 0.6], [0.0, 0.5, 0.5]])
    splits = branching(3, right=True)
    votes = heads_in_tree(heads, splits)
    gains = heads + REVERSED_ARC_WEIGHT * heads.T * (1 - np.eye(3))
    above = best_in_tree(gains, splits)
    assert above == [1, 1, 1]
    np.testing.assert_allclose(votes, [[0.0, 0.7, 0.0], [0.3, 1.0, 0.6], [0.0, 0.4, 0.0]])


@pytest.mark.parametrize("seed", range(5))
def test_arc_and_reversed_arc_share_one_vote(seed: int) -> None:
    """The reversed arc keeps its probability."""
    heads = np.random.default_rng(seed).dirichlet(np.ones(7), size=7)
    splits = branching(7, right=True)
    votes = heads_in_tree(heads, splits)
    above = best_in_tree(heads + REVERSED_ARC_WEIGHT * heads.T * (1 - np.eye(7)), splits)
    for word, head in enumerate(above):
        if word == head:
            assert votes[word, word] == 1
        else:
            assert votes[head, word] == heads[head, word]
            assert votes[word, head] == 1 - heads[head, word]
    assert votes.sum() == pytest.approx(7)
    assert np.count_nonzero(votes) == 2 * 7 - 1
