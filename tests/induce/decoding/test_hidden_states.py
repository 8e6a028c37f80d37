"""Decoders of perturbed masking against their definitions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from induce.decoding.hidden_states import impact_cuts, impact_heads, separation
from treebank.core.sentence import ROOT


def impacts(count: int, seed: int) -> np.ndarray:
    values = np.random.default_rng(seed).random((count, count)) * 3
    np.fill_diagonal(values, 0)
    return values


def plain_cuts(scores: np.ndarray, start: int = 0) -> set[tuple[int, int]]:
    """The published rule, with sums of blocks and the first minimum."""
    n = len(scores)
    if n < 2:
        return set()

    def cost(k: int) -> float:
        within = scores[:k, :k].sum() / (2 * k) + scores[k + 1 :, k + 1 :].sum() / (2 * (n - k))
        return within - (scores[:k, k + 1 :].sum() + scores[k + 1 :, :k].sum()) / (k * (n - k))

    k = min(range(1, n), key=lambda k: (round(cost(k), 12), k))
    right = {(start + k, start + n)} if n - k > 1 else set()
    left, rest = plain_cuts(scores[:k, :k], start), plain_cuts(scores[k + 1 :, k + 1 :], start + k + 1)
    return {(start, start + n)} | right | left | rest


@given(st.integers(0, 9), st.integers(0, 1000))
def test_cuts_are_those_of_plain_recursion(count: int, seed: int) -> None:
    values = impacts(count, seed)
    spans = impact_cuts(values)
    assert len(spans) == len(set(spans)) == max(count - 1, 0)
    assert set(spans) == plain_cuts(separation(values))


@pytest.mark.parametrize("seed", range(4))
def test_heads_maximize_the_impact_on_dependents(seed: int) -> None:
    """Against all projective trees of three words."""
    shares = np.exp(impacts(3, seed)) * (1 - np.eye(3))
    shares /= shares.sum(1, keepdims=True)
    trees = [
        heads
        for heads in product((ROOT, 0, 1, 2), repeat=3)
        if heads.count(ROOT) == 1 and all(i not in (head, heads[head]) for i, head in enumerate(heads) if head != ROOT)
    ]
    projective = set(trees) - {(2, ROOT, 1), (1, ROOT, 0)}  # an arc over the root
    assert len(projective) == 7

    def gain(heads: tuple[int, ...]) -> float:
        return float(sum(shares[i, head] for i, head in enumerate(heads) if head != ROOT))

    assert impact_heads(impacts(3, seed)) == max(projective, key=gain)
