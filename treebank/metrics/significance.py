"""How far a score would move with other sentences of the same kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

RESAMPLES = 1000
CONFIDENCE = 0.95
SEED = 1


def resampled_sums(columns: np.ndarray, *, resamples: int = RESAMPLES, seed: int = SEED) -> np.ndarray:
    """Sums of each column over sentences drawn with replacement: (sentences, columns) -> (resamples, columns).

    The same seed draws the same sentences, whatever the columns, so that two systems can be compared.
    """
    import numpy as np

    chance = np.random.default_rng(seed)
    count = len(columns)
    rows = np.ascontiguousarray(columns.T)  # summed by numpy itself: threads of a matrix product would only wait here
    sums = np.empty((resamples, len(rows)))
    for resample in sums:
        drawn = chance.integers(count, size=count, dtype=np.int32)
        resample[:] = rows.take(drawn, axis=1).sum(axis=1)
    return sums


def bootstrap_interval(
    columns: Sequence[Sequence[float]],
    statistic: Callable[[np.ndarray], np.ndarray],
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> tuple[float, float]:
    """The percentile interval that holds the statistic in 95 of 100 resamples (Efron 1979).

    ``columns`` has one row per sentence; ``statistic`` turns (resamples, columns) sums into one value each.
    """
    import numpy as np

    sums = resampled_sums(np.asarray(columns, dtype=float), resamples=resamples, seed=seed)
    low, high = np.quantile(statistic(sums), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)
