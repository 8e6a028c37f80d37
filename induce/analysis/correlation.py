"""Correlations and rank statistics with intervals that need no resampling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from treebank.evaluate.statistics import Z


class Correlation(NamedTuple):
    """A correlation from -1 to 1 with its 95 % interval, all NaN if one of the lists is constant."""

    value: float
    low: float
    high: float


def pearson(first: Sequence[float], second: Sequence[float]) -> Correlation:
    """Pearson's correlation with Fisher's interval."""
    value = _correlation(np.asarray(first, float), np.asarray(second, float))
    return _with_interval(value, len(first), 1.0)


def spearman(first: Sequence[float], second: Sequence[float]) -> Correlation:
    """Spearman's rank correlation with the interval of Bonett and Wright (2000)."""
    value = _correlation(ranks(first), ranks(second))
    return _with_interval(value, len(first), 1 + value * value / 2)


def ranks(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Ranks from 1, where equal values share the mean of their ranks."""
    _, index, counts = np.unique(np.asarray(values, float), return_inverse=True, return_counts=True)
    return (counts.cumsum() - (counts - 1) / 2)[index]


def probability_larger(values: np.ndarray, is_positive: np.ndarray) -> float:
    """Probability that a positive value is larger than a negative one, ties counted half (Mann-Whitney's U)."""
    positive, negative = int(is_positive.sum()), int((~is_positive).sum())
    return float((ranks(values)[is_positive].sum() - positive * (positive + 1) / 2) / (positive * negative))


def _correlation(first: np.ndarray, second: np.ndarray) -> float:
    x, y = first - first.mean(), second - second.mean()
    size = math.sqrt((x * x).sum() * (y * y).sum())
    return float((x * y).sum() / size) if size > 0 else math.nan


def _with_interval(value: float, count: int, variance: float) -> Correlation:
    """Interval under a normal distribution of atanh(value) with variance ``variance`` / (count - 3).

    Fewer than four pairs of values do not limit it.
    """
    if math.isnan(value) or (count > 3 and abs(value) >= 1):
        return Correlation(value, value, value)
    if count <= 3:
        return Correlation(value, -1.0, 1.0)
    half = Z * math.sqrt(variance / (count - 3))
    middle = math.atanh(value)
    return Correlation(value, math.tanh(middle - half), math.tanh(middle + half))
