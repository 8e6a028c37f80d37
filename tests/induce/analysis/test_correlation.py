"""Rank statistics and correlations compared with values computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from induce.analysis.correlation import pearson, probability_larger, ranks, spearman


def test_equal_values_share_the_mean_rank() -> None:
    assert ranks([3.0, 1.0, 3.0, 2.0]).tolist() == [3.5, 1.0, 3.5, 2.0]


def test_probability_larger_counts_ties_half() -> None:
    values, is_positive = np.array([1.0, 2, 2, 3]), np.array([False, True, False, True])
    assert probability_larger(values, is_positive) == pytest.approx((1 + 0.5 + 1 + 1) / 4)


def test_three_values_do_not_limit_the_interval() -> None:
    assert pearson([1, 2, 3], [1, 2, 4])[1:] == (-1, 1)
    assert spearman([1, 2, 3], [1, 2, 4]) == (pytest.approx(1), -1, 1)
    value, low, high = pearson([1, 2, 3, 4], [1, 3, 2, 4])
    assert value == pytest.approx(0.8)
    assert (low, high) == pytest.approx((-0.697, 0.996), abs=1e-3)  # tanh(atanh(0.8) -+ 1.96)
