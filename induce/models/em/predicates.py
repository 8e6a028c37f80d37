"""Estimation from raw text of the word classes that are predicates.

Each short sentence has exactly one root, whose class is drawn from ``root``. The classes of the other words are drawn
from ``other``. EM fits this mixture of two distributions; the position of the root is latent. Function words are
frequent in all sentences, so each word also has a fixed weight as root (see `frequency_weights`).
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray

RESTARTS, PASSES = 3, 100
SMOOTHING = 0.1  # added to each expected count


def frequency_weights(share: Array, *, scale: float, power: float) -> Array:
    """Weights (1 + share / scale) ^ -power of words as heads, by their share of the corpus: near 1 for rare words."""
    return (1 + share / scale) ** -power


def predicate_ratios(classes: Array, lengths: Array, weights: Array, *, count: int, seed: int = 0) -> Array:
    """Ratios P(class | root) / P(class | other word) of ``count`` classes, or 1 if there are no sentences.

    ``classes``, ``weights`` (T,): of the words of all sentences in order. ``lengths`` (S,), at least 1. The result is
    the random start with the greatest likelihood.
    """
    if not len(lengths):
        return np.ones(count)
    starts = np.cumsum(lengths) - lengths
    draw = np.random.default_rng(seed)
    best, ratios = -np.inf, np.ones(count)
    for _ in range(RESTARTS):
        candidate = np.exp(0.5 * draw.standard_normal(count))
        for _ in range(PASSES):
            candidate, likelihood = _step(candidate, classes, starts, lengths, weights, count)
        if likelihood > best:
            best, ratios = likelihood, candidate
    return ratios


def _step(
    ratios: Array, classes: Array, starts: Array, lengths: Array, weights: Array, count: int
) -> tuple[Array, float]:
    """One pass of EM: new ratios, and the log-likelihood under the old ratios up to a constant."""
    scores = weights * ratios[classes]
    sums = np.add.reduceat(scores, starts)
    is_root = scores / np.repeat(sums, lengths)
    root = np.bincount(classes, is_root, count) + SMOOTHING
    other = np.bincount(classes, 1 - is_root, count) + SMOOTHING
    root, other = root / root.sum(), other / other.sum()
    return root / other, float(np.log(sums).sum() + np.log(other)[classes].sum())
