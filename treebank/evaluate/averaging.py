"""Scores from counts of brackets: per sentence, pooled, and averaged as a convention says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from treebank.evaluate.conventions import Convention

if TYPE_CHECKING:
    import numpy as np

EPSILON = 1e-8  # the constant of the published script; it changes the eighth digit
MAX_LENGTH_GROUP = 40  # words; longer sentences form one group


class Counts(NamedTuple):
    """Number of brackets or arcs in both structures, in the predicted one and in the gold one.

    The numbers can be fractions for the expectation of a random baseline.
    """

    matched: float
    predicted: float
    gold: float


class PRF(NamedTuple):
    """Precision, recall and F1 between 0 and 1."""

    precision: float
    recall: float
    f1: float


def total(counts: Sequence[Counts]) -> Counts:
    """The sums of the counts of several sentences."""
    return Counts(*map(sum, zip(*counts, strict=True)))


def sentence_score(counts: Counts) -> PRF:
    """The scores of one sentence by the script of Htut et al. 2018 and ON-LSTM.

    Without a gold bracket the recall is 1, and so is the precision if no bracket was predicted.
    """
    matched, predicted, gold = counts
    recall = matched / (gold + EPSILON) if gold else 1.0
    precision = matched / (predicted + EPSILON) if gold or predicted else 1.0
    return PRF(precision, recall, 2 * precision * recall / (precision + recall + EPSILON))


def pooled_score(counts: Counts) -> PRF:
    """The scores of summed counts, or 1 if there are no brackets to divide by."""
    matched, predicted, gold = counts
    return PRF(
        matched / predicted if predicted else float(gold == 0),
        matched / gold if gold else float(predicted == 0),
        2 * matched / (predicted + gold) if predicted + gold else 1.0,
    )


def average_score(counts: Sequence[Counts], convention: Convention) -> PRF:
    """The scores of several sentences, averaged as the convention says."""
    if convention.average == "corpus":
        return pooled_score(total(counts))
    return PRF(*map(fmean, zip(*map(sentence_score, counts), strict=True)))


def columns(counts: Sequence[Counts], convention: Convention) -> Sequence[Sequence[float]]:
    """One row of numbers per sentence, from whose sums ``statistic`` computes the F1."""
    if convention.average == "corpus":
        return counts
    return [(sentence_score(row).f1, 1.0) for row in counts]


def statistic(convention: Convention) -> Callable[[np.ndarray], np.ndarray]:
    """The function from summed ``columns`` (R, columns) to the F1 (R,) between 0 and 1."""
    return _pooled_f1 if convention.average == "corpus" else lambda sums: sums[:, 0] / sums[:, 1]


def _pooled_f1(sums: np.ndarray) -> np.ndarray:
    import numpy as np

    both = sums[:, 1] + sums[:, 2]
    return np.where(both > 0, 2 * sums[:, 0] / np.maximum(both, 1), 1.0)


def by_length(counts: Sequence[Counts], lengths: Sequence[int], convention: Convention) -> dict[str, tuple[int, float]]:
    """Number of sentences and F1 in percent by sentence length: 1 to 10 words, 11 to 20, …, and over 40."""
    groups: dict[int, list[Counts]] = {}
    for row, length in zip(counts, lengths, strict=True):
        groups.setdefault(min((length - 1) // 10 * 10, MAX_LENGTH_GROUP), []).append(row)
    return {
        f"{first + 1}-{first + 10 if first < MAX_LENGTH_GROUP else ''}": (
            len(rows),
            100 * average_score(rows, convention).f1,
        )
        for first, rows in sorted(groups.items())
    }
