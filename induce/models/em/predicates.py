"""Which word classes are predicates, from raw text: in a short sentence one word is the root, and the others are not.

Each sentence of a few words has exactly one root, whose class is drawn from ``root``; the classes of the others are
drawn from ``other``. A mixture of two distributions, fitted by EM; which word is the root is not known. Function words
are frequent in any sentence, so words also carry a fixed weight as root (see `frequency_weights`).
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray

RESTARTS, PASSES = 3, 100
SMOOTHING = 0.1  # added to each expected count


def frequency_weights(share: Array, *, scale: float, power: float) -> Array:
    """(1 + share / scale) ^ -power: how readily words are heads, by their share of the text. Near 1 for rare words."""
    weights: Array = (1 + share / scale) ** -power
    return weights


def predicate_ratios(classes: Array, lengths: Array, weights: Array, *, count: int, seed: int = 0) -> Array:
    """P(class | root) / P(class | other word) of each of ``count`` classes; 1 everywhere if there is no sentence.

    ``classes``, ``weights`` (T,): of all words of the sentences, one after the other; ``lengths`` (S,) above 0.
    The best of a few random starts by likelihood.
    """
    if not len(lengths):
        return np.ones(count)
    starts = np.cumsum(lengths) - lengths
    draw = np.random.default_rng(seed)
    best, ratios = -np.inf, np.ones(count)
    for _ in range(RESTARTS):
        found = np.exp(0.5 * draw.standard_normal(count))
        for _ in range(PASSES):
            found, likelihood = _step(found, classes, starts, lengths, weights, count)
        if likelihood > best:
            best, ratios = likelihood, found
    return ratios


def _step(
    ratios: Array, classes: Array, starts: Array, lengths: Array, weights: Array, count: int
) -> tuple[Array, float]:
    """One pass of EM: new ratios, and the log likelihood under the old ones up to what no ratio changes."""
    scores = weights * ratios[classes]
    sums = np.add.reduceat(scores, starts)
    is_root = scores / np.repeat(sums, lengths)
    root = np.bincount(classes, is_root, count) + SMOOTHING
    other = np.bincount(classes, 1 - is_root, count) + SMOOTHING
    root, other = root / root.sum(), other / other.sum()
    return root / other, float(np.log(sums).sum() + np.log(other)[classes].sum())
