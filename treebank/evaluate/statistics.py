"""Confidence intervals and significance tests of scores, by resampling sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from treebank.base.errors import SynparseError
from treebank.base.tables import Interval

if TYPE_CHECKING:
    import numpy as np

    Rows = Sequence[Sequence[float]] | np.ndarray  # one for each sentence
    Statistic = Callable[[np.ndarray], np.ndarray]  # from (resamples, columns) sums to one value for each resample

MIN_SENTENCES = 10  # fewer give neither an interval nor a p-value
RESAMPLES = 1000
PERMUTATIONS = 10_000
CONFIDENCE = 0.95
SEED = 1
Z = 1.959964  # of a 95 % interval under a normal distribution
ROUNDING = 1e-12  # equal differences must count as equal
BLOCK = 1 << 22  # numbers drawn at a time
STEPS = 20_000  # of an integral; p-values are exact to six digits


class Sample(NamedTuple):
    """Mean and standard deviation of the scores of models with several seeds."""

    mean: float
    deviation: float
    seeds: int


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


def bootstrap_interval(columns: Rows, statistic: Statistic) -> Interval | None:
    """The percentile interval that holds the statistic in 95 of 100 resamples (Efron 1979).

    ``columns`` has one row per sentence. None for fewer than `MIN_SENTENCES`.
    """
    import numpy as np

    if len(columns) < MIN_SENTENCES:
        return None
    return _percentiles(statistic(resampled_sums(np.asarray(columns, dtype=float))))


def paired_interval(first: Sequence[Rows], second: Sequence[Rows], statistic: Statistic) -> Interval | None:
    """The 95 % interval of the mean of ``second`` minus that of ``first``, which have one element per seed.

    All models get the same resampled sentences, and the models of each side are resampled as well if there are several
    (Owen 2007). None for fewer than `MIN_SENTENCES`.
    """
    import numpy as np

    if len(first[0]) < MIN_SENTENCES:
        return None
    chance, means = np.random.default_rng(SEED), []
    for side in (first, second):
        values = np.stack([statistic(resampled_sums(np.asarray(rows, dtype=float))) for rows in side])
        seeds = chance.integers(len(side), size=values.shape)
        means.append(np.take_along_axis(values, seeds, axis=0).mean(axis=0))
    return _percentiles(means[1] - means[0])


def _percentiles(values: np.ndarray) -> Interval:
    import numpy as np

    low, high = np.quantile(values, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def paired_permutation(first: Rows, second: Rows, statistic: Statistic) -> float | None:
    """Two-sided p-value of the difference if the systems' names are exchanged sentence by sentence at random.

    The share of permutations, with one added to both counts, whose difference is at least the one observed
    (Noreen 1989, approximate randomization). None for fewer than `MIN_SENTENCES`.
    """
    import numpy as np

    if len(first) < MIN_SENTENCES:
        return None
    before, after = (np.asarray(rows, dtype=float) for rows in (first, second))
    change, totals = after - before, (before.sum(0), after.sum(0))
    observed = abs((statistic(totals[1][None]) - statistic(totals[0][None]))[0])
    moved = np.flatnonzero(change.any(axis=1))  # where both are equal, nothing is exchanged
    change = change[moved]
    chance, extreme, left = np.random.default_rng(SEED), 0, PERMUTATIONS
    while left:
        count = min(left, max(1, BLOCK // max(1, len(moved))))
        swapped = chance.integers(2, size=(count, len(moved)), dtype=np.int8).astype(float) @ change
        differences = statistic(totals[1] - swapped) - statistic(totals[0] + swapped)
        extreme += int((np.abs(differences) >= observed - ROUNDING).sum())
        left -= count
    return (1 + extreme) / (1 + PERMUTATIONS)


def seed_permutation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Two-sided p-value of the difference of means if the models are exchanged between two families of seeds.

    The share of all divisions of the models, or of `PERMUTATIONS` random ones, whose difference is at least the one
    observed. None for a family of one model. Two families of three models have 20 divisions, so p is at least 0.1.
    """
    import numpy as np

    if min(len(first), len(second)) < 2:
        return None
    values, size = np.array([*first, *second]), len(first)
    chance = np.random.default_rng(SEED)
    if math.comb(len(values), size) <= PERMUTATIONS:
        divisions = np.array(list(combinations(range(len(values)), size)))
    else:
        drawn = (chance.permutation(len(values))[:size] for _ in range(PERMUTATIONS))
        divisions = np.array([np.arange(size), *drawn])
    sums = values[divisions].sum(axis=1)
    differences = np.abs((values.sum() - sums) / len(second) - sums / size)
    return float((differences >= differences[0] - ROUNDING).mean())


def welch_test(first: Sample, second: Sample) -> tuple[Interval, float]:
    """The 95 % interval of the difference of the means, ``second`` minus ``first``, and its p-value (Welch 1947).

    A sample of one value has the deviation of the other sample. Raises SynparseError without any deviation.
    """
    pairs = ((first, second), (second, first))
    parts = [(sample if sample.seeds > 1 else other).deviation ** 2 / sample.seeds for sample, other in pairs]
    error, difference = math.sqrt(sum(parts)), second.mean - first.mean
    counts = [sample.seeds for sample in (first, second)]
    if not error or max(counts) < 2:
        raise SynparseError("without a deviation over seeds, means cannot be compared; give several seeds")
    if min(counts) > 1:
        freedom = sum(parts) ** 2 / sum(part**2 / (count - 1) for part, count in zip(parts, counts, strict=True))
    else:
        freedom = max(counts) - 1
    low, high = 0.0, 1e6  # in which the width of the interval is searched, in standard errors
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if student_p(middle, freedom) > 1 - CONFIDENCE else (low, middle)
    return (difference - high * error, difference + high * error), student_p(difference / error, freedom)


def student_p(t: float, freedom: float) -> float:
    """The two-sided p-value of Student's ``t``: the integral of cos(angle)^(freedom - 1), as t = sqrt(freedom) tan."""
    import numpy as np

    def integral(end: float) -> float:
        values = np.cos(np.linspace(0, end, STEPS + 1)) ** (freedom - 1)
        return float((values.sum() - (values[0] + values[-1]) / 2) * end / STEPS)

    return max(0.0, 1 - integral(math.atan(abs(t) / math.sqrt(freedom))) / integral(math.pi / 2))


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values corrected for the number of tests (Holm 1979)."""
    corrected, highest = dict[int, float](), 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        corrected[i] = highest
    return [corrected[i] for i in range(len(p_values))]


def wilson_interval(right: float, count: int) -> tuple[float, float]:
    """The 95 % interval, in percent, of a share of ``right`` out of ``count`` (Wilson 1927)."""
    share = right / count
    middle = (share + Z * Z / (2 * count)) / (1 + Z * Z / count)
    half = Z / (1 + Z * Z / count) * math.sqrt(share * (1 - share) / count + Z * Z / (4 * count * count))
    # the share is in it, and it is in [0, 1], whatever is rounded
    return 100 * max(0.0, min(share, middle - half)), 100 * min(1.0, max(share, middle + half))
