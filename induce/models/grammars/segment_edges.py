"""Edges of the segments between punctuation marks, and the words that occur there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from induce.data.corpus import EncodedCorpus

MEAN_WORDS = 10.0  # occurrences of an average word added to the counts of each word, which smooths rare words


def word_edges(corpus: EncodedCorpus, size: int) -> Tensor:
    """Relative frequency (2, V) of each word of a vocabulary of ``size`` at the beginning, and end, of segments.

    A value is the share of the word's occurrences at the edge, divided by that share for all words, and smoothed by
    `MEAN_WORDS`.
    """
    words = corpus.ids != 0
    after_mark = np.concatenate([[True], ~words[:-1]])
    begins = words & (after_mark | corpus.breaks)
    ends = words & np.concatenate([~words[1:] | corpus.breaks[1:], [True]])
    occurrences = np.bincount(corpus.ids[words], minlength=size)
    rows = []
    for edge in (begins, ends):
        mean = edge.sum() / max(1, words.sum())
        counts = np.bincount(corpus.ids[edge], minlength=size)
        rows.append((counts + MEAN_WORDS * mean) / (occurrences + MEAN_WORDS) / max(mean, 1e-9))
    return torch.from_numpy(np.stack(rows))


def segment_starts(segments: Tensor) -> Tensor:
    """Whether a segment begins at each word (B, N + 1), and true at the end of the sentence.

    ``segments`` (B, N): the number of the segment of each word.
    """
    edge = segments.new_ones(len(segments), 1, dtype=torch.bool)
    return torch.cat([edge, segments[:, 1:] != segments[:, :-1], edge], 1)
