"""Significance of the difference between two systems on the same gold sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from treebank.base.errors import SynparseError
from treebank.evaluate.score import Score, columns, statistic
from treebank.evaluate.statistics import paired_bootstrap, paired_permutation


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference of ``second`` minus ``first`` in percentage points.

    ``interval`` holds 95 % of the paired resamples. ``bootstrap`` and ``permutation`` are p-values.
    """

    first: Score
    second: Score
    difference: float
    interval: tuple[float, float]
    bootstrap: float
    permutation: float

    def to_json(self) -> dict[str, Any]:
        """The entry of this comparison in the output of ``synparse eval --compare --format json``."""
        return {
            "systems": [self.first.system, self.second.system],
            "metric": self.first.metric,
            "convention": self.first.convention.name,
            "difference": self.difference,
            "interval": list(self.interval),
            "p_bootstrap": self.bootstrap,
            "p_permutation": self.permutation,
            "sentences": len(self.first.counts),
        }


def compare(first: Score, second: Score) -> Comparison:
    """The difference between two scores of the same metric and convention, paired by sentence.

    Raises SynparseError if they were not computed on the same sentences.
    """
    if (first.metric, str(first.convention), first.indices) != (second.metric, str(second.convention), second.indices):
        raise SynparseError(f"{first.system} and {second.system} were not scored on the same sentences in the same way")
    rows, others = (columns(score.counts, score.convention) for score in (first, second))
    value = statistic(first.convention)
    low, high, bootstrap = paired_bootstrap(rows, others, value)
    difference, interval = second.value - first.value, (100 * low, 100 * high)
    return Comparison(first, second, difference, interval, bootstrap, paired_permutation(rows, others, value))


def compare_all(scores: Sequence[Score]) -> list[Comparison]:
    """Each system compared with the first one, for each metric and convention. The list is empty for one system."""
    groups: dict[tuple[str, str], list[Score]] = {}
    for score in scores:
        groups.setdefault((score.metric, str(score.convention)), []).append(score)
    return [compare(group[0], other) for group in groups.values() for other in group[1:]]


def check_compared(scores: Sequence[Score], comparisons: Sequence[Comparison]) -> None:
    """Raises SynparseError if there are no ``comparisons`` of the systems with these ``scores``."""
    if not comparisons:
        problem = ": one system has trees and one has heads" * (len({score.info for score in scores}) > 1)
        remedy = "name a second system of the same type, with -m, --baseline or a file"
        raise SynparseError(f"nothing to compare{problem}; {remedy}")
