"""Is the difference between two systems on the same gold sentences more than chance?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from treebank.base.errors import SynparseError
from treebank.evaluate.averaging import columns, statistic
from treebank.evaluate.score import ScoreReport
from treebank.evaluate.statistics import paired_bootstrap, paired_permutation


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much better ``second`` is than ``first``, in percentage points, and how easily chance does the same."""

    first: ScoreReport
    second: ScoreReport
    difference: float
    interval: tuple[float, float]  # of the difference, 95 % of the resamples
    bootstrap: float  # p-values
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


def compare(first: ScoreReport, second: ScoreReport) -> Comparison:
    """Two reports of the same metric and convention on the same sentences, paired by sentence.

    Raises SynparseError if they are not of the same sentences.
    """
    if (
        first.places != second.places
        or str(first.convention) != str(second.convention)
        or first.metric != second.metric
    ):
        raise SynparseError(f"{first.system} and {second.system} were not scored on the same sentences in the same way")
    before, after = (columns(report.counts, report.convention) for report in (first, second))
    value = statistic(first.convention)
    low, high, bootstrap = paired_bootstrap(before, after, value)
    return Comparison(
        first,
        second,
        second.value - first.value,
        (100 * low, 100 * high),
        bootstrap,
        paired_permutation(before, after, value),
    )


def compare_all(reports: Sequence[ScoreReport]) -> list[Comparison]:
    """Every system with the first one, for each metric and convention. Raises SynparseError if all have but one."""
    groups: dict[tuple[str, str], list[ScoreReport]] = {}
    for report in reports:
        groups.setdefault((report.metric, str(report.convention)), []).append(report)
    if all(len(group) < 2 for group in groups.values()):
        raise SynparseError("nothing to compare: name a second system, with -m, --baseline or a file")
    return [compare(group[0], other) for group in groups.values() for other in group[1:]]
