"""Correlations of two lists of numbers, with intervals that need no resampling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from treebank.evaluate.statistics import Z


class Correlation(NamedTuple):
    """A correlation with its 95 % interval, from -1 to 1; all NaN where one of the lists has one value only."""

    value: float
    low: float
    high: float


def pearson(first: Sequence[float], second: Sequence[float]) -> Correlation:
    """Pearson's correlation; the interval is Fisher's."""
    value = _correlation(np.asarray(first, float), np.asarray(second, float))
    return _with_interval(value, len(first), 1.0)


def spearman(first: Sequence[float], second: Sequence[float]) -> Correlation:
    """Spearman's correlation, of ranks, equal values sharing their mean; the interval is that of Bonett and Wright
    (2000)."""
    value = _correlation(ranks(first), ranks(second))
    return _with_interval(value, len(first), 1 + value * value / 2)


def ranks(values: Sequence[float]) -> np.ndarray:
    """Ranks from 1, the mean of their ranks for equal values."""
    _, place, counts = np.unique(np.asarray(values, float), return_inverse=True, return_counts=True)
    found: np.ndarray = (counts.cumsum() - (counts - 1) / 2)[place]
    return found


def _correlation(first: np.ndarray, second: np.ndarray) -> float:
    x, y = first - first.mean(), second - second.mean()
    size = math.sqrt((x * x).sum() * (y * y).sum())
    return float((x * y).sum() / size) if size > 0 else math.nan


def _with_interval(value: float, count: int, variance: float) -> Correlation:
    """The interval under a normal distribution of atanh(value), whose variance is ``variance`` / (count - 3)."""
    if math.isnan(value) or count < 4 or abs(value) >= 1:
        return Correlation(value, value, value)
    half = Z * math.sqrt(variance / (count - 3))
    middle = math.atanh(value)
    return Correlation(value, math.tanh(middle - half), math.tanh(middle + half))
