"""Confidence intervals and significance tests of scores, by resampling sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    Rows = Sequence[Sequence[float]] | np.ndarray  # one for each sentence

RESAMPLES = 1000
PERMUTATIONS = 10_000
CONFIDENCE = 0.95
SEED = 1
Z = 1.959964  # of a 95 % interval under a normal distribution
ROUNDING = 1e-12  # equal differences must count as equal
BLOCK = 1 << 22  # numbers drawn at a time


def resampled_sums(columns: np.ndarray) -> np.ndarray:
    """Sums of each column over sentences drawn with replacement: (sentences, columns) -> (resamples, columns).

    The same sentences are drawn, whatever the columns, so that two systems can be compared.
    """
    import numpy as np

    count = len(columns)
    if count * RESAMPLES <= BLOCK:
        return times_drawn(count) @ columns
    chance = np.random.default_rng(SEED)
    rows = np.ascontiguousarray(columns.T)  # summed by numpy itself: threads of a matrix product would only wait here
    constant = [bool((row == 1).all()) for row in rows]  # the sum of ones is the number of sentences
    sums = np.full((RESAMPLES, len(rows)), float(count))
    values = np.empty(count)
    for resample in sums:
        drawn = chance.integers(count, size=count, dtype=np.int32)
        for k, row in enumerate(rows):
            if not constant[k]:
                resample[k] = row.take(drawn, out=values, mode="clip").sum()  # "clip" does not copy ``values``
    return sums


@lru_cache(maxsize=1)
def times_drawn(count: int) -> np.ndarray:
    """Number of times that each resample has each sentence (resamples, sentences), cached for all systems."""
    import numpy as np

    chance = np.random.default_rng(SEED)
    drawn = (chance.integers(count, size=count, dtype=np.int32) for _ in range(RESAMPLES))
    return np.array([np.bincount(indices, minlength=count) for indices in drawn], dtype=float)


def bootstrap_interval(columns: Rows, statistic: Callable[[np.ndarray], np.ndarray]) -> tuple[float, float]:
    """The percentile interval that holds the statistic in 95 of 100 resamples (Efron 1979).

    ``columns`` has one row per sentence; ``statistic`` turns (resamples, columns) sums into one value each.
    """
    import numpy as np

    sums = resampled_sums(np.asarray(columns, dtype=float))
    low, high = np.quantile(statistic(sums), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def paired_bootstrap(
    first: Rows, second: Rows, statistic: Callable[[np.ndarray], np.ndarray]
) -> tuple[float, float, float]:
    """The 95 % interval of ``second`` minus ``first``, and a two-sided p-value (Berg-Kirkpatrick et al. 2012).

    Both systems get the same resampled sentences. p is the share of resamples, with one added to both counts, whose
    difference is as far from the one observed as that is from nothing.
    """
    import numpy as np

    before, after = (np.asarray(rows, dtype=float) for rows in (first, second))
    sums = [resampled_sums(rows) for rows in (before, after)]
    differences = _difference(sums[0], sums[1], statistic)
    low, high = np.quantile(differences, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    observed = _difference(before.sum(0)[None], after.sum(0)[None], statistic)[0]
    extreme = np.abs(differences - observed) >= abs(observed) - ROUNDING
    return float(low), float(high), float((1 + extreme.sum()) / (1 + RESAMPLES))


def paired_permutation(first: Rows, second: Rows, statistic: Callable[[np.ndarray], np.ndarray]) -> float:
    """Two-sided p-value of the difference if the systems' names are exchanged sentence by sentence at random.

    The share of permutations, with one added to both counts, whose difference is at least the one observed
    (Noreen 1989, approximate randomization).
    """
    import numpy as np

    before, after = (np.asarray(rows, dtype=float) for rows in (first, second))
    change, totals = after - before, (before.sum(0), after.sum(0))
    observed = abs(_difference(totals[0][None], totals[1][None], statistic)[0])
    moved = np.flatnonzero(change.any(axis=1))  # where both are equal, nothing is exchanged
    change = change[moved]
    chance, extreme, left = np.random.default_rng(SEED), 0, PERMUTATIONS
    while left:
        count = min(left, max(1, BLOCK // max(1, len(moved))))
        swapped = chance.integers(2, size=(count, len(moved)), dtype=np.int8).astype(float) @ change
        extreme += int(
            (np.abs(_difference(totals[0] + swapped, totals[1] - swapped, statistic)) >= observed - ROUNDING).sum()
        )
        left -= count
    return (1 + extreme) / (1 + PERMUTATIONS)


def _difference(first: np.ndarray, second: np.ndarray, statistic: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    return statistic(second) - statistic(first)


def wilson_interval(right: float, count: int) -> tuple[float, float]:
    """The 95 % interval, in percent, of a share of ``right`` out of ``count`` (Wilson 1927)."""
    share = right / count
    middle = (share + Z * Z / (2 * count)) / (1 + Z * Z / count)
    half = Z / (1 + Z * Z / count) * math.sqrt(share * (1 - share) / count + Z * Z / (4 * count * count))
    # the share is in it, and it is in [0, 1], whatever is rounded
    return 100 * max(0.0, min(share, middle - half)), 100 * min(1.0, max(share, middle + half))
