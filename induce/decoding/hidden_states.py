"""Trees from the hidden states and the attention of models that were not trained to parse.

Distances between neighboring words (Kim et al. 2020): each measure of `MEASURES` compares the vectors, or the rows of
attention, of two neighboring words. Numbers are those of the released program, which the fixture
``trees_from_attention`` documents. Word pieces are merged first, as there.

Trees and heads from perturbed masking (Wu et al. 2020), as in the published program for constituents: ``impact``
(N, N) has in entry (i, j) how much the state of word i changes if word j is masked as well (`Impact`).

Shapes: L layers, H attention heads, P word pieces, N words, D units. Distances have N - 1 entries, one for each gap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from induce.decoding.heads import mbr_heads
from treebank.base.errors import SynparseError
from treebank.core.dependency import Heads

Array = np.ndarray
ImpactMatrix = NDArray[np.floating] | Sequence[Sequence[float]]
SPECIAL = -1  # word of a piece that belongs to no word, such as a boundary token
TINY = 1e-30  # added to probabilities before their logarithm is taken
TIE_DECIMALS = 12  # costs of cuts that are equal to this precision are ties


def piece_shares(word_of_piece: Array) -> Array:
    """Matrix (N, P) with 1 if subword piece p belongs to word n, else 0.

    Pieces that are marked `SPECIAL`, such as [CLS], belong to no word.
    """
    count = int(word_of_piece.max(initial=SPECIAL)) + 1
    return (np.arange(count)[:, None] == word_of_piece).astype(float)


def merge_hidden(hidden: Array, word_of_piece: Array) -> Array:
    """Mean hidden state (L, N, D) of the pieces of each word, from those of pieces (L, P, D)."""
    shares = piece_shares(word_of_piece)
    return (shares / shares.sum(1, keepdims=True)) @ hidden


def merge_attention(attention: Array, word_of_piece: Array) -> Array:
    """Attention (L, H, N, N) between words, from that between pieces (L, H, P, P), whose rows are the queries.

    It is summed over the pieces of the attended word, then averaged over those of the attending word. If there are
    special pieces, they are removed first, and each row is divided by its sum.
    """
    real = word_of_piece != SPECIAL
    if not real.all():
        attention = normalized_rows(attention[..., real, :][..., real])
        word_of_piece = word_of_piece[real]
    shares = piece_shares(word_of_piece)
    return (shares / shares.sum(1, keepdims=True)) @ attention @ shares.T


def normalized_rows(attention: Array) -> Array:
    """Attention whose rows sum to 1. A row of zeros stays as it is."""
    return attention / np.maximum(attention.sum(-1, keepdims=True), TINY)


def similarity(hidden: Array) -> Array:
    """(cosine + 1) / 2 of neighboring vectors, as in the program, which takes this similarity for a distance."""
    left, right = hidden[..., :-1, :], hidden[..., 1:, :]
    lengths = np.linalg.norm(left, axis=-1) * np.linalg.norm(right, axis=-1)
    return ((left * right).sum(-1) / np.maximum(lengths, TINY) + 1) / 2


def cosine(hidden: Array) -> Array:
    """(1 - cosine) / 2 of neighboring vectors: the distance that belongs to `similarity`."""
    return 1 - similarity(hidden)


def l1(hidden: Array) -> Array:
    """Sum of the absolute differences of neighboring vectors."""
    return np.abs(np.diff(hidden, axis=-2)).sum(-1)


def l2(hidden: Array) -> Array:
    """Euclidean distance of neighboring vectors."""
    return np.linalg.norm(np.diff(hidden, axis=-2), axis=-1)


def hellinger(attention: Array) -> Array:
    """Hellinger distance of neighboring rows."""
    return l2(np.sqrt(attention)) / np.sqrt(2)


def jsd(attention: Array) -> Array:
    """Square root of the Jensen-Shannon divergence in nats of neighboring rows."""
    left, right = attention[..., :-1, :], attention[..., 1:, :]
    middle = (left + right) / 2
    return np.sqrt((_divergence(left, middle) + _divergence(right, middle)) / 2)


def _divergence(first: Array, second: Array) -> Array:
    """Kullback-Leibler divergence of rows in nats, at least 0."""
    first, second = normalized_rows(first + TINY), normalized_rows(second + TINY)
    return np.maximum((first * np.log(first / second)).sum(-1), 0)


@dataclass(frozen=True)
class Measure:
    """A distance of neighboring words: ``of`` hidden states (…, N, D), or of attention (…, H, N, N) to (…, N - 1).

    ``averaged``: the mean of the distances over the heads of a layer.
    """

    of: Callable[[Array], Array]
    attention: bool = False
    averaged: bool = False

    @property
    def has_heads(self) -> bool:
        """Whether each attention head has distances of its own."""
        return self.attention and not self.averaged

    def __call__(self, values: Array) -> Array:
        """Distances (L, N - 1), or (L, H, N - 1) if each head has its own."""
        distances = self.of(np.asarray(values, float))
        return distances.mean(-2) if self.averaged else distances


#: the seven distances of the paper under the names of the program, and `cosine`
MEASURES = {
    "cos": Measure(similarity),
    "cosine": Measure(cosine),
    "l1": Measure(l1),
    "l2": Measure(l2),
    "hellinger": Measure(hellinger, attention=True),
    "jsd": Measure(jsd, attention=True),
    "avg-hellinger": Measure(hellinger, attention=True, averaged=True),
    "avg-jsd": Measure(jsd, attention=True, averaged=True),
}


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
    sums = np.pad(separation(impact).cumsum(0).cumsum(1), ((1, 0), (1, 0)))  # over all words before i and before j

    def block(top: Array | int, bottom: Array | int, first: Array | int, last: Array | int) -> Array:
        return sums[bottom, last] - sums[top, last] - sums[bottom, first] + sums[top, first]

    todo, spans = [(0, len(sums) - 1)], []
    while todo:
        start, end = todo.pop()
        if end - start < 2:
            continue
        k = np.arange(start + 1, end)  # cuts before each word but the first; word k itself counts on no side
        left, right = k - start, end - k  # numbers of words; the program counts word k on the right
        within = block(start, k, start, k) / (2 * left) + block(k + 1, end, k + 1, end) / (2 * right)
        between = block(start, k, k + 1, end) + block(k + 1, end, start, k)
        costs = np.round(within - between / (left * right), TIE_DECIMALS)
        cut = start + 1 + int(np.argmin(costs))
        spans.append((start, end))
        if end - cut > 1:
            spans.append((cut, end))
        todo += [(start, cut), (cut + 1, end)]
    return spans


def impact_heads(impact: ImpactMatrix) -> Heads:
    """Heads of the projective tree with the largest sum of the shares of heads in the impact on their dependents.

    For each word, the shares are a softmax over the other words. Any word can be the root. The program normalizes by
    sums of other rows, and takes the root from gold.
    """
    values = _checked(impact)
    shares = np.exp(values - values.max(1, initial=0.0, keepdims=True))
    np.fill_diagonal(shares, 0)
    return mbr_heads(normalized_rows(shares))


def _checked(impact: ImpactMatrix) -> Array:
    """The impact as an array (N, N). Raises SynparseError if it is not square or a number is not finite."""
    values = np.asarray(impact, float)
    values = values.reshape(0, 0) if not values.size else values
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise SynparseError(f"an impact has one row and one column per word, not the shape {values.shape}")
    if not np.isfinite(values).all():
        raise SynparseError("an impact is not a finite number, so no tree can be read from it")
    return values
