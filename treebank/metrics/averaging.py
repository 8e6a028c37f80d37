"""From the counts of sentences to one score, as a convention averages them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from treebank.metrics.conventions import Convention
from treebank.metrics.report import Counts, total

if TYPE_CHECKING:
    import numpy as np

TINY = 1e-8  # the constant of the published script; it moves the eighth digit, and is kept for parity
LONGEST = 40  # sentences of more words are one group


class Score(NamedTuple):
    """Between 0 and 1."""

    precision: float
    recall: float
    f1: float


def sentence_score(counts: Counts) -> Score:
    """Precision, recall and F1 of one sentence by the script of Htut et al. 2018 and ON-LSTM.

    Without a gold bracket the recall is 1, and the precision too if nothing was predicted.
    """
    matched, predicted, gold = counts
    precision = matched / (predicted + TINY)
    recall = matched / (gold + TINY)
    if gold == 0:
        recall = 1.0
        if predicted == 0:
            precision = 1.0
    return Score(precision, recall, 2 * precision * recall / (precision + recall + TINY))


def pooled_score(counts: Counts) -> Score:
    """Precision, recall and F1 of summed counts; 1 where there was nothing to find."""
    matched, predicted, gold = counts
    return Score(
        matched / predicted if predicted else float(gold == 0),
        matched / gold if gold else float(predicted == 0),
        2 * matched / (predicted + gold) if predicted + gold else 1.0,
    )


def average_score(counts: Sequence[Counts], convention: Convention) -> Score:
    """The score of several sentences as the convention averages them."""
    if convention.average == "corpus":
        return pooled_score(total(counts))
    scores = [sentence_score(sentence) for sentence in counts]
    return Score(*(sum(column) / len(scores) for column in zip(*scores, strict=True)))


def columns(counts: Sequence[Counts], convention: Convention) -> Sequence[Sequence[float]]:
    """One row per sentence: the numbers whose sums over sentences give the F1 by ``statistic``."""
    if convention.average == "corpus":
        return counts
    return [(sentence_score(sentence).f1, 1.0) for sentence in counts]


def statistic(convention: Convention) -> Callable[[np.ndarray], np.ndarray]:
    """The F1, between 0 and 1, of each row of summed ``columns``."""
    return _pooled_f1 if convention.average == "corpus" else lambda sums: sums[:, 0] / sums[:, 1]


def _pooled_f1(sums: np.ndarray) -> np.ndarray:
    """F1 of each row of summed counts."""
    import numpy as np

    both = sums[:, 1] + sums[:, 2]
    return np.where(both > 0, 2 * sums[:, 0] / np.maximum(both, 1), 1.0)


def by_length(counts: Sequence[Counts], lengths: Sequence[int], convention: Convention) -> dict[str, tuple[int, float]]:
    """Number of sentences and score of those with 1 to 10 words, 11 to 20, and so on; all longer ones together."""
    groups: dict[int, list[Counts]] = {}
    for length, sentence in zip(lengths, counts, strict=True):
        groups.setdefault(min((length - 1) // 10, LONGEST // 10), []).append(sentence)
    return {
        f"{10 * tens + 1}-{10 * tens + 10 if tens < LONGEST // 10 else ''}": (
            len(group),
            100 * average_score(group, convention).f1,
        )
        for tens, group in sorted(groups.items())
    }
