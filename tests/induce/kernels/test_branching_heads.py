"""Heads in a tree that branches to one side, against all of them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from induce.kernels.branching_heads import TURNED, best_in_branching, branching_heads


def all_in_right_branching(count: int) -> list[list[int]]:
    """Every choice of the upper word where word i meets the phrase behind it."""
    found = []
    for choices in product([True, False], repeat=count - 1):
        heads, head = list(range(count)), count - 1
        for i in range(count - 2, -1, -1):
            if choices[i]:
                heads[head], head = i, i
            else:
                heads[i] = head
        found.append(heads)
    return found


def total(gains: np.ndarray, heads: list[int]) -> float:
    return float(sum(gains[i, head] for i, head in enumerate(heads)))


@pytest.mark.parametrize("count", range(1, 8))
def test_the_best_of_all(count: int) -> None:
    gains = np.random.default_rng(count).random((count, count))
    heads = best_in_branching(gains)
    every = all_in_right_branching(count)
    assert heads in every
    assert total(gains, heads) == pytest.approx(max(total(gains, one) for one in every))
    mirrored = best_in_branching(gains[::-1, ::-1], right=False)
    assert mirrored == [count - 1 - head for head in heads[::-1]]


def test_distributions_of_sentences_of_any_length() -> None:
    heads = np.random.default_rng(0).random((3, 4, 4))
    lengths = np.array([4, 0, 2])
    found = branching_heads(heads, lengths, right=True)
    assert found.sum(2).tolist() == [[1, 1, 1, 1], [0, 0, 0, 0], [1, 1, 0, 0]]
    gains = heads[2, :2, :2] + TURNED * heads[2, :2, :2].T * (1 - np.eye(2))
    assert found[2, :2, :2].argmax(1).tolist() == best_in_branching(gains)
