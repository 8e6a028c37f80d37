"""Sums over binary trees with bracket weights: against enumeration, and outside the range of float64."""

from __future__ import annotations

from math import lgamma, prod

import numpy as np
import pytest

from induce.models.em.ccm import bracket_counts, random_split_probability
from tests.support.binary_trees import all_brackets


def random_weights(count: int, batch: int, spread: float = 1.0) -> np.ndarray:
    return spread * np.random.default_rng(count).normal(size=(count, count + 1, batch))


@pytest.mark.parametrize("count", range(1, 7))
def test_bracket_counts_equal_enumeration(count: int) -> None:
    weights = random_weights(count, 3)
    counts = bracket_counts(weights)
    total, expected = np.zeros(3), np.zeros_like(weights)
    for spans in all_brackets(0, count):
        weight = np.exp(sum((weights[span] for span in spans), np.zeros(3)))
        total += weight
        for span in spans:
            expected[span] += weight
    np.testing.assert_allclose(counts.log_total, np.log(total), atol=1e-12)
    np.testing.assert_allclose(counts.probability, expected / total, atol=1e-12)


@pytest.mark.parametrize("count", range(1, 7))
def test_random_split_probability_equals_enumeration(count: int) -> None:
    expected = np.zeros((count, count + 1))
    for spans in all_brackets(0, count):
        probability = prod(1 / (end - start - 1) for start, end in spans)
        for span in spans:
            expected[span] += probability
    np.testing.assert_allclose(random_split_probability(count), expected, atol=1e-12)


def test_large_weights_do_not_overflow() -> None:
    """N - 1 expected brackets for any weights, and the number of trees for weights of 1."""
    heavy = bracket_counts(random_weights(120, 1, 300.0))
    assert float(heavy.log_total[0]) > 710  # e^710 is the largest float64
    assert heavy.probability.sum() == pytest.approx(119)
    uniform = bracket_counts(np.zeros((120, 121, 1)))
    assert float(uniform.log_total[0]) == pytest.approx(lgamma(2 * 119 + 1) - lgamma(120) - lgamma(121))
