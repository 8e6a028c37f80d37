"""Sums over all binary trees of a sentence with a weight for every bracket, for many sentences of one length at a time.

The entry [start, end, sentence] of a table describes the words from start up to end, end excluded. The inside pass goes
from narrow to wide spans and sums over the split points of a span:

    inside[i, j] = weight[i, j] Σ_{i<k<j} inside[i, k] inside[k, j]        inside[i, i + 1] = 1

The outside pass goes from wide to narrow spans. The probability of a bracket is the sum over the wider brackets that
can be split into it:

    P(i, k) and P(k, j) each gain P(i, j) inside[i, k] inside[k, j] weight[i, j] / inside[i, j]

These shares never leave the range of float64. The inside pass uses logarithms. Two tables, by start and by end, turn
the splits of all spans of one width into a sum of two slices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class BracketCounts:
    """Expected brackets of B sentences of N words.

    ``probability`` (N, N + 1, B): of each bracket of two or more words, 0 elsewhere. ``log_total`` (B,): log Z.
    """

    probability: Array
    log_total: Array


def bracket_counts(log_weights: Array) -> BracketCounts:
    """Bracket probabilities of sentences of N > 0 words, from the logs (N, N + 1, B) of positive weights.

    The weight of a binary tree is the product of the weights of its N - 1 brackets. Weights of single words are not
    read.
    """
    count, _, batch = log_weights.shape
    by_start = np.zeros((count + 1, count + 1, batch))  # [start, width]
    by_end = np.zeros((count + 1, count + 1, batch))  # [end, N - width]
    sums: list[Array] = []  # per width from 2: log sums (spans, B) over splits, before the weight
    starts = np.arange(count)
    for width in range(2, count + 1):
        spans = count - width + 1
        ways = by_start[:spans, 1:width] + by_end[width:, spans:count]  # (spans, splits, B)
        most = ways.max(1)
        sums.append(most + np.log(np.exp(ways - most[:, None]).sum(1)))
        inside = sums[-1] + log_weights[starts[:spans], starts[:spans] + width]
        by_start[:spans, width] = by_end[width:, count - width] = inside
    log_total = by_start[0, count].copy() if count > 1 else np.zeros(batch)
    return BracketCounts(_probabilities(by_start, by_end, sums), log_total)


def _probabilities(by_start: Array, by_end: Array, sums: list[Array]) -> Array:
    """The probability (N, N + 1, B) of each bracket, from the inside tables and their sums over splits."""
    count, batch = by_start.shape[0] - 1, by_start.shape[2]
    as_left, as_right = np.zeros_like(by_start), np.zeros_like(by_end)  # in the layouts of by_start and by_end
    result = np.zeros((count, count + 1, batch))
    as_left[0, count] = 1
    starts = np.arange(count)
    for width in range(count, 1, -1):
        spans = count - width + 1
        probability = as_left[:spans, width] + as_right[width:, count - width]  # (spans, B)
        result[starts[:spans], starts[:spans] + width] = probability
        ways = by_start[:spans, 1:width] + by_end[width:, spans:count]
        shares = np.exp(ways - sums[width - 2][:, None]) * probability[:, None]
        as_left[:spans, 1:width] += shares
        as_right[width:, spans:count] += shares
    return result


def random_split_probability(count: int) -> Array:
    """Probability of each bracket (N, N + 1) in a tree whose spans are split at uniformly random positions.

    Such a tree corresponds to a random order of the gaps between words. A span of w words is a bracket if its outer
    gaps precede its w - 1 inner gaps in that order. This has probability 2 / (w (w + 1)), or 1 / w at an edge of the
    sentence.
    """
    start, end = np.arange(count)[:, None], np.arange(count + 1)
    width = np.maximum(end - start, 1)
    edges = (start == 0).astype(int) + (end == count)
    probability: Array = np.choose(edges, [2 / (width * (width + 1)), 1 / width, np.ones_like(width, dtype=float)])
    return np.where(end - start > 1, probability, 0.0)
