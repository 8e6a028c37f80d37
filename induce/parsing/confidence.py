"""Confidence in phrases as a probability: a rising map of the scores of a model, fitted without gold trees.

The map is a list of points (score, confidence), between which it is linear. It is stored in the facts of a model.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Map = Sequence[tuple[float, float]]  # points with rising scores and confidences that do not fall

MAX_POINTS = 20
MIN_GROUP = 25  # phrases of each point


def fit_confidence(scores: Sequence[float], agreements: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """The map from scores of phrases to the mean agreement of phrases with similar scores, or no map for few phrases.

    It is an isotonic regression over at most `MAX_POINTS` groups of similar size.

    >>> fit_confidence([0.1] * 25 + [0.9] * 25, [0.0, 0.5] * 12 + [0.0] + [1.0] * 25)
    ((0.1, 0.24), (0.9, 1.0))
    """
    order = np.argsort(scores, kind="stable")
    count = min(MAX_POINTS, len(order) // MIN_GROUP)
    if not count:
        return ()
    groups = np.array_split(order, count)
    x = [float(np.mean(np.asarray(scores)[group])) for group in groups]
    blocks: list[tuple[float, int]] = []  # mean agreement and number of groups
    for group in groups:
        block = (float(np.mean(np.asarray(agreements)[group])), 1)
        while blocks and blocks[-1][0] >= block[0]:  # pool adjacent violators
            (mean, size), (other, more) = blocks.pop(), block
            block = ((mean * size + other * more) / (size + more), size + more)
        blocks.append(block)
    y = [mean for mean, size in blocks for _ in range(size)]
    return tuple((round(score, 6), round(value, 4)) for score, value in zip(x, y, strict=True))


def confidence_of(points: Map, scores: Sequence[float]) -> list[float]:
    """The confidences in phrases with these scores, NaN for NaN."""
    values = np.interp(scores, [score for score, _ in points], [confidence for _, confidence in points])
    return [float(value) for value in values]
