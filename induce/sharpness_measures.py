"""Sharpness of one sentence's row of a structure: how clearly it prefers one tree, without gold annotation.

Each function returns named numbers; `MEANINGS` explains the names. A row has at least three words.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from treebank.core.distances import nearest_larger

TOLERANCE = 1e-4  # probabilities may exceed the range from 0 to 1 by rounding
MIN_PROBABILITY = 1e-12
MEANINGS = {
    "margin": "margin of the widest gap of a bracket over the next widest, in standard deviations",
    "split entropy": "entropy of the split of a bracket, as a share of the largest possible",
    "head entropy": "entropy of the head of a word, in bits",
    "span entropy": "entropy of whether a span is a constituent, in bits",
    "slot entropy": "entropy of the slot of a word, in bits",
    "largest": "largest probability: of a word's head or slot, or mean of the most probable spans of a tree",
}


def head_sharpness(row: Any) -> dict[str, float]:
    """Mean entropy in bits and mean largest probability of the heads of the words.

    ``row`` (N, N) holds the distribution over the head of each word, with the root on the diagonal.
    """
    import numpy as np

    row = np.asarray(row, float)
    probability = row / np.maximum(row.sum(1, keepdims=True), 1e-30)
    entropy = -(probability * np.log2(np.maximum(probability, 1e-30))).sum(1)
    return {"head entropy": float(entropy.mean()), "largest": float(probability.max(1).mean())}


def distance_sharpness(row: Sequence[float]) -> dict[str, float]:
    """Mean margin and mean entropy of the splits of a binary tree by distances ``row`` (N,).

    The margin of a bracket is that of its widest gap over the next widest, in standard deviations of the sentence's
    gaps. The entropy is that of a softmax over the gaps of a bracket, divided by the largest possible one.
    """
    import numpy as np

    gaps = np.asarray(row, float)[1:]
    spread = float(gaps.std())
    if not spread > 0 or not math.isfinite(spread):
        return {"margin": 0.0, "split entropy": 1.0}
    gaps = (gaps - gaps.mean()) / spread
    margins, entropies = [], []
    for index, (left, right) in enumerate(zip(*nearest_larger(gaps.tolist()), strict=True)):
        inside = gaps[left + 1 : right]
        if len(inside) < 2:
            continue
        margins.append(float(gaps[index] - np.delete(inside, index - left - 1).max()))
        weights = np.exp(inside - inside.max())
        weights /= weights.sum()
        entropies.append(float(-(weights * np.log(np.maximum(weights, 1e-30))).sum() / math.log(len(inside))))
    return {"margin": fmean(margins), "split entropy": fmean(entropies)}


def span_sharpness(row: Any) -> dict[str, float]:
    """Mean entropy in bits of whether a span is a constituent, and the mean of the N - 2 largest probabilities.

    ``row`` (N, N + 1) has the probability of each span; the full-sentence span and single words do not count. Scores
    that are not probabilities have no sharpness, and the result is empty.
    """
    import numpy as np

    row = np.asarray(row, float)
    count = len(row)
    start, end = np.indices(row.shape)
    spans = row[(end - start >= 2) & (end - start < count)]
    if spans.min() < -TOLERANCE or spans.max() > 1 + TOLERANCE:
        return {}
    share = np.clip(spans, MIN_PROBABILITY, 1 - MIN_PROBABILITY)
    entropy = -(share * np.log2(share) + (1 - share) * np.log2(1 - share))
    return {"span entropy": float(entropy.mean()), "largest": float(np.sort(share)[-(count - 2) :].mean())}


Span = tuple[int, int]


def margins(distances: Sequence[float], phrases: Sequence[Span]) -> list[float]:
    """Margin of each phrase: the narrower gap at its edges minus the widest gap inside it.

    ``distances`` contains the gap before each word; the first gap is not an edge. Linear time: each gap is read in the
    smallest phrase that contains it, and larger phrases take the widest gap of that phrase.
    """
    results = {}
    right: list[tuple[int, int, float]] = []  # start, end and widest gap of phrases to the right, the nearest last
    for start, end in sorted(phrases, key=lambda span: (-span[0], span[1])):
        widest, gap = -math.inf, start + 1
        while right and right[-1][0] < end:
            inner_start, inner_end, inner = right.pop()
            widest, gap = max(widest, inner, *distances[gap : inner_start + 1]), inner_end
        widest = max(widest, *distances[gap:end], -math.inf)
        right.append((start, end, widest))
        edges = [distances[edge] for edge in (start, end) if 0 < edge < len(distances)]
        results[start, end] = min(edges) - widest
    return [results[phrase] for phrase in phrases]
