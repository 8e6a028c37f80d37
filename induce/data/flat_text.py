"""A corpus in the form that models read that count: all words in one row, without the marks between sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from induce.data.word_classes import Neighbours

if TYPE_CHECKING:
    from induce.data.corpus import EncodedCorpus


class FlatText:
    """A corpus as the learner wants it: words without the marks between sentences, and what is counted once."""

    def __init__(self, corpus: EncodedCorpus) -> None:
        self.lengths = corpus.lengths
        inside = np.ones(len(corpus.ids), dtype=bool)
        inside[corpus.offsets[1:] - 1] = False
        self.ids, breaks = corpus.ids[inside].astype(np.int64), corpus.breaks[inside]
        self.offsets = corpus.offsets - np.arange(len(corpus.offsets))
        self.words, size = corpus.vocabulary.words, len(corpus.vocabulary)
        self.neighbours = Neighbours.of(self.ids, self.offsets, breaks, size)
        self.counts = np.bincount(self.ids, minlength=size).astype(np.float64)
        pseudo = np.array([word.startswith("<unk") for word in self.words])
        self.share = np.where(pseudo, 0.0, self.counts / max(1, len(self.ids)))  # a pseudo-word stands for rare words
        stretches = np.cumsum(breaks)
        self.fragments = (
            stretches - np.repeat(stretches[self.offsets[:-1]], self.lengths) if len(self.ids) else stretches
        )

    def places(self, rows: np.ndarray, count: int) -> np.ndarray:
        """Where the words (N, B) of sentences of up to ``count`` words stand; behind them any places."""
        places: np.ndarray = np.minimum(self.offsets[rows] + np.arange(count)[:, None], len(self.ids) - 1)
        return places
