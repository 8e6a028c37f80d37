"""From the counts of sentences to one score, as a convention averages them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from treebank.evaluate.conventions import Convention
from treebank.evaluate.score import Counts

TINY = 1e-8  # the constant of the published script; it moves the eighth digit, and is kept for parity
LONGEST = 40  # sentences of more words are one group


class Score(NamedTuple):
    """Between 0 and 1."""

    precision: float
    recall: float
    f1: float


def each_score(counts: Sequence[Counts] | np.ndarray) -> np.ndarray:
    """Precision, recall and F1 of each sentence, (S, 3) -> (S, 3), by the script of Htut et al. 2018 and ON-LSTM.

    Without a gold bracket the recall is 1, and the precision too if nothing was predicted.
    """
    matched, predicted, gold = np.asarray(counts, float).reshape(-1, 3).T
    recall = np.where(gold == 0, 1.0, matched / (gold + TINY))
    precision = np.where((gold == 0) & (predicted == 0), 1.0, matched / (predicted + TINY))
    return np.stack([precision, recall, 2 * precision * recall / (precision + recall + TINY)], 1)


def pooled_score(counts: Counts) -> Score:
    """Precision, recall and F1 of summed counts; 1 where there was nothing to find."""
    matched, predicted, gold = counts
    return Score(
        matched / predicted if predicted else float(gold == 0),
        matched / gold if gold else float(predicted == 0),
        2 * matched / (predicted + gold) if predicted + gold else 1.0,
    )


def average_score(counts: Sequence[Counts] | np.ndarray, convention: Convention) -> Score:
    """The score of several sentences as the convention averages them."""
    if convention.average == "corpus":
        return pooled_score(Counts(*np.asarray(counts).sum(0).tolist()))
    return Score(*each_score(counts).mean(0).tolist())


def columns(counts: Sequence[Counts] | np.ndarray, convention: Convention) -> np.ndarray:
    """One row per sentence: the numbers whose sums over sentences give the F1 by ``statistic``."""
    if convention.average == "corpus":
        return np.asarray(counts, float)
    scores = each_score(counts)[:, 2]
    return np.stack([scores, np.ones(len(scores))], 1)


def statistic(convention: Convention) -> Callable[[np.ndarray], np.ndarray]:
    """The F1, between 0 and 1, of each row of summed ``columns``."""
    return _pooled_f1 if convention.average == "corpus" else lambda sums: sums[:, 0] / sums[:, 1]


def _pooled_f1(sums: np.ndarray) -> np.ndarray:
    """F1 of each row of summed counts."""
    both = sums[:, 1] + sums[:, 2]
    return np.where(both > 0, 2 * sums[:, 0] / np.maximum(both, 1), 1.0)


def by_length(
    counts: Sequence[Counts] | np.ndarray, lengths: Sequence[int] | np.ndarray, convention: Convention
) -> dict[str, tuple[int, float]]:
    """Number of sentences and score of those with 1 to 10 words, 11 to 20, and so on; all longer ones together."""
    rows, tens = np.asarray(counts), np.minimum((np.asarray(lengths) - 1) // 10, LONGEST // 10)
    return {
        f"{10 * group + 1}-{10 * group + 10 if group < LONGEST // 10 else ''}": (
            int((tens == group).sum()),
            100 * average_score(rows[tens == group], convention).f1,
        )
        for group in np.unique(tens).tolist()
    }
