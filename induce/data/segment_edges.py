"""Edges of the segments between punctuation marks, and the words that occur there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

    from induce.data.corpus import EncodedCorpus

Array = np.ndarray

BEGIN, END = 0, 1  # rows of the tables below
MEAN_WORDS = 10.0  # occurrences of an average word added to the counts of each word, which smooths rare words


def words_at_edges(corpus: EncodedCorpus) -> tuple[Array, Array]:
    """The running words of a corpus (T,), and whether each begins, and ends, a segment (2, T)."""
    words = corpus.ids != 0
    begins = np.concatenate([[True], ~words[:-1]]) | corpus.breaks
    ends = np.concatenate([~words[1:] | corpus.breaks[1:], [True]])
    return corpus.ids[words], np.stack([begins[words], ends[words]])


def edge_shares(ids: Array, edges: Array, size: int, smoothing: float = MEAN_WORDS) -> tuple[Array, Array]:
    """Share of the occurrences of each word that are at an edge (2, V), and the mean of all words (2,).

    ``ids`` (T,) and ``edges`` (2, T) are those of `words_at_edges`, and ``size`` is V. ``smoothing`` occurrences of an
    average word are added to the counts of each word.
    """
    occurrences = np.bincount(ids, minlength=size)
    means = edges.sum(1) / max(1, len(ids))
    counts = np.stack([np.bincount(ids[edge], minlength=size) for edge in edges])
    return (counts + smoothing * means[:, None]) / (occurrences + smoothing), means


def word_edges(corpus: EncodedCorpus, size: int) -> Array:
    """Relative frequency (2, V) of each word of a vocabulary of ``size`` at the beginning, and end, of segments.

    A value is the smoothed share of the word's occurrences at the edge, divided by that share for all words.
    """
    shares, means = edge_shares(*words_at_edges(corpus), size)
    relative: Array = shares / np.maximum(means, 1e-9)[:, None]
    return relative


def segment_starts(segments: Tensor) -> Tensor:
    """Whether a segment begins at each word (B, N + 1), and true at the end of the sentence.

    ``segments`` (B, N): the number of the segment of each word.
    """
    import torch

    edge = segments.new_ones(len(segments), 1, dtype=torch.bool)
    return torch.cat([edge, segments[:, 1:] != segments[:, :-1], edge], 1)
