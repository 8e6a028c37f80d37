"""Sums over all binary trees of a sentence in which every bracket has a weight, many sentences of one length at a time.

The entry [start, end, sentence] of a table is about the words from start up to end, end not included. From narrow to
wide, over the places to split a span:

    inside[i, j] = weight[i, j] Σ_{i<k<j} inside[i, k] inside[k, j]        inside[i, i + 1] = 1

Then from wide to narrow: a bracket is there as often as a wider one is there and splits so that it comes about,

    P(i, k) and P(k, j) each gain P(i, j) inside[i, k] inside[k, j] weight[i, j] / inside[i, j]

which never leaves the range of numbers. Inside everything is logarithms. Two tables, by start and by end, make the ways
to split all spans of one width a sum of two slices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class BracketCounts:
    """``probability`` (N, N + 1, B): of each bracket of two words or more, 0 elsewhere; ``log_total`` (B,): log Z."""

    probability: Array
    log_total: Array


def bracket_counts(log_weights: Array) -> BracketCounts:
    """Of sentences of N > 0 words, from the logs (N, N + 1, B) of weights above 0; those of single words are not read.

    A binary tree weighs the product of its N - 1 brackets.
    """
    count, _, batch = log_weights.shape
    by_start = np.zeros((count + 1, count + 1, batch))  # [start, width]
    by_end = np.zeros((count + 1, count + 1, batch))  # [end, N - width]
    sums: list[Array] = []  # for each width from 2, the logs (places, B) over splits, before the weight
    starts = np.arange(count)
    for width in range(2, count + 1):
        places = count - width + 1
        ways = by_start[:places, 1:width] + by_end[width:, places:count]  # (places, splits, B)
        most = ways.max(1)
        sums.append(most + np.log(np.exp(ways - most[:, None]).sum(1)))
        inside = sums[-1] + log_weights[starts[:places], starts[:places] + width]
        by_start[:places, width] = by_end[width:, count - width] = inside
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
        places = count - width + 1
        there = as_left[:places, width] + as_right[width:, count - width]  # (places, B)
        result[starts[:places], starts[:places] + width] = there
        ways = by_start[:places, 1:width] + by_end[width:, places:count]
        shares = np.exp(ways - sums[width - 2][:, None]) * there[:, None]
        as_left[:places, 1:width] += shares
        as_right[width:, places:count] += shares
    return result


def random_split_probability(count: int) -> Array:
    """How probable each bracket (N, N + 1) is in a tree that is split at a random place, again and again.

    Whoever puts the gaps between words into a random order has such a tree. A span of w words is a bracket if its outer
    gaps come before its w - 1 inner ones: the share of orders is 2 / (w (w + 1)), or 1 / w at an edge of the sentence.
    """
    start, end = np.arange(count)[:, None], np.arange(count + 1)
    width = np.maximum(end - start, 1)
    edges = (start == 0).astype(int) + (end == count)
    found: Array = np.choose(edges, [2 / (width * (width + 1)), 1 / width, np.ones_like(width, dtype=float)])
    return np.where(end - start > 1, found, 0.0)
