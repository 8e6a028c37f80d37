"""Distances between neighboring words from hidden states and attention (Kim et al. 2020).

Each measure of `MEASURES` compares the vectors, or the rows of attention, of two neighboring words. Numbers are those
of the released program, which the fixture ``trees_from_attention`` documents. Word pieces are merged first, as there.

Shapes: L layers, H attention heads, P word pieces, N words, D units. A result has N - 1 entries, one for each gap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
SPECIAL = -1  # word of a piece that belongs to no word, such as a boundary token
TINY = 1e-30  # added to probabilities before their logarithm is taken


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
