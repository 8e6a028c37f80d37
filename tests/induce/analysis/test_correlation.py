"""Rank statistics and correlations compared with values computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from induce.analysis.correlation import probability_larger, ranks


def test_equal_values_share_the_mean_rank() -> None:
    assert ranks([3.0, 1.0, 3.0, 2.0]).tolist() == [3.5, 1.0, 3.5, 2.0]


def test_probability_larger_counts_ties_half() -> None:
    values, is_positive = np.array([1.0, 2, 2, 3]), np.array([False, True, False, True])
    assert probability_larger(values, is_positive) == pytest.approx((1 + 0.5 + 1 + 1) / 4)
