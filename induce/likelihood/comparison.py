"""Significance of the difference between the perplexities of two models on one text.

The text is divided into sentences, or into segments of consecutive tokens, which are resampled or exchanged in both
models together. Neighboring sentences of a stream are not independent; segments are more nearly so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from induce.likelihood.units import Units, segment_sums, sentence_sums
from treebank.base.errors import SynparseError
from treebank.base.tables import Cell, Column, Interval
from treebank.evaluate.statistics import paired_interval, paired_permutation

COMPARISON_TITLE = "Difference of perplexity from the first model: paired permutation of 10,000"
COMPARISON_COLUMNS = (
    *(Column("Models"), Column("Units"), Column("Number"), Column("Diff.", "+.2f"), Column("95 % int.", "+.2f")),
    Column("p (perm.)", ".4f"),
)


@dataclass(frozen=True)
class TextComparison:
    """Difference of the perplexity of ``second`` from that of ``first``, with its interval and p-value."""

    first: str
    second: str
    units: str  # sentences or segments
    count: int  # number of units
    difference: float
    interval: Interval | None  # 95 % of the resampled differences; None for fewer than ten units
    permutation: float | None  # p-value

    def row(self) -> list[Cell]:
        """The cells of `COMPARISON_COLUMNS`."""
        difference = f"{self.second} - {self.first}"
        return [
            *(difference, self.units, self.count),
            *(self.difference, self.interval, self.permutation),
        ]

    def to_json(self) -> dict[str, Any]:
        """The comparison as a JSON object."""
        return {
            "systems": [self.first, self.second],
            "units": self.units,
            "count": self.count,
            "difference": self.difference,
            "interval": self.interval and list(self.interval),
            "p_permutation": self.permutation,
        }


def compare_texts(names: Sequence[str], units: Sequence[Units]) -> list[TextComparison]:
    """Compare every model with the first, by sentences and by segments.

    Masked models are compared by segments only. Raises SynparseError if there is one model, or if the models score
    different tokens.
    """
    if len(units) < 2:
        raise SynparseError("nothing to compare: name a second model with -m")
    comparisons = []
    for name, others in zip(names[1:], units[1:], strict=True):
        for unit, sums_of in (("sentences", sentence_sums), ("segments", segment_sums)):
            before, after = sums_of(units[0]), sums_of(others)
            if before is not None and after is not None:
                comparisons.append(compare_units(names[0], name, unit, before, after))
    return comparisons


def compare_units(first: str, second: str, units: str, before: np.ndarray, after: np.ndarray) -> TextComparison:
    """Compare two models by the sums (S, 2) of nats and scored tokens of each unit."""
    if not np.array_equal(before[:, 1], after[:, 1]):
        raise SynparseError(f"{first} and {second} do not read the same tokens; their perplexities do not compare")
    rows = before.tolist(), after.tolist()
    interval = paired_interval([rows[0]], [rows[1]], perplexity_of)
    values = [float(perplexity_of(sums.sum(0)[None])[0]) for sums in (before, after)]
    permutation = paired_permutation(*rows, perplexity_of)
    return TextComparison(first, second, units, len(before), values[1] - values[0], interval, permutation)


def perplexity_of(sums: np.ndarray) -> np.ndarray:
    """Perplexities (S,) of sums (S, 2) of nats and scored tokens."""
    return np.exp(sums[:, 0] / sums[:, 1])
