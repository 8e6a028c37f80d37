"""Trees and heads from perturbed masking (Wu et al. 2020), as in the published program for constituents.

``impact`` (N, N): entry (i, j) is how much the state of word i changes if word j is masked as well (`Impact`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from induce.decoding.heads import mbr_heads
from treebank.base.errors import SynparseError
from treebank.core.dependency import Heads

ImpactMatrix = NDArray[np.floating] | Sequence[Sequence[float]]
Array = np.ndarray
TIE_DECIMALS = 12  # costs of cuts that are equal to this precision are ties


def impact_of_states(states: Array) -> Array:
    """Impact (N, N) from ``states`` (N, N, D): entry (i, j) is the state of word i if the words i and j are masked."""
    single = states[np.arange(len(states)), np.arange(len(states))]
    return np.linalg.norm(np.asarray(states, float) - single[:, None], axis=-1)


def separation(impact: ImpactMatrix) -> Array:
    """Scores (N, N) that two words belong to different phrases: 1 minus the share of a word in the impact of another.

    The shares are a softmax over the words i on which the masked word j has an impact. The diagonal is 0.
    """
    values = _checked(impact)
    shares = np.exp(values - values.max(initial=0.0))
    shares /= shares.sum(0)
    scores: Array = 1 - shares
    np.fill_diagonal(scores, 0)
    return scores


def impact_cuts(impact: ImpactMatrix) -> list[tuple[int, int]]:
    """Brackets of the tree that is cut from the top where the parts are least separate inside, and most between.

    The words before word k form the left part. The right part is word k with the tree of the words after it, so the
    method leans to the right. On ties the first cut wins. Raises SynparseError if a number is not finite or the shape
    is wrong.
    """
    sums = np.pad(separation(impact).cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    todo, spans = [(0, len(sums) - 1)], []
    while todo:
        start, end = todo.pop()
        if end - start < 2:
            continue
        cut = start + 1 + int(np.argmin(_cut_costs(sums, start, end)))
        spans.append((start, end))
        if end - cut > 1 and cut > start:
            spans.append((cut, end))
        todo += [(start, cut), (cut + 1, end)]
    return spans


def _cut_costs(sums: Array, start: int, end: int) -> Array:
    """Cost of a cut before each word k of a span but the first, in which word k itself counts on no side.

    ``sums`` (N + 1, N + 1): sums of the separation over all words before i and before j.
    """
    k = np.arange(start + 1, end)
    left, right = k - start, end - k  # numbers of words; the program counts word k on the right

    def block(top: Array | int, bottom: Array | int, first: Array | int, last: Array | int) -> Array:
        return sums[bottom, last] - sums[top, last] - sums[bottom, first] + sums[top, first]

    within = block(start, k, start, k) / (2 * left) + block(k + 1, end, k + 1, end) / (2 * right)
    between = block(start, k, k + 1, end) + block(k + 1, end, start, k)
    return np.round(within - between / (left * right), TIE_DECIMALS)


def impact_heads(impact: ImpactMatrix) -> Heads:
    """Heads of the projective tree with the largest sum of the shares of heads in the impact on their dependents.

    For each word, the shares are a softmax over the other words. Any word can be the root. The program normalizes by
    sums of other rows, and takes the root from gold.
    """
    values = _checked(impact)
    shares = np.exp(values - values.max(1, initial=0.0, keepdims=True))
    np.fill_diagonal(shares, 0)
    return mbr_heads(shares / np.maximum(shares.sum(1, keepdims=True), 1e-30))


def _checked(impact: ImpactMatrix) -> Array:
    """The impact as an array (N, N). Raises SynparseError if it is not square or a number is not finite."""
    values = np.asarray(impact, float)
    values = values.reshape(0, 0) if not values.size else values
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise SynparseError(f"an impact has one row and one column per word, not the shape {values.shape}")
    if not np.isfinite(values).all():
        raise SynparseError("an impact is not a finite number, so no tree can be read from it")
    return values
