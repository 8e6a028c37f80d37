"""Calibration: precision of brackets or arcs against gold annotation, by the confidence of the model in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

BINS = 10


class Judged(NamedTuple):
    """The confidence in a phrase or an arc, and whether gold has it."""

    confidence: float
    is_correct: bool


@dataclass(frozen=True)
class CalibrationBin:
    """Parts of similar confidence: their number, lowest and mean confidence, and the share of them in gold."""

    count: int
    lowest: float
    mean: float
    correct: float


def calibration_bins(parts: Sequence[Judged], bins: int = BINS) -> list[CalibrationBin]:
    """The parts in at most ``bins`` groups of similar size by rising confidence. Equal confidences share a group."""
    ordered = sorted(parts)
    groups: list[list[Judged]] = []
    for index, part in enumerate(ordered):
        is_new = index * bins // len(ordered) >= len(groups)
        if not groups or (is_new and part.confidence > groups[-1][-1].confidence):
            groups.append([])
        groups[-1].append(part)
    return [
        CalibrationBin(
            len(group),
            group[0].confidence,
            fmean(part.confidence for part in group),
            fmean(part.is_correct for part in group),
        )
        for group in groups
    ]


def calibration_error(bins: Sequence[CalibrationBin]) -> float:
    """Expected calibration error: mean distance of mean confidence and share of correct parts, weighted by counts.

    It is defined for probabilities (Naeini et al. 2015, with groups of equal size).
    """
    return sum(each.count * abs(each.mean - each.correct) for each in bins) / sum(each.count for each in bins)
