"""Comparison of the frequencies of a phrase in two corpora."""

from __future__ import annotations

import math

UNSEEN_COUNT = 0.5  # replaces a count of 0 in the ratio of two frequencies (Hardie 2014)


def log_likelihood_ratio(first: int, second: int, first_total: int, second_total: int) -> float:
    """The statistic G² of counts in two corpora (Rayson & Garside 2000), without a sign.

    The totals are numbers of phrases. Values above 3.84 and 6.63 are significant at 5 and 1 percent for one comparison.

    >>> round(log_likelihood_ratio(20, 5, 1000, 1000), 2)
    9.64
    """
    total = first_total + second_total
    if not total:
        return 0.0
    expected = (first + second) / total
    pairs = ((first, first_total), (second, second_total))
    return 2 * sum(count * math.log(count / (size * expected)) for count, size in pairs if count)


def log_ratio(first: int, second: int, first_total: int, second_total: int) -> float | None:
    """The binary logarithm of the ratio of two relative frequencies (Hardie 2014), or None for an empty corpus.

    A value of 1 means twice as frequent in the first corpus, -1 half as frequent. A count of 0 is replaced by 0.5.

    >>> log_ratio(20, 5, 1000, 1000), log_ratio(0, 4, 1000, 1000)
    (2.0, -3.0)
    """
    if not first_total or not second_total:
        return None
    return math.log2((first or UNSEEN_COUNT) / first_total) - math.log2((second or UNSEEN_COUNT) / second_total)
